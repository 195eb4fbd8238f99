// Steps of diagonally implicit Runge-Kutta methods, alone or with an explicit half.

#include "apsis/diffeq/implicit.hpp"

#include <limits>

#include "apsis/array/dtype.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "diffeq/checks.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/newton.hpp"
#include "diffeq/step.hpp"

namespace apsis::detail {
namespace {

/// The equations of the stages of one step, u - scale f(t, y + inner u) = 0. The unknown is the slope f
/// itself where the method keeps it for the next step, then scale = 1 and inner = γ h; otherwise it is h f.
struct StageEquations {
  const VectorSlope& slope;
  const Layout& layout;
  const MatrixForm& form;
  Array scale, inner = {};     // scale empty: 1
  MatrixFactors factors = {};  // of 1 - γ h ∂f/∂y
  const NewtonTolerances& tolerances;
  const NewtonOptions& newton;

  Array residual(const Array& t, const Array& y, const Array& u) const {
    const Array f = slope(t, y + inner * u);
    return u - (scale.is_empty() ? f : scale * f);
  }
  void factorise(const Array& t, const Array& y, const Array& guess, const Array& gamma_h) {
    const Array at = stop_gradient(y + inner * guess);
    const Array jacobian = stop_gradient(form.jacobian(slope, stop_gradient(t), at));
    factors = MatrixFactors::of(form.structure(), form.mass() - stop_gradient(gamma_h) * jacobian);
  }
  std::pair<Array, NewtonEnd> solve(const Array& t, const Array& y, const Array& guess) const;
};

/// The root, and how it was found. Its derivative is that of the equation, with the Jacobian at the root.
std::pair<Array, NewtonEnd> StageEquations::solve(const Array& t, const Array& y, const Array& guess) const {
  const auto equation = [&](const Array& u) { return residual(t, y, u); };
  const auto iterate = [&](const auto& f, const Array& start) {
    const auto size = [&](const Array& change, const Array& u) {
      return layout.size() == 0 ? zeros({}, layout.dtype())
                                : max(abs(inner * change / tolerances.allowed(y + inner * u)));
    };
    const NewtonEnd end = newton_end(
        newton, start, [&](const Array& u) { return factors.solve(f(u)); }, size);
    return std::pair(end.u, end);
  };
  const auto by_jacobian = [&](const auto& map, const Array& right) {
    return solve_by_columns(map, right, form.structure());
  };
  return custom_root(equation, stop_gradient(guess), iterate, by_jacobian);
}

Array tolerance(const Tolerance& own, const Tolerance& controller, const char* name, const char* method,
                const SolverStep& s, const Layout& layout) {
  const Tolerance& given = own.is_empty() ? controller : own;
  if (given.is_empty()) fail(messages::newton_tolerance, {method, name});
  check_tolerance_shape(given, method, name, s.y0, [&](std::size_t i) { return s.slopes.name(i); });
  return layout.spread(given);
}

}  // namespace

// Changes of some ULPs never become smaller.
NewtonTolerances::NewtonTolerances(const NewtonOptions& newton, const char* method, const SolverStep& s,
                                   const Layout& layout)
    : rtol(maximum(tolerance(newton.rtol, s.tolerances.rtol, "rtol", method, s, layout),
                   8 * finfo(layout.dtype()).eps / newton.kappa)),
      atol(tolerance(newton.atol, s.tolerances.atol, "atol", method, s, layout)) {}

StepTraits implicit_traits(const DiagonallyImplicitRungeKutta& m) {
  return {.name = m.name,
          .order = m.order,
          .error_order = m.error.empty() ? 0 : m.error_order,
          .keeps_slope = m.first_same_as_last,
          .implicit = true,
          .varying_work = true};
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
  const NewtonTolerances tolerances(newton, m.name, s, layout);
  const MatrixForm form(s.slopes, implicit_slope, layout, s.t0, y0);
  StageEquations equations{implicit_slope, layout, form, keeps ? Array() : h, {}, {}, tolerances, newton};

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
  Array solved, iterations;
  std::int64_t slopes = keeps ? 0 : 1, factorised = 0;
  for (std::size_t i = 1; i < m.stages(); ++i) {
    const Array t = stage_time(m.c[i], s.t0, s.t1, length);
    const std::vector<double> row(m.a[i].begin(), m.a[i].end() - 1);
    const Array y = advanced(row, split ? m.explicit_a[i] : row);
    const Array guess = weighted(m.predictor[i], u, 1, 0);
    const double gamma = m.a[i].back();
    equations.inner = keeps ? gamma * h : Array(gamma);
    if (i == 1 || gamma != m.a[i - 1].back()) {
      equations.factorise(t, y, guess, gamma * h);
      ++factorised;
    }
    const auto [stage, end] = equations.solve(t, y, guess);
    solved = solved.is_empty() ? end.found : solved && end.found;
    iterations = iterations.is_empty() ? end.count : iterations + end.count;
    u.push_back(stage);
    if (split) v.push_back(scaled(explicit_slope(t, y + equations.inner * stage)));
  }

  SolverAttempt step;
  step.y1 = layout.split(advanced(m.b, m.explicit_b.empty() ? m.b : m.explicit_b));
  for (std::size_t i = 0; i < m.stages(); ++i) step.dense.push_back(split ? u[i] + v[i] : u[i]);
  if (!m.error.empty()) {
    const Array error = m.explicit_error.empty()
                            ? weighted(m.error, step.dense, 1, 0)
                            : weighted(m.error, u, 1, 0) + weighted(m.explicit_error, v, 1, 0);
    step.error = layout.split(keeps ? h * error : error);
  }
  if (keeps) step.state = layout.split(u.back());
  step.failed = !solved;
  if (split) slopes += static_cast<std::int64_t>(m.stages());
  step.work = {iterations + slopes, array(factorised), array(factorised)};
  return step;
}

std::vector<Array> implicit_dense(const DiagonallyImplicitRungeKutta& m, const DenseStep& s) {
  const Layout layout(s.y0);
  const Array y0 = layout.join(s.y0), h = m.first_same_as_last ? s.h : Array(1.);
  if (m.dense.empty()) {
    const Array ends[] = {y0, layout.join(s.y1)}, slopes[] = {s.dense.front(), s.dense.back()};
    return layout.split(ThirdOrderHermiteInterpolation{}.evaluate(
        {s.theta, h, std::span(ends).first(1), std::span(ends).last(1), slopes})[0]);
  }
  return layout.split(dense_output(m.dense, s.theta, h, {&y0, 1}, s.dense)[0]);
}

}  // namespace apsis::detail
