#pragma once

// Complex numbers: their making and their parts. Arithmetic, the elementary functions of math.hpp, sums,
// products of matrices, indexing and Fourier transforms take them as they take real ones.
//
//   Array z = complex(x, y);                   // c128 for f64, c64 for f32
//   Array w = exp(z) * std::complex(0., 1.);
//   Array g = grad([](Array z) { return sum(square(abs(z))); })(z);      // ∂x - i∂y, as in JAX: 2 conj(z)

#include "apsis/core/array.hpp"

namespace apsis {

/// real + i·imag, of shapes that broadcast: c128 if one of them is f64, i64 or u64 (and not weak), else c64.
/// f16 and bf16 become f32. Throws for complex operands.
Array complex(const Array& real, const Array& imag, Loc loc = Loc::here());
/// The real part; what is real, as it is.
Array real(const Array& z, Loc loc = Loc::here());
/// The imaginary part; zeros of the same dtype for what is real.
Array imag(const Array& z, Loc loc = Loc::here());
/// x - iy for z = x + iy; what is real, as it is.
Array conj(const Array& z, Loc loc = Loc::here());
/// The argument of z, atan2(y, x), in [-π, π]; 0 or π for what is real.
Array angle(const Array& z, Loc loc = Loc::here());
/// Whether the imaginary part is not zero, elementwise.
Array iscomplex(const Array& z, Loc loc = Loc::here());
/// Whether the imaginary part is zero, elementwise.
Array isreal(const Array& z, Loc loc = Loc::here());

}  // namespace apsis
