// Hairer, Wanner, Solving Ordinary Differential Equations II, IV.8. The unknowns are z[i] = Y[i] - y0, with
// A⁻¹ z = h f(y0 + z); T brings A⁻¹ to the form of a real and a complex eigenvalue, so that Newton's equation
// falls into one of n real and one of n complex unknowns. The latter is solved as 2 n real ones. The Jacobian
// is kept as long as Newton's method converges fast with it (IV.8, (8.24) and what follows), and the factors
// for as long as the step keeps its length, too.

#include <cmath>

#include <limits>

#include "apsis/control/cond.hpp"
#include "apsis/diffeq/collocation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/shape.hpp"
#include "diffeq/newton.hpp"
#include "diffeq/step.hpp"

namespace apsis {
namespace {

using Row = std::vector<double>;
using Matrix = std::vector<Row>;

const double root6 = std::sqrt(6.), cube3 = std::cbrt(3.);
const double c[] = {(4 - root6) / 10, (4 + root6) / 10, 1};
/// The eigenvalues of A⁻¹: real, and real ± i imaginary.
const double real_value = 3 + cube3 * cube3 - cube3, pair_real = 3 + 0.5 * (cube3 - cube3 * cube3),
             pair_imaginary = 0.5 * (std::pow(3., 5. / 6) + std::pow(3., 7. / 6));
const Matrix t = {{0.09443876248897524, -0.14125529502095421, 0.03002919410514742},
                  {0.25021312296533332, 0.20412935229379994, -0.38294211275726192},
                  {1, 1, 0}};
const Matrix t_inverse = {{4.17871859155190428, 0.32768282076106237, 0.52337644549944951},
                          {-4.17871859155190428, -0.32768282076106237, 0.47662355450055044},
                          {0.50287263494578682, -2.57192694985560522, 0.59603920482822492}};
const Matrix eigenvalues = {
    {real_value, 0, 0}, {0, pair_real, pair_imaginary}, {0, -pair_imaginary, pair_real}};
const Row error_weights = {(-13 - 7 * root6) / 3, (-13 + 7 * root6) / 3, -1. / 3};
/// Row k: the coefficient of θ^(k+1) of the collocation polynomial, by the z.
const Matrix polynomial = {{13. / 3 + 7 * root6 / 3, 13. / 3 - 7 * root6 / 3, 1. / 3},
                           {-23. / 3 - 22 * root6 / 3, -23. / 3 + 22 * root6 / 3, -8. / 3},
                           {10. / 3 + 5 * root6, 10. / 3 - 5 * root6, 10. / 3}};

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out(3, Row(3, 0.));
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 3; ++k) out[i][j] += a[i][k] * b[k][j];
  return out;
}
const Matrix a_inverse = product(product(t, eigenvalues), t_inverse);

/// Each row's sum over three vectors.
std::vector<Array> combined(const Matrix& rows, std::span<const Array> parts) {
  std::vector<Array> out;
  for (const Row& row : rows) out.push_back(detail::weighted(row, parts, 1, 0));
  return out;
}
std::vector<Array> thirds(const Array& z) {
  const std::int64_t n = z.size() / 3;
  return {z[range(0, n)], z[range(n, 2 * n)], z[range(2 * n, 3 * n)]};
}

/// Newton's matrices: value M - h ∂f/∂y for each eigenvalue.
struct Factors {
  detail::MatrixFactors real, pair;
  static Factors of(const detail::MatrixForm& form, const detail::MatrixBlocks& two,
                    const Array& h_jacobian) {
    return {detail::MatrixFactors::of(form.structure(), real_value * form.mass() - h_jacobian),
            detail::MatrixFactors::of(two.structure, two.values(blocks(form.mass(), h_jacobian)))};
  }
  static Factors unmade(const detail::MatrixForm& form, const detail::MatrixBlocks& two) {
    const Array none = zeros_like(form.mass());
    return {detail::MatrixFactors::unmade(form.structure(), none),
            detail::MatrixFactors::unmade(two.structure, two.values({none, none, none, none}))};
  }
  void append_to(std::vector<Array>& state) const {
    real.append_to(state);
    pair.append_to(state);
  }
  static Factors from(const detail::MatrixForm& form, const detail::MatrixBlocks& two,
                      std::span<const Array> state) {
    return {detail::MatrixFactors::from(form.structure(), state),
            detail::MatrixFactors::from(two.structure,
                                        state.subspan(detail::MatrixFactors::arrays(form.structure())))};
  }
  static std::vector<Array> blocks(const Array& one, const Array& h_jacobian) {
    const Array diagonal = pair_real * one - h_jacobian, beside = pair_imaginary * one;
    return {diagonal, beside, -beside, diagonal};
  }
  Array solve(const Array& residual) const {
    const std::vector<Array> right = combined(t_inverse, thirds(residual));
    const std::int64_t n = right[0].size();
    const Array both = pair.solve(concatenate({right[1], right[2]}));
    return concatenate(
        combined(t, std::vector{real.solve(right[0]), both[range(0, n)], both[range(n, 2 * n)]}));
  }
};

/// A rate of convergence up to which the Jacobian stays, and a change of the step's length, relative to it,
/// up to which the factors do: the matrix of another length adds about that to the rate.
constexpr double fast = 1e-3, same_length = 1e-4;

/// Newton's matrices and what they are of.
struct Kept {
  Array jacobian, h;
  Factors factors;
};
/// Newton's method with what was kept, or with matrices of this step.
struct Attempt {
  Array z, found, rate, tries;
  Kept kept;
  StepWork work;
};

