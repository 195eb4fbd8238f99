// Steps of diagonally implicit Runge-Kutta methods, alone or with an explicit half.

#include "apsis/diffeq/implicit.hpp"

#include <limits>

#include "apsis/array/dtype.hpp"
#include "apsis/array/linalg.hpp"
#include "apsis/control/implicit.hpp"
#include "apsis/control/while_loop.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/transform/vmap.hpp"
#include "diffeq/checks.hpp"
#include "diffeq/layout.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/step.hpp"

namespace apsis::detail {
namespace {

/// The equations of the stages of one step, u - scale f(t, y + inner u) = 0. The unknown is the slope f
/// itself where the method keeps it for the next step, then scale = 1 and inner = γ h; otherwise it is h f.
struct StageEquations {
  const VectorSlope& slope;
  const Layout& layout;
  Array scale, inner;         // scale empty: 1
  linalg::LUFactors factors;  // of 1 - γ h ∂f/∂y
  Array rtol, atol;
  const NewtonOptions& newton;

  Array residual(const Array& t, const Array& y, const Array& u) const {
    const Array f = slope(t, y + inner * u);
    return u - (scale.is_empty() ? f : scale * f);
  }
  void factorise(const Array& t, const Array& y, const Array& guess, const Array& gamma_h) {
    const Array at = stop_gradient(y + inner * guess);
    const Array jacobian = stop_gradient(slope.jacobian(stop_gradient(t), at));
    factors =
        linalg::lu_factor(eye(layout.size(), -1, 0, layout.dtype()) - stop_gradient(gamma_h) * jacobian);
  }
  std::pair<Array, Array> solve(const Array& t, const Array& y, const Array& guess) const;
};

/// `size` is that of the last change of the stage's state, in the tolerances of the solve: there, and not in
/// the slopes, since slopes of stiff equations are large, and their rounding is more than any tolerance.
struct Iteration {
  Array u, size, previous, count;
  Array rate() const { return size / previous; }
  Array is_small() const { return size < (size.dtype() == Dtype::F64 ? 1e-13 : 1e-4); }
  Array has_converged(double kappa) const {
    const Array left = size * rate() / (1 - rate());
    return left > 0 && left < kappa;
  }
  /// A change that grows while it is within the tolerances followed one that was small by chance. Beyond
  /// them the second may, where what changes at first is another part of the state.
  Array has_diverged() const { return !isfinite(rate()) || (rate() > 2 && size > 1 && count > 2); }
};

/// The root, and whether it was found. Its derivative is that of the equation, with the Jacobian at the root.
std::pair<Array, Array> StageEquations::solve(const Array& t, const Array& y, const Array& guess) const {
  const auto equation = [&](const Array& u) { return residual(t, y, u); };
  const auto iterate = [&](const auto& f, const Array& start) {
    const Array one = ones({}, layout.dtype());
    const auto goes_on = [&](const Iteration& s) {
      return s.count < newton.max_steps &&
             !(s.count >= 2 && (s.is_small() || s.has_diverged() || s.has_converged(newton.kappa)));
    };
    const auto again = [&](const Iteration& s) {
      const Array change = linalg::lu_solve(factors, f(s.u)), u = s.u - change;
      const Array allowed = atol + rtol * abs(y + inner * u);
      const Array size = layout.size() == 0 ? 0. * one : max(abs(inner * change / allowed));
      return Iteration{u, size, s.size, s.count + 1};
    };
    const Iteration begin{start, one * std::numeric_limits<double>::infinity(), one, array(std::int64_t{0})};
    const Iteration end = while_loop(goes_on, again, begin, {.kind = Loop::Lax});
    const Array found =
        end.count >= 2 && (end.is_small() || (end.has_converged(newton.kappa) && !end.has_diverged()));
    // What was not found has no derivative either: the guess stands for it, and the step is rejected.
    return std::pair(where(found, end.u, start), found);
  };
  const auto by_jacobian = [&](const auto& map, const Array& right) {
    const Array columns =
        vmap([&](const Array& x) { return map(x); })(eye(layout.size(), -1, 0, layout.dtype()));
    return linalg::solve(linalg::matrix_transpose(columns), right);
  };
  return custom_root(equation, stop_gradient(guess), iterate, by_jacobian);
}

Array tolerance(const Array& own, const Array& controller, const char* name, const char* method,
                const SolverStep& s, const Layout& layout) {
  const Array& given = own.is_empty() ? controller : own;
  if (given.is_empty()) fail(messages::newton_tolerance, {method, name});
  for (std::size_t i = 0; i < s.y0.size(); ++i)
    if (!broadcasts(given.shape(), s.y0[i].shape()))
      fail(messages::tolerance_shape,
           {method, name, to_string(given.aval()), s.slopes.name(i), to_string(s.y0[i].aval())});
  return layout.spread(astype(stop_gradient(given), layout.dtype()));
}

}  // namespace

StepTraits implicit_traits(const DiagonallyImplicitRungeKutta& m) {
  return {.name = m.name,
          .order = m.order,
          .error_order = m.error.empty() ? 0 : m.error_order,
          .keeps_slope = m.first_same_as_last,
          .implicit = true};
}

void check_newton(const NewtonOptions& newton, const char* name, Loc loc) {
  if (newton.max_steps < 2)
    fail(messages::option_range,
         {name, "newton.max_steps", std::to_string(newton.max_steps),
          "give a number of iterations, 2 or more: the rate of convergence is that of two"},
         loc);
  if (!(newton.kappa > 0 && newton.kappa < 1))
    fail(messages::option_range,
         {name, "newton.kappa", std::to_string(newton.kappa), "give a factor between 0 and 1, such as 0.01"},
         loc);
  const auto check_tolerance = [&](const char* option, const Array& value, const char* range) {
    if (value.is_empty()) return;
    const auto look = [](std::span<const Array> v) {
      return Finding{where(all(v[0] >= 0 && v[0] < std::numeric_limits<double>::infinity()), 0, 1), {v[0]}};
    };
    InputChecks(true, loc).refuse({value}, look, [&] {
      return std::vector{Text(messages::option_range, {name, option, "{0}", range})};
    });
  };
  check_tolerance("newton.rtol", newton.rtol, "give a relative change, 0 or more, such as 1e-8");
  check_tolerance("newton.atol", newton.atol, "give an absolute change, 0 or more, such as 1e-10");
}

std::vector<Array> implicit_start(const DiagonallyImplicitRungeKutta& m, const SolverStart& s) {
  if (!m.first_same_as_last) return {};
  return {s.slope.begin(), s.slope.end()};
}

SolverAttempt implicit_step(const DiagonallyImplicitRungeKutta& m, const NewtonOptions& newton,
                            const SolverStep& s) {
  const Layout layout(s.y0);
  const bool split = !m.explicit_a.empty(), keeps = m.first_same_as_last;
  const VectorSlope implicit_slope(s.slopes, layout, split ? 1 : -1), explicit_slope(s.slopes, layout, 0);
  const Array length = s.t1 - s.t0, h = length * s.slopes.direction(), y0 = layout.join(s.y0);
  const double gamma = m.a.back().back();
  // Changes of some ULPs never become smaller.
  const double least = 8 * finfo(layout.dtype()).eps / newton.kappa;
  StageEquations equations{
      implicit_slope,
      layout,
      keeps ? Array() : h,
      keeps ? gamma * h : Array(gamma),
      {},
      maximum(tolerance(newton.rtol, s.tolerances.rtol, "rtol", m.name, s, layout), least),
      tolerance(newton.atol, s.tolerances.atol, "atol", m.name, s, layout),
      newton};

  std::vector<Array> u, v;  // by stage: those of the implicit part, and of the explicit one
  const auto scaled = [&](const Array& f) { return keeps ? f : h * f; };
  // y0 + Σ, where the sum takes a factor h if stages are slopes
  const auto advanced = [&](const std::vector<double>& weights, const std::vector<double>& explicit_weights) {
    Array sum = weighted(weights, u, 1, 0);
    if (split) {
      const Array more = weighted(explicit_weights, v, 1, 0);
      if (!more.is_empty()) sum = sum.is_empty() ? more : sum + more;
    }
    return sum.is_empty() ? y0 : y0 + (keeps ? h * sum : sum);
  };
  u.push_back(keeps ? layout.join(s.state) : scaled(implicit_slope(s.t0, y0)));
  if (split) v.push_back(scaled(explicit_slope(s.t0, y0)));
  Array solved;
  for (std::size_t i = 1; i < m.stages(); ++i) {
    const Array t = stage_time(m.c[i], s.t0, s.t1, length);
    const std::vector<double> row(m.a[i].begin(), m.a[i].end() - 1);
    const Array y = advanced(row, split ? m.explicit_a[i] : row);
    const Array guess = weighted(m.predictor[i], u, 1, 0);
    if (i == 1) equations.factorise(t, y, guess, gamma * h);
    auto [stage, found] = equations.solve(t, y, guess);
    solved = solved.is_empty() ? found : solved && found;
    u.push_back(stage);
    if (split) v.push_back(scaled(explicit_slope(t, y + equations.inner * stage)));
  }

  SolverAttempt step;
  step.y1 = layout.split(advanced(m.b, m.b));
  // Both halves have their weights of the error and of dense output in common.
  for (std::size_t i = 0; i < m.stages(); ++i) step.dense.push_back(split ? u[i] + v[i] : u[i]);
  if (!m.error.empty()) {
    const Array error = weighted(m.error, step.dense, 1, 0);
    step.error = layout.split(keeps ? h * error : error);
  }
  if (keeps) step.state = layout.split(u.back());
  step.failed = !solved;
  return step;
}

std::vector<Array> implicit_dense(const DiagonallyImplicitRungeKutta& m, const DenseStep& s) {
  const Layout layout(s.y0);
  const Array y0 = layout.join(s.y0), h = m.first_same_as_last ? s.h : Array(1.);
  return layout.split(dense_output(m.dense, s.theta, h, {&y0, 1}, s.dense)[0]);
}

}  // namespace apsis::detail
