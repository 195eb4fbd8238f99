#include "codegen/emit/small_product.hpp"

#include <algorithm>
#include <bit>

#include "codegen/emit/products.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t most_short = 4;  // elements of a row, of which a vector holds several

/// Rows of `columns` elements as values with a power of two of lanes. Such a row is read and written in two
/// halves that overlap; the lanes behind it hold anything.
class Rows {
 public:
  Rows(Builder& b, std::int64_t columns)
      : b_(b),
        columns_(static_cast<int>(columns)),
        lanes_(static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(columns)))) {}

  int lanes() const { return lanes_; }

  Value load(ConstPointer p, Dtype dtype) const {
    if (lanes_ == columns_) {
      b_.set_lanes(lanes_);
      return b_.load(p, dtype);
    }
    b_.set_lanes(half());
    const Value first = b_.load(p, dtype), last = b_.load(second(p, dtype), dtype);
    std::vector<int> from;
    for (int i = 0; i < lanes_; ++i)
      from.push_back(i < half() ? i : std::min(i, columns_ - 1) - columns_ + lanes_);
    return b_.shuffle(first, last, from);
  }

  void store(Pointer p, Value row) const {
    if (lanes_ == columns_) return b_.store(p, row);
    std::vector<int> first, last;
    for (int i = 0; i < half(); ++i) {
      first.push_back(i);
      last.push_back(columns_ - half() + i);
    }
    b_.store(p, b_.shuffle(row, row, first));
    b_.store(second(p, row.dtype), b_.shuffle(row, row, last));
  }

 private:
  int half() const { return lanes_ / 2; }
  template <class P>
  P second(P p, Dtype dtype) const {
    return b_.offset(p, (columns_ - half()) * static_cast<std::int64_t>(item_size(dtype)));
  }

  Builder& b_;
  int columns_, lanes_;
};

/// A loop over the matrices of a batch, whose rows and columns are the last two axes.
class EachMatrix {
 public:
  EachMatrix(Builder& b, const Contraction& c)
      : result_(around(c, c.result)),
        nest_(b, result_.view.shape, {around(c, c.a), around(c, c.b)}, {&result_, 1}, 1) {
    nest_.open();
    left = nest_.current(0);
    right = nest_.current(1);
    result = nest_.current_sink(0);
  }
  void close() { nest_.close(); }

  // The first elements of the matrices.
  ConstPointer left, right;
  Pointer result;

 private:
  template <class Array>
  static Array around(const Contraction& c, Array matrices) {
    View& view = matrices.view;
    view.shape = c.shape;
    for (Dims* dims : {static_cast<Dims*>(&view.shape), &view.strides})
      for (int axis = 0; axis < 2; ++axis) dims->erase(dims->size() - 1);
    return matrices;
  }

  Sink result_;
  LoopNest nest_;
};

}  // namespace

bool is_small_product(const Contraction& c, int vector) {
  constexpr std::int64_t least = 3;  // columns: two do well as vectors of products
  const std::size_t rank = c.shape.size();
  if (rank < 2 || c.in_chains() || c.compute != c.result.dtype || c.result.dtype == Dtype::Bool) return false;
  const auto stride = [&](const auto& access, std::size_t from_last) {
    return access.view.strides[rank - 1 - from_last];
  };
  return c.shape[rank - 1] >= least && c.shape[rank - 1] <= 2 * vector && c.shape[rank - 2] > 1 &&
         stride(c.a, 0) == 0 && stride(c.b, 0) == 1 && stride(c.b, 1) == 0 && stride(c.result, 0) == 1;
}

void write_small_product(Builder& b, const Contraction& c) {
  const std::size_t rank = c.shape.size();
  const Dtype dtype = c.result.dtype;
  const auto bytes = [&](std::int64_t elements) {
    return elements * static_cast<std::int64_t>(item_size(dtype));
  };
  const Rows rows(b, c.shape[rank - 1]);
  const std::int64_t left_row = c.a.view.strides[rank - 2], result_row = c.result.view.strides[rank - 2];
  EachMatrix matrices(b, c);
  std::vector<Value> right_rows;
  for (std::int64_t k = 0; k < c.count; ++k)
    right_rows.push_back(rows.load(b.offset(matrices.right, bytes(k * c.step_b)), dtype));
  b.set_lanes(1);
  CountedLoop loop(b, c.shape[rank - 2], 1);
  const ConstPointer of_row = b.offset(matrices.left, b.mul(loop.index(), b.index(bytes(left_row))));
  const Pointer to = b.offset(matrices.result, b.mul(loop.index(), b.index(bytes(result_row))));
  b.set_lanes(rows.lanes());
  Value sum = b.constant(dtype, 0);
  for (std::int64_t k = 0; k < c.count; ++k) {
    b.set_lanes(1);
    const Value x = b.load_element(b.offset(of_row, bytes(k * c.step_a)), dtype);
    b.set_lanes(rows.lanes());
    const Value wide = b.splat(x);
    sum = multiply_add(b, wide, right_rows[static_cast<std::size_t>(k)], sum);
  }
  rows.store(to, sum);
  b.set_lanes(1);
  loop.close();
  matrices.close();
}

