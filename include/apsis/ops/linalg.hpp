#pragma once

// Products of arrays: sums of fused multiply-adds, whose order is a function of the sizes
// (docs/design/numbers.md).

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "apsis/core/array.hpp"

namespace apsis {

/// numpy.dot: the last axis of a with the second last of b (the only one of a vector); a scalar multiplies.
Array dot(const Array& a, const Array& b, Loc loc = Loc::here());
/// Matrix product of the last two axes, the leading axes broadcast; a vector is a row on the left, a column
/// on the right.
Array matmul(const Array& a, const Array& b, Loc loc = Loc::here());
/// The product of all elements, those of a conjugated, summed.
Array vdot(const Array& a, const Array& b, Loc loc = Loc::here());
/// Last axes contracted.
Array inner(const Array& a, const Array& b, Loc loc = Loc::here());
/// Elements of a times elements of b: [a.size(), b.size()].
Array outer(const Array& a, const Array& b, Loc loc = Loc::here());
/// Contracts the last two axes of a with the first two of b, or as many as `axes` says.
Array tensordot(const Array& a, const Array& b, Loc loc = Loc::here());
template <std::integral I>
Array tensordot(const Array& a, const Array& b, I axes, Loc loc = Loc::here());
/// Contracts axes_a[i] of a with axes_b[i] of b; result axes: the others of a, then of b.
Array tensordot(const Array& a, const Array& b, const Dims& axes_a, const Dims& axes_b,
                Loc loc = Loc::here());
/// `einsum("...ij,...jk->...ik", {a, b})`: letters name axes, `...` others, which broadcast; those missing on
/// the right are summed over. Without `->` the result has the ellipsis, then letters that occur once, in
/// alphabetical order. Contracted in pairs, in the order of `einsum_path`.
Array einsum(std::string_view equation, std::span<const Array> operands, Loc loc = Loc::here());
Array einsum(std::string_view equation, std::initializer_list<Array> operands, Loc loc = Loc::here());

/// What `einsum_path` gives.
struct EinsumPath {
  /// Which two are contracted, as in numpy.einsum_path: they leave the list, and the product goes to its end.
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  double multiply_adds = 0;  ///< of all products
};
/// The order in which `einsum` contracts: of up to 9 operands that of fewest multiply-adds, from left to
/// right among equal ones; of more the cheapest pair next.
EinsumPath einsum_path(std::string_view equation, std::span<const Array> operands, Loc loc = Loc::here());
EinsumPath einsum_path(std::string_view equation, std::initializer_list<Array> operands,
                       Loc loc = Loc::here());

namespace detail {
Array contract_axes(const Array& a, const Array& b, std::int64_t axes, Loc loc);
}

inline Array tensordot(const Array& a, const Array& b, Loc loc) {
  return detail::contract_axes(a, b, 2, loc);
}
template <std::integral I>
Array tensordot(const Array& a, const Array& b, I axes, Loc loc) {
  return detail::contract_axes(a, b, static_cast<std::int64_t>(axes), loc);
}

}  // namespace apsis
