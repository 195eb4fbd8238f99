#include "apsis/optim/muon.hpp"

#include "apsis/ops/index.hpp"
#include "optim/support.hpp"

namespace apsis::optim {

using namespace detail;

namespace {

/// The leaves that are matrices, or all the others.
bool is_matrix(const Array& p) { return p.ndim() == 2; }

void check_coefficients(const Array& coefficients, std::int64_t steps, Loc loc) {
  const Shape& shape = coefficients.shape();
  if (steps >= 1 && (shape == Shape{3} || (shape.rank() == 2 && shape[1] == 3 && shape[0] >= steps))) return;
  fail(messages::muon_coefficients, {to_string(coefficients.aval()), std::to_string(steps)}, loc);
}

Array orthogonal(const Array& matrix, const Array& coefficients, std::int64_t steps, const Array& eps) {
  const bool tall = matrix.shape()[0] > matrix.shape()[1];
  Array x = tall ? transpose(matrix) : matrix;
  x = x / (norm(x) + like(eps, x));
  const Array c = astype(coefficients, x.dtype());
  for (std::int64_t k = 0; k < steps; ++k) {
    const Array now = c.ndim() == 1 ? c : c[c.dim(0) - steps + k];
    const Array a = matmul(x, transpose(x));
    x = now[0] * x + matmul(now[1] * a + matmul(now[2] * a, a), x);
  }
  return tall ? transpose(x) : x;
}

}  // namespace

Array orthogonalize_via_newton_schulz(const Array& x, const Array& ns_coeffs, std::int64_t ns_steps,
                                      const Array& eps, Loc loc) {
  const LocScope place(loc);
  if (x.ndim() != 2) fail(messages::muon_matrix, {to_string(x.aval())}, loc);
  check_coefficients(ns_coeffs, ns_steps, loc);
  return orthogonal(x, ns_coeffs, ns_steps, eps);
}

void Muon::start(Start& s) const {
  s.check("Muon", "learning_rate", learning_rate, OptionRange::Rate);
  s.check("Muon", "beta", beta, OptionRange::Fraction);
  s.check("Muon", "eps", eps, OptionRange::NotNegative);
  s.check("Muon", "weight_decay", weight_decay, OptionRange::Finite);
  s.check("Muon", "consistent_rms", consistent_rms, OptionRange::Positive);
  s.check("Muon", "adam_b1", adam_b1, OptionRange::Fraction);
  s.check("Muon", "adam_b2", adam_b2, OptionRange::Fraction);
  s.check("Muon", "adam_eps_root", adam_eps_root, OptionRange::NotNegative);
  s.check("Muon", "adam_weight_decay", adam_weight_decay, OptionRange::Finite);
  s.check("Muon", "adam_learning_rate", adam_learning_rate, OptionRange::Rate);
  check_coefficients(ns_coeffs, ns_steps, s.loc);
  s.check("Muon", "mu_dtype", mu_dtype);
  s.count();
  s.zeros(mu_dtype);
  s.each([](const Array& p) { return is_matrix(p) ? Array() : zeros_like(p); });
}

void Muon::step(Step& s) const {
  Array& count = s.scalar();
  const Array before = count;
  const Leaves kept_mu = s.tree(), kept_nu = s.tree();
  count = count + 1;
  const std::vector<Array> gradient = s.updates;
  auto keep_if = [&](bool matrices) {
    for (std::size_t i = 0; i < gradient.size(); ++i)
      s.updates[i] = !gradient[i].is_empty() && is_matrix(gradient[i]) == matrices ? gradient[i] : Array();
  };

  keep_if(true);
  std::vector<Array> mu = average(s, kept_mu, beta);
  s.map([&](std::size_t i) {
    const Array momentum = first_moment(s.updates[i], mu[i], beta, count, nesterov);
    Array x = orthogonal(momentum, ns_coeffs, ns_steps, eps);
    if (adaptive) x = sum(momentum * x) * x;
    const auto rows = static_cast<double>(x.dim(0)), columns = static_cast<double>(x.dim(1));
    const Array factor = consistent_rms.is_empty() ? sqrt(Array(std::max(1., columns / rows)))
                                                   : sqrt(Array(std::max(rows, columns))) * consistent_rms;
    return like(factor, x) * x;
  });
  add_decayed_weights(s, weight_decay, mask, before);
  scale_by_learning_rate(s, learning_rate, before);
  const std::vector<Array> matrices = s.updates;

  keep_if(false);
  mu = average(s, kept_mu, adam_b1);
  const std::vector<Array> nu = average(s, kept_nu, adam_b2, 2);
  s.map([&](std::size_t i) {
    const Array root = sqrt(unbiased(nu[i], adam_b2, count) + like(adam_eps_root, nu[i]));
    return first_moment(s.updates[i], mu[i], adam_b1, count, nesterov) / (root + like(eps, root));
  });
  add_decayed_weights(s, adam_weight_decay, {}, before);
  scale_by_learning_rate(s, adam_learning_rate.is_empty() ? learning_rate : adam_learning_rate, before);
  for (std::size_t i = 0; i < matrices.size(); ++i)
    if (!matrices[i].is_empty()) s.updates[i] = matrices[i];
}

}  // namespace apsis::optim
