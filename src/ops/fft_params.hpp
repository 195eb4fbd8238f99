#pragma once

#include "apsis/core/make_params.hpp"
#include "apsis/core/op.hpp"

namespace apsis::detail {

enum class FftKind : std::uint8_t { Complex, RealToComplex, ComplexToReal, RealToWhole };

/// fft: along one axis of size n, with w = exp(-2πi / n), or its conjugate if `inverse`, and without any
/// factor but `scale`:
///   Complex        y_k = scale Σ_j w^(jk) x_j
///   RealToComplex  y_k = scale h_k Σ_j w^(jk) x_j for k = 0 … n / 2, of real x
///   ComplexToReal  y_j = scale Σ_k h_k Re(w^(jk) x_k) over k = 0 … n / 2
///   RealToWhole    y_k = scale Σ_j w^(jk) x_j, of real x
/// where h_k is 1 for k = 0 and k = n / 2, and 2 for others if `doubled`. So the two with halves are each
/// other's transposes with the same parameters, and a complex one is its own.
struct FftParams {
  FftKind kind = FftKind::Complex;
  bool inverse = false, doubled = false;
  int axis = 0;
  std::int64_t length = 1;  ///< n
  double scale = 1;
  static void each(auto& self, auto&& visit) {
    visit("kind", self.kind);
    visit("inverse", self.inverse);
    visit("doubled", self.doubled);
    visit("axis", self.axis);
    visit("length", self.length);
    visit("scale", self.scale);
  }
};
extern const Op fft_op;

}  // namespace apsis::detail
