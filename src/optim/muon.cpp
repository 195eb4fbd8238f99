#include "apsis/optim/muon.hpp"

#include "apsis/ops/decomposition.hpp"
#include "apsis/ops/index.hpp"
#include "optim/matrices.hpp"

namespace apsis::optim {

using namespace detail;

namespace {

void check_coefficients(const Array& coefficients, std::int64_t steps, Loc loc) {
  const Shape& shape = coefficients.shape();
  if (steps >= 1 && (shape == Shape{3} || (shape.rank() == 2 && shape[1] == 3 && shape[0] >= steps))) return;
  fail(messages::muon_coefficients, {to_string(coefficients.aval()), std::to_string(steps)}, loc);
}

/// The sizes of matrices x [.., m, n]; of [.., m] their rows.
Array frobenius(const Array& x) { return sqrt(sum(square(x), {.axis = {-2, -1}, .keepdims = true})); }

/// One step of Newton and Schulz, of x whose product with itself is a.
Array newton_schulz(const Array& x, const Array& a, const Array& c) {
  return c[0] * x + matmul(c[1] * a + matmul(c[2] * a, a), x);
}
/// x with singular values of 1 at most; the last two do it with the first step's own product.
Array bounded(const Array& x, Preconditioning how, const Array& eps) {
  if (how == Preconditioning::Frobenius) return x / (frobenius(x) + like(eps, x));
  if (how == Preconditioning::Spectral) {
    const Array greatest = max(linalg::svdvals(x), {.axis = {-1}, .keepdims = true});
    return x / (expand_dims(greatest, -1) + like(eps, x));
  }
  return x;
}
Array first_step(Array x, const Array& c, Preconditioning how, const Array& eps) {
  Array a = matmul(x, transposed(x));
  if (how == Preconditioning::Aol) {
    const Array s = rsqrt(maximum(sum(abs(a), {.axis = {-1}, .keepdims = true}), like(eps, a)));
    x = x * s;
    a = a * s * transposed(s);
  } else if (how == Preconditioning::Schatten) {
    const Array s = rsqrt(maximum(frobenius(a), like(eps, a)));
    x = x * s;
    a = a * square(s);
  }
  return newton_schulz(x, a, c);
}

/// Of matrices [.., m, n].
Array orthogonal(const Array& matrix, const Array& coefficients, std::int64_t steps, Preconditioning how,
                 const Array& eps) {
  const bool tall = matrix.dim(-2) > matrix.dim(-1);
  Array x = bounded(tall ? transposed(matrix) : matrix, how, eps);
  const Array c = astype(coefficients, x.dtype());
  for (std::int64_t k = 0; k < steps; ++k) {
    const Array now = c.ndim() == 1 ? c : c[c.dim(0) - steps + k];
    x = k == 0 ? first_step(x, now, how, eps) : newton_schulz(x, matmul(x, transposed(x)), now);
  }
  return tall ? transposed(x) : x;
}

}  // namespace

Array orthogonalize_via_newton_schulz(const Array& x, const Array& ns_coeffs, std::int64_t ns_steps,
                                      const Array& eps, Preconditioning preconditioning, Loc loc) {
  const LocScope place(loc);
  if (x.ndim() != 2) fail(messages::muon_matrix, {to_string(x.aval())}, loc);
  check_coefficients(ns_coeffs, ns_steps, loc);
  return orthogonal(x, ns_coeffs, ns_steps, preconditioning, eps);
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
  for (std::size_t i = 0; i < s.params.size(); ++i) {
    const Array& p = s.params[i];
    const bool element = Start::is_trained(p) && !as_matrices(p, matrix_axes, "Muon", s.path(i), s.loc);
    s.scalar(element ? zeros_like(p) : Array());
  }
}

void Muon::step(Step& s) const {
  Array& count = s.scalar();
  const Array before = count;
  const Leaves kept_mu = s.tree(), kept_nu = s.tree();
  count = count + 1;
  const std::vector<Array> gradient = s.updates;
  const std::vector<std::string> paths = s.paths();
  std::vector<std::optional<AsMatrices>> form(gradient.size());
  s.each([&](std::size_t i) { form[i] = as_matrices(s.params[i], matrix_axes, "Muon", paths[i], s.loc); });
  auto keep_if = [&](bool matrices) {
    for (std::size_t i = 0; i < gradient.size(); ++i)
      s.updates[i] = form[i].has_value() == matrices ? gradient[i] : Array();
  };

  keep_if(true);
  std::vector<Array> mu = average(s, kept_mu, beta);
  s.map([&](std::size_t i) {
    const Array momentum = first_moment(s.updates[i], mu[i], beta, count, nesterov);
    Array x = form[i]->back(orthogonal((*form[i])(momentum), ns_coeffs, ns_steps, preconditioning, eps));
    if (adaptive) x = sum(momentum * x) * x;
    const auto rows = static_cast<double>(form[i]->rows), columns = static_cast<double>(form[i]->columns);
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
