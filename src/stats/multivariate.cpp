#include "apsis/stats/multivariate.hpp"

#include <cmath>

#include "apsis/array/linalg.hpp"
#include "apsis/ops/decomposition.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/shape.hpp"
#include "stats/messages.hpp"
#include "stats/support.hpp"

namespace apsis::stats {
using namespace detail;
namespace {

constexpr double log_two_pi = 2 * log_root_two_pi;

/// The shape without its last axes.
Shape leading(const Array& x, std::size_t axes) { return Shape(x.shape().data(), x.shape().size() - axes); }

/// L⁻¹ r along the last axis, of lower triangular L. A single L solves for all r in one call.
Array whitened(const char* where, const Array& l, const Array& r) {
  const std::int64_t n = r.dim(-1);
  if (l.ndim() == 2) {
    const Array columns = transpose(reshape(r, {n == 0 ? 0 : r.size() / n, n}));
    return reshape(transpose(linalg::solve_triangular(l, columns, {.lower = true})), r.shape());
  }
  Shape of_r = broadcast_shape(where, {leading(l, 2), leading(r, 1)});
  of_r.push_back(n);
  Shape of_l = of_r;
  of_l.push_back(n);
  const Array columns = expand_dims(broadcast_to(r, of_r), -1);
  return squeeze(linalg::solve_triangular(broadcast_to(l, of_l), columns, {.lower = true}), {-1});
}

Arguments normal_log_density(const char* where, std::initializer_list<Array> given) {
  Arguments of = promoted(where, given);
  const Array &x = of.v[0], &mean = of.v[1], &cov = of.v[2];
  broadcast_shape(where, {x.shape(), mean.shape()});
  const Array r = x - mean;
  if (mean.ndim() == 0 && cov.ndim() == 0) {
    of.v = {-0.5 * (square(r) / cov + log_two_pi + log(cov))};
    return of;
  }
  const std::int64_t n = r.ndim() == 0 ? 1 : r.dim(-1);
  const bool square_ones = cov.ndim() >= 2 && cov.dim(-1) == n && cov.dim(-2) == n;
  if (r.ndim() == 0 || (cov.ndim() != 0 && !square_ones))
    fail(messages::stats_covariance, {where, to_string(r.shape()), to_string(cov.shape())});
  const double count = static_cast<double>(n);
  if (cov.ndim() == 0) {
    const Array squares = sum(square(r), {.axis = -1}) / cov;
    of.v = {-0.5 * (squares + count * (log_two_pi + log(cov)))};
    return of;
  }
  const Array l = linalg::cholesky(cov), y = whitened(where, l, r);
  const Array half_log_det = sum(log(linalg::diagonal(l)), {.axis = -1});
  of.v = {-0.5 * sum(square(y), {.axis = -1}) - 0.5 * count * log_two_pi - half_log_det};
  return of;
}

Arguments dirichlet_log_density(const char* where, std::initializer_list<Array> given) {
  Arguments of = promoted(where, given);
  Array x = of.v[0], alpha = of.v[1];
  if (alpha.ndim() != 1) fail(messages::stats_alpha, {where, to_string(alpha.shape())});
  const std::int64_t n = alpha.dim(0);
  if (x.ndim() == 0 || (x.dim(0) != n && x.dim(0) != n - 1))
    fail(messages::stats_parts, {where, std::to_string(n), to_string(x.shape())});
  if (x.dim(0) != n) x = concatenate({x, 1. - sum(x, {.axis = 0, .keepdims = true})}, 0);
  const Array norm = sum(special::gammaln(alpha)) - special::gammaln(sum(alpha));
  const Array valid = all(alpha > 0) && !any(isnan(x), {.axis = 0});
  Shape along = Shape::filled(x.shape().size(), 1);
  along[0] = n;
  const Array inside = all(x >= 0, {.axis = 0}) && abs(sum(x, {.axis = 0}) - 1.) < 1e-6;
  const Array log_x = special::xlogy(reshape(alpha, along) - 1., apsis::where(inside, x, 1.));
  of.v = {apsis::where(valid, apsis::where(inside, sum(log_x, {.axis = 0}) - norm, -INFINITY), NAN)};
  return of;
}

Arguments multinomial_log_mass(const char* where, std::initializer_list<Array> given) {
  Arguments of = promoted(where, given);
  const Array &x = of.v[0], &n = of.v[1], &p = of.v[2];
  if (x.ndim() == 0 || p.ndim() == 0)
    fail(messages::stats_outcomes, {where, to_string(x.shape()), to_string(p.shape())});
  Shape lead = broadcast_shape(where, {x.shape(), p.shape()});
  lead.resize(lead.size() - 1);
  broadcast_shape(where, {lead, n.shape()});
  const Array valid = n >= 0 && all(p >= 0 && !isnan(x), {.axis = -1});
  const Array count = x >= 0 && floor(x) == x, k = apsis::where(count, x, 0.);
  const Array fits = all(count, {.axis = -1}) && sum(x, {.axis = -1}) == n;
  const Array m = apsis::where(valid, n, 0.);
  const Array value =
      special::gammaln(m + 1.) + sum(special::xlogy(k, p) - special::gammaln(k + 1.), {.axis = -1});
  of.v = {apsis::where(valid, apsis::where(fits, value, -INFINITY), NAN)};
  return of;
}

Array logarithm(const Arguments& y) { return finished(y.v[0], y); }
Array exponential(const Arguments& y) { return finished(exp(y.v[0]), y); }

}  // namespace

Array multivariate_normal::logpdf(const Array& x, const Array& mean, const Array& cov, Loc place) {
  const LocScope scope(place);
  return logarithm(normal_log_density("multivariate_normal::logpdf", {x, mean, cov}));
}
Array multivariate_normal::pdf(const Array& x, const Array& mean, const Array& cov, Loc place) {
  const LocScope scope(place);
  return exponential(normal_log_density("multivariate_normal::pdf", {x, mean, cov}));
}

Array dirichlet::logpdf(const Array& x, const Array& alpha, Loc place) {
  const LocScope scope(place);
  return logarithm(dirichlet_log_density("dirichlet::logpdf", {x, alpha}));
}
Array dirichlet::pdf(const Array& x, const Array& alpha, Loc place) {
  const LocScope scope(place);
  return exponential(dirichlet_log_density("dirichlet::pdf", {x, alpha}));
}

Array multinomial::logpmf(const Array& x, const Array& n, const Array& p, Loc place) {
  const LocScope scope(place);
  return logarithm(multinomial_log_mass("multinomial::logpmf", {x, n, p}));
}
Array multinomial::pmf(const Array& x, const Array& n, const Array& p, Loc place) {
  const LocScope scope(place);
  return exponential(multinomial_log_mass("multinomial::pmf", {x, n, p}));
}

}  // namespace apsis::stats
