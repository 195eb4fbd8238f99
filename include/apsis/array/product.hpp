#pragma once

// More products of vectors and matrices, batched over leading axes, as in jax.numpy.

#include "apsis/ops/linalg.hpp"

namespace apsis {

/// The scalar products of vectors along an axis, that of a conjugated; the other axes broadcast.
Array vecdot(const Array& a, const Array& b, int axis = -1, Loc loc = Loc::here());
/// Matrices [.., m, n] times vectors [.., n].
Array matvec(const Array& matrix, const Array& vector, Loc loc = Loc::here());
/// Vectors [.., m] times matrices [.., m, n].
Array vecmat(const Array& vector, const Array& matrix, Loc loc = Loc::here());
/// The Kronecker product: every product of an element of a and one of b.
Array kron(const Array& a, const Array& b, Loc loc = Loc::here());
/// Rows of `lhs` [m, k] times the matrices of their groups, `rhs` [g, k, n]: the first sizes[0] rows times
/// rhs[0], the next sizes[1] times rhs[1], …: [m, n]. Rows beyond the last group are 0. As much work as one
/// product of [m, g k] and [g k, n]. Throws for other shapes, and sizes that are no integers.
/// (jax.lax.ragged_dot)
Array ragged_dot(const Array& lhs, const Array& rhs, const Array& sizes, Loc loc = Loc::here());
/// Options of `cross`: where the components are in a, in b, and in the result.
struct CrossOptions {
  int axis_a = -1, axis_b = -1, axis_c = -1;
};
/// The cross product of vectors of 2 or 3 components; of two vectors of 2 it is a number. Throws for other
/// sizes.
Array cross(const Array& a, const Array& b, const CrossOptions& options = {}, Loc loc = Loc::here());
/// Options of `trace`.
struct DiagonalOptions {
  int offset = 0;            ///< of the diagonal: above the main one if positive
  int axis1 = 0, axis2 = 1;  ///< the axes of the matrices
};
/// The sum of the elements of a diagonal. (Of a function, `trace` is another: the program that it is.)
Array trace(const Array& x, const DiagonalOptions& options = {}, Loc loc = Loc::here());

}  // namespace apsis
