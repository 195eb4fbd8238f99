#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/math.hpp"
#include "diffeq/langevin.hpp"

namespace apsis {

StepTraits QUICSORT::traits() const {
  return {.name = "QUICSORT",
          .order = 3,
          .takes_controls = true,
          .calculus = Calculus::Stratonovich,
          .strong_order = 3,
          .levy_area = LevyArea::SpaceTimeTime,
          .noise = NoiseKind::Additive};
}

// Gradients at the nodes of Gauss' rule, l and r.
SolverAttempt QUICSORT::step(const SolverStep& step) const {
  constexpr double root = 1.7320508075688772935;  // of 3
  constexpr double l = 0.5 - root / 6, r = 0.5 + root / 6;
  const detail::LangevinStep s(step);
  const auto v = s.each([&](std::size_t i) { return s.v[i] + s.rho[i] * (s.hh[i] + 6. * s.kk[i]); }),
             force = s.each([&](std::size_t i) { return s.rho[i] * (s.w[i] - 12. * s.kk[i]); });
  // The state at the part c of the step, without gradients.
  const auto drifted = [&](std::size_t i, double c) {
    const Array a = c * s.alpha[i];
    return s.x[i] + c * s.h * s.phi1(a) * v[i] + c * c * s.h * s.phi2(a) * force[i];
  };
  const auto at = [&](double c) {
    return s.each([&](std::size_t i) { return s.h * c * s.phi1(c * s.alpha[i]); });
  };
  const auto kicks = [&](const std::vector<Array>& gradient) {
    return s.each([&](std::size_t i) { return s.uh[i] * gradient[i]; });
  };
  const std::vector<Array> first = kicks(s.gradient(s.each([&](std::size_t i) { return drifted(i, l); })));
  const std::vector<Array> third = at(1. / 3);
  const std::vector<Array> second =
      kicks(s.gradient(s.each([&](std::size_t i) { return drifted(i, r) - third[i] * first[i]; })));
  const std::vector<Array> to_l = at(l), to_r = at(r);
  const std::vector<Array> x = s.each(
      [&](std::size_t i) { return drifted(i, 1.) - 0.5 * (to_r[i] * first[i] + to_l[i] * second[i]); });
  const std::vector<Array> end = s.each([&](std::size_t i) {
    const Array& a = s.alpha[i];
    return exp(-a) * v[i] - 0.5 * (exp(-r * a) * first[i] + exp(-l * a) * second[i]) + s.phi1(a) * force[i] -
           s.rho[i] * (s.hh[i] - 6. * s.kk[i]);
  });
  return {.y1 = detail::joined(x, end)};
}

}  // namespace apsis
