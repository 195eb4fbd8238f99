#include "apsis/array/elementwise.hpp"

#include <cmath>
#include <numbers>

#include "apsis/array/dtype.hpp"
#include "apsis/control/while_loop.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/bits.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/complex.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "array/messages.hpp"
#include "array/special_support.hpp"
#include "array/support.hpp"

namespace apsis {
using namespace detail::arrays;

Array float_power(const Array& a, const Array& b, Loc loc) {
  const LocScope place(loc);
  return pow(inexact(a), inexact(b));
}

std::pair<Array, Array> divmod(const Array& a, const Array& b, Loc loc) {
  const LocScope place(loc);
  return {floor_divide(a, b), remainder(a, b)};
}

std::pair<Array, Array> modf(const Array& x, Loc loc) {
  const LocScope place(loc);
  const Array v = inexact(x), whole = trunc(v);
  return {copysign(where(isinf(v), zeros_like(v), v - whole), v), whole};
}

namespace {

/// 2^k of the integers k (floating) within the exponents of normal numbers: exact.
Array power_of_two(const Array& k) { return exp2(k); }

}  // namespace

// Steps of powers of two bring |m| below 1 and above 1/2; each of their multiplications is exact.
std::pair<Array, Array> frexp(const Array& x, Loc loc) {
  const LocScope place(loc);
  Array m = inexact(x), e = zeros(m.shape(), i32);
  const FloatInfo info = finfo(m.dtype());
  check_dtype("frexp", is_floating(m.dtype()), "real numbers", x);
  const Array ordinary = isfinite(m) && m != 0;
  auto scale = [&](const Array& wanted, int powers) {
    const Array chosen = ordinary && wanted;
    m = where(chosen, m * std::ldexp(1., powers), m);
    e = where(chosen, e - powers, e);
  };
  const int greatest = info.maxexp / 2;
  for (int step = greatest; step > 0; step /= 2) scale(abs(m) >= std::ldexp(1., step), -step);
  scale(abs(m) >= 1, -1);
  scale(abs(m) < std::ldexp(1., -greatest), greatest);  // once more than the loop: of subnormal numbers
  for (int step = greatest; step > 0; step /= 2) scale(abs(m) < std::ldexp(1., -step), step);
  return {m, e};
}

// Three factors, since 2^e may lie outside of the dtype where the product does not. On the way to a subnormal
// number what is left of the exponent keeps the product normal until the last factor, which rounds.
Array ldexp(const Array& x, const Array& e, Loc loc) {
  const LocScope place(loc);
  check_dtype("ldexp", is_integer(e.dtype()) || e.dtype() == boolean, "integers as exponents", e);
  const Array v = inexact(x);
  check_dtype("ldexp", is_floating(v.dtype()), "real numbers", x);
  const FloatInfo info = finfo(v.dtype());
  const int most = info.maxexp - 1, least = info.minexp + info.nmant + 1;
  Array rest = astype(clip(astype(e, i64), 2 * least + info.minexp, 3 * most), i32), y = v;
  for (int i = 0; i < 2; ++i) {
    const Array factor = clip(rest, least, most), outside = rest > most || rest < info.minexp;
    y = where(outside, y * power_of_two(astype(factor, v.dtype())), y);
    rest = where(outside, rest - factor, rest);
  }
  return y * power_of_two(astype(clip(rest, info.minexp, most), v.dtype()));
}

Array spacing(const Array& x, Loc loc) {
  const LocScope place(loc);
  const Array v = stop_gradient(inexact(x));
  const FloatInfo info = finfo(v.dtype());
  const auto [m, e] = frexp(v);
  const Array power =
      maximum(where(v == 0, info.minexp - info.nmant, e - info.nmant - 1), info.minexp - info.nmant);
  const Array size = ldexp(ones_like(v), power);
  return where(isfinite(v), copysign(size, v), full_like(v, NAN));
}

Array nextafter(const Array& a, const Array& b, Loc loc) {
  const LocScope place(loc);
  const Array given[] = {a, b};
  const std::vector<Array> v = promoted_inexact(given);
  const Dtype dtype = v[0].dtype();
  check_dtype("nextafter", is_floating(dtype), "real numbers", is_floating(a.dtype()) ? b : a);
  const Dtype bits_dtype = item_size(dtype) == 8 ? i64 : item_size(dtype) == 4 ? i32 : i16;
  // Bits of one sign are ordered like the numbers, away from zero.
  const Array away = (v[0] < v[1]) == (v[0] > 0);
  const Array bits = bitcast_convert_type(v[0], bits_dtype);
  const Array next = bitcast_convert_type(where(away, bits + 1, bits - 1), dtype);
  const Array tiny = copysign(bitcast_convert_type(ones_like(bits), dtype), v[1]);
  const Array found = where(v[0] == v[1], v[1], where(v[0] == 0, tiny, next));
  return stop_gradient(where(isnan(v[0]) || isnan(v[1]), full_like(found, NAN), found));
}

Array signbit(const Array& x, Loc loc) {
  const LocScope place(loc);
  if (is_floating(x.dtype())) return copysign(ones_like(x), stop_gradient(x)) < 0;
  return x.dtype() == boolean ? zeros_like(x) : x < 0;
}

Array heaviside(const Array& x, const Array& at_zero, Loc loc) {
  const LocScope place(loc);
  const Array given[] = {x, at_zero};
  const std::vector<Array> v = promoted_inexact(given);
  return where(v[0] < 0, 0., where(v[0] > 0, 1., where(isnan(v[0]), v[0], v[1])));
}

Array fmax(const Array& a, const Array& b, Loc loc) {
  const LocScope place(loc);
  return where(a > b || isnan(b), a, b);
}

Array fmin(const Array& a, const Array& b, Loc loc) {
  const LocScope place(loc);
  return where(a < b || isnan(b), a, b);
}

namespace {

std::vector<Array> two_integers(const char* where, const Array& a, const Array& b) {
  const Array given[] = {a, b};
  std::vector<Array> v = promoted(given);
  const Shape shapes[] = {a.shape(), b.shape()};
  const Shape shape = common_shape(where, shapes);
  for (Array& x : v) {
    check_dtype(where, is_integer(x.dtype()), "integers", x);
    x = broadcast_to(x, shape);
  }
  return v;
}

}  // namespace

// Euclid's algorithm, all elements until the last of them is done.
Array gcd(const Array& a, const Array& b, Loc loc) {
  const LocScope place(loc);
  const std::vector<Array> v = two_integers("gcd", a, b);
  using Pair = std::pair<Array, Array>;
  const Pair end =
      while_loop([](const Pair& p) { return any(p.second != 0); },
                 [](const Pair& p) {
                   const Array going = p.second != 0;
                   const Array divisor = where(going, p.second, 1);
                   return Pair{where(going, p.second, p.first), where(going, p.first % divisor, p.second)};
                 },
                 Pair{abs(v[0]), abs(v[1])});
  return end.first;
}

Array lcm(const Array& a, const Array& b, Loc loc) {
  const LocScope place(loc);
  const std::vector<Array> v = two_integers("lcm", a, b);
  const Array divisor = gcd(v[0], v[1]);
  return abs(v[0]) * floor_divide(abs(v[1]), where(divisor == 0, 1, divisor));
}

Array logaddexp2(const Array& x, const Array& y, Loc loc) {
  const LocScope place(loc);
  const Array given[] = {x, y};
  const std::vector<Array> v = promoted_inexact(given);
  // Equal infinities have no difference.
  const Array difference = where(v[0] == v[1], 0., v[0] - v[1]);
  return maximum(v[0], v[1]) + log1p(exp2(-abs(difference))) * std::numbers::log2e;
}

// Near 0 by its Taylor series in (πx)², so that no derivative divides by x.
Array sinc(const Array& x, Loc loc) {
  const LocScope place(loc);
  const Array angle = inexact(x) * std::numbers::pi;
  const Array near = abs(angle) < 1.;
  const Array small = where(near, angle, 0.), t = small * small;
  double terms[11] = {1};  // of Σ (-t)ᵏ / (2k + 1)!
  for (int k = 1; k <= 10; ++k) terms[k] = -terms[k - 1] / (2. * k * (2. * k + 1.));
  const Array series = special::detail::polynomial(terms, t);
  const Array large = where(near, 1., angle);
  return where(near, series, sin(large) / large);
}

Array deg2rad(const Array& x, Loc loc) {
  const LocScope place(loc);
  return inexact(x) * (std::numbers::pi / 180);
}

Array rad2deg(const Array& x, Loc loc) {
  const LocScope place(loc);
  return inexact(x) * (180 / std::numbers::pi);
}

Array around(const Array& x, int decimals, Loc loc) {
  const LocScope place(loc);
  if (!is_inexact(x.dtype())) {
    check_dtype("around", decimals >= 0, "floating numbers where it rounds to tens", x);
    return x;
  }
  if (decimals == 0) return round(x);
  const double factor = std::pow(10., std::abs(decimals));
  // 16 bits cannot hold the factor.
  const Array wide = item_size(x.dtype()) == 2 ? astype(x, f32) : x;
  const Array rounded = decimals > 0 ? round(wide * factor) / factor : round(wide / factor) * factor;
  return astype(rounded, x.dtype());
}

Array isposinf(const Array& x, Loc loc) {
  const LocScope place(loc);
  return isinf(x) && x > 0;
}

Array isneginf(const Array& x, Loc loc) {
  const LocScope place(loc);
  return isinf(x) && x < 0;
}

Array nan_to_num(const Array& x, const NanToNumOptions& options, Loc loc) {
  const LocScope place(loc);
  if (is_complex(x.dtype()))
    return complex(nan_to_num(real(x), options, loc), nan_to_num(imag(x), options, loc));
  if (!is_floating(x.dtype())) return x;
  const double largest = finfo(x.dtype()).max;
  auto value = [&](const Array& given, double otherwise) {
    return given.is_empty() ? Array(otherwise, x.dtype()) : astype(given, x.dtype());
  };
  const Array numbers = where(isnan(x), value(options.nan, 0), x);
  const Array below = where(isposinf(x), value(options.posinf, largest), numbers);
  return where(isneginf(x), value(options.neginf, -largest), below);
}

Array isclose(const Array& a, const Array& b, const IscloseOptions& options, Loc loc) {
  const LocScope place(loc);
  const Array given[] = {a, b};
  const std::vector<Array> v = promoted_inexact(given);
  const Array near = abs(v[0] - v[1]) <= options.atol + options.rtol * abs(v[1]);
  const Array close = v[0] == v[1] || (near && isfinite(v[0]) && isfinite(v[1]));
  return options.equal_nan ? close || (isnan(v[0]) && isnan(v[1])) : close;
}

Array allclose(const Array& a, const Array& b, const IscloseOptions& options, Loc loc) {
  const LocScope place(loc);
  return all(isclose(a, b, options));
}

Array array_equal(const Array& a, const Array& b, bool equal_nan, Loc loc) {
  const LocScope place(loc);
  if (a.shape() != b.shape()) return array(false);
  return all(equal_nan ? a == b || (isnan(a) && isnan(b)) : a == b);
}

Array array_equiv(const Array& a, const Array& b, Loc loc) {
  const LocScope place(loc);
  for (int i = 1; i <= std::min(a.ndim(), b.ndim()); ++i)
    if (a.dim(-i) != b.dim(-i) && a.dim(-i) != 1 && b.dim(-i) != 1) return array(false);
  return all(a == b);
}

}  // namespace apsis
