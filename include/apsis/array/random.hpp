#pragma once

// Distributions that are functions of uniform and normal draws, by the formulas of jax.random. Parameters
// broadcast to the shape; without a shape, the result has that of the parameters. All throw when the key is
// no u32[2] array, or the dtype is not floating.

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

}  // namespace apsis::random
