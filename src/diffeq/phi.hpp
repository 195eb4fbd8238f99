#pragma once

// Functions of matrices that exponential integrators are made of.

#include "apsis/core/array.hpp"

namespace apsis::detail {

/// e^z, and φ1, φ2, φ3 of z, where φ[k](z) = (φ[k-1](z) - 1 / (k-1)!) / z and φ0(z) = e^z. Of a diagonal
/// matrix all are vectors.
struct Phi {
  Array exponential, one, two, three;
};
/// Of a matrix [n, n], or of a diagonal one as its vector [n]: by their series, which cancels nowhere, of a
/// matrix halved until its norm is at most 1, and doubled again. (Higham, Functions of Matrices, 10.5 and
/// 10.7.4.)
Phi phi(const Array& z);
/// At 2 z.
Phi doubled(const Phi& at);
/// The product of a matrix, or of a diagonal one as its vector, with another or with a vector.
Array times(const Array& matrix, const Array& by);

}  // namespace apsis::detail
