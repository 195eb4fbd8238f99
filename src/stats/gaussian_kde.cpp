#include <cmath>

#include "apsis/array/linalg.hpp"
#include "apsis/array/random.hpp"
#include "apsis/array/statistics.hpp"
#include "apsis/ops/decomposition.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/random.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/stats/sample.hpp"
#include "stats/messages.hpp"
#include "stats/support.hpp"

namespace apsis::stats {
using namespace detail;
namespace {

/// [d, m] of points that may be a vector: m of them in one dimension, or one.
Array columns(const char* where, const Array& points, std::int64_t d) {
  const bool one = points.ndim() <= 1 && d == 1, single = points.ndim() == 1 && points.dim(0) == d;
  const bool many = points.ndim() == 2 && points.dim(0) == d;
  if (!one && !single && !many)
    fail(messages::stats_points, {where, std::to_string(d), to_string(points.shape())});
  return many ? points : one ? reshape(points, {1, points.size()}) : reshape(points, {d, 1});
}

/// log of N(pᵢ - qⱼ; 0, Σ) for points [d, m] and [d, n]: [m, n].
Array log_kernels(const Array& p, const Array& q, const Array& covariance) {
  const Array l = linalg::cholesky(covariance);
  const auto whitened = [&](const Array& x) { return linalg::solve_triangular(l, x, {.lower = true}); };
  const Array distance = expand_dims(whitened(p), 2) - expand_dims(whitened(q), 1);
  const double d = static_cast<double>(p.dim(0));
  const Array half_log_det = sum(log(linalg::diagonal(l)));
  return -0.5 * sum(square(distance), {.axis = 0}) - (d * log_root_two_pi + half_log_det);
}

}  // namespace

GaussianKde gaussian_kde(const Array& dataset, const KdeOptions& options, Loc loc) {
  const LocScope place(loc);
  const bool weighted = !options.weights.is_empty();
  const Arguments of =
      weighted ? promoted("gaussian_kde", {dataset, options.weights}) : promoted("gaussian_kde", {dataset});
  if (dataset.ndim() > 2 || dataset.size() < 2) fail(messages::stats_dataset, {to_string(dataset.shape())});
  const Array points = dataset.ndim() == 2 ? of.v[0] : reshape(of.v[0], {1, dataset.size()});
  const std::int64_t n = points.dim(1);
  if (weighted && (options.weights.ndim() != 1 || options.weights.dim(0) != n))
    fail(messages::stats_weights, {std::to_string(n), to_string(options.weights.shape())});
  const Array weights =
      weighted ? of.v[1] / sum(of.v[1]) : full({n}, 1. / static_cast<double>(n), points.dtype());
  const Array neff = 1. / sum(square(weights));
  const double d = static_cast<double>(points.dim(0));
  const Array count = options.bandwidth == Bandwidth::Silverman ? neff * ((d + 2) / 4) : neff;
  const Array factor = options.factor.is_empty() ? pow(count, -1 / (d + 4)) : options.factor;
  const Array spread = reshape(cov(points, {.aweights = weights}), {points.dim(0), points.dim(0)});
  return {points, weights, neff, spread * square(factor)};
}

Array GaussianKde::logpdf(const Array& points, Loc loc) const {
  const LocScope place(loc);
  const Array p = columns("gaussian_kde", points, dataset.dim(0));
  return logsumexp(log_kernels(p, dataset, covariance) + log(weights), {.axis = 1});
}

Array GaussianKde::pdf(const Array& points, Loc loc) const {
  const LocScope place(loc);
  const Array p = columns("gaussian_kde", points, dataset.dim(0));
  return sum(exp(log_kernels(p, dataset, covariance)) * weights, {.axis = 1});
}

Array GaussianKde::integrate_gaussian(const Array& mean, const Array& cov, Loc loc) const {
  const LocScope place(loc);
  const std::int64_t d = dataset.dim(0);
  const bool fits = cov.size() == d * d && mean.size() == d && mean.ndim() <= 1;
  if (!fits)
    fail(messages::stats_points, {"integrate_gaussian", std::to_string(d),
                                  to_string(mean.shape()) + " and " + to_string(cov.shape())});
  const Array sum_of_both = covariance + reshape(cov, {d, d});
  return sum(exp(log_kernels(reshape(mean, {d, 1}), dataset, sum_of_both)) * weights);
}

Array GaussianKde::integrate_box_1d(const Array& low, const Array& high, Loc loc) const {
  const LocScope place(loc);
  if (dataset.dim(0) != 1) fail(messages::stats_box, {std::to_string(dataset.dim(0))});
  const Array width = sqrt(reshape(covariance, {})), at = reshape(dataset, {dataset.dim(1)});
  const auto below = [&](const Array& end) { return special::ndtr((end - at) / width); };
  return sum(weights * (below(high) - below(low)));
}

Array GaussianKde::integrate_kde(const GaussianKde& other, Loc loc) const {
  const LocScope place(loc);
  columns("integrate_kde", other.dataset, dataset.dim(0));
  const Array kernels = exp(log_kernels(dataset, other.dataset, covariance + other.covariance));
  return sum(kernels * expand_dims(weights, 1) * other.weights);
}

Array GaussianKde::resample(const Array& key, std::int64_t count, Loc loc) const {
  const LocScope place(loc);
  const auto [of_points, of_noise] = random::split<2>(key);
  const Array at = random::choice(of_points, arange(dataset.dim(1)), {count}, weights);
  const Array zero = zeros({dataset.dim(0)}, covariance.dtype());
  const Array noise = random::multivariate_normal(of_noise, zero, covariance, {.shape = Shape{count}});
  return take(dataset, at, 1) + transpose(noise);
}

}  // namespace apsis::stats
