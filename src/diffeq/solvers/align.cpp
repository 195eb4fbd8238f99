#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/math.hpp"
#include "diffeq/langevin.hpp"

namespace apsis {

StepTraits ALIGN::traits() const {
  return {.name = "ALIGN",
          .order = 2,
          .error_order = 2,
          .takes_controls = true,
          .calculus = Calculus::Stratonovich,
          .strong_order = 2,
          .levy_area = LevyArea::SpaceTime,
          .noise = NoiseKind::Additive};
}

// The gradient where the step begins.
std::vector<Array> ALIGN::init(const SolverStart& s) const {
  return s.slopes.langevin_gradient(s.slopes.part(0, s.y0));
}

SolverAttempt ALIGN::step(const SolverStep& step) const {
  const detail::LangevinStep s(step);
  const std::span<const Array> f0 = step.state;
  const auto phi1 = s.each([&](std::size_t i) { return s.phi1(s.alpha[i]); }),
             phi2 = s.each([&](std::size_t i) { return s.phi2(s.alpha[i]); }),
             area = s.each([&](std::size_t i) { return s.h * s.of_h(s.alpha[i]) * s.hh[i]; });
  const std::vector<Array> x = s.each([&](std::size_t i) {
    return s.x[i] + s.h * phi1[i] * s.v[i] - s.h * phi2[i] * s.uh[i] * f0[i] +
           s.rho[i] * (s.h * phi2[i] * s.w[i] + area[i]);
  });
  const std::vector<Array> f1 = s.gradient(x);
  const std::vector<Array> v = s.each([&](std::size_t i) {
    return exp(-s.alpha[i]) * s.v[i] - s.uh[i] * ((phi1[i] - phi2[i]) * f0[i] + phi2[i] * f1[i]) +
           s.rho[i] * (phi1[i] * s.w[i] - s.gamma[i] * area[i]);
  });
  const std::vector<Array> none = s.each([&](std::size_t i) { return zeros_like(s.x[i]); });
  const std::vector<Array> error =
      s.each([&](std::size_t i) { return -s.uh[i] * phi2[i] * (f1[i] - f0[i]); });
  return {.y1 = detail::joined(x, v), .error = detail::joined(none, error), .state = f1};
}

}  // namespace apsis
