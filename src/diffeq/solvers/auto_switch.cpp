// The state of AutoSwitch: whether the stiff solver is at work, how many steps more were stiff than were not
// since then (0 or more; of the stiff solver 0 or less), the vector of the power method, then what each of
// the two solvers keeps.

#include "apsis/diffeq/auto_switch.hpp"

#include <algorithm>
#include <cmath>

#include "apsis/control/cond.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/transform/eval_shape.hpp"
#include "apsis/transform/jvp.hpp"
#include "diffeq/checked.hpp"
#include "diffeq/layout.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/step.hpp"

namespace apsis::detail {
namespace {

using Arrays = std::vector<Array>;

/// How far the method is stable on the negative axis: the first z with |1 + z bᵀ (1 - z A)⁻¹ 1| > 1.
double stability_interval(const RungeKutta& m) {
  const std::size_t stages = m.stages();
  const auto grows = [&](double z) {
    std::vector<double> k(stages);
    double end = 1;
    for (std::size_t i = 0; i < stages; ++i) {
      double y = 1;
      for (std::size_t j = 0; j < i; ++j) y += z * m.a[i][j] * k[j];
      k[i] = y;
      end += z * m.b[i] * y;
    }
    return std::abs(end) > 1;
  };
  double z = 0.1;
  while (z < 1000 && !grows(-z)) z += 0.01;
  return z;
}

/// The first two stages at the end of the step, whose slopes tell of ∂f/∂y alone; stages of dense output
/// follow. Twice the same: there are no two.
std::pair<std::size_t, std::size_t> stages_at_end(const RungeKutta& m) {
  const auto first = std::ranges::find(m.c, 1.);
  const auto second = first == m.c.end() ? first : std::find(first + 1, m.c.end(), 1.);
  if (second == m.c.end()) return {0, 0};
  return {static_cast<std::size_t>(first - m.c.begin()), static_cast<std::size_t>(second - m.c.begin())};
}

Array length_of(const Array& v) { return sqrt(sum(v * v)); }
/// a / b, and 0 where both are.
Array ratio(const Array& a, const Array& b) { return where(b > 0, a / where(b > 0, b, 1.), 0.); }

/// One over what errors of the elements may be: lengths are those of vectors times that, since elements may
/// differ by orders of magnitude. 0 for elements that are left out; 1 for all where there are no tolerances.
Array weights_of(const Tolerances& tolerances, const Layout& layout, std::span<const Array> y) {
  if (tolerances.rtol.is_empty() || tolerances.atol.is_empty()) return ones({}, layout.dtype());
  const Array allowed =
      stop_gradient(layout.spread(tolerances.atol) + layout.spread(tolerances.rtol) * abs(layout.join(y)));
  return ratio(ones_like(allowed), allowed);
}

/// |λ| by the slopes of an explicit step's last two stages.
Array explicit_estimate(const RungeKutta& m, const Layout& layout, const Array& h, const Array& weights,
                        std::span<const Array> slopes) {
  const std::size_t leaves = layout.leaves();
  const auto [before, last] = stages_at_end(m);
  std::vector<double> between = m.a[last];
  for (std::size_t j = 0; j < m.a[before].size(); ++j) between[j] -= m.a[before][j];
  Arrays states, changes;
  for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
    states.push_back(stop_gradient(h * weighted(between, slopes, leaves, leaf)));
    changes.push_back(stop_gradient(slopes[last * leaves + leaf] - slopes[before * leaves + leaf]));
  }
  return ratio(length_of(weights * layout.join(changes)), length_of(weights * layout.join(states)));
}

/// What a step makes by either solver.
struct Made {
  Arrays y1, error, fast_dense, stiff_dense, fast_own, stiff_own;
  Array failed, size;  // size: |λ|
  Array vector;
  StepWork work;
};

/// The parts of the state.
struct Parts {
  Array is_stiff, count, vector;
  Arrays fast, stiff;
};
Parts parts_of(const SwitchedSolvers& b, std::span<const Array> state, std::size_t leaves) {
  const std::span<const Array> own = state.subspan(3);
  const std::size_t of_fast = b.table.first_same_as_last ? leaves : 0;
  return {state[0],
          state[1],
          state[2],
          {own.begin(), own.begin() + static_cast<std::ptrdiff_t>(of_fast)},
          {own.begin() + static_cast<std::ptrdiff_t>(of_fast), own.end()}};
}

Arrays zeros_of_shapes(const Arrays& shapes) {
  Arrays out;
  for (const Array& a : shapes) out.push_back(zeros(a.shape(), a.dtype()));
  return out;
}

}  // namespace

StepTraits switched_traits(const SwitchedSolvers& b) {
  return {.name = "AutoSwitch",
          .order = std::min(b.fast.traits.order, b.stiff.traits.order),
          .error_order = std::min(b.fast.traits.error_order, b.stiff.traits.error_order),
          .implicit = b.stiff.traits.implicit,
          .may_fail = b.stiff.traits.may_fail,
          .varying_work = true};
}

void check_switched(const SwitchedSolvers& b, Loc loc) {
  b.fast.check(b.fast.self, loc);
  b.stiff.check(b.stiff.self, loc);
  const auto refuse = [&](const char* option, const std::string& value, const char* range) {
    fail(messages::option_range, {"AutoSwitch", option, value, range}, loc);
  };
  if (b.after < 0) refuse("after", std::to_string(b.after), "give a number of steps, 0 or more, such as 10");
  if (b.back < 0) refuse("back", std::to_string(b.back), "give a number of steps, 0 or more, such as 3");
  if (!(b.tolerance > 0 && b.tolerance < 1))
    refuse("tolerance", std::to_string(b.tolerance), "give a part of the stability interval, such as 0.9");
}

