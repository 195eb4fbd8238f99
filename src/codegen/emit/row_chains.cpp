// Long rows: the chains of a sum are the lanes of a vector, and several rows are in flight.

#include <algorithm>
#include <bit>

#include "codegen/emit/row_contraction.hpp"
#include "ops/dot_order.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t most_in_flight = 8;  // registers of sums
constexpr std::int64_t unrolled_steps = 8;  // of dot_partials columns

using Values = std::vector<Value>;

/// Of vectors a and b, of 2 n-lane parts each: the sums of the parts' halves, a's and b's by turns.
Value add_halves(Builder& b, Value x, Value y, int n) {
  const int width = b.lanes_of(x);
  std::vector<int> low, high;
  for (int part = 0; part < width; part += 2 * n)
    for (int source : {0, width})
      for (int i = 0; i < n; ++i) {
        low.push_back(source + part + i);
        high.push_back(source + part + n + i);
      }
  b.set_lanes(width);
  return b.add(b.shuffle(x, y, low), b.shuffle(x, y, high));
}

/// The pairwise sums of the lanes of as many vectors as they have lanes, half of them, a quarter, or one.
class Combined {
 public:
  explicit Combined(Builder& b) : b_(b) {}

  /// Lane i is the sum of vector i; those beyond `sums` hold anything.
  Value operator()(const Values& sums) {
    const int count = static_cast<int>(std::bit_ceil(sums.size()));
    // Halves of a pair of vectors lie side by side, then those of the next: rows meet in bit-reversed order.
    Values vectors;
    for (int i = 0; i < count; ++i) vectors.push_back(sums[std::min(reversed(i, count), sums.size() - 1)]);
    for (int n = dot_partials / 2; n > 0; n /= 2) {
      if (vectors.size() == 1) {
        vectors[0] = add_own_halves(vectors[0], n, count);
        continue;
      }
      for (std::size_t i = 0; 2 * i < vectors.size(); ++i)
        vectors[i] = add_halves(b_, vectors[2 * i], vectors[2 * i + 1], n);
      vectors.resize(vectors.size() / 2);
    }
    return vectors[0];
  }

 private:
  static std::size_t reversed(int i, int count) {
    std::size_t r = 0;
    for (int bit = 1; bit < count; bit *= 2) r = 2 * r + ((i & bit) != 0);
    return r;
  }

  /// The sums of the halves of the parts, 2 n lanes each, of one vector.
  Value add_own_halves(Value v, int n, int parts) {
    std::vector<int> low, high;
    for (int part = 0; part < parts; ++part)
      for (int i = 0; i < n; ++i) {
        low.push_back(2 * n * part + i);
        high.push_back(2 * n * part + n + i);
      }
    if (low.size() == 1) {
      b_.set_lanes(1);
      return b_.add(b_.extract(v, low[0]), b_.extract(v, high[0]));
    }
    b_.set_lanes(static_cast<int>(low.size()));
    return b_.add(b_.shuffle(v, v, low), b_.shuffle(v, v, high));
  }

  Builder& b_;
};

}  // namespace

void write_row_chains(Builder& b, const RowContraction& c) {
  const Dtype dtype = c.result.dtype;
  const auto item = static_cast<std::int64_t>(item_size(dtype));
  const std::int64_t registers = std::max<std::int64_t>(1, dot_partials * item / b.vector_bytes());
  const std::int64_t in_flight = std::min(most_in_flight / registers, c.rows);

  RowBlocks blocks(b, c, in_flight);
  const ConstPointer matrix = blocks.matrix, vector = blocks.vector;
  const Pointer result = blocks.result;

  b.set_lanes(dot_partials);
  Values sums(static_cast<std::size_t>(in_flight), b.constant(dtype, 0));
  const auto row = [&](ConstPointer p, std::size_t g) {
    return b.offset(p, static_cast<std::int64_t>(g) * c.row_stride * item);
  };
  const auto add_columns = [&](ConstPointer columns, ConstPointer elements) {
    b.set_lanes(dot_partials);
    const Value factors = b.load(elements, dtype);
    for (std::size_t g = 0; g < sums.size(); ++g)
      sums[g] = b.fma(b.load(row(columns, g), dtype), factors, sums[g]);
  };
  const std::int64_t steps = c.columns / dot_partials, rest = c.columns % dot_partials;
  if (steps <= unrolled_steps) {
    for (std::int64_t i = 0; i < steps; ++i)
      add_columns(b.offset(matrix, i * dot_partials * item), b.offset(vector, i * dot_partials * item));
  } else {
    CountedLoop loop(b, steps, 1, sums);
    const Value bytes = b.mul(loop.index(), b.index(dot_partials * item));
    add_columns(b.offset(matrix, bytes), b.offset(vector, bytes));
    loop.close();
  }
  if (rest > 0) {
    b.set_lanes(dot_partials);
    const Value left =
        b.compare(Compare::Lt, b.lane_numbers(), b.constant(Dtype::I64, static_cast<std::uint64_t>(rest)));
    const std::int64_t bytes = steps * dot_partials * item;
    const Value factors = b.masked_load(b.offset(vector, bytes), dtype, left);
    for (std::size_t g = 0; g < sums.size(); ++g) {
      const Value columns = b.masked_load(b.offset(row(matrix, g), bytes), dtype, left);
      sums[g] = b.select(left, b.fma(columns, factors, sums[g]), sums[g]);
    }
  }

  const Value totals = Combined(b)(sums);
  const int width = b.lanes_of(totals);
  if (width == static_cast<int>(in_flight) && (width == 1 || c.result_stride == 1)) {
    b.store(result, totals);
  } else {
    b.set_lanes(1);
    for (int i = 0; i < static_cast<int>(in_flight); ++i)
      b.store(b.offset(result, i * c.result_stride * item), b.extract(totals, i));
  }
  b.set_lanes(1);
  blocks.close();
}

}  // namespace apsis::detail
