// Random vectors and matrices, and draws of entries.

#include <cmath>
#include <string>

#include "apsis/array/creation.hpp"
#include "apsis/array/random.hpp"
#include "apsis/array/shape.hpp"
#include "apsis/array/sort.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/decomposition.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/sort.hpp"
#include "array/random_support.hpp"

namespace apsis::random {
using namespace detail;
namespace {

/// F with F Fᵀ the covariance.
Array covariance_factor(const Array& cov, CovarianceFactor how) {
  switch (how) {
    case CovarianceFactor::Eigh: {
      const linalg::EighResult r = linalg::eigh(cov);
      return r.eigenvectors * expand_dims(sqrt(maximum(r.eigenvalues, 0.)), -2);
    }
    case CovarianceFactor::Svd: {
      const linalg::SVDResult r = linalg::svd(cov);
      return r.u * expand_dims(sqrt(r.s), -2);
    }
    default:
      return linalg::cholesky(cov);
  }
}

}  // namespace

Array multivariate_normal(const Array& key, const Array& mean, const Array& cov,
                          const MultivariateNormalOptions& options, Loc loc) {
  const LocScope place(loc);
  check_rank("multivariate_normal", mean.ndim() >= 1, "one axis or more as mean", mean);
  check_rank("multivariate_normal", cov.ndim() >= 2, "two axes or more as covariance", cov);
  const std::int64_t n = mean.dim(-1);
  if (cov.dim(-1) != n || cov.dim(-2) != n)
    fail(messages::array_sizes,
         {"multivariate_normal", "mean " + to_string(mean.aval()), "covariance " + to_string(cov.aval()),
          "a mean of n entries has a covariance of n × n"});
  const Array given[] = {mean, cov};
  const std::vector<Array> v = promoted_inexact(given);
  const Dtype dtype = v[0].dtype();
  Shape of_mean = mean.shape(), of_cov = cov.shape();
  of_mean.erase(of_mean.size() - 1);
  of_cov.erase(of_cov.size() - 1);
  of_cov.erase(of_cov.size() - 1);
  const Shape shapes[] = {of_mean, of_cov};
  Shape all = options.shape.empty() ? common_shape("multivariate_normal", shapes) : options.shape;
  all.push_back(n);
  const Array z = expand_dims(normal(key, all, dtype), -1);
  return v[0] + squeeze(matmul(covariance_factor(v[1], options.factor), z), {-1});
}

Array orthogonal(const Array& key, std::int64_t n, const OrthogonalOptions& options, Loc loc) {
  const LocScope place(loc);
  if (!is_complex(options.dtype)) check_floating("orthogonal", options.dtype);
  check_count("orthogonal", n);
  const std::int64_t m = options.m == -1 ? n : options.m;
  check_count("orthogonal", m);
  Shape all = options.shape;
  all.push_back(std::max(n, m));
  all.push_back(std::min(n, m));
  const linalg::QRResult r = linalg::qr(normal(key, all, options.dtype));
  // Signs such that R's diagonal is positive make Q uniform (Mezzadri 2007).
  const Array q = r.q * expand_dims(sign(diagonal(r.r, 0, -2, -1)), -2);
  return n < m ? matrix_transpose(q) : q;
}

Array choice(const Array& key, const Array& x, const Shape& shape, const ChoiceOptions& options, Loc loc) {
  const LocScope place(loc);
  check_rank("choice", x.ndim() >= 1, "one axis or more", x);
  const int axis = checked_axis("choice", options.axis, x);
  const std::int64_t n = x.dim(axis), draws = shape.product();
  const bool weighted = !options.p.is_empty();
  if (weighted && options.p.shape() != Shape{n})
    fail(messages::array_sizes, {"choice", to_string(x.aval()), "p " + to_string(options.p.aval()),
                                 "p has one number an entry of axis " + std::to_string(axis)});
  const std::int64_t least = draws == 0 ? 0 : options.replace ? 1 : draws;
  if (n < least)
    fail(messages::array_few, {"choice", std::to_string(least) + (least == 1 ? " entry" : " entries"),
                               "axis " + std::to_string(axis),
                               to_string(x.aval()) + (options.replace ? "" : " without replacement")});
  Array at;
  if (options.replace) {
    const Array entries = arange(n);
    at = draws == 0 ? zeros(shape, i64)
         : weighted ? choice(key, entries, shape, options.p)
                    : choice(key, entries, shape);
  } else if (weighted) {
    const Array p = inexact(options.p);
    at = top_k(gumbel(key, {n}, p.dtype()) + log(p), draws).second;
  } else {
    at = part(permutation(key, n), 0, 0, draws);
  }
  const Array taken = take(x, reshape(at, {draws}), axis);
  Shape all;
  for (int i = 0; i < axis; ++i) all.push_back(x.dim(i));
  for (std::int64_t size : shape) all.push_back(size);
  for (int i = axis + 1; i < x.ndim(); ++i) all.push_back(x.dim(i));
  return reshape(taken, all);
}

}  // namespace apsis::random
