// Shampine, Reichelt, The MATLAB ODE suite, SIAM J. Sci. Comput. 18, 1997, section 2: differences D[i] of the
// last states, for steps of one length. The step of order k solves, with the predictor Σ D[i] up to k,
//   d - h / α f(t1, predictor + d) + Σ γ[i] D[i] / α = 0,   α = (1 - κ[k]) γ[k],  γ[i] = 1 + … + 1/i.

#include <array>
#include <cmath>
#include <limits>

#include "apsis/diffeq/multistep.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "diffeq/kept_matrix.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/norm.hpp"
#include "diffeq/step.hpp"

namespace apsis {
namespace {

constexpr int highest = 5;
constexpr std::size_t rows = highest + 3;
using Differences = std::vector<Array>;

double gamma_of(int k) {
  double sum = 0;
  for (int i = 1; i <= k; ++i) sum += 1. / i;
  return sum;
}
double kappa_of(bool numerical, int k) {
  constexpr double kappa[] = {0, -0.1850, -1. / 9, -0.0823, -0.0415, 0};
  return numerical && k <= highest ? kappa[k] : 0;
}
/// The coefficient of h^(k+1) y^(k+1) in the error of order k, times 3: errors of the many steps add up, and
/// a step that may have a third of the tolerance leaves all of the stiff problems of
/// tests/diffeq/problems_test within a hundred.
double error_of(bool numerical, int k) { return 3 * (kappa_of(numerical, k) * gamma_of(k) + 1. / (k + 1)); }

/// A table's entry for an order that the program finds.
template <class Entry>
Array by_order(const Array& order, Dtype dtype, const Entry& entry) {
  Array found = full({}, entry(highest), dtype);
  for (int k = highest - 1; k >= 1; --k) found = where(order == k, full({}, entry(k), dtype), found);
  return found;
}
/// A row of D, by a number that the program finds.
Array row_of(const Differences& d, const Array& number) {
  Array found = d[0];
  for (std::size_t i = 1; i < rows; ++i) found = where(number == static_cast<std::int64_t>(i), d[i], found);
  return found;
}

/// (-1)^i binomial(x, i), for i up to 5.
std::vector<Array> binomials(const Array& x) {
  std::vector<Array> out{ones_like(x)};
  for (int i = 1; i <= highest; ++i) out.push_back(out.back() * ((i - 1) - x) * (1. / i));
  return out;
}
/// The same for integers.
double binomial(int x, int i) {
  double out = 1;
  for (int m = 1; m <= i; ++m) out *= static_cast<double>(m - 1 - x) / m;
  return out;
}

/// D for steps that are `ratio` times as long: the differences of the same polynomial. Its rows from the
/// order on stay.
Differences rescaled(const Differences& d, const Array& order, const Array& ratio) {
  std::vector<std::vector<Array>> r;  // r[l][i]: at the l-th of the new points
  for (int l = 0; l <= highest; ++l) r.push_back(binomials(ratio * static_cast<double>(l)));
  Differences out = d;
  for (int j = 1; j <= highest; ++j) {
    Array row;
    for (int i = j; i <= highest; ++i) {  // differences of an order above the degree vanish
      Array weight;
      for (int l = 1; l <= j; ++l) {
        const Array term = binomial(j, l) * r[static_cast<std::size_t>(l)][static_cast<std::size_t>(i)];
        weight = weight.is_empty() ? term : weight + term;
      }
      const Array part = where(i <= order, weight * d[static_cast<std::size_t>(i)], 0.);
      row = row.is_empty() ? part : row + part;
    }
    out[static_cast<std::size_t>(j)] = where(j <= order, row, d[static_cast<std::size_t>(j)]);
  }
  return out;
}

/// Σ weight(i) D[i] for i from 1 up to the order.
template <class Weight>
Array up_to_order(const Differences& d, const Array& order, const Weight& weight) {
  Array sum;
  for (int i = 1; i <= highest; ++i) {
    const Array term = where(i <= order, weight(i) * d[static_cast<std::size_t>(i)], 0.);
    sum = sum.is_empty() ? term : sum + term;
  }
  return sum;
}

/// D after a step whose correction was `change`.
Differences advanced(const Differences& d, const Array& order, const Array& change) {
  Differences out = d;
  for (std::size_t r = rows; r-- > 0;) {
    const auto i = static_cast<std::int64_t>(r);
    Array row = d[r];
    if (r + 1 < rows) row = where(order >= i, d[r] + out[r + 1], row);
    if (r >= 1) row = where(order + 1 == i, change, row);
    if (r >= 2) row = where(order + 2 == i, change - d[r - 1], row);
    out[r] = row;
  }
  return out;
}

/// Which order is next, and by what factor the step may then be longer.
struct Choice {
  Array order, factor, ready;
};
Choice chosen(const BackwardDifferences& method, const Differences& d, const Array& order, const Array& equal,
              const Array& size, const auto& norm) {
  const Dtype dtype = d[0].dtype();
  const auto constant = [&](int shift) {
    return by_order(order, dtype,
                    [&](int k) { return k + shift < 1 ? 0. : error_of(method.numerical, k + shift); });
  };
  const auto factor = [&](const Array& of, int shift) {
    return pow(maximum(of, 1e-30), -1 / (astype(order, dtype) + static_cast<double>(1 + shift)));
  };
  const Array lower = where(order > 1, factor(norm(constant(-1) * row_of(d, order)), -1), 0.);
  const Array higher =
      where(order < method.max_order, factor(norm(constant(1) * row_of(d, order + 2)), 1), 0.);
  const Array same = factor(size, 0), ready = equal > order;
  const Array next =
      where(lower >= same && lower >= higher, order - 1, where(higher > same, order + 1, order));
  return {where(ready, next, order), where(ready, maximum(same, maximum(lower, higher)), same), ready};
}

}  // namespace

StepTraits BackwardDifferences::traits() const {
  return {.name = "BackwardDifferences",
          .order = max_order,
          .error_order = 2,
          .implicit = true,
          .takes_mass = true,
          .varying_work = true};
}

void BackwardDifferences::check(Loc loc) const {
  detail::check_newton(newton, "BackwardDifferences", loc);
  if (max_order < 1 || max_order > highest)
    fail(messages::option_range,
         {"BackwardDifferences", "max_order", std::to_string(max_order), "give an order from 1 to 5"}, loc);
}

// D for steps of length 1, the order, how many steps had the same length, and that length; Newton's matrix.
std::vector<Array> BackwardDifferences::init(const SolverStart& s) const {
  const detail::Layout layout(s.y0);
  std::vector<Array> state{layout.join(s.y0), layout.join(s.slope) * s.slopes.direction()};
  while (state.size() < rows) state.push_back(zeros({layout.size()}, layout.dtype()));
  state.push_back(array(std::int64_t{1}));
  state.push_back(array(std::int64_t{0}));
  state.push_back(ones({}, s.t0.dtype()));
  const detail::VectorSlope slope(s.slopes, layout);
  detail::KeptMatrix::none(detail::MatrixForm(s.slopes, slope, layout, s.t0, state[0])).append_to(state);
  return state;
}

SolverAttempt BackwardDifferences::step(const SolverStep& s) const {
  const detail::Layout layout(s.y0);
  const detail::VectorSlope slope(s.slopes, layout);
  const detail::NewtonTolerances tolerances(newton, "BackwardDifferences", s, layout);
  const Array &order = s.state[rows], &equal = s.state[rows + 1];
  const Array length = s.t1 - s.t0, h = length * s.slopes.direction();
  const Array ratio = length / s.state[rows + 2];
  const Differences d =
      rescaled({s.state.begin(), s.state.begin() + static_cast<std::ptrdiff_t>(rows)}, order, ratio);

  const Array alpha =
      by_order(order, layout.dtype(), [&](int k) { return (1 - kappa_of(numerical, k)) * gamma_of(k); });
  const Array predicted = d[0] + up_to_order(d, order, [](int) { return 1.; });
  const Array psi = up_to_order(d, order, [](int i) { return gamma_of(i); }) / alpha, inner = h / alpha;
  const detail::MatrixForm form(s.slopes, slope, layout, s.t1, predicted);
  const auto residual = [&](const Array& change) {
    return form.times_mass(change + psi) - inner * slope(s.t1, predicted + change);
  };
  const detail::KeptMatrix kept = detail::KeptMatrix::from(form, std::span(s.state).subspan(rows + 3));
  const auto evaluate = [&] { return form.jacobian(slope, stop_gradient(s.t1), stop_gradient(predicted)); };
  const auto iterate = [&](const auto& f, const Array& start) {
    const auto size = [&](const Array& step, const Array& u) {
      return layout.size() == 0 ? zeros({}, layout.dtype())
                                : max(abs(step / tolerances.allowed(predicted + u)));
    };
    const detail::KeptTry end =
        detail::newton_with_kept(newton, form, kept, stop_gradient(inner), f, start, size, evaluate);
    return std::pair(end.u, end);
  };
  const auto by_columns = [&](const auto& map, const Array& right) {
    return detail::solve_by_columns(map, right, form.structure());
  };
  const auto [change, more] = custom_root(residual, zeros_like(psi), iterate, by_columns);
  const Array y1 = predicted + change;
  const Differences after = advanced(d, order, change);

  // Errors in the measure of the controller.
  const bool controlled = !s.tolerances.rtol.is_empty() && !s.tolerances.atol.is_empty();
  const detail::NewtonTolerances measure(controlled ? NewtonOptions{} : newton, "BackwardDifferences", s,
                                         layout);
  const Array allowed = stop_gradient(measure.allowed(maximum(abs(d[0]), abs(y1))));
  const auto norm = [&](const Array& error) {
    const Array relative = stop_gradient(error) / allowed;
    if (controlled) return sqrt(stop_gradient(detail::error_square(s.tolerances, layout.split(relative))));
    return detail::rms_norm({&relative, 1});
  };
  const Array error = by_order(order, layout.dtype(), [&](int k) { return error_of(numerical, k); }) * change;
  const Array size = norm(error);
  const Array count = where(abs(stop_gradient(ratio) - 1) > 1e-3, 0, equal) + 1;
  const Choice choice = chosen(*this, after, order, count, size, norm);
  // The controller takes the error's power -1/2 as factor, and keeps the length at an error just below 1.
  const Array factor = where(choice.ready || size >= 1, choice.factor, 1.001);
  const Array told = pow(minimum(factor, 1e3), -2.) / where(size > 0, size, 1.);

  SolverAttempt step;
  step.y1 = layout.split(y1);
  step.error = layout.split(error * where(isfinite(told), told, 1.));
  for (int i = 1; i <= highest; ++i)
    step.dense.push_back(where(i <= order, after[static_cast<std::size_t>(i)], 0.));
  step.state = after;
  step.state.push_back(choice.order);
  step.state.push_back(where(choice.ready, 0, count));
  step.state.push_back(length);
  more.matrix.append_to(step.state);
  step.failed = !more.found;
  step.work = more.work;
  return step;
}

// y1 + Σ D[j] Π x[i], i < j, with x[i] = (θ - 1 + i) / (1 + i).
std::vector<Array> BackwardDifferenceInterpolation::evaluate(const DenseStep& s) const {
  const detail::Layout layout(s.y0);
  Array y = layout.join(s.y1), product = ones_like(s.theta);
  for (std::size_t j = 0; j < s.dense.size(); ++j) {
    const auto i = static_cast<double>(j);
    product = product * ((s.theta - 1 + i) * (1 / (1 + i)));
    y = y + product * s.dense[j];
  }
  return layout.split(y);
}

}  // namespace apsis
