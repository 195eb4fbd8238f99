// What a solve along controls is given, looked at before its first step.

#include <cmath>
#include <string>

#include "apsis/array/dtype.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/forbid.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/random.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/transform/eval_shape.hpp"
#include "apsis/transform/jvp.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/problem.hpp"

namespace apsis::detail {
namespace {

std::size_t controls_of(const Slopes& slopes) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < slopes.terms(); ++i) count += slopes.is_control(i);
  return count;
}
bool has_noise(const Slopes& slopes) {
  bool noise = false;
  for (std::size_t i = 0; i < controls_of(slopes); ++i) noise = noise || slopes.path(i).first.brownian;
  return noise;
}

bool other_calculus(const SolverRef& solver, Calculus wanted) {
  const Calculus has = solver.traits.calculus;
  return wanted != Calculus::Any && has != Calculus::Any && wanted != has;
}
[[noreturn]] void refuse_calculus(const SolverRef& solver, Calculus wanted, Loc loc) {
  const bool ito = wanted == Calculus::Ito;
  fail(messages::wrong_calculus,
       {solver.traits.name, ito ? "an Itô" : "a Stratonovich", ito ? "Stratonovich" : "Itô",
        ito ? "Euler or ItoMilstein" : "Heun, SPaRK or StratonovichMilstein"},
       loc);
}

/// Where the error that a step makes tells how long it is, the lengths depend on what the path does in the
/// steps, and sums that are not of order 1 go to another limit than the Itô integral (Gaines, Lyons, Variable
/// step size control in the numerical solution of stochastic differential equations, SIAM J. Appl. Math. 57,
/// 1997).
bool loses_its_limit(const StepTraits& traits, const SolveOptions& options) {
  return options.controller.innermost().as<PIDController>() && traits.calculus == Calculus::Ito &&
         traits.strong_order < 1;
}

/// The path must be there wherever the solve is.
void check_range(InputChecks& checks, const PathTraits& path, const GivenTimes& times) {
  if (path.t0.is_empty()) return;
  const auto look = [&](std::span<const Array> v) {
    const Array low = minimum(v[2], v[3]), high = maximum(v[2], v[3]);
    const Array slack = time_rounding(astype(low, times.dtype), astype(high, times.dtype));
    return Finding{where(v[0] <= low + slack && high - slack <= v[1], 0, 1), {v[0], v[1], v[2], v[3]}};
  };
  checks.refuse({path.t0, path.t1, times.t0, times.t1}, look, [&] {
    return std::vector{Text(messages::brownian_too_short, {path.name, "{0}", "{1}", "{2}", "{3}"})};
  });
}

/// No step may be shorter than the intervals within which the path is known; the last one, or one to a given
/// time, is as short as it must be.
void check_length(InputChecks& checks, const PathTraits& path, const GivenTimes& times,
                  const Controller& controller) {
  const auto* const adaptive = controller.as<PIDController>();
  const Array& shortest = controller.as<ConstantStepSize>() ? times.dt0
                          : adaptive                        ? adaptive->dtmin
                                                            : Array();
  if (path.tol.is_empty() || shortest.is_empty()) return;
  const auto look = [&](std::span<const Array> v) {
    // The whole solve may be one step. Lengths are compared as numbers of the dtype of times.
    const Array length = abs(v[1]), whole = abs(v[3] - v[2]);
    const Array slack = 1 + 4 * finfo(times.dtype).eps;
    return Finding{where(length * slack < v[0] && length < whole, 1, 0), {v[0], v[1]}};
  };
  checks.refuse({path.tol, shortest, times.t0, times.t1}, look, [&] {
    return std::vector{
        Text(messages::brownian_too_coarse, {path.name, "{0}", adaptive ? "dtmin" : "dt0", "{1}"})};
  });
}

/// Whether vector fields of controls do not depend on the state: then nothing of them is differentiated.
bool is_additive(const Problem& p) {
  const char* const name = "the vector field of a ControlTerm";
  const auto fields = [&](const std::vector<Array>& y) {
    std::vector<Array> all;
    for (const ControlField& f : p.slopes.fields(p.t0, y))
      for (const Array& a : f.leaves) all.push_back(nondifferentiable(a, name));
    return all;
  };
  try {
    eval_shape([&](const std::vector<Array>& y) { return jvp(fields, y, y).second; }, p.y0);
  } catch (const Error& e) {
    if (std::string(e.what()).find(name) == std::string::npos) throw;
    return false;
  }
  return true;
}

/// The shapes and dtypes of the controls.
Controls shapes_of_controls(const Problem& p) {
  return eval_shape([&](const Array& t0) { return p.slopes.increment(t0, p.t1).w; }, p.t0);
}
/// Numbers like the controls, the same in each solve.
Controls drawn(const Controls& like, std::int64_t seed) {
  Controls out;
  Array key = random::key(seed);
  for (const std::vector<Array>& control : like) {
    out.emplace_back();
    for (const Array& a : control) {
      key = random::fold_in(key, 1);
      out.back().push_back(random::uniform(key, a.shape(), a.dtype()) + 0.5);
    }
  }
  return out;
}
/// The derivative of g·a along g·b.
std::vector<Array> along(const Problem& p, const Controls& a, const Controls& b) {
  const auto product = [&](const std::vector<Array>& y) { return p.slopes.diffusion(p.t0, y, a); };
  return jvp(product, p.y0, p.slopes.diffusion(p.t0, p.y0, b)).second;
}

