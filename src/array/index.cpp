#include "apsis/array/index.hpp"

#include <limits>

#include "apsis/array/shape.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/select.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis {
using namespace detail::arrays;

Array put_along_axis(const Array& x, const Array& indices, const Array& values, int axis, Loc loc) {
  const LocScope place(loc);
  const int along = checked_axis("put_along_axis", axis, x);
  if (indices.ndim() != x.ndim())
    fail(messages::array_sizes, {"put_along_axis", to_string(x.aval()),
                                 "indices " + to_string(indices.aval()), "both need as many axes"});
  const Shape shape = with_size_at(x.shape(), along, indices.dim(along));
  std::vector<Index> index;
  for (int i = 0; i < x.ndim(); ++i)
    index.emplace_back(i == along ? broadcast_to(indices, shape) : iota(shape, i));
  return IndexUpdate(x, static_cast<std::vector<Index>&&>(index)).set(values);
}

Array select(std::span<const Array> conditions, std::span<const Array> choices, const Array& otherwise,
             Loc loc) {
  const LocScope place(loc);
  if (conditions.size() != choices.size())
    fail(messages::array_sizes, {"select", std::to_string(conditions.size()) + " conditions",
                                 std::to_string(choices.size()) + " choices", "give one choice a condition"});
  Array chosen = otherwise;
  for (std::size_t i = conditions.size(); i-- > 0;) chosen = where(conditions[i], choices[i], chosen);
  return chosen;
}
Array select(std::initializer_list<Array> conditions, std::initializer_list<Array> choices,
             const Array& otherwise, Loc loc) {
  return select(span_of(conditions), span_of(choices), otherwise, loc);
}

Array piecewise(const Array& x, std::initializer_list<Array> conditions, std::initializer_list<Piece> pieces,
                Loc loc) {
  const LocScope place(loc);
  const std::size_t n = conditions.size();
  if (pieces.size() != n && pieces.size() != n + 1)
    fail(messages::array_sizes,
         {"piecewise", std::to_string(n) + " conditions", std::to_string(pieces.size()) + " pieces",
          "give one piece a condition, and at most one more for elsewhere"});
  const auto piece = [&](std::size_t i) {
    const Array value = pieces.begin()[i].at(x, loc);
    return broadcast_to(astype(value, x.dtype()), x.shape());
  };
  Array chosen = pieces.size() > n ? piece(n) : zeros_like(x);
  for (std::size_t i = 0; i < n; ++i) {
    const Array& condition = conditions.begin()[i];
    check_dtype("piecewise", condition.dtype() == boolean, "booleans as conditions", condition);
    chosen = where(broadcast_to(condition, x.shape()), piece(i), chosen);
  }
  return chosen;
}

namespace {

/// As i64, which n fits; what is no i64 is past the end.
Array wide(const Array& index) {
  if (index.dtype() != u64) return astype(index, i64);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return astype(minimum(index, Array(most, u64)), i64);
}

Array within(const Array& index, std::int64_t n, OutOfBounds mode) {
  const Array at = mode == OutOfBounds::Wrap && index.dtype() == u64 ? index % Array(n, u64) : wide(index);
  return mode == OutOfBounds::Wrap ? at % n : clip(at, 0, n - 1);
}

}  // namespace

Array choose(const Array& which, std::span<const Array> choices, OutOfBounds mode, Loc loc) {
  const LocScope place(loc);
  if (choices.empty()) fail(messages::array_empty, {"choose"});
  check_dtype("choose", is_integer(which.dtype()), "integers", which);
  const Array number = within(which, static_cast<std::int64_t>(choices.size()), mode);
  Array chosen = choices[0];
  for (std::size_t i = 1; i < choices.size(); ++i)
    chosen = where(number == static_cast<std::int64_t>(i), choices[i], chosen);
  const Shape shapes[] = {chosen.shape(), which.shape()};
  return broadcast_to(chosen, common_shape("choose", shapes));
}
Array choose(const Array& which, std::initializer_list<Array> choices, OutOfBounds mode, Loc loc) {
  return choose(which, span_of(choices), mode, loc);
}

namespace {

/// Entries where there are any, the value elsewhere.
Array take_or(const Array& x, const Array& indices, int axis, const Array& value) {
  const std::int64_t n = x.dim(axis);
  check_rank("take", value.ndim() == 0, "no axes as fill_value", value);
  Shape shape = x.shape(), among = Dims::filled(x.shape().size() - 1, 1);
  shape.erase(static_cast<std::size_t>(axis));
  for (std::size_t i = 0; i < indices.shape().size(); ++i) {
    shape.insert(static_cast<std::size_t>(axis) + i, indices.shape()[i]);
    among.insert(static_cast<std::size_t>(axis) + i, indices.shape()[i]);
  }
  const Array filling = broadcast_to(astype(value, x.dtype()), shape);
  if (n == 0) return filling;
  const Array at = wide(indices);
  return where(reshape(at >= -n && at < n, among), take(x, at, axis), filling);
}

}  // namespace