std::vector<Array> switched_start(const SwitchedSolvers& b, const SolverStart& s) {
  const Layout layout(s.y0);
  const Array slope = stop_gradient(layout.join(s.slope)), length = length_of(slope);
  const Array some = length > 0 && isfinite(length);
  const Array even =
      full({layout.size()}, 1 / std::sqrt(std::max(1., static_cast<double>(layout.size()))), layout.dtype());
  Arrays state{array(false), array(std::int64_t{0}), where(some, slope / where(some, length, 1.), even)};
  for (const SolverRef* solver : {&b.fast, &b.stiff})
    for (const Array& a : checked_init(*solver, s)) state.push_back(a);
  return state;
}

SolverAttempt switched_step(const SwitchedSolvers& b, const SolverStep& s) {
  const Layout layout(s.y0);
  const std::size_t leaves = s.y0.size();
  const Parts own = parts_of(b, s.state, leaves);
  const Array length = s.t1 - s.t0, h = length * s.slopes.direction();

  const auto step_of = [&](const SolverRef& solver, const Arrays& state) {
    SolverAttempt made = checked_step(solver, {s.slopes, s.t0, s.t1, s.y0, state, s.tolerances});
    made.error.resize(switched_traits(b).error_order > 0 ? leaves : 0);
    return made;
  };
  const auto dense_of = [&](const SolverRef& solver) {
    const auto step = [&](std::span<const Array> state) {
      return step_of(solver, {state.begin(), state.end()}).dense;
    };
    const Arrays& state = &solver == &b.fast ? own.fast : own.stiff;
    return zeros_of_shapes(eval_shape_call(callee_of(step), state));
  };
  const Arrays no_fast = dense_of(b.fast), no_stiff = dense_of(b.stiff);
  const VectorSlope slope(s.slopes, layout);
  const Array weights = weights_of(s.tolerances, layout, s.y0);
  const auto by_power = [&](const Array& vector, const Arrays& y1) {
    const Array at = stop_gradient(layout.join(y1)), t1 = stop_gradient(s.t1);
    const Array image =
        stop_gradient(jvp([&](const Array& y) { return slope(t1, y); }, at, stop_gradient(vector)).second);
    const Array after = length_of(weights * image), some = after > 0 && isfinite(after);
    return std::pair(ratio(after, length_of(weights * stop_gradient(vector))),
                     where(some, image / where(some, after, 1.), vector));
  };

  const auto by_fast = [&](const Parts& now) {
    const SolverAttempt a = step_of(b.fast, now.fast);
    Made m{a.y1, a.error, a.dense, no_stiff, a.state, now.stiff, array(false), Array(), now.vector, a.work};
    if (stages_at_end(b.table).second > 0)
      m.size = explicit_estimate(b.table, layout, h, weights, a.dense);
    else
      std::tie(m.size, m.vector) = by_power(now.vector, a.y1);
    return m;
  };
  const auto by_stiff = [&](const Parts& now) {
    const SolverAttempt a = step_of(b.stiff, now.stiff);
    const Array failed = a.failed.is_empty() ? array(false) : a.failed;
    const auto [size, vector] = by_power(now.vector, a.y1);
    return Made{a.y1, a.error, no_fast, a.dense, now.fast, a.state, failed, size, vector, a.work};
  };
  const Made made = cond(own.is_stiff, by_stiff, by_fast, own);

  const Array stiff = made.size * abs(stop_gradient(length)) > b.tolerance * stability_interval(b.table);
  // Where stability bounds the steps, some are shorter, too: one that is does not make up for all before.
  Array count = own.count + where(stiff, 1, -1);
  count = where(own.is_stiff, minimum(count, 0), maximum(count, 0));
  const Array to_stiff = !own.is_stiff && count > b.after, to_fast = own.is_stiff && count < -b.back;
  count = where(to_stiff || to_fast, std::int64_t{0}, count);
  const auto begun = [&](const Array& begins, const SolverRef& solver, const Arrays& kept) {
    if (kept.empty()) return kept;
    return cond(
        begins,
        [&](const Arrays&) {
          return checked_init(solver, {s.slopes, s.t1, made.y1, s.slopes(s.t1, made.y1)});
        },
        [](const Arrays& k) { return k; }, kept);
  };

  SolverAttempt step{.y1 = made.y1, .error = made.error};
  step.dense.push_back(own.is_stiff);
  for (const Arrays* part : {&made.fast_dense, &made.stiff_dense})
    step.dense.insert(step.dense.end(), part->begin(), part->end());
  step.state = {own.is_stiff != (to_stiff || to_fast), count, made.vector};
  for (const Arrays& part : {begun(to_fast, b.fast, made.fast_own), begun(to_stiff, b.stiff, made.stiff_own)})
    step.state.insert(step.state.end(), part.begin(), part.end());
  step.failed = made.failed;
  step.work = made.work;
  return step;
}

std::vector<Array> within_switched(const SwitchedSolvers& b, const DenseStep& s) {
  const Arrays dense(s.dense.begin() + 1, s.dense.end());
  const std::size_t of_fast = b.table.stages() * s.y0.size();
  const auto by = [&](const SolverRef& solver, std::size_t begin, std::size_t count) {
    return [&solver, &s, begin, count](const Arrays& all) {
      return checked_interpolation(solver, {s.theta, s.h, s.y0, s.y1, std::span(all).subspan(begin, count)});
    };
  };
  return cond(s.dense[0], by(b.stiff, of_fast, dense.size() - of_fast), by(b.fast, 0, of_fast), dense);
}

}  // namespace apsis::detail
