#include "apsis/array/product.hpp"

#include "apsis/array/creation.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/complex.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis {
using namespace detail::arrays;

Array vecdot(const Array& a, const Array& b, int axis, Loc loc) {
  const LocScope place(loc);
  const int of_a = checked_axis("vecdot", axis, a), of_b = checked_axis("vecdot", axis, b);
  const Array rows = expand_dims(moveaxis(conj(a), of_a, -1), -2),
              columns = expand_dims(moveaxis(b, of_b, -1), -1);
  return squeeze(matmul(rows, columns), {-2, -1});
}

Array matvec(const Array& matrix, const Array& vector, Loc loc) {
  const LocScope place(loc);
  check_rank("matvec", matrix.ndim() >= 2, "two axes or more as matrix", matrix);
  check_rank("matvec", vector.ndim() >= 1, "an axis or more as vector", vector);
  return squeeze(matmul(matrix, expand_dims(vector, -1)), {-1});
}

Array vecmat(const Array& vector, const Array& matrix, Loc loc) {
  const LocScope place(loc);
  check_rank("vecmat", vector.ndim() >= 1, "an axis or more as vector", vector);
  check_rank("vecmat", matrix.ndim() >= 2, "two axes or more as matrix", matrix);
  return squeeze(matmul(expand_dims(vector, -2), matrix), {-2});
}

// Axis i of the result is a pair: which element of a, which of b.
Array kron(const Array& a, const Array& b, Loc loc) {
  const LocScope place(loc);
  const std::size_t rank = std::max(a.shape().size(), b.shape().size());
  Shape of_a, of_b, joined;
  for (std::size_t i = 0; i < rank; ++i) {
    auto size = [&](const Array& x) {
      const std::size_t missing = rank - x.shape().size();
      return i < missing ? 1 : x.shape()[i - missing];
    };
    for (std::int64_t n : {size(a), std::int64_t{1}}) of_a.push_back(n);
    for (std::int64_t n : {std::int64_t{1}, size(b)}) of_b.push_back(n);
    joined.push_back(size(a) * size(b));
  }
  return reshape(reshape(a, of_a) * reshape(b, of_b), joined);
}

Array cross(const Array& a, const Array& b, const CrossOptions& options, Loc loc) {
  const LocScope place(loc);
  const int along_a = checked_axis("cross", options.axis_a, a);
  const int along_b = checked_axis("cross", options.axis_b, b);
  const auto of_a = static_cast<std::size_t>(a.dim(along_a)), of_b = static_cast<std::size_t>(b.dim(along_b));
  if (of_a < 2 || of_a > 3 || of_b < 2 || of_b > 3)
    fail(messages::array_sizes,
         {"cross", to_string(a.aval()), to_string(b.aval()), "vectors need 2 or 3 components"});
  const std::vector<Array> left = unstack(a, along_a), right = unstack(b, along_b);
  auto minor = [&](std::size_t i, std::size_t j) {
    // A vector of 2 components has 0 as its third.
    auto term = [&](std::size_t p, std::size_t q) {
      return p < of_a && q < of_b ? left[p] * right[q] : zeros_like(left[0] * right[0]);
    };
    return term(i, j) - term(j, i);
  };
  if (of_a == 2 && of_b == 2) return minor(0, 1);
  const Array first = minor(1, 2);
  const int axis = checked_axis("cross", options.axis_c, expand_dims(first, 0));
  return stack({first, minor(2, 0), minor(0, 1)}, axis);
}

Array trace(const Array& x, const DiagonalOptions& options, Loc loc) {
  const LocScope place(loc);
  return sum(diagonal(x, options.offset, options.axis1, options.axis2), {.axis = -1});
}

Array ragged_dot(const Array& lhs, const Array& rhs, const Array& sizes, Loc loc) {
  const LocScope place(loc);
  check_rank("ragged_dot", lhs.ndim() == 2, "two axes on the left", lhs);
  check_rank("ragged_dot", rhs.ndim() == 3, "three axes on the right", rhs);
  check_rank("ragged_dot", sizes.ndim() == 1, "one axis as sizes", sizes);
  check_dtype("ragged_dot", is_integer(sizes.dtype()), "integers as sizes", sizes);
  const std::int64_t m = lhs.dim(0), k = lhs.dim(1), groups = rhs.dim(0);
  if (rhs.dim(1) != k || sizes.dim(0) != groups)
    fail(messages::array_sizes, {"ragged_dot", to_string(lhs.aval()),
                                 to_string(rhs.aval()) + " in groups of " + to_string(sizes.aval()),
                                 "they are [m, k], [g, k, n] and [g]"});
  const Array ends = cumsum(astype(sizes, i64), {.axis = 0}), starts = ends - astype(sizes, i64);
  const Array row = iota({m, 1}, 0), is_in = row >= starts && row < ends;  // [m, g]
  const Array apart = where(expand_dims(is_in, 2), expand_dims(lhs, 1), 0);
  return matmul(reshape(apart, {m, groups * k}), reshape(rhs, {groups * k, rhs.dim(2)}));
}

}  // namespace apsis