bool is_short(const DotSizes& sizes) {
  return sizes.k >= 2 && sizes.k <= most_short && sizes.n <= most_short;
}

bool is_product_of_short_rows(const Contraction& c, int vector) {
  const std::size_t rank = c.shape.size();
  if (rank < 2 || vector == 1 || c.in_chains() || c.compute != c.result.dtype ||
      c.result.dtype == Dtype::Bool)
    return false;
  const std::int64_t columns = c.shape[rank - 1], rows = c.shape[rank - 2];
  const Dims &a = c.a.view.strides, &b = c.b.view.strides, &result = c.result.view.strides;
  return c.count >= 2 && c.count <= most_short && columns <= most_short && rows >= vector && c.step_a == 1 &&
         a[rank - 2] == c.count && a[rank - 1] == 0 && b[rank - 2] == 0 && result[rank - 2] == columns &&
         result[rank - 1] == 1;
}

void write_product_of_short_rows(Builder& b, const Contraction& c, int vector) {
  const std::size_t rank = c.shape.size();
  const Dtype dtype = c.result.dtype;
  const auto item = static_cast<std::int64_t>(item_size(dtype));
  const std::int64_t columns = c.shape[rank - 1], right_column = c.b.view.strides[rank - 1];
  EachMatrix matrices(b, c);
  std::vector<Value> factors;
  for (std::int64_t k = 0; k < c.count; ++k)
    for (std::int64_t j = 0; j < columns; ++j) {
      b.set_lanes(1);
      const Value x =
          b.load_element(b.offset(matrices.right, (k * c.step_b + j * right_column) * item), dtype);
      b.set_lanes(vector);
      factors.push_back(b.splat(x));
    }
  CountedLoop loop(b, c.shape[rank - 2], vector);
  const ConstPointer from = b.offset(matrices.left, b.mul(loop.index(), b.index(c.count * item)));
  const Pointer to = b.offset(matrices.result, b.mul(loop.index(), b.index(columns * item)));
  b.set_lanes(vector);
  std::vector<Value> lying, entries, sums;
  for (std::int64_t k = 0; k < c.count; ++k)
    lying.push_back(b.load(b.offset(from, k * vector * item), dtype));
  // Lane r of entry k is what lies at place r * count + k.
  for (std::int64_t k = 0; k < c.count; ++k) {
    Value entry = lying[0];
    for (std::int64_t part = 1; part < c.count; ++part) {
      std::vector<int> lanes;
      for (int row = 0; row < vector; ++row) {
        const std::int64_t place = row * c.count + k, at = place % vector;
        const bool first = part == 1 && place < vector, here = place / vector == part;
        lanes.push_back(static_cast<int>(here ? vector + at : first ? at : row));
      }
      entry = b.shuffle(entry, lying[static_cast<std::size_t>(part)], lanes);
    }
    entries.push_back(entry);
  }
  for (std::int64_t j = 0; j < columns; ++j) {
    Value sum = b.constant(dtype, 0);
    for (std::int64_t k = 0; k < c.count; ++k)
      sum = multiply_add(b, entries[static_cast<std::size_t>(k)],
                         factors[static_cast<std::size_t>(k * columns + j)], sum);
    sums.push_back(sum);
  }
  // And back.
  for (std::int64_t part = 0; part < columns; ++part) {
    Value all = sums[0];
    for (std::int64_t j = 1; j < columns; ++j) {
      std::vector<int> lanes;
      for (int lane = 0; lane < vector; ++lane) {
        const std::int64_t place = part * vector + lane, row = place / columns, column = place % columns;
        const bool first = j == 1 && column == 0, here = column == j;
        lanes.push_back(static_cast<int>(here ? vector + row : first ? row : lane));
      }
      all = b.shuffle(all, sums[static_cast<std::size_t>(j)], lanes);
    }
    b.store(b.offset(to, part * vector * item), all);
  }
  loop.close();
  matrices.close();
}

}  // namespace apsis::detail
