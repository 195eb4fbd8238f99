// Distributions.

#include <apsis/apsis.hpp>

#include "errors/provoke.hpp"

using namespace apsis;

APSIS_PROVOKES(stats_dtype,
               "[norm::logpdf] takes real numbers, got c128[2]; give its real part, or its absolute value",
               stats::norm::logpdf(astype(array({1., 2.}), c128)))
APSIS_PROVOKES(
    stats_broadcast,
    "[gamma::cdf] shapes [2] and [3] do not broadcast: counted from the last axis, sizes must be equal or "
    "one of them 1",
    stats::gamma::cdf(array({1., 2.}), ones({3})))

APSIS_PROVOKES(stats_covariance,
               "[multivariate_normal::pdf] of x - mean of shape [2, 3] the covariance must be a number, or "
               "matrices with as many rows and columns as the last axis has numbers, got [3]; diag(v) is the "
               "matrix of variances v",
               stats::multivariate_normal::pdf(ones({2, 3}), 0., ones({3})))
APSIS_PROVOKES(stats_alpha,
               "[dirichlet::logpdf] alpha must be a vector, got [2, 3]; vmap takes several of them",
               stats::dirichlet::logpdf(array({0.5, 0.5}), ones({2, 3})))
APSIS_PROVOKES(stats_parts,
               "[dirichlet::pdf] axis 0 of x must have as many numbers as alpha, 3, or one less, got [5, 3]; "
               "where they are along the last axis, give moveaxis(x, -1, 0)",
               stats::dirichlet::pdf(ones({5, 3}), ones({3})))
APSIS_PROVOKES(stats_outcomes,
               "[multinomial::logpmf] x and p must have an axis of outcomes, got [] and [2]; binom takes the "
               "count of one",
               stats::multinomial::logpmf(3, 3, array({0.5, 0.5})))

APSIS_PROVOKES(running_dtype, "[running_moments] takes floating dtypes, got i32",
               stats::running_moments({2}, i32))

APSIS_PROVOKES(running_shape,
               "[RunningMoments] the observation is f64[3] and must be of shape [2], that of the statistics; "
               "add_rows takes several of them",
               stats::running_moments({2}).add(zeros({3})))

APSIS_PROVOKES(
    running_rows,
    "[RunningQuantile] the observations are f64[3] and must be of shape [2] behind a first axis of "
    "rows",
    stats::running_quantile(0.5, {2}).add_rows(zeros({3})))

APSIS_PROVOKES(running_p,
               "[running_quantile] p must be a real scalar, got f64[2]; vmap takes several of them",
               stats::running_quantile(array({0.1, 0.9})))

APSIS_PROVOKES(stats_no_mode, "[mode] there is no most frequent value among none: x is of shape [0]",
               stats::mode(zeros({0})))

APSIS_PROVOKES(stats_points,
               "[gaussian_kde] points in 2 dimensions are the columns of an array [2, m], got [3, 2]",
               stats::gaussian_kde(array({{0., 1., 3.}, {1., 0., 2.}})).pdf(ones({3, 2})))

APSIS_PROVOKES(
    stats_dataset,
    "[gaussian_kde] a dataset is a vector, or has its points as columns, [d, n], and has two numbers at "
    "least, got [1]",
    stats::gaussian_kde(ones({1})))

APSIS_PROVOKES(stats_weights,
               "[gaussian_kde] weights must be a vector of 3 numbers, one for each point, got [2]",
               stats::gaussian_kde(array({0., 1., 3.}), {.weights = ones({2})}))

APSIS_PROVOKES(stats_box,
               "[integrate_box_1d] takes densities in one dimension, this one has 2; sum pdf over a grid",
               stats::gaussian_kde(array({{0., 1., 3.}, {1., 0., 2.}})).integrate_box_1d(0., 1.))
