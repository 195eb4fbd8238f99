// Sommeijer, Shampine, Verwer, RKC: an explicit solver for parabolic PDEs, J. Comput. Appl. Math. 88, 1998,
// section 2. Stage j is a sum of the two before it and the first, by coefficients from the Chebyshev
// polynomial T_j and its derivatives at w0, just above 1, which damps.

#include "apsis/control/while_loop.hpp"
#include "apsis/diffeq/stabilised.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/transform/jvp.hpp"
#include "diffeq/constant.hpp"
#include "diffeq/layout.hpp"
#include "diffeq/messages.hpp"

namespace apsis {
namespace {

/// Power iterations for the spectral radius of ∂f/∂y, begun with the vector of the step before.
struct Radius {
  Array vector, value, change, count;
};
Radius spectral_radius(const detail::VectorSlope& slope, const Array& t, const Array& y, const Array& start) {
  return detail::without_derivative([&] {
    const auto again = [&](const Radius& r) {
      const Array image = jvp([&](const Array& at) { return slope(t, at); }, y, r.vector).second;
      const Array length = sqrt(sum(image * image));
      const Array some = length > 0 && isfinite(length);
      return Radius{where(some, image / where(some, length, 1.), r.vector), length, abs(length - r.value),
                    r.count + 1};
    };
    const auto goes_on = [](const Radius& r) {
      return r.count < 2 || (r.count < 50 && r.change > 0.01 * r.value);
    };
    const Array zero = zeros({}, y.dtype());
    return while_loop(goes_on, again, Radius{start, zero, zero, array(std::int64_t{0})}, {.kind = Loop::Lax});
  });
}

/// T, T' and T'' at w0.
struct Chebyshev {
  Array value, slope, curvature;
};
Chebyshev next(const Array& w0, const Chebyshev& a, const Chebyshev& before) {
  return {2 * w0 * a.value - before.value, 2 * w0 * a.slope - before.slope + 2 * a.value,
          2 * w0 * a.curvature - before.curvature + 4 * a.slope};
}

/// Two stages in a row; `time` in parts of the step.
struct Stage {
  Chebyshev polynomial;
  Array b, time, y;
};
struct Stages {
  Array j;
  Stage last, before;
};

/// The state after `stages` stages; without derivatives with respect to their number and w0.
Array advanced(const detail::VectorSlope& slope, const SolverStep& s, const Array& y0, const Array& slope0,
               const Array& stages) {
  const Array length = s.t1 - s.t0, h = length * s.slopes.direction();
  const Array one = ones({}, y0.dtype()), count = astype(stages, y0.dtype());
  const Array w0 = 1 + (2. / 13) / (count * count), square = w0 * w0 - 1, root = sqrt(square);
  const Array angle = count * log(w0 + root);
  const Array w1 = sinh(angle) * square / (cosh(angle) * count * root - w0 * sinh(angle));
  const Array b1 = 1 / (4 * w0 * w0);
  const Stages begin{array(std::int64_t{2}),
                     {{w0, one, 0 * one}, b1, w1 * b1, y0 + (w1 * b1) * h * slope0},
                     {{one, 0 * one, 0 * one}, b1, 0 * one, y0}};
  const auto more = [&](const Stages& n) {
    const Chebyshev p = next(w0, n.last.polynomial, n.before.polynomial);
    const Array b = p.curvature / (p.slope * p.slope), a = 1 - n.last.polynomial.value * n.last.b;
    const Array mu = 2 * w0 * b / n.last.b, nu = -b / n.before.b, weight = mu * w1 / w0;
    const Array f = slope(s.t0 + n.last.time * length, n.last.y);
    const Array y = mu * n.last.y + nu * n.before.y + (1 - mu - nu) * y0 + (h * weight) * (f - a * slope0);
    return Stages{n.j + 1, {p, b, mu * n.last.time + nu * n.before.time + weight * (1 - a), y}, n.last};
  };
  return while_loop([&](const Stages& n) { return n.j <= stages; }, more, begin).last.y;
}

}  // namespace

StepTraits RKC::traits() const {
  return {.name = "RKC",
          .order = 2,
          .error_order = 3,
          .keeps_slope = true,
          .may_fail = true,
          .varying_work = true};
}

void RKC::check(Loc loc) const {
  if (max_stages < 2)
    fail(messages::option_range,
         {"RKC", "max_stages", std::to_string(max_stages), "give a number of stages, 2 or more"}, loc);
}

// The slope, and a vector that has a part of every eigenvector.
std::vector<Array> RKC::init(const SolverStart& s) const {
  const detail::Layout layout(s.y0);
  std::vector<Array> state(s.slope.begin(), s.slope.end());
  const Array index = astype(arange(layout.size()), layout.dtype());
  const Array vector = sin(1 + index * (1 + 0.618 * index));
  state.push_back(vector / sqrt(maximum(sum(vector * vector), 1e-30)));
  return state;
}

SolverAttempt RKC::step(const SolverStep& s) const {
  const detail::Layout layout(s.y0);
  const detail::VectorSlope slope(s.slopes, layout);
  const std::size_t leaves = s.y0.size();
  const Array length = s.t1 - s.t0, h = length * s.slopes.direction();
  const Array y0 = layout.join(s.y0), slope0 = layout.join(s.state.first(leaves));
  const Radius radius = spectral_radius(slope, s.t0, y0, s.state[leaves]);
  const Array needed = stop_gradient(1 + floor(sqrt(1 + 1.54 * 1.2 * length * radius.value)));
  const Array few = needed <= static_cast<double>(max_stages);
  const Array stages = astype(where(few, maximum(needed, 2.), 2.), Dtype::I64);

  const Array y1 = advanced(slope, s, y0, slope0, stages), slope1 = slope(s.t1, y1);
  SolverAttempt step;
  step.y1 = layout.split(y1);
  step.error = layout.split(0.8 * (y0 - y1) + (0.4 * h) * (slope0 + slope1));
  step.dense.assign(s.state.begin(), s.state.begin() + static_cast<std::ptrdiff_t>(leaves));
  step.state = layout.split(slope1);
  step.dense.insert(step.dense.end(), step.state.begin(), step.state.end());
  step.state.push_back(radius.vector);
  step.failed = !few;
  step.work.evaluations = stages;
  return step;
}

}  // namespace apsis
