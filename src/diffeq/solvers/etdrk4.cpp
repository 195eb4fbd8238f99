// Cox, Matthews, Exponential time differencing for stiff systems, J. Comput. Phys. 176, 2002, (26)-(29). In
// closed form their coefficients cancel (Kassam, Trefethen, Fourth-order time-stepping for stiff PDEs, SIAM
// J. Sci. Comput. 26, 2005): here they are sums of φ functions.

#include <algorithm>

#include "apsis/array/dtype.hpp"
#include "apsis/control/cond.hpp"
#include "apsis/control/custom.hpp"
#include "apsis/core/op.hpp"
#include "apsis/diffeq/exponential.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/transform/jvp.hpp"
#include "diffeq/matrix_form.hpp"
#include "diffeq/phi.hpp"
#include "diffeq/step.hpp"

namespace apsis {
namespace {

/// A linear part and the length of a step.
struct Given {
  Array matrix, h;
};
/// What the step multiplies states and slopes with; h is part of those for slopes.
struct Coefficients {
  Array half, half_slope, whole, first, inner, last;
};
struct Kept {
  Given given;
  Coefficients made;
};

Coefficients coefficients(const Given& g) {
  const detail::Phi half = detail::phi((0.5 * g.h) * g.matrix), whole = detail::doubled(half);
  return {half.exponential,
          (0.5 * g.h) * half.one,
          whole.exponential,
          g.h * (whole.one - 3 * whole.two + 4 * whole.three),
          g.h * (2 * whole.two - 4 * whole.three),
          g.h * (4 * whole.three - whole.two)};
}

/// What was kept, where it is of the same matrix and, up to the rounding of times, length. Its derivatives
/// are those of coefficients that are made now.
Coefficients kept_or_made(const Given& given, const Array& same, const Kept& kept) {
  const auto value = [](const Given& g, const Array& is_same, const Kept& k) {
    return cond(
        is_same, [](const Given&, const Coefficients& made) { return made; },
        [](const Given& now, const Coefficients&) { return coefficients(now); }, g, k.made);
  };
  using All = std::tuple<Given, Array, Kept>;
  const auto rule = [](const All& at, const All& along) {
    return jvp(coefficients, std::get<0>(at), std::get<0>(along));
  };
  return custom_jvp(value, rule)(given, same, kept);
}

bool is_diagonal(const detail::Pattern& p) { return std::ranges::equal(p.row_indices(), p.column_indices()); }

/// ∂/∂y of the second term: [n, n], or [n] where it is diagonal.
Array linear_part(const detail::VectorSlope& slope, const Array& t, const Array& y) {
  if (!is_diagonal(detail::pattern_of(slope, t, y))) return slope.jacobian(t, y);
  return jvp([&](const Array& x) { return slope(t, x); }, y, ones_like(y)).second;
}

}  // namespace

StepTraits ETDRK4::traits() const { return {.name = "ETDRK4", .order = 4, .keeps_slope = true}; }

// The slope; and of a full matrix what coefficients were made of, and they.
std::vector<Array> ETDRK4::init(const SolverStart& s) const {
  const detail::Layout layout(s.y0);
  std::vector<Array> state(s.slope.begin(), s.slope.end());
  const Array none =
      zeros_like(linear_part(detail::VectorSlope(s.slopes, layout, 1), s.t0, layout.join(s.y0)));
  if (none.ndim() == 1) return state;
  state.insert(state.end(), {none, zeros({}, layout.dtype())});
  state.insert(state.end(), 6, none);
  return state;
}

SolverAttempt ETDRK4::step(const SolverStep& s) const {
  const detail::Layout layout(s.y0);
  const detail::VectorSlope whole_slope(s.slopes, layout), stiff(s.slopes, layout, 1);
  const std::size_t leaves = s.y0.size();
  const Array length = s.t1 - s.t0, h = length * s.slopes.direction(), y0 = layout.join(s.y0);
  const Array matrix = linear_part(stiff, s.t0, y0);
  const Given given{matrix, h};
  const bool diagonal = matrix.ndim() == 1;
  Coefficients k;
  if (diagonal) {
    k = coefficients(given);
  } else {
    const std::span<const Array> own = s.state.subspan(leaves);
    const Kept kept{{own[0], own[1]}, {own[2], own[3], own[4], own[5], own[6], own[7]}};
    const Array rounding = (4 * finfo(s.t0.dtype()).eps) * maximum(abs(s.t0), abs(s.t1));
    const Array same = all(matrix == kept.given.matrix) && abs(h - kept.given.h) <= rounding;
    k = kept_or_made(given, stop_gradient(same), kept);
  }

  // All that is not linear, whichever term has it.
  const auto rest = [&](const Array& t, const Array& y) {
    return whole_slope(t, y) - detail::times(matrix, y);
  };
  const Array middle = detail::stage_time(0.5, s.t0, s.t1, length);
  const Array slope0 = layout.join(s.state.first(leaves)), n0 = slope0 - detail::times(matrix, y0);
  const Array start = detail::times(k.half, y0), a = start + detail::times(k.half_slope, n0);
  const Array na = rest(middle, a), b = start + detail::times(k.half_slope, na), nb = rest(middle, b);
  const Array c = detail::times(k.half, a) + detail::times(k.half_slope, 2 * nb - n0), nc = rest(s.t1, c);
  const Array y1 = detail::times(k.whole, y0) + detail::times(k.first, n0) + detail::times(k.inner, na + nb) +
                   detail::times(k.last, nc);

  SolverAttempt step;
  step.y1 = layout.split(y1);
  step.state = layout.split(whole_slope(s.t1, y1));
  step.dense.assign(s.state.begin(), s.state.begin() + static_cast<std::ptrdiff_t>(leaves));
  step.dense.insert(step.dense.end(), step.state.begin(), step.state.end());
  if (!diagonal)
    step.state.insert(step.state.end(), {matrix, h, k.half, k.half_slope, k.whole, k.first, k.inner, k.last});
  step.work = {array(std::int64_t{4}), array(std::int64_t{1}), {}};
  return step;
}

}  // namespace apsis
