#pragma once

// Arrays from nothing. Without a dtype: f64, or i64 where all arguments are integers.

#include "apsis/core/array.hpp"

namespace apsis {

namespace detail {
Array arange_integers(std::int64_t start, std::int64_t stop, std::int64_t step, Loc loc);
Array arange_reals(double start, double stop, double step, Loc loc);
}  // namespace detail

/// All elements 0. Throws if the shape is too large.
Array zeros(const Shape& shape, Dtype dtype = f64, Loc loc = Loc::here());
/// All elements 1. Throws if the shape is too large.
Array ones(const Shape& shape, Dtype dtype = f64, Loc loc = Loc::here());
/// Every element equal to a scalar, of its dtype. Throws if `value` is no scalar.
Array full(const Shape& shape, const Array& value, Loc loc = Loc::here());
Array full(const Shape& shape, const Array& value, Dtype dtype, Loc loc = Loc::here());
/// The shape and dtype of `x`.
Array zeros_like(const Array& x, Loc loc = Loc::here());
/// Ones of the shape and dtype of `x`.
Array ones_like(const Array& x, Loc loc = Loc::here());
/// A scalar in every place, with the shape and dtype of `x`.
Array full_like(const Array& x, const Array& value, Loc loc = Loc::here());

/// start, start + step, … before stop. Throws for step 0, and where the length is not finite.
template <detail::Scalar A, detail::Scalar B, detail::Scalar C = int>
Array arange(A start, B stop, C step = 1, Loc loc = Loc::here()) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B> && std::is_integral_v<C>)
    return detail::arange_integers(start, stop, step, loc);
  else
    return detail::arange_reals(start, stop, step, loc);
}
/// 0, 1, … before stop.
template <detail::Scalar T>
Array arange(T stop, Loc loc = Loc::here()) {
  return arange(T(0), stop, 1, loc);
}
/// `count` numbers at equal distances, both ends included: start·(1 - i/(count-1)) + stop·i/(count-1).
Array linspace(const Array& start, const Array& stop, std::int64_t count, Loc loc = Loc::here());
/// 0, 1, … along one axis of a shape.
Array iota(const Shape& shape, int axis, Dtype dtype = i64, Loc loc = Loc::here());
/// Ones on the k-th diagonal of an n × m matrix; m = n if it is negative.
Array eye(std::int64_t n, std::int64_t m = -1, int k = 0, Dtype dtype = f64, Loc loc = Loc::here());

}  // namespace apsis
