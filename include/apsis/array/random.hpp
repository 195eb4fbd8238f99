#pragma once

// Distributions with parameters, by the formulas of jax.random. Parameters broadcast to the shape; without a
// shape, the result has that of the parameters. All throw when the key is no u32[2] array, or the dtype is
// not floating (`poisson`: no integer; `rademacher`: without signs; `geometric` has any). A parameter outside
// of its range gives NaN, or a count of -1.

#include "apsis/ops/random.hpp"

namespace apsis::random {

/// tan(π (u - 1/2)): the density 1 / (π (1 + x²)).
Array cauchy(const Array& key, const Shape& shape = {}, Dtype dtype = f64, Loc loc = Loc::here());
/// The density exp(-|x|) / 2.
Array laplace(const Array& key, const Shape& shape = {}, Dtype dtype = f64, Loc loc = Loc::here());
/// log(u / (1 - u)): its distribution function is 1 / (1 + exp(-x)).
Array logistic(const Array& key, const Shape& shape = {}, Dtype dtype = f64, Loc loc = Loc::here());
/// exp(sigma · normal).
Array lognormal(const Array& key, const Array& sigma = 1., const Shape& shape = {}, Dtype dtype = f64,
                Loc loc = Loc::here());
/// The length of three normal numbers as a vector.
Array maxwell(const Array& key, const Shape& shape = {}, Dtype dtype = f64, Loc loc = Loc::here());
/// location ± scale · maxwell, both signs alike.
Array double_sided_maxwell(const Array& key, const Array& location, const Array& scale,
                           const Shape& shape = {}, Dtype dtype = f64, Loc loc = Loc::here());
/// On [1, ∞) with the density b / x^(b+1).
Array pareto(const Array& key, const Array& b, const Shape& shape = {}, Dtype dtype = f64,
             Loc loc = Loc::here());
/// The length of two normal numbers as a vector, times scale.
Array rayleigh(const Array& key, const Array& scale = 1., const Shape& shape = {}, Dtype dtype = f64,
               Loc loc = Loc::here());
/// On [left, right], its density a triangle with its top at `mode`.
Array triangular(const Array& key, const Array& left, const Array& mode, const Array& right,
                 const Shape& shape = {}, Dtype dtype = f64, Loc loc = Loc::here());
/// The inverse Gaussian distribution of scale 1 (Michael, Schucany and Haas 1976).
Array wald(const Array& key, const Array& mean, const Shape& shape = {}, Dtype dtype = f64,
           Loc loc = Loc::here());
/// scale · (-log(1 - u))^(1/concentration): Weibull's distribution.
Array weibull_min(const Array& key, const Array& scale, const Array& concentration, const Shape& shape = {},
                  Dtype dtype = f64, Loc loc = Loc::here());
/// -1 or 1, of any dtype with signs.
Array rademacher(const Array& key, const Shape& shape = {}, Dtype dtype = i64, Loc loc = Loc::here());
/// How often one tries until the first success, of probability p: 1, 2, ….
Array geometric(const Array& key, const Array& p, const Shape& shape = {}, Dtype dtype = i64,
                Loc loc = Loc::here());

// Gamma draws and what is made of them. Derivatives with respect to the parameters are those of the draw
// whose probability stays (implicit reparametrisation; Figurnov, Mohamed and Mnih 2018), in both modes and to
// every order. Each element draws as often as it needs to.

/// On (0, ∞) with the density xᵃ⁻¹ e⁻ˣ / Γ(a), for a > 0 (Marsaglia and Tsang 2000).
Array gamma(const Array& key, const Array& a, const Shape& shape = {}, Dtype dtype = f64,
            Loc loc = Loc::here());
/// Its logarithm, exact where for small a the number itself would vanish.
Array loggamma(const Array& key, const Array& a, const Shape& shape = {}, Dtype dtype = f64,
               Loc loc = Loc::here());
/// On (0, 1) with the density xᵃ⁻¹ (1 - x)ᵇ⁻¹ / B(a, b).
Array beta(const Array& key, const Array& a, const Array& b, const Shape& shape = {}, Dtype dtype = f64,
           Loc loc = Loc::here());
/// Vectors of positive numbers whose sum is 1, along the last axis of alpha: Dirichlet's distribution.
/// `shape` is how many, in front of this axis.
Array dirichlet(const Array& key, const Array& alpha, const Shape& shape = {}, Dtype dtype = f64,
                Loc loc = Loc::here());
/// The sum of the squares of `df` normal numbers.
Array chisquare(const Array& key, const Array& df, const Shape& shape = {}, Dtype dtype = f64,
                Loc loc = Loc::here());
/// The quotient of two chisquare draws, each divided by its df: Fisher's distribution.
Array f(const Array& key, const Array& dfnum, const Array& dfden, const Shape& shape = {}, Dtype dtype = f64,
        Loc loc = Loc::here());
/// Student's distribution of `df` degrees of freedom.
Array t(const Array& key, const Array& df, const Shape& shape = {}, Dtype dtype = f64, Loc loc = Loc::here());
/// The density exp(-|x|ᵖ) p / (2 Γ(1/p)).
Array generalized_normal(const Array& key, const Array& p, const Shape& shape = {}, Dtype dtype = f64,
                         Loc loc = Loc::here());
/// Uniform among the vectors of d numbers with Σ |xᵢ|ᵖ ≤ 1, p a scalar: [shape.., d].
Array ball(const Array& key, std::int64_t d, const Array& p = 2., const Shape& shape = {}, Dtype dtype = f64,
           Loc loc = Loc::here());

// Counts. They have no derivative. JAX's integers, up to how logarithms are rounded.

/// k with the probability rateᵏ e^(-rate) / k!; -1 where the rate is negative, infinite or NaN.
Array poisson(const Array& key, const Array& rate, const Shape& shape = {}, Dtype dtype = i64,
              Loc loc = Loc::here());
/// How many of n trials succeed, each with probability p, as floating numbers, which n may be, too: it is
/// rounded down. NaN where n or p is negative or NaN, or p more than 1.
Array binomial(const Array& key, const Array& n, const Array& p, const Shape& shape = {}, Dtype dtype = f64,
               Loc loc = Loc::here());
/// How often each of the outcomes along the last axis of p happens in n trials; p are their probabilities, up
/// to a factor. `shape` is that of the result, which ends in this axis.
Array multinomial(const Array& key, const Array& n, const Array& p, const Shape& shape = {},
                  Dtype dtype = f64, Loc loc = Loc::here());

/// By which factor F the covariance is F Fᵀ: Cholesky's, for positive definite ones; or by eigenvalues or
/// singular values, for singular ones, too.
enum class CovarianceFactor : std::uint8_t { Cholesky, Eigh, Svd };
/// Options of `multivariate_normal`.
struct MultivariateNormalOptions {
  Shape shape = {};  ///< of draws; without, as many as there are means and covariances
  CovarianceFactor factor = CovarianceFactor::Cholesky;
};
/// Normal vectors of given mean [.., n] and covariance [.., n, n]: [shape.., n]. Throws where these do not
/// fit.
Array multivariate_normal(const Array& key, const Array& mean, const Array& cov,
                          const MultivariateNormalOptions& options = {}, Loc loc = Loc::here());

/// Options of `orthogonal`.
struct OrthogonalOptions {
  Shape shape = {};     ///< of draws
  std::int64_t m = -1;  ///< columns; -1: as many as rows
  Dtype dtype = f64;
};
/// Matrices n × m with orthonormal columns, or rows if there are more columns, uniform among them (Mezzadri
/// 2007).
Array orthogonal(const Array& key, std::int64_t n, const OrthogonalOptions& options = {},
                 Loc loc = Loc::here());

/// Options of `choice`.
struct ChoiceOptions {
  bool replace = true;  ///< an entry may be drawn again
  Array p = {};         ///< probabilities of the entries, up to a factor; without, all alike
  int axis = 0;         ///< the axis whose entries are drawn
};
/// Entries of an axis, which becomes the axes of `shape`. Throws for more than there are, without
/// replacement.
Array choice(const Array& key, const Array& x, const Shape& shape, const ChoiceOptions& options,
             Loc loc = Loc::here());

}  // namespace apsis::random
