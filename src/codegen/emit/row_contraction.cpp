#include "codegen/emit/row_contraction.hpp"

#include <algorithm>

#include "ops/dot_order.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t most_in_flight = 4;  // vectors of sums, to hide the latency of multiply-add

/// Elements of 16 bytes, within which shuffles are cheap: so many columns are read at once.
int chunk_of(Dtype dtype) { return 16 / static_cast<int>(item_size(dtype)); }

using Values = std::vector<Value>;

/// Of each chunk of a and b, its first or second half, `group` elements of each by turns.
Value interleave(Builder& b, Value x, Value y, int chunk, int group, int half) {
  int width = b.lanes_of(x);
  std::vector<int> from;
  for (int first = half * chunk / 2; first < width; first += chunk)
    for (int i = 0; i < chunk / 2; i += group)
      for (int source : {0, width})
        for (int j = 0; j < group; ++j) from.push_back(source + first + i + j);
  return b.shuffle(x, y, from);
}

/// One chunk of columns of `width` rows from p on; value j holds column j.
Values load_columns(Builder& b, ConstPointer p, Dtype dtype, std::int64_t row_bytes, int width) {
  const int chunk = chunk_of(dtype);
  // Vector j: rows j, j + chunk, j + 2 chunk, …, a chunk of each.
  Values vectors;
  for (int j = 0; j < chunk; ++j) {
    Values parts;
    b.set_lanes(chunk);
    for (int row = j; row < width; row += chunk) parts.push_back(b.load(b.offset(p, row * row_bytes), dtype));
    for (int size = 2 * chunk; parts.size() > 1; size *= 2) {
      std::vector<int> all;
      for (int i = 0; i < size; ++i) all.push_back(i);
      for (std::size_t i = 0; 2 * i < parts.size(); ++i)
        parts[i] = b.shuffle(parts[2 * i], parts[2 * i + 1], all);
      parts.resize(parts.size() / 2);
    }
    vectors.push_back(parts[0]);
  }
  if (chunk == 2)
    return {interleave(b, vectors[0], vectors[1], 2, 1, 0), interleave(b, vectors[0], vectors[1], 2, 1, 1)};
  Values columns;
  for (int half : {0, 1}) {
    Value upper = interleave(b, vectors[0], vectors[1], 4, 1, half),
          lower = interleave(b, vectors[2], vectors[3], 4, 1, half);
    for (int inner : {0, 1}) columns.push_back(interleave(b, upper, lower, 4, 2, inner));
  }
  return columns;
}

}  // namespace

bool knows_row_contraction(Dtype dtype, std::int64_t rows, std::int64_t columns, int width) {
  if (dtype == Dtype::Bool || is_complex(dtype) || item_size(dtype) < 4) return false;
  if (is_floating(dtype) && columns >= dot_sequential_below) return true;
  const int chunk = chunk_of(dtype);
  return rows >= chunk && columns >= chunk && width >= chunk;
}

RowBlocks::RowBlocks(Builder& b, const RowContraction& c, std::int64_t block)
    : nest_(b, c.shape, {c.matrix, c.vector}, {&c.result, 1}, 1) {
  const auto item = static_cast<std::int64_t>(item_size(c.result.dtype));
  nest_.open();
  matrix = nest_.current(0);
  vector = nest_.current(1);
  result = nest_.current_sink(0);
  if (c.rows <= block) return;
  rows_.emplace(b, c.rows, block);
  matrix = b.offset(matrix, b.mul(rows_->index(), b.index(c.row_stride * item)));
  result = b.offset(result, b.mul(rows_->index(), b.index(c.result_stride * item)));
}

void RowBlocks::close() {
  if (rows_) rows_->close();
  nest_.close();
}

void write_row_contraction(Builder& b, const RowContraction& c, int width) {
  const Dtype dtype = c.result.dtype;
  if (is_floating(dtype) && c.columns >= dot_sequential_below) return write_row_chains(b, c);
  const int chunk = chunk_of(dtype);
  const auto item = static_cast<std::int64_t>(item_size(dtype));
  while (width > c.rows) width /= 2;
  const std::int64_t in_flight = std::min(most_in_flight, c.rows / width);

  RowBlocks blocks(b, c, in_flight * width);
  const ConstPointer matrix = blocks.matrix, vector = blocks.vector;
  const Pointer result = blocks.result;

  b.set_lanes(width);
  Values sums(static_cast<std::size_t>(in_flight), b.constant(dtype, 0));
  auto accumulate = [&](std::size_t g, Value column, ConstPointer element) {
    b.set_lanes(width);
    Value factor = b.splat(b.load_element(element, dtype));
    sums[g] = is_floating(dtype) ? b.fma(column, factor, sums[g]) : b.add(sums[g], b.mul(column, factor));
  };
  auto row_of = [&](ConstPointer p, std::size_t g) {
    b.set_lanes(1);
    return b.offset(p, static_cast<std::int64_t>(g) * width * c.row_stride * item);
  };
  auto add_chunk = [&](ConstPointer columns, ConstPointer elements) {
    for (std::size_t g = 0; g < sums.size(); ++g) {
      Values all = load_columns(b, row_of(columns, g), dtype, c.row_stride * item, width);
      for (std::size_t i = 0; i < all.size(); ++i)
        accumulate(g, all[i], b.offset(elements, static_cast<std::int64_t>(i) * c.vector_stride * item));
    }
  };
  const std::int64_t whole = c.columns / chunk * chunk;
  if (whole == chunk) {
    add_chunk(matrix, vector);
  } else {
    CountedLoop loop(b, whole, chunk, sums);
    add_chunk(b.offset(matrix, b.mul(loop.index(), b.index(item))),
              b.offset(vector, b.mul(loop.index(), b.index(c.vector_stride * item))));
    loop.close();
  }
  b.set_lanes(width);
  const Value lanes = b.lane_numbers();
  auto places = [&](std::int64_t stride) {
    return b.mul(lanes, b.constant(Dtype::I64, static_cast<std::uint64_t>(stride)));
  };
  for (std::int64_t k = whole; k < c.columns; ++k)
    for (std::size_t g = 0; g < sums.size(); ++g) {
      ConstPointer column = b.offset(row_of(matrix, g), k * item);
      b.set_lanes(width);
      accumulate(g, b.gather(column, places(c.row_stride), dtype),
                 b.offset(vector, k * c.vector_stride * item));
    }
  for (std::size_t g = 0; g < sums.size(); ++g) {
    b.set_lanes(1);
    Pointer p = b.offset(result, static_cast<std::int64_t>(g) * width * c.result_stride * item);
    b.set_lanes(width);
    if (c.result_stride == 1)
      b.store(p, sums[g]);
    else
      b.scatter(p, places(c.result_stride), sums[g]);
  }
  b.set_lanes(1);
  blocks.close();
}

}  // namespace apsis::detail