Array take(const Array& x, const Array& indices, const TakeOptions& options, Loc loc) {
  const LocScope place(loc);
  check_dtype("take", is_integer(indices.dtype()), "integers as indices", indices);
  const Array entries = options.axis ? x : ravel(x);
  const int axis = checked_axis("take", options.axis.value_or(0), entries);
  if (!options.fill_value.is_empty()) return take_or(entries, indices, axis, options.fill_value);
  const std::int64_t n = entries.dim(axis);
  return take(entries, n == 0 ? indices : within(indices, n, options.mode), axis);
}

Array select_n(const Array& which, std::span<const Array> cases, Loc loc) {
  const LocScope place(loc);
  if (which.dtype() != boolean) return choose(which, cases, OutOfBounds::Clip, loc);
  if (cases.size() != 2)
    fail(messages::array_sizes, {"select_n", to_string(which.aval()), std::to_string(cases.size()) + " cases",
                                 "a boolean chooses between two"});
  return where(which, cases[1], cases[0], loc);
}
Array select_n(const Array& which, std::initializer_list<Array> cases, Loc loc) {
  return select_n(which, span_of(cases), loc);
}

std::vector<Array> ix_(std::initializer_list<Array> vectors, Loc loc) {
  const LocScope place(loc);
  std::vector<Array> out;
  for (const Array& v : vectors) {
    check_rank("ix_", v.ndim() == 1, "one axis", v);
    Shape own = Dims::filled(vectors.size(), 1);
    own[out.size()] = v.size();
    out.push_back(reshape(v, own));
  }
  return out;
}

std::vector<Array> diag_indices(std::int64_t n, int ndim, Loc loc) {
  const LocScope place(loc);
  check_count("diag_indices", std::min<std::int64_t>(n, ndim));
  return std::vector<Array>(static_cast<std::size_t>(ndim), arange(n));
}

std::vector<Array> diag_indices_from(const Array& x, Loc loc) {
  const LocScope place(loc);
  check_rank("diag_indices_from", x.ndim() >= 2, "two axes or more", x);
  check_equal_sizes("diag_indices_from", x);
  return diag_indices(x.dim(0), x.ndim());
}

namespace {

/// Rows and columns of a matrix' elements on one side of a diagonal, in row-major order.
std::array<Array, 2> triangle(std::int64_t n, std::int64_t m, std::int64_t k, bool lower) {
  check_count("tril_indices", n);
  if (m < 0) m = n;
  std::vector<std::int64_t> rows, columns;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < m; ++j)
      if (lower ? j - i <= k : j - i >= k) {
        rows.push_back(i);
        columns.push_back(j);
      }
  return {numbers(rows), numbers(columns)};
}

}  // namespace

std::array<Array, 2> tril_indices(std::int64_t n, int k, std::int64_t m, Loc loc) {
  const LocScope place(loc);
  return triangle(n, m, k, true);
}
std::array<Array, 2> triu_indices(std::int64_t n, int k, std::int64_t m, Loc loc) {
  const LocScope place(loc);
  return triangle(n, m, k, false);
}
std::array<Array, 2> tril_indices_from(const Array& x, int k, Loc loc) {
  const LocScope place(loc);
  check_rank("tril_indices_from", x.ndim() == 2, "two axes", x);
  return triangle(x.dim(0), x.dim(1), k, true);
}
std::array<Array, 2> triu_indices_from(const Array& x, int k, Loc loc) {
  const LocScope place(loc);
  check_rank("triu_indices_from", x.ndim() == 2, "two axes", x);
  return triangle(x.dim(0), x.dim(1), k, false);
}

std::vector<Array> unravel_index(const Array& numbers, const Shape& shape, Loc loc) {
  const LocScope place(loc);
  check_dtype("unravel_index", is_integer(numbers.dtype()), "integers", numbers);
  const std::int64_t n = shape.product();
  Array rest = clip(where(numbers < 0, numbers + n, numbers), 0, std::max<std::int64_t>(n - 1, 0));
  std::vector<Array> out(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const std::int64_t size = std::max<std::int64_t>(shape[axis], 1);
    out[axis] = rest % size;
    rest = floor_divide(rest, size);
  }
  return out;
}

Array ravel_multi_index(std::span<const Array> indices, const Shape& shape, OutOfBounds mode, Loc loc) {
  const LocScope place(loc);
  if (indices.size() != shape.size())
    fail(messages::array_sizes, {"ravel_multi_index", std::to_string(indices.size()) + " indices",
                                 "shape " + to_string(shape), "give one index an axis"});
  Array number = array(std::int64_t{0});
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    check_dtype("ravel_multi_index", is_integer(indices[axis].dtype()), "integers", indices[axis]);
    number = number * shape[axis] + within(indices[axis], shape[axis], mode);
  }
  return number;
}
Array ravel_multi_index(std::initializer_list<Array> indices, const Shape& shape, OutOfBounds mode, Loc loc) {
  return ravel_multi_index(span_of(indices), shape, mode, loc);
}

}  // namespace apsis
