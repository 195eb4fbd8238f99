#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/math.hpp"
#include "diffeq/langevin.hpp"

namespace apsis {

StepTraits ShOULD::traits() const {
  return {.name = "ShOULD",
          .order = 3,
          .takes_controls = true,
          .calculus = Calculus::Stratonovich,
          .strong_order = 3,
          .levy_area = LevyArea::SpaceTimeTime,
          .noise = NoiseKind::Additive};
}

// The gradient where the step begins.
std::vector<Array> ShOULD::init(const SolverStart& s) const {
  return s.slopes.langevin_gradient(s.slopes.part(0, s.y0));
}

SolverAttempt ShOULD::step(const SolverStep& step) const {
  const detail::LangevinStep s(step);
  const std::span<const Array> f0 = step.state;
  const auto phi1 = s.each([&](std::size_t i) { return s.phi1(s.alpha[i]); }),
             phi2 = s.each([&](std::size_t i) { return s.phi2(s.alpha[i]); }),
             half = s.each([&](std::size_t i) { return 0.5 * s.alpha[i]; }),
             area = s.each([&](std::size_t i) {
               return s.h * (s.of_h(s.alpha[i]) * s.hh[i] + s.of_k(s.alpha[i]) * s.kk[i]);
             });
  const std::vector<Array> middle = s.each([&](std::size_t i) {
    const Array v = s.v[i] + s.rho[i] * (s.hh[i] + 6. * s.kk[i]);
    const Array force = s.rho[i] * (s.w[i] - 12. * s.kk[i]) - s.uh[i] * f0[i];
    return s.x[i] + 0.5 * s.h * s.phi1(half[i]) * v + 0.25 * s.h * s.phi2(half[i]) * force;
  });
  const std::vector<Array> f1 = s.gradient(middle);
  const std::vector<Array> x = s.each([&](std::size_t i) {
    return s.x[i] + s.h * phi1[i] * s.v[i] - s.uh[i] * s.h * phi2[i] * (f0[i] + 2. * f1[i]) / 3. +
           s.rho[i] * (s.h * phi2[i] * s.w[i] + area[i]);
  });
  const std::vector<Array> f2 = s.gradient(x);
  const std::vector<Array> v = s.each([&](std::size_t i) {
    const Array decay = exp(-s.alpha[i]);
    return decay * s.v[i] - s.uh[i] * (decay * f0[i] + 4. * exp(-half[i]) * f1[i] + f2[i]) / 6. +
           s.rho[i] * (phi1[i] * s.w[i] - s.gamma[i] * area[i]);
  });
  return {.y1 = detail::joined(x, v), .state = f2};
}

}  // namespace apsis