/// Whether the order of vector fields matters at t0, by two combinations of them: if it does, these are of a
/// set of measure 0 where that is not seen.
void check_commutes(InputChecks& checks, const Problem& p) {
  const Controls like = shapes_of_controls(p);
  std::int64_t elements = 0;
  for (const auto& control : like)
    for (const Array& a : control) elements += a.size();
  if (elements < 2) return;
  const Controls a = drawn(like, 1), b = drawn(like, 2);
  std::vector<Array> values = along(p, a, b);
  const std::vector<Array> other = along(p, b, a);
  values.insert(values.end(), other.begin(), other.end());
  values.push_back(p.t0 * p.slopes.direction());
  const auto look = [&](std::span<const Array> v) {
    Array off = 0., size = 0.;
    for (std::size_t i = 0; i < p.y0.size(); ++i) {
      const Array &left = v[i], &right = v[p.y0.size() + i];
      off = off + sum(astype(abs(left - right), Dtype::F64));
      size = size + sum(astype(abs(left) + abs(right), Dtype::F64));
    }
    // Both are sums of products; half of the digits of the state are more than rounding takes.
    const double digits = std::sqrt(finfo(p.y0[0].dtype()).eps);
    return Finding{where(off > digits * size, 1, 0), {v.back()}};
  };
  checks.refuse(values, look, [&] {
    return std::vector{Text(messages::noise_not_commutative, {p.solver.traits.name, "{0}"})};
  });
}

/// The drift and the diffusion of Langevin terms must have the same γ and u.
void check_coefficients(InputChecks& checks, const Problem& p) {
  const std::span<const Array> x = p.slopes.part(0, p.y0);
  for (const int which : {0, 1}) {
    const char* const name = which == 0 ? "gamma" : "u";
    std::vector<Array> values = like_position(p.slopes.langevin(which), x, name);
    const std::vector<Array> other = like_position(p.slopes.langevin(which + 2), x, name);
    values.insert(values.end(), other.begin(), other.end());
    const auto look = [&](std::span<const Array> v) {
      Array differ = array(false);
      for (std::size_t i = 0; i < x.size(); ++i) differ = differ || any(v[i] != v[x.size() + i]);
      return Finding{where(differ, 1, 0), {}};
    };
    checks.refuse(values, look,
                  [&] { return std::vector{Text(messages::langevin_differs, {p.solver.traits.name})}; });
  }
}

}  // namespace

double error_order_of(const SolverRef& solver, const Slopes& slopes) {
  if (solver.traits.error_order > 0 && has_noise(slopes)) return solver.traits.strong_order + 0.5;
  return solver.traits.error_order;
}

void check_controls(InputChecks& checks, const SolverRef& solver, const Slopes& slopes,
                    const GivenTimes& times, const SolveOptions& options) {
  if (!slopes.driven()) return;
  const StepTraits& traits = solver.traits;
  const Loc loc = checks.loc();
  if (!traits.takes_controls) fail(messages::takes_no_control, {traits.name}, loc);
  const Controller& controller = options.controller.innermost();
  const bool fixed = controller.as<ConstantStepSize>() || controller.as<StepTo>();
  for (std::size_t i = 0; i < controls_of(slopes); ++i) {
    const PathTraits path = slopes.path(i).first;
    if (!path.brownian) continue;
    if (traits.strong_order == 0) fail(messages::takes_no_noise, {traits.name}, loc);
    if (path.levy_area < traits.levy_area)
      fail(messages::levy_area_missing,
           {traits.name, traits.levy_area == LevyArea::SpaceTime ? "SpaceTime" : "SpaceTimeTime"}, loc);
    if (path.fixed_steps && !fixed) fail(messages::steps_not_fixed, {path.name}, loc);
    check_range(checks, path, times);
    check_length(checks, path, times, controller);
  }
  if (has_noise(slopes) && !fixed && times.dt0.is_empty()) fail(messages::no_first_step_of_noise, {}, loc);
}

void check_noise(InputChecks& checks, const Problem& p) {
  if (!p.slopes.driven()) return;
  if (p.slopes.is_langevin()) check_coefficients(checks, p);
  // Shapes that do not fit are found here.
  eval_shape(
      [&](const std::vector<Array>& y) {
        return p.slopes.diffusion(p.t0, y, p.slopes.increment(p.t0, p.t1).w);
      },
      p.y0);
  // Where the noise is additive both integrals are one.
  for (std::size_t i = 0; i < controls_of(p.slopes); ++i) {
    const auto [path, calculus] = p.slopes.path(i);
    if (path.brownian && other_calculus(p.solver, calculus) && !is_additive(p))
      refuse_calculus(p.solver, calculus, checks.loc());
  }
  const NoiseKind kind = p.solver.traits.noise;
  if (kind == NoiseKind::Additive && !is_additive(p))
    fail(messages::noise_not_additive, {p.solver.traits.name}, checks.loc());
  if (has_noise(p.slopes) && loses_its_limit(p.solver.traits, p.options) && !is_additive(p))
    fail(messages::adaptive_ito, {p.solver.traits.name}, checks.loc());
  if (kind == NoiseKind::Commutative) check_commutes(checks, p);
}

}  // namespace apsis::detail
