// What the functions of linear algebra share.
#pragma once

#include "apsis/ops/shape.hpp"
#include "array/support.hpp"

namespace apsis::detail::arrays {

/// Floating or complex matrices [.., m, n]. Throws for fewer axes.
Array matrices(const char* where, const Array& a);
/// The same, square. Throws for others.
Array square_matrices(const char* where, const Array& a);
/// Matrices and the right side of equations with them, of one floating or complex dtype.
struct Equation {
  Array matrices, right;
};
/// Throws unless b has as many rows as a.
Equation equation(const char* where, const Array& a, const Array& b);
/// `of` the right side, a matrix or, if it has one axis, a vector that is taken for a column.
template <class F>
Array with_columns(const Array& right, const F& of) {
  if (right.ndim() != 1) return of(right);
  return squeeze(of(expand_dims(right, 1)), {-1});
}
/// What the axes before the last two broadcast to.
Shape leading_shape(const char* where, const Array& a, const Array& b);
/// Matrices with other leading axes, which theirs broadcast to.
Array with_leading(const Array& a, Shape leading);
/// The conjugate transpose.
Array adjoint(const Array& a);
/// Of the parts of a number.
Dtype real_dtype(Dtype d);
/// Identity matrices of the sizes and the dtype of square a.
Array identity_like(const Array& a);

}  // namespace apsis::detail::arrays