/// The last step's polynomial, carried on beyond its end.
Array first_guess(std::span<const Array> state, const Array& length) {
  std::vector<Array> z;
  const Array ratio = length / state[3];
  for (double time : c) {
    const Array x = 1 + time * ratio;
    z.push_back((x - 1) * state[0] + (x * x - 1) * state[1] + (x * x * x - 1) * state[2]);
  }
  return concatenate(z);
}

}  // namespace

StepTraits Radau5::traits() const {
  return {.name = "Radau5",
          .order = 5,
          .error_order = 4,
          .implicit = true,
          .takes_mass = true,
          .varying_work = true};
}
void Radau5::check(Loc loc) const { detail::check_newton(newton, "Radau5", loc); }

std::vector<Array> Radau5::init(const SolverStart& s) const {
  const detail::Layout layout(s.y0);
  const Array none = zeros({layout.size()}, layout.dtype());
  const detail::VectorSlope slope(s.slopes, layout);
  const detail::MatrixForm form(s.slopes, slope, layout, s.t0, layout.join(s.y0));
  const Array slow = full({}, std::numeric_limits<double>::infinity(), layout.dtype());
  std::vector<Array> state{none, none, none, ones({}, s.t0.dtype()), slow, zeros_like(form.mass()), 0 * slow};
  Factors::unmade(form, form.blocks(2)).append_to(state);
  return state;
}

SolverAttempt Radau5::step(const SolverStep& s) const {
  const detail::Layout layout(s.y0);
  const detail::VectorSlope slope(s.slopes, layout);
  const detail::NewtonTolerances tolerances(newton, "Radau5", s, layout);
  const Array length = s.t1 - s.t0, h = length * s.slopes.direction(), y0 = layout.join(s.y0);
  const detail::MatrixForm form(s.slopes, slope, layout, s.t0, y0);
  const auto residual = [&](const Array& z) {
    const std::vector<Array> parts = thirds(z);
    std::vector<Array> out = combined(a_inverse, parts);
    for (std::size_t i = 0; i < 3; ++i)
      out[i] =
          form.times_mass(out[i]) - h * slope(detail::stage_time(c[i], s.t0, s.t1, length), y0 + parts[i]);
    return concatenate(out);
  };
  const detail::MatrixBlocks two = form.blocks(2);
  const auto evaluate = [&](const Array&) {
    return form.jacobian(slope, stop_gradient(s.t0), stop_gradient(y0));
  };
  const auto iterate = [&](const auto& f, const Array& start) {
    const auto size = [&](const Array& change, const Array& z) {
      Array greatest = zeros({}, layout.dtype());
      const std::vector<Array> changes = thirds(change), parts = thirds(z);
      for (std::size_t i = 0; i < 3 && layout.size() > 0; ++i)
        greatest = maximum(greatest, max(abs(changes[i] / tolerances.allowed(y0 + parts[i]))));
      return greatest;
    };
    const auto attempt = [&](const Attempt& v) {
      const Array own = stop_gradient(h), stale = v.tries > 0 || s.state[4] > fast;
      const Array remake = stale || !(abs(own - v.kept.h) <= same_length * abs(own));
      const Array jacobian = cond(
          stale, evaluate, [](const Array& kept) { return kept; }, v.kept.jacobian);
      const Factors factors = cond(
          remake, [&](const Factors&) { return Factors::of(form, two, own * jacobian); },
          [](const Factors& kept) { return kept; }, v.kept.factors);
      const detail::NewtonEnd end = detail::newton_end(
          newton, start, [&](const Array& z) { return factors.solve(f(z)); }, size);
      return Attempt{end.u,
                     end.found,
                     end.rate,
                     where(stale, std::int64_t{2}, v.tries + 1),
                     {jacobian, where(remake, own, v.kept.h), factors},
                     detail::more_work(v.work, 3 * end.count, stale, remake)};
    };
    const Array zero = array(std::int64_t{0});
    const Attempt none{start,
                       array(false),
                       ones({}, layout.dtype()),
                       zero,
                       {s.state[5], s.state[6], Factors::from(form, two, s.state.subspan(7))},
                       {zero + 1, zero, zero}};  // the error has the slope at the start
    const Attempt end = while_loop([](const Attempt& v) { return !v.found && v.tries < 2; }, attempt, none,
                                   {.kind = Loop::Lax});
    return std::pair(end.z, end);
  };
  const auto by_columns = [&](const auto& map, const Array& right) {
    return detail::solve_by_columns(map, right, form.blocks(3).structure);
  };
  const auto [z, made] =
      custom_root(residual, stop_gradient(first_guess(s.state, length)), iterate, by_columns);

  const std::vector<Array> parts = thirds(z);
  SolverAttempt step;
  step.y1 = layout.split(y0 + parts[2]);
  step.error = layout.split(made.kept.factors.real.solve(
      h * slope(s.t0, y0) + form.times_mass(detail::weighted(error_weights, parts, 1, 0))));
  step.dense = combined(polynomial, parts);
  step.state = step.dense;
  step.state.push_back(length);
  // Where nothing changed any more there is no rate, and none is better.
  step.state.push_back(where(isfinite(made.rate), made.rate, 0.));
  step.state.push_back(made.kept.jacobian);
  step.state.push_back(made.kept.h);
  made.kept.factors.append_to(step.state);
  step.failed = !made.found;
  step.work = made.work;
  return step;
}

std::vector<Array> CollocationInterpolation::evaluate(const DenseStep& s) const {
  const detail::Layout layout(s.y0);
  const Array& x = s.theta;
  return layout.split(layout.join(s.y0) + x * (s.dense[0] + x * (s.dense[1] + x * s.dense[2])));
}

}  // namespace apsis
