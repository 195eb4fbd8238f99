// Hypergeometric functions of real arguments: series, asymptotic series, and steps of Taylor series of the
// differential equation. Derivatives in all arguments go through the loops.

#include <cmath>

#include "apsis/array/special.hpp"
#include "apsis/control/while_loop.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/reduce.hpp"
#include "array/special_support.hpp"

namespace apsis::special {
using namespace detail;
namespace {

constexpr double negligible = 1e-19;

struct Series {
  Array k, term, bound, total;
};

/// 1 + r(0) + r(0) r(1) + …, where `bounds`(k) ≥ |r(k)| says when no more terms count, also not in
/// derivatives, which may be there where terms are 0.
template <class R, class B>
Array series(const Array& like, const R& ratio, const B& bounds) {
  const auto more = [&](const Series& s) {
    return any(s.bound > negligible * abs(s.total) || bounds(s.k) > 0.95) && s.k < 1e5;
  };
  const auto next = [&](const Series& s) {
    const Array term = s.term * ratio(s.k), bound = s.bound * bounds(s.k);
    return Series{s.k + 1., term, bound, s.total + term};
  };
  const Array one = ones_like(like);
  return while_loop(more, next, Series{zeros({}, f64), one, stop_gradient(one), one}).total;
}

/// At least 1, for a bound of terms that have a derivative where they are 0.
Array size(const Array& x) { return maximum(abs(stop_gradient(x)), 1.); }

Array is_none(const Array& x) { return x <= 0 && x == floor(x); }  // where Γ has a pole

/// Σ (a)ₖ / (b)ₖ xᵏ / k!
Array series_1f1(const Array& a, const Array& b, const Array& x) {
  const Array held_a = stop_gradient(a), held_b = stop_gradient(b), held_x = stop_gradient(x);
  return series(
      x, [&](const Array& k) { return (a + k) / (b + k) * (x / (k + 1.)); },
      [&](const Array& k) { return size(held_a + k) * abs(held_x) / (abs(held_b + k) * (k + 1.)); });
}

/// Σ (b - a)ₖ (1 - a)ₖ / (k! xᵏ), 40 terms (DLMF 13.7.2).
Array asymptotic_1f1(const Array& a, const Array& b, const Array& x) {
  Array total = ones_like(x);
  for (int k = 40; k-- > 0;)
    total = 1. + total * ((b - a + double(k)) * (1. - a + double(k)) / (double(k + 1) * x));
  return total;
}

Array value_1f1(const Array& a, const Array& b, const Array& x) {
  // e⁻ˣ F(a, b, x) = F(b - a, b, -x) (DLMF 13.2.39)
  const Array below = x < 0, p = where(below, b - a, a), z = abs(x);
  const Array large = maximum(abs(b - p), abs(1. - p)),
              far = z > maximum(50., square(large + 40.) / 25.) && !is_none(p);
  const Array near = series_1f1(where(far, 1., p), where(far, 1., b), where(far, 1., z));
  const Array q = where(far, p, 1.), c = where(far, b, 1.), y = where(far, z, 100.);
  const Array power = exp(where(below, 0., y)) * pow(y, where(below, -where(far, a, 1.), q - c));
  const Array distant = gamma(c) / gamma(q) * power * asymptotic_1f1(q, c, y);
  return where(far, distant, near * exp(where(below && !far, x, 0.)));
}

/// Σ (a)ₖ (b)ₖ / (c)ₖ xᵏ / k!, |x| ≤ 1/2, or as many terms as there are.
Array series_2f1(const Array& a, const Array& b, const Array& c, const Array& x, const Array& ends) {
  const Array p = stop_gradient(a), q = stop_gradient(b), r = stop_gradient(c), z = abs(stop_gradient(x));
  const auto bounds = [&](const Array& k) {
    const Array endless = size(p + k) * size(q + k), few = abs(p + k) * abs(q + k);
    return where(ends && z > 0.5, few, endless) * z / (abs(r + k) * (k + 1.));
  };
  return series(
      x, [&](const Array& k) { return (a + k) / (c + k) * ((b + k) / (k + 1.) * x); }, bounds);
}

struct Taylor {
  Array n, before, last, value, slope;  // terms n and n + 1, their sum, and that of n times them
};
struct Walk {
  Array w, y, slope;  // 1 - x, F and dF/dx there
};

/// F and F' at 1 - v from those at 1 - w, w / 2 ≤ v ≤ w, by the Taylor series of the solution of
/// x (1 - x) F'' + (c - (a + b + 1) x) F' = ab F (DLMF 15.10.1).
Walk step_2f1(const Array& a, const Array& b, const Array& c, const Walk& at, const Array& v) {
  const Array h = at.w - v, x = 1. - at.w, lead = x * at.w, turn = 1. - 2. * x, push = c - (a + b + 1.) * x;
  const auto more = [](const Taylor& t) { return t.n < 90; };
  const auto next = [&](const Taylor& t) {
    const Array first = (turn * t.n + push) * (t.n + 1.) * h * t.last;
    const Array second = (t.n + a) * (t.n + b) * (h * h) * t.before;
    const Array term = (second - first) / (lead * ((t.n + 1.) * (t.n + 2.)));
    return Taylor{t.n + 1., t.last, term, t.value + term, t.slope + (t.n + 2.) * term};
  };
  const Array term = h * at.slope;
  const Taylor end = while_loop(more, next, Taylor{zeros({}, f64), at.y, term, at.y + term, term});
  const Array still = h == 0;
  return {v, end.value, where(still, at.slope, end.slope / where(still, 1., h))};
}

/// F at x = 1 - w, 0 < w ≤ 1/2: from 1/2 on, each step half of the way to the singularity.
Array walk_2f1(const Array& a, const Array& b, const Array& c, const Array& w) {
  const Array half = full_like(w, 0.5), no = w < 0;
  const Array slope = a * b / c * series_2f1(a + 1., b + 1., c + 1., half, no);
  const auto more = [&](const Walk& at) { return any(at.w > w); };
  const auto next = [&](const Walk& at) { return step_2f1(a, b, c, at, maximum(w, 0.5 * at.w)); };
  return while_loop(more, next, Walk{half, series_2f1(a, b, c, half, no), slope}).y;
}

Array value_2f1(const Array& first, const Array& second, const Array& c, const Array& x) {
  const Array ends = is_none(first) || is_none(second), below = x < 0;
  // F(a, b; c; x) = (1 - x)⁻ᵃ F(a, c - b; c; x / (x - 1)) (DLMF 15.8.1), a being the one that ends the
  // series, or the larger.
  const Array swapped = where(ends, !is_none(first), second > first);
  const Array a = where(swapped, second, first), other = where(swapped, first, second),
              b = where(below, c - other, other);
  const Array finite = ends || x <= 1, w = 1. / where(below, 1. - x, 1.);
  const Array left = where(below, w, 1. - x), z = where(below, x * -w, where(finite, x, 0.));
  const Array far = !ends && left < 0.5 && left > 0;
  const Array near = series_2f1(a, b, c, where(far || (!ends && left <= 0), 0., z), ends);
  const Array walked =
      walk_2f1(where(far, a, 1.), where(far, b, 1.), where(far, c, 1.), where(far, left, 0.5));
  const Array value = where(far, walked, near) * pow(where(below, 1. - x, 1.), where(below, -a, 0.));
  // At 1 (DLMF 15.4.20)
  const Array d = c - a - other, converges = d > 0 && x == 1 && !ends;
  const Array e = where(converges, d, 1.), p = where(converges, c - a, 1.),
              q = where(converges, c - other, 1.);
  const Array at_one =
      where(is_none(p) || is_none(q), 0., gamma(where(converges, c, 1.)) * gamma(e) / (gamma(p) * gamma(q)));
  return where(x == 1 && !ends, where(converges, at_one, INFINITY), where(finite, value, INFINITY));
}

}  // namespace

Array hyp1f1(const Array& a, const Array& b, const Array& x, Loc loc) {
  const LocScope place(loc);
  return in_f64("hyp1f1", {a, b, x}, [](const auto& v) {
    const Array known = !isnan(v[0] + v[1] + v[2]), pole = is_none(v[1]), plain = known && !pole;
    const Array value = value_1f1(where(plain, v[0], 1.), where(plain, v[1], 1.), where(plain, v[2], 0.));
    const Array at_pole = where(v[0] == 0, 1., INFINITY);
    return where(plain, value, where(known, at_pole, NAN));
  });
}

Array hyp2f1(const Array& a, const Array& b, const Array& c, const Array& x, Loc loc) {
  const LocScope place(loc);
  return in_f64("hyp2f1", {a, b, c, x}, [](const auto& v) {
    const Array known = !isnan(v[0] + v[1] + v[2] + v[3]), pole = is_none(v[2]), plain = known && !pole;
    const Array value = value_2f1(where(plain, v[0], 1.), where(plain, v[1], 1.), where(plain, v[2], 1.),
                                  where(plain, v[3], 0.));
    const Array at_pole = where(v[0] == 0 || v[1] == 0 || v[3] == 0, 1., INFINITY);
    return where(plain, value, where(known, at_pole, NAN));
  });
}

}  // namespace apsis::special
