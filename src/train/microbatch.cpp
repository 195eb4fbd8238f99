#include "apsis/train/microbatch.hpp"

#include "apsis/core/op.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/shape.hpp"
#include "train/messages.hpp"
#include "train/rows.hpp"

namespace apsis::train::detail {
namespace {

/// The sizes of x from an axis on, behind others.
Dims with_rest(std::initializer_list<std::int64_t> first, const Array& x, int axis) {
  Dims dims(first);
  for (; axis < x.ndim(); ++axis) dims.push_back(x.dim(axis));
  return dims;
}

}  // namespace

std::vector<Array> cut_rows(std::span<const Array> leaves, const std::vector<std::string>& paths,
                            std::int64_t size) {
  const std::int64_t rows = rows_of("microbatch", leaves, paths);
  if (size < 1 || rows % size != 0)
    fail(messages::microbatch_size, {std::to_string(size), std::to_string(rows)});
  std::vector<Array> cut(leaves.begin(), leaves.end());
  for (Array& x : cut)
    if (!x.is_empty()) x = reshape(x, with_rest({rows / size, size}, x, 1));
  return cut;
}

std::vector<Array> join_rows(std::span<const Array> leaves, const std::vector<std::string>& paths,
                             std::int64_t size) {
  std::vector<Array> joined(leaves.begin(), leaves.end());
  for (std::size_t i = 0; i < joined.size(); ++i) {
    Array& x = joined[i];
    if (x.is_empty()) continue;
    if (x.ndim() < 2 || x.dim(1) != size)
      fail(
          messages::microbatch_rows,
          {paths[i], to_string(abstract_array(with_rest({}, x, 1), x.dtype()).aval()), std::to_string(size)});
    x = reshape(x, with_rest({x.dim(0) * size}, x, 2));
  }
  return joined;
}

std::vector<Array> zero_sums(std::span<const Array> leaves, const std::vector<std::string>& paths,
                             Accumulate accumulate) {
  std::vector<Array> sums(leaves.begin(), leaves.end());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].is_empty()) continue;
    if (accumulate == Accumulate::Mean && !is_inexact(sums[i].dtype()))
      fail(messages::microbatch_mean, {paths[i], to_string(sums[i].aval())});
    sums[i] = zeros(sums[i].shape(), sums[i].dtype());
  }
  return sums;
}

std::vector<Array> part_shapes(std::span<const Array> parts) {
  std::vector<Array> shapes(parts.begin(), parts.end());
  for (Array& x : shapes)
    if (!x.is_empty()) x = abstract_array(with_rest({}, x, 1), x.dtype());
  return shapes;
}

std::vector<Array> divided(std::span<const Array> sums, std::int64_t parts) {
  std::vector<Array> means(sums.begin(), sums.end());
  for (Array& x : means)
    if (!x.is_empty()) x = x / parts;
  return means;
}

}  // namespace apsis::train::detail
