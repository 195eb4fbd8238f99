// Arithmetic of complex numbers by their parts.

#include "ops/complex.hpp"
#include "ops/complex_ranges.hpp"
#include "ops/elementary.hpp"
#include "ops/power_params.hpp"

namespace apsis::detail::parts {
namespace {

// (a + ib)(c + id): each part with one rounding of the sum, and zero where it is.
Array product_re(const Parts& z, const Parts& w) { return difference_of_products(z.re, w.re, z.im, w.im); }
Array product_im(const Parts& z, const Parts& w) {
  return difference_of_products(z.re, w.im, lax::neg(z.im), w.re);
}

}  // namespace

Parts add(const Parts& z, const Parts& w) { return {lax::add(z.re, w.re), lax::add(z.im, w.im)}; }
Parts conj(const Parts& z) { return {z.re, lax::neg(z.im)}; }
Parts times_i(const Parts& z) { return {lax::neg(z.im), z.re}; }
Parts over_i(const Parts& z) { return {z.im, lax::neg(z.re)}; }

Parts mul(const Parts& z, const Parts& w) { return {product_re(z, w), product_im(z, w)}; }

// R. L. Smith's: by the quotient of w's parts, the smaller by the larger (Algorithm 116, Communications of
// the ACM 5, 1962), both numbers brought away from the ends of the range where w is near one. Linear in z,
// which may be a tangent.
Parts div(const Parts& z, const Parts& w) {
  const Array size = largest_part(w), scale = inner_scale(size);
  const Parts near_z = scaled_by(z, scale), near_w = scaled_by(w, scale);
  // With both multiplied by -i where w's imaginary part is the larger one.
  const Array turned = lax::lt(apply(abs_op, w.re), apply(abs_op, w.im));
  const auto chosen = [&](const Parts& a) {
    const Parts other = over_i(a);
    return Parts{lax::select(turned, other.re, a.re), lax::select(turned, other.im, a.im)};
  };
  const Parts a = chosen(near_z), b = chosen(near_w);
  const Array zero = lax::eq(size, constant_like(size, 0)), infinite = is_infinite(w);
  const Array special = lax::logical_or(zero, infinite), one = constant_like(w.re, 1),
              none = constant_like(w.re, 0);
  const Array large = lax::select(special, one, b.re), small = lax::select(special, none, b.im);
  const Array ratio = lax::div(small, large), divisor = lax::fma(small, ratio, large);
  const Array re = lax::div(a.re, divisor), im = lax::div(a.im, divisor);
  const Parts usual{lax::fma(im, ratio, re), lax::fma(lax::neg(re), ratio, im)};
  // Divided by 0: an infinity in the direction of z. By an infinity: 0 (C99, annex G).
  const Array infinity = bind1(copysign_op, {}, {constant_like(w.re, INFINITY), w.re});
  const auto direction = [&](const Array& x) {
    const Array part = lax::select(lax::eq(apply(abs_op, x), constant_like(x, INFINITY)), one, none);
    return bind1(copysign_op, {}, {part, x});
  };
  const Parts limit = scaled_by(mul(z, conj({direction(w.re), direction(w.im)})), none),
              grown = scaled_by(z, infinity);
  return {lax::select(zero, grown.re, lax::select(infinite, limit.re, usual.re)),
          lax::select(zero, grown.im, lax::select(infinite, limit.im, usual.im))};
}

Parts sign(const Parts& z) {
  // |z| near the ends of the range is no divisor.
  const Parts near = scaled_by(z, middle_scale(largest_part(z)));
  const Array size = abs(near), zero = constant_like(size, 0);
  const Array length = lax::select(lax::eq(size, zero), constant_like(size, 1), size);
  return {lax::div(near.re, length), lax::div(near.im, length)};
}

Parts integer_pow(Parts z, std::int64_t n) {
  const Parts one{constant_like(z.re, 1), constant_like(z.re, 0)};
  if (n == 0) return one;
  const bool inverted = n < 0;
  auto bits = inverted ? std::uint64_t(0) - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  for (; (bits & 1) == 0; bits >>= 1) z = mul(z, z);
  Parts power = z;
  while (bits >>= 1) {
    z = mul(z, z);
    if (bits & 1) power = mul(power, z);
  }
  return inverted ? div(one, power) : power;
}

Array abs(const Parts& z) { return bind1(hypot_op, {}, {z.re, z.im}); }

Array eq(const Parts& z, const Parts& w) {
  return lax::logical_and(lax::eq(z.re, w.re), lax::eq(z.im, w.im));
}
Array ne(const Parts& z, const Parts& w) { return lax::logical_or(lax::ne(z.re, w.re), lax::ne(z.im, w.im)); }
Array is_finite(const Parts& z) {
  return lax::logical_and(apply(is_finite_op, z.re), apply(is_finite_op, z.im));
}
Array is_infinite(const Parts& z) {
  const Array infinity = constant_like(z.re, INFINITY);
  return lax::logical_or(lax::eq(apply(abs_op, z.re), infinity), lax::eq(apply(abs_op, z.im), infinity));
}

Array largest_part(const Parts& z) {
  const Array re = apply(abs_op, z.re), im = apply(abs_op, z.im);
  return lax::select(lax::gt(re, im), re, im);
}

namespace {

// 2^-down for sizes above 2^high, 2^up for those below 2^-low, else 1.
Array scale_of(const Array& size, int high, int down, int low, int up) {
  const auto power = [&](int exponent) { return constant_like(size, std::ldexp(1, exponent)); };
  const Array lowered = lax::select(lax::gt(size, power(high)), power(-down), power(0));
  return apply(stop_gradient_op, lax::select(lax::lt(size, power(-low)), power(up), lowered));
}

}  // namespace

// Squares of what lies between 2⁻⁵⁰⁴ and 2⁵⁰⁴ are in the range.
Array middle_scale(const Array& size) {
  return size.dtype() == Dtype::F32 ? scale_of(size, 63, 96, 63, 96) : scale_of(size, 504, 768, 504, 768);
}

Array inner_scale(const Array& size) {
  return size.dtype() == Dtype::F32 ? scale_of(size, 124, 4, 90, 32) : scale_of(size, 1020, 4, 950, 64);
}

Parts scaled_by(const Parts& z, const Array& scale) { return {lax::mul(z.re, scale), lax::mul(z.im, scale)}; }

}  // namespace apsis::detail::parts
