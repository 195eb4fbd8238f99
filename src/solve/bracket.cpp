// Functions of one number between bounds: bisection, Brent's root finder, the golden section.

#include "apsis/solve/minimize.hpp"
#include "apsis/solve/root_find.hpp"
#include "solve/support.hpp"

namespace apsis {

using namespace detail;

namespace {

Array is_bracket(const NonlinearProblem& p) { return all(isfinite(p.lower())) && all(isfinite(p.upper())); }
/// The end of the bracket with the smaller residual, and whether there is a root between.
Iterate first_bracket(const NonlinearProblem& p, const Array& fa, const Array& fb, std::vector<Array> state) {
  const Array &a = p.lower(), &b = p.upper(), usable = is_bracket(p);
  const Array b_is_best = abs(fb) <= abs(fa), f = where(b_is_best, fb, fa);
  const Array finite = all(isfinite(fa)) && all(isfinite(fb));
  const Array changes = all(fa <= 0. && fb >= 0.) || all(fa >= 0. && fb <= 0.);
  return {where(b_is_best, b, a),
          largest(f),
          usable && all(f == 0.),
          where(usable && !finite, code_of(NonlinearResult::NonFinite),
                code_if(!usable || !changes, NonlinearResult::Refused)),
          static_cast<std::vector<Array>&&>(state),
          count_of(2),
          count_of(0)};
}

}  // namespace

// State: the ends of the interval, and the residual at the first.
Iterate Bisection::start(const NonlinearProblem& p, const Array&) const {
  check_tolerances(p, rtol, atol);
  const Array fa = p.residual(p.lower());
  return first_bracket(p, fa, p.residual(p.upper()), {p.lower(), p.upper(), fa});
}
Iterate Bisection::step(const NonlinearProblem& p, const Iterate& it) const {
  const Array &a = it.state[0], &b = it.state[1], &fa = it.state[2];
  const Array middle = 0.5 * a + 0.5 * b, f = p.residual(middle);
  const Array left = (f > 0.) != (fa > 0.);
  const Array next_a = where(left, a, middle), next_b = where(left, middle, b);
  return {middle,
          largest(f),
          all(f == 0.) || within(p, next_b - next_a, middle, rtol, atol),
          code_if(!all(isfinite(f)), NonlinearResult::NonFinite),
          {next_a, next_b, where(left, fa, f)},
          it.evaluations + 1,
          it.derivatives};
}

// State: a, the last b; c, with a root between b and c; their residuals; the last step and the one before.
// y is b, the best point.
Iterate Brent::start(const NonlinearProblem& p, const Array&) const {
  check_tolerances(p, rtol, atol);
  const Array lo = p.lower(), hi = p.upper(), flo = p.residual(lo), fhi = p.residual(hi);
  const Array swap = abs(flo) < abs(fhi);
  const Array a = where(swap, hi, lo), fa = where(swap, fhi, flo), fb = where(swap, flo, fhi);
  const Array width = where(swap, lo, hi) - a;
  return first_bracket(p, flo, fhi, {a, fa, fb, a, fa, width, width});
}
Iterate Brent::step(const NonlinearProblem& p, const Iterate& it) const {
  const Array &b = it.y, &a = it.state[0], &fa = it.state[1], &fb = it.state[2], &c = it.state[3],
              &fc = it.state[4], &last = it.state[5], &before = it.state[6];
  const Array half = 0.5 * (c - b), tolerance = 0.5 * (atol + p.at_least_rounding(rtol) * abs(b));
  // The secant of a and b, or the inverse parabola through a, b and c.
  const Array s = fb / fa, q = fa / fc, r = fb / fc, secant = a == c;
  Array top = where(secant, 2. * half * s, s * (2. * half * q * (q - r) - (b - a) * (r - 1.)));
  Array bottom = where(secant, 1. - s, (q - 1.) * (r - 1.) * (s - 1.));
  bottom = where(top > 0., -bottom, bottom);
  top = abs(top);
  const Array trusted =
      abs(before) >= tolerance && abs(fa) > abs(fb) &&
      2. * top < minimum(3. * half * bottom - abs(tolerance * bottom), abs(before * bottom));
  const Array step = where(trusted, top / where(bottom == 0., 1., bottom), half);
  const Array next = b + where(abs(step) > tolerance, step, where(half > 0., tolerance, -tolerance));
  const Array f = p.residual(next);
  // c stays on the other side of the root; b is the better end.
  const Array same = (f > 0.) == (fc > 0.);
  const Array other = where(same, b, c), f_other = where(same, fb, fc);
  const Array moved = next - b, step_before = where(same || !trusted, moved, last);
  const Array swap = abs(f_other) < abs(f);
  const Array best = where(swap, other, next), f_best = where(swap, f_other, f);
  const Array next_a = where(swap, next, b), f_next_a = where(swap, f, fb);
  const Array next_c = where(swap, next, other), f_next_c = where(swap, f, f_other);
  return {best,
          largest(f_best),
          all(f_best == 0.) || within(p, next_c - best, best, rtol, atol),
          code_if(!all(isfinite(f)), NonlinearResult::NonFinite),
          {next_a, f_next_a, f_best, next_c, f_next_c, moved, step_before},
          it.evaluations + 1,
          it.derivatives};
}

namespace {
constexpr double golden = 0.6180339887498949;
}  // namespace

// State: the ends of the interval, the two points within, and their losses.
Iterate GoldenSection::start(const NonlinearProblem& p, const Array&) const {
  check_tolerances(p, rtol, atol);
  const Array a = p.lower(), b = p.upper(), width = b - a;
  const Array x = b - golden * width, z = a + golden * width, fx = p.loss(x), fz = p.loss(z);
  return {where(fx <= fz, x, z),
          minimum(fx, fz),
          array(false),
          where(!is_bracket(p), code_of(NonlinearResult::Refused),
                code_if(!(isfinite(fx) && isfinite(fz)), NonlinearResult::NonFinite)),
          {a, b, x, z, fx, fz},
          count_of(2),
          count_of(0)};
}
Iterate GoldenSection::step(const NonlinearProblem& p, const Iterate& it) const {
  const auto& s = it.state;
  const Array left = s[4] <= s[5];
  const Array a = where(left, s[0], s[2]), b = where(left, s[3], s[1]), width = b - a;
  const Array fresh = where(left, b - golden * width, a + golden * width), f = p.loss(fresh);
  const Array x = where(left, fresh, s[3]), z = where(left, s[2], fresh);
  const Array fx = where(left, f, s[5]), fz = where(left, s[4], f), y = where(fx <= fz, x, z);
  return {y,
          minimum(fx, fz),
          within(p, width, y, rtol, atol),
          code_if(!isfinite(f), NonlinearResult::NonFinite),
          {a, b, x, z, fx, fz},
          it.evaluations + 1,
          it.derivatives};
}

}  // namespace apsis
