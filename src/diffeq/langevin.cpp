// What solvers of underdamped Langevin diffusion share: coefficients of γ h.

#include "diffeq/langevin.hpp"

#include <cmath>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "diffeq/checks.hpp"
#include "diffeq/messages.hpp"

namespace apsis::detail {

std::vector<Array> like_position(std::span<const Array> coefficients, std::span<const Array> x,
                                 const char* name) {
  std::vector<Array> out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool one = coefficients.size() == 1;
    if (!one && coefficients.size() != x.size())
      fail(messages::langevin_leaves, {name, std::to_string(coefficients.size()), std::to_string(x.size())});
    const Array& c = coefficients[one ? 0 : i];
    if (!broadcasts(c.shape(), x[i].shape()))
      fail(messages::langevin_shape, {name, to_string(c.aval()), to_string(x[i].aval())});
    out.push_back(broadcast_to(astype(c, x[i].dtype()), x[i].shape()));
  }
  return out;
}

std::vector<Array> langevin_force(std::span<const Array> gamma, std::span<const Array> u,
                                  std::span<const Array> v, std::span<const Array> gradient) {
  const std::vector<Array> g = like_position(gamma, v, "gamma"), damping = like_position(u, v, "u");
  if (gradient.size() != v.size())
    fail(messages::langevin_leaves, {"grad_f(x)", std::to_string(gradient.size()), std::to_string(v.size())});
  std::vector<Array> force;
  for (std::size_t i = 0; i < v.size(); ++i) force.push_back(-g[i] * v[i] - damping[i] * gradient[i]);
  return force;
}

std::vector<Array> langevin_noise(std::span<const Array> gamma, std::span<const Array> u,
                                  std::span<const Array> x) {
  const std::vector<Array> g = like_position(gamma, x, "gamma"), damping = like_position(u, x, "u");
  std::vector<Array> noise;
  for (std::size_t i = 0; i < x.size(); ++i) noise.push_back(sqrt(2. * g[i] * damping[i]));
  return noise;
}

namespace {

/// Σ terms[n] (-a)^n for a below 2, `direct` beyond, where it loses no digits.
Array series_or(const Array& a, const std::vector<double>& terms, const Array& direct) {
  Array sum = terms.back();
  for (std::size_t n = terms.size() - 1; n-- > 0;) sum = terms[n] - a * sum;
  return where(abs(a) < 2., astype(sum, a.dtype()), direct);
}
/// factor(n) / (n + shift)! for n = 0 … 29: the last term, 2³⁰ / 30!, is below 1e-23.
template <class Factor>
std::vector<double> coefficients(int shift, const Factor& factor) {
  std::vector<double> terms;
  for (int n = 0; n < 30; ++n) terms.push_back(factor(n) / std::tgamma(n + shift + 1.));
  return terms;
}

}  // namespace

LangevinStep::LangevinStep(const SolverStep& s) : s_(s), h(s.slopes.length(s.t0, s.t1)) {
  const std::size_t n = s.y0.size() / 2;
  x.assign(s.y0.begin(), s.y0.begin() + static_cast<std::ptrdiff_t>(n));
  v.assign(s.y0.begin() + static_cast<std::ptrdiff_t>(n), s.y0.end());
  gamma = like_position(s.slopes.langevin(0), x, "gamma");
  u = like_position(s.slopes.langevin(1), x, "u");
  const ControlIncrement noise = s.slopes.increment(s.t0, s.t1);
  w = noise.w[0];
  hh = noise.h[0];
  kk = noise.k[0];
  for (std::size_t i = 0; i < n; ++i) {
    rho.push_back(sqrt(2. * gamma[i] * u[i]));
    uh.push_back(u[i] * h);
    alpha.push_back(gamma[i] * h);
  }
}

Array LangevinStep::phi1(const Array& a) {
  static const std::vector<double> terms = coefficients(1, [](int) { return 1.; });
  const Array safe = where(a == 0., 1., a);
  return series_or(a, terms, (1. - exp(-a)) / safe);
}
Array LangevinStep::phi2(const Array& a) {
  static const std::vector<double> terms = coefficients(2, [](int) { return 1.; });
  const Array safe = where(a == 0., 1., a);
  return series_or(a, terms, (exp(-a) + a - 1.) / (safe * safe));
}
Array LangevinStep::of_h(const Array& a) {
  static const std::vector<double> terms = coefficients(3, [](int n) { return 6. * (n + 1); });
  const Array safe = where(a == 0., 1., a);
  return series_or(a, terms, 6. * (exp(-a) * (a + 2.) + a - 2.) / (safe * safe * safe));
}
Array LangevinStep::of_k(const Array& a) {
  static const std::vector<double> terms = coefficients(4, [](int n) { return 60. * n * (n + 1); });
  const Array safe = where(a == 0., 1., a), square = safe * safe;
  return series_or(a, terms, 60. * (exp(-a) * (a * (a + 6.) + 12.) - a * (a - 6.) - 12.) / (square * square));
}

}  // namespace apsis::detail
