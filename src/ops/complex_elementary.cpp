// Elementary functions of complex numbers by their parts. W. Kahan: Branch cuts for complex elementary
// functions, or much ado about nothing's sign bit (in: The state of the art in numerical analysis, 1987).

#include <numbers>

#include "ops/complex.hpp"
#include "ops/complex_ranges.hpp"
#include "ops/elementary.hpp"

namespace apsis::detail::parts {
namespace {

using lax::add, lax::sub, lax::mul, lax::div, lax::neg, lax::fma, lax::select, lax::eq, lax::lt, lax::gt,
    lax::logical_and, lax::logical_or, lax::logical_not;

Array zero_of(const Array& x) { return constant_like(x, 0); }
Array one_of(const Array& x) { return constant_like(x, 1); }
Array magnitude(const Array& x) { return apply(abs_op, x); }
Array signed_by(const Array& size, const Array& sign) { return bind1(copysign_op, {}, {size, sign}); }
Array angle(const Parts& z) { return bind1(atan2_op, {}, {z.im, z.re}); }
Array is_negative(const Array& x) { return lt(signed_by(one_of(x), x), zero_of(x)); }
Array is_zero(const Array& x) { return eq(x, zero_of(x)); }
Array infinite(const Array& x) { return eq(magnitude(x), constant_like(x, INFINITY)); }
/// `x` where that is not zero, else 1: what may be divided by.
Array divisor(const Array& x) { return select(is_zero(x), one_of(x), x); }
Parts choose(const Array& condition, const Parts& a, const Parts& b) {
  return {select(condition, a.re, b.re), select(condition, a.im, b.im)};
}
Parts scaled_parts(const Parts& z, double factor) { return {scaled(z.re, factor), scaled(z.im, factor)}; }
Parts plus_one(const Parts& z) { return {plus(z.re, 1), z.im}; }
Parts one_minus(const Parts& z) { return {from_constant(1, z.re), neg(z.im)}; }

/// factor · eˣ · part, with an exponential that may be out of range where the product is not.
struct Exponential {
  Array near, rest;
  explicit Exponential(const Array& x) {
    const double top = x.dtype() == Dtype::F32 ? 80 : 700, step = x.dtype() == Dtype::F32 ? 16 : 32;
    const Array large = gt(x, constant_like(x, top));
    near = apply(exp_op, select(large, plus(x, -step), x));
    rest = select(large, constant_like(x, std::exp(step)), one_of(x));
  }
  Array times(const Array& part, double factor = 1) const {
    return mul(mul(factor == 1 ? near : scaled(near, factor), part), rest);
  }
};

/// An imaginary part made of a sine, which is zero (and keeps its sign) where the angle is, whatever it is
/// multiplied by.
Array or_angle(const Array& angle, const Array& part) { return select(is_zero(angle), angle, part); }

/// cosh(x)·c and sinh(x)·s.
Parts hyperbolic_times(const Array& x, const Array& c, const Array& s) {
  const double far = x.dtype() == Dtype::F32 ? 12 : 24;  // there cosh and |sinh| are half an exponential
  const Array size = magnitude(x), large = gt(size, constant_like(x, far));
  const Exponential e(size);
  const Array small = select(large, zero_of(x), x);
  const Array half = e.times(c, .5), odd = signed_by(one_of(x), x);
  return {select(large, half, mul(apply(cosh_op, small), c)),
          select(large, mul(odd, e.times(s, .5)), mul(apply(sinh_op, small), s))};
}

/// An infinite real part and an imaginary one that is no number: what grows is infinite, in no direction.
Array grows_without_angle(const Parts& z) {
  return logical_and(infinite(z.re), logical_not(apply(is_finite_op, z.im)));
}

/// log|z|. Near the unit circle by what |z|² is more than 1.
Array log_size(const Parts& z) {
  const Array scale = middle_scale(largest_part(z));
  const Parts near = scaled_by(z, scale);
  const Array usual = sub(apply(log_op, abs(near)), apply(log_op, scale));
  const Array re = magnitude(z.re), im = magnitude(z.im);
  const Array swap = gt(im, re);
  const Array large = select(swap, im, re), small = select(swap, re, im);
  const Array size = fma(large, large, squared(small));
  const Array circle = logical_and(gt(size, constant_like(size, .5)), lt(size, constant_like(size, 3)));
  const Array a = select(circle, large, one_of(large)), b = select(circle, small, zero_of(small));
  // a² + b² - 1, where a - 1 is exact.
  const Array excess = difference_of_products(plus(a, -1), plus(a, 1), neg(b), b);
  return select(circle, scaled(apply(log1p_op, excess), .5), usual);
}

/// Of what 1 is nothing beside: where the inverse functions are logarithms of 2z.
Array is_far(const Parts& z) {
  return gt(largest_part(z), constant_like(z.re, z.re.dtype() == Dtype::F32 ? 0x1p26 : 0x1p54));
}
Array log_double(const Parts& z) { return plus(log_size(z), std::numbers::ln2); }

}  // namespace

// Of both parts half, so that |z| does not overflow; the other root is a quotient by this one.
Parts sqrt(const Parts& z) {
  const Array scale = middle_scale(largest_part(z));
  const bool single = z.re.dtype() == Dtype::F32;
  // The root of the scale, 2^±768 or 2^±96.
  const Array up = constant_like(scale, std::ldexp(1, single ? 48 : 384)),
              down = constant_like(scale, std::ldexp(1, single ? -48 : -384));
  const Array one = one_of(scale);
  const Array unscale = select(gt(scale, one), down, select(lt(scale, one), up, one));
  const Parts near = scaled_by(z, scale);
  const Array size = magnitude(near.re);
  const Array root = apply(sqrt_op, scaled(add(size, abs(near)), .5));
  const Array other = div(scaled(magnitude(near.im), .5), divisor(root));
  const Array right = logical_not(is_negative(z.re));
  const Array zero = is_zero(root);
  Parts result{mul(select(right, root, other), unscale), mul(select(right, other, root), unscale)};
  result = choose(zero, {zero_of(size), zero_of(size)}, result);
  // An infinite imaginary part decides; of an infinite real part the other one is 0.
  const Array infinity = constant_like(size, INFINITY);
  const Array along = logical_and(infinite(z.re), apply(is_finite_op, z.im));
  result =
      choose(along, {select(right, infinity, zero_of(size)), select(right, zero_of(size), infinity)}, result);
  result = choose(infinite(z.im), {infinity, infinity}, result);
  return {result.re, signed_by(result.im, z.im)};
}

Parts rsqrt(const Parts& z) { return div({one_of(z.re), zero_of(z.re)}, sqrt(z)); }

Parts exp(const Parts& z) {
  const Exponential e(z.re);
  const Array vanishes =
      logical_and(eq(z.re, constant_like(z.re, -INFINITY)), logical_not(apply(is_finite_op, z.im)));
  const Array y = select(vanishes, zero_of(z.im), z.im);
  const Parts usual{e.times(apply(cos_op, y)), or_angle(y, e.times(apply(sin_op, y)))};
  const Array grows = logical_and(grows_without_angle(z), logical_not(vanishes));
  return {select(grows, z.re, usual.re), usual.im};
}

Parts exp2(const Parts& z) { return exp(scaled_parts(z, std::numbers::ln2)); }

// eˣ cos y - 1 = (eˣ - 1) cos y - 2 sin²(y/2).
Parts expm1(const Parts& z) {
  const Array half = apply(sin_op, scaled(z.im, .5));
  const Array small =
      difference_of_products(apply(expm1_op, z.re), apply(cos_op, z.im), scaled(half, 2), half);
  const Parts e = exp(z);
  return {select(lt(z.re, one_of(z.re)), small, plus(e.re, -1)), e.im};
}

Parts log(const Parts& z) { return {log_size(z), angle(z)}; }
Parts log2(const Parts& z) { return scaled_parts(log(z), std::numbers::log2e); }
Parts log10(const Parts& z) { return scaled_parts(log(z), std::numbers::log10e); }

// |1 + z|² - 1 = x (x + 2) + y².
Parts log1p(const Parts& z) {
  const Parts moved = plus_one(z);
  const Array near = lt(largest_part(z), constant_like(z.re, .5));
  const Array x = select(near, z.re, zero_of(z.re)), y = select(near, z.im, zero_of(z.im));
  const Array excess = difference_of_products(x, plus(x, 2), neg(y), y);
  return {select(near, scaled(apply(log1p_op, excess), .5), log_size(moved)), angle(moved)};
}

// e^(w log z); 0 to the power of what has a positive real part is 0, and to the power 0 it is 1.
Parts pow(const Parts& z, const Parts& w) {
  const Array zero = is_zero(largest_part(z)), none = is_zero(largest_part(w));
  const Array one = one_of(z.re), nothing = zero_of(z.re);
  const Parts base = choose(zero, {one, nothing}, z);
  const Parts usual = exp(mul(w, log(base)));
  const Array nan = constant_like(z.re, NAN);
  const Parts of_zero = choose(gt(w.re, nothing), {nothing, nothing}, {nan, nan});
  return choose(none, {one, nothing}, choose(zero, of_zero, usual));
}

Parts logistic(const Parts& z) {
  const Parts e = exp({neg(magnitude(z.re)), select(lt(z.re, zero_of(z.re)), z.im, neg(z.im))});
  const Parts one{one_of(z.re), zero_of(z.re)};
  return div(choose(lt(z.re, zero_of(z.re)), e, one), plus_one(e));
}

Parts sinh(const Parts& z) {
  const Parts even = hyperbolic_times(z.re, apply(sin_op, z.im), apply(cos_op, z.im));
  return {select(grows_without_angle(z), z.re, or_angle(z.re, even.im)), or_angle(z.im, even.re)};
}

Parts cosh(const Parts& z) {
  const Parts product = hyperbolic_times(z.re, apply(cos_op, z.im), apply(sin_op, z.im));
  const Array axis = logical_or(is_zero(z.re), is_zero(z.im));
  const Array zero = mul(signed_by(zero_of(z.re), z.re), signed_by(one_of(z.im), z.im));
  return {select(grows_without_angle(z), magnitude(z.re), product.re), select(axis, zero, product.im)};
}

Parts tanh(const Parts& z) {
  const double far = z.re.dtype() == Dtype::F32 ? 12 : 24;
  const Array size = magnitude(z.re), large = gt(size, constant_like(size, far));
  const Array x = select(large, zero_of(size), z.re),
              y = select(apply(is_finite_op, z.im), z.im, zero_of(z.im));
  const Array t = apply(tan_op, y), beta = fma(t, t, one_of(t)), s = apply(sinh_op, x);
  const Array rho = apply(sqrt_op, fma(s, s, one_of(s)));
  const Array below = fma(beta, squared(s), one_of(s));
  const Parts usual{div(mul(mul(beta, rho), s), below), div(t, below)};
  const Array decay = apply(exp_op, scaled(size, -2));
  const Parts limit{signed_by(one_of(size), z.re),
                    or_angle(z.im, mul(scaled(mul(apply(sin_op, y), apply(cos_op, y)), 4), decay))};
  const Parts finite = choose(large, limit, usual);
  const Array undefined = logical_and(logical_not(apply(is_finite_op, z.im)), logical_not(infinite(z.re)));
  const Array nan = constant_like(size, NAN);
  return {select(logical_and(undefined, logical_not(is_zero(z.re))), nan, select(undefined, z.re, finite.re)),
          select(undefined, nan, finite.im)};
}

Parts sin(const Parts& z) { return over_i(sinh(times_i(z))); }
Parts cos(const Parts& z) { return cosh(times_i(z)); }
Parts tan(const Parts& z) { return over_i(tanh(times_i(z))); }

Parts asin(const Parts& z) {
  const Parts a = sqrt(one_minus(z)), b = sqrt(plus_one(z));
  const Array re = difference_of_products(a.re, b.re, a.im, b.im);
  const Array im = apply(asinh_op, difference_of_products(a.re, b.im, a.im, b.re));
  const Array far = is_far(z);
  return {bind1(atan2_op, {}, {z.re, select(far, magnitude(z.im), re)}),
          select(far, signed_by(log_double(z), z.im), im)};
}

Parts acos(const Parts& z) {
  const Parts a = sqrt(one_minus(z)), b = sqrt(plus_one(z));
  const Array re = scaled(bind1(atan2_op, {}, {a.re, b.re}), 2);
  const Array im = apply(asinh_op, difference_of_products(b.re, a.im, b.im, a.re));
  const Array far = is_far(z);
  return {select(far, bind1(atan2_op, {}, {magnitude(z.im), z.re}), re),
          select(far, signed_by(log_double(z), neg(z.im)), im)};
}

Parts acosh(const Parts& z) {
  const Parts a = sqrt({plus(z.re, -1), z.im}), b = sqrt(plus_one(z));
  const Array re = apply(asinh_op, difference_of_products(a.re, b.re, neg(a.im), b.im));
  const Array im = scaled(bind1(atan2_op, {}, {a.im, b.re}), 2);
  const Array far = is_far(z);
  return {select(far, log_double(z), re), select(far, angle(z), im)};
}

Parts asinh(const Parts& z) { return times_i(asin(over_i(z))); }
Parts atan(const Parts& z) { return over_i(atanh(times_i(z))); }

// For x ≥ 0; elsewhere by symmetry.
Parts atanh(const Parts& z) {
  const double top = z.re.dtype() == Dtype::F32 ? 0x1p62 : 0x1p510;
  const Array side = signed_by(one_of(z.re), z.re), size = magnitude(z.re);
  const Array y = neg(mul(side, z.im)), height = magnitude(y);
  const Array far = gt(largest_part(z), constant_like(size, top));
  const Array x = select(far, one_of(size), size), v = select(far, one_of(y), y);
  const Array rest = from_constant(1, x), vv = squared(v);
  const Array below = fma(rest, rest, vv);
  const Array pole = is_zero(below);
  const Parts usual{
      select(pole, constant_like(size, INFINITY),
             scaled(apply(log1p_op, div(scaled(x, 4), divisor(below))), .25)),
      scaled(bind1(atan2_op, {}, {scaled(v, 2), difference_of_products(rest, plus(x, 1), v, v)}), .5)};
  const Parts reciprocal = div({one_of(size), zero_of(size)}, {size, height});
  const Parts limit{reciprocal.re, signed_by(constant_like(y, std::numbers::pi / 2), y)};
  const Parts result = choose(far, limit, usual);
  return {mul(side, result.re), neg(mul(side, result.im))};
}

}  // namespace apsis::detail::parts
