// Reductions, sorting, sets, calculus, statistics and random numbers against JAX and NumPy.

#include "apsis/array/reduce.hpp"
#include "apsis/array/calculus.hpp"
#include "apsis/array/creation.hpp"
#include "apsis/array/quantile.hpp"
#include "apsis/array/random.hpp"
#include "apsis/array/segment.hpp"
#include "apsis/array/sized.hpp"
#include "apsis/array/sort.hpp"
#include "apsis/array/statistics.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "array/suite.hpp"

namespace apsis::testing {
namespace {

int axis(const Case& c) { return static_cast<int>(number(c, "axis")); }

ReduceOptions reduction(const Case& c) { return {.axis = dims(c, "axis"), .keepdims = flag(c, "keep")}; }

VarianceOptions variance(const Case& c) {
  return {
      .axis = dims(c, "axis"), .keepdims = flag(c, "keep"), .ddof = static_cast<double>(number(c, "ddof"))};
}

using Reduction = Array (*)(const Array&, const ReduceOptions&, Loc);
Function reduces(Reduction f) {
  return one([f](auto& c, auto x) { return f(x[0], reduction(c), {}); });
}

Array wanted_quantiles(const Case& c, Dtype dtype) {
  std::vector<double> q;
  std::istringstream words(c.text.at("q"));
  for (double v; words >> v;) q.push_back(v);
  const Array all = astype(array(q), dtype);
  return flag(c, "vector") ? all : reshape(all, {});
}

QuantileOptions quantile_options(const Case& c) {
  const std::map<std::string, QuantileMethod> methods{{"linear", QuantileMethod::Linear},
                                                      {"lower", QuantileMethod::Lower},
                                                      {"higher", QuantileMethod::Higher},
                                                      {"midpoint", QuantileMethod::Midpoint},
                                                      {"nearest", QuantileMethod::Nearest}};
  return {.axis = dims(c, "axis"), .method = methods.at(c.text.at("method")), .keepdims = flag(c, "keep")};
}

using Quantile = Array (*)(const Array&, const Array&, const QuantileOptions&, Loc);
Function quantiles(Quantile f) {
  return one(
      [f](auto& c, auto x) { return f(x[0], wanted_quantiles(c, x[0].dtype()), quantile_options(c), {}); });
}

TEST(ArrayRoom, Reduce) {
  const Table table{
      {"ptp", reduces(ptp)},
      {"count_nonzero", reduces(count_nonzero)},
      {"median", reduces(median)},
      {"nanmedian", reduces(nanmedian)},
      {"nansum", reduces(nansum)},
      {"nanprod", reduces(nanprod)},
      {"nanmean", reduces(nanmean)},
      {"nanmax", reduces(nanmax)},
      {"nanmin", reduces(nanmin)},
      {"nanargmax", reduces(nanargmax)},
      {"nanargmin", reduces(nanargmin)},
      {"nanvar", one([](auto& c, auto x) { return nanvar(x[0], variance(c)); })},
      {"nanstd", one([](auto& c, auto x) { return nanstd(x[0], variance(c)); })},
      {"nancumsum", one([](auto& c, auto x) { return nancumsum(x[0], {.axis = axis(c)}); })},
      {"nancumprod", one([](auto& c, auto x) { return nancumprod(x[0], {.axis = axis(c)}); })},
      {"cumulative_sum", one([](auto& c, auto x) {
         return cumulative_sum(x[0], {axis(c), flag(c, "initial")});
       })},
      {"cumulative_prod", one([](auto& c, auto x) {
         return cumulative_prod(x[0], {axis(c), flag(c, "initial")});
       })},
      {"average", one([](auto& c, auto x) {
         return x.size() == 1 ? average(x[0]) : average(x[0], {.axis = dims(c, "axis"), .weights = x[1]});
       })},
      {"quantile", quantiles(quantile)},
      {"nanquantile", quantiles(nanquantile)},
      {"percentile", quantiles(percentile)},
      {"nanpercentile", quantiles(nanpercentile)},
  };
  check_file("reduce", table);
}

// Inputs: the array, what counts, the initial value.
ReduceOptions all_options(const Case& c, Inputs x) {
  ReduceOptions options = reduction(c);
  if (flag(c, "where")) options.where = x[1];
  if (flag(c, "initial")) options.initial = x.back();
  if (c.text.contains("dtype")) options.dtype = golden::dtype_named(c.text.at("dtype"));
  return options;
}
Function with_options(Reduction f) {
  return one([f](auto& c, auto x) { return f(x[0], all_options(c, x), {}); });
}
using Spread = Array (*)(const Array&, const VarianceOptions&, Loc);
Function with_options(Spread f) {
  return one([f](auto& c, auto x) {
    const ReduceOptions given = all_options(c, x);
    return f(x[0],
             {.axis = given.axis,
              .keepdims = given.keepdims,
              .ddof = static_cast<double>(number(c, "ddof")),
              .where = given.where,
              .dtype = given.dtype},
             {});
  });
}

TEST(ArrayRoom, ReduceOptions) {
  const Table table{
      {"sum", with_options(sum)},         {"prod", with_options(prod)},
      {"mean", with_options(mean)},       {"var", with_options(var)},
      {"std", with_options(std_)},        {"max", with_options(max)},
      {"min", with_options(min)},         {"all", with_options(all)},
      {"any", with_options(any)},         {"logsumexp", with_options(logsumexp)},
      {"nansum", with_options(nansum)},   {"nanprod", with_options(nanprod)},
      {"nanmean", with_options(nanmean)}, {"nanvar", with_options(nanvar)},
      {"nanstd", with_options(nanstd)},   {"nanmax", with_options(nanmax)},
      {"nanmin", with_options(nanmin)},
  };
  check_file("reduce_options", table);
}

SizedOptions size_of(const Case& c) { return {.size = number(c, "size")}; }

using Set = Array (*)(const Array&, const Array&, const SizedOptions&, Loc);
Function set(Set f) {
  return sized(one([f](auto& c, auto x) { return f(x[0], x[1], size_of(c), {}); }));
}
using Sized = Array (*)(const Array&, const SizedOptions&, Loc);
Function of_size(Sized f) {
  return sized(one([f](auto& c, auto x) { return f(x[0], size_of(c), {}); }));
}

TEST(ArrayRoom, Sort) {
  const Table table{
      {"sort",
       one([](auto& c, auto x) { return sort(x[0], {.axis = axis(c), .descending = flag(c, "down")}); }, 0,
           0)},
      {"argsort",
       one([](auto& c, auto x) { return argsort(x[0], {.axis = axis(c), .descending = flag(c, "down")}); })},
      {"lexsort", one([](auto& c, auto x) { return lexsort(x, axis(c)); })},
      {"top_k", many([](auto& c, auto x) { return both(top_k(x[0], number(c, "k"))); }, 0, 0)},
      {"unique", of_size(unique)},
      {"unique_all", sized(many([](auto& c, auto x) {
         const Unique u = unique_all(x[0], size_of(c));
         return Arrays{u.values, u.indices, u.inverse, u.counts};
       }))},
      {"nonzero", sized(many([](auto& c, auto x) { return nonzero(x[0], size_of(c)); }))},
      {"flatnonzero", of_size(flatnonzero)},
      {"argwhere", of_size(argwhere)},
      {"extract", sized(one([](auto& c, auto x) { return extract(x[0] > 1, x[0], size_of(c)); }))},
      {"compress", sized(one([](auto& c, auto x) {
         return compress(array({true, false, true}), x[0], axis(c), size_of(c));
       }))},
      {"union1d", set(union1d)},
      {"intersect1d", set(intersect1d)},
      {"setdiff1d", set(setdiff1d)},
      {"setxor1d", set(setxor1d)},
      APSIS_BINARY(isin),
      {"bincount", sized(one([](auto& c, auto x) {
         return bincount(x[0], {.weights = x.size() > 1 ? x[1] : Array(), .length = number(c, "length")});
       }))},
  };
  check_file("sort", table);
}

InterpOptions ends(const Case& c) {
  if (c.text.at("ends") == "both") return {.left = -7., .right = 9.};
  if (c.text.at("ends") == "period") return {.period = 4.5};
  return {};
}

TrapezoidOptions trapezoid_options(const Case& c, Inputs x) {
  const std::string& ends = c.text.at("ends");
  return {.x = ends == "x" ? x[1] : Array(), .dx = ends == "dx" ? x[1] : Array(1.), .axis = axis(c)};
}

TEST(ArrayRoom, Calculus) {
  const Table table{
      {"interp", one([](auto& c, auto x) { return interp(x[0], x[1], x[2], ends(c)); })},
      {"gradient",
       one([](auto& c, auto x) { return gradient(x[0], x.size() > 1 ? x[1] : Array(1.), axis(c)); })},
      {"diff", one([](auto& c, auto x) {
         DiffOptions options{.n = static_cast<int>(number(c, "n")), .axis = axis(c)};
         if (flag(c, "ends")) options.prepend = x[1], options.append = x[2];
         return diff(x[0], options);
       })},
      {"ediff1d",
       one([](auto& c, auto x) { return flag(c, "ends") ? ediff1d(x[0], x[1], x[2]) : ediff1d(x[0]); })},
      {"trapezoid", one([](auto& c, auto x) { return trapezoid(x[0], trapezoid_options(c, x)); })},
      {"cumulative_trapezoid",
       one([](auto& c, auto x) { return cumulative_trapezoid(x[0], trapezoid_options(c, x)); })},
      {"unwrap", one([](auto& c, auto x) {
         UnwrapOptions options{.axis = axis(c)};
         if (c.text.contains("period")) options.period = number(c, "period");
         return unwrap(x[0], options);
       })},
      APSIS_BINARY(polyval),
      APSIS_BINARY(polyadd),
      APSIS_BINARY(polysub),
      APSIS_BINARY(polymul),
      {"polyder", one([](auto& c, auto x) { return polyder(x[0], static_cast<int>(number(c, "m"))); })},
      {"polyint", one([](auto& c, auto x) { return polyint(x[0], static_cast<int>(number(c, "m"))); })},
  };
  check_file("calculus", table);
}

// JAX's derivatives are NaN there: its `where` multiplies them by 0.
TEST(ArrayRoom, WhatDoesNotCountHasNoDerivative) {
  const Array x = array({{1., 2.}, {3., 4.}}), counts = array({{true, true}, {false, false}});
  const auto by_row = [&](double ddof) {
    return grad([&](const Array& v) {
      return sum(where(array({true, false}), var(v, {.axis = 1, .ddof = ddof, .where = counts}), 0.));
    })(x);
  };
  EXPECT_EQ(by_row(0).to_vector<double>(), (std::vector{-0.5, 0.5, 0., 0.}));
  EXPECT_EQ(by_row(2).to_vector<double>(), std::vector(4, 0.));
}

TEST(ArrayRoom, Polynomials) {
  Function fit = one(
      [](auto& c, auto x) {
        PolyfitOptions options;
        if (flag(c, "weighted")) options.w = x[2];
        return polyfit(x[0], x[1], static_cast<int>(number(c, "degree")), options);
      },
      1e-11, 5e-4);  // both sides solve by singular values of f32: the errors of the condition, below 100
  fit.gradient_floor = 1;  // where the fit is exact, weights have no derivative
  const Table table{
      {"polydiv", many([](auto&, auto x) { return both(polydiv(x[0], x[1])); }, 1e-13, 2e-5)},
      {"poly", one([](auto&, auto x) { return poly(x[0]); })},
      {"polyfit", fit},
  };
  check_file("polynomial", table);
}

using Window = Array (*)(std::int64_t, Dtype, Loc);
Function window(Window f) {
  return one(
      [f](auto& c, auto) { return f(number(c, "count"), golden::dtype_named(c.text.at("dtype")), {}); });
}

TEST(ArrayRoom, Windows) {
  // Rounding of the arguments of I₀, up to 800 and in f32 90, is so much of its values.
  Function by_bessel =
      one([](auto& c, auto x) { return kaiser(number(c, "count"), x[0]); }, 800 * 2.3e-16, 90 * 1.2e-7);
  by_bessel.gradient_floor = 1;  // of one point the window is 1
  // NumPy's own cosines are rounded near 0, where a window's ends cancel: blackman's are -1.4e-17.
  const Table table{
      {"bartlett", window(bartlett)}, {"blackman", window(blackman)}, {"hamming", window(hamming)},
      {"hanning", window(hanning)},   {"kaiser", by_bessel},
  };
  check_file("windows", table);
}

ConvolveMode convolve_mode(const Case& c) {
  const std::string& mode = c.text.at("mode");
  return mode == "full" ? ConvolveMode::Full : mode == "same" ? ConvolveMode::Same : ConvolveMode::Valid;
}

HistogramOptions histogram_options(const Case& c, Inputs x) {
  const std::string& extra = c.text.at("extra");
  HistogramOptions options{.bins = number(c, "bins"), .density = flag(c, "density")};
  if (extra == "range") options.low = -1., options.high = 1.5;
  if (extra == "edges") options.edges = x[1];
  if (extra == "weights") options.weights = x[1];
  return options;
}

using Segment = Array (*)(const Array&, const Array&, const SegmentOptions&, Loc);
Function segments(Segment f) {
  return sized(one([f](auto& c, auto x) { return f(x[0], x[1], {.segments = number(c, "segments")}, {}); }));
}

TEST(ArrayRoom, Statistics) {
  const Table table{
      {"convolve", one([](auto& c, auto x) { return convolve(x[0], x[1], convolve_mode(c)); })},
      {"correlate", one([](auto& c, auto x) { return correlate(x[0], x[1], convolve_mode(c)); })},
      {"cov", one([](auto& c, auto x) {
         const std::string& extra = c.text.at("extra");
         CovOptions options{.rows = flag(c, "rows"), .ddof = static_cast<double>(number(c, "ddof"))};
         if (extra == "y") options.y = x[1];
         if (extra == "f") options.fweights = x[1];
         if (extra == "a") options.aweights = x[1];
         return cov(x[0], options);
       })},
      {"corrcoef", one([](auto& c, auto x) { return corrcoef(x[0], {.rows = flag(c, "rows")}); })},
      {"histogram", many([](auto& c, auto x) { return both(histogram(x[0], histogram_options(c, x))); })},
      {"digitize", one([](auto& c, auto x) { return digitize(x[0], x[1], flag(c, "right")); })},
      {"segment_sum", segments(segment_sum)},
      {"segment_prod", segments(segment_prod)},
      {"segment_max", segments(segment_max)},
      {"segment_min", segments(segment_min)},
  };
  check_file("statistics", table);
}

TEST(ArrayRoom, Random) {
  auto dtype = [](const Case& c) { return golden::dtype_named(c.text.at("dtype")); };
  auto shape = [](const Case& c) { return dims(c, "shape"); };
#define APSIS_DRAW(name, ...)                                                                          \
  {                                                                                                    \
#name, one([=](auto& c, auto x) { return random::name(x[0], ##__VA_ARGS__, shape(c), dtype(c)); }) \
  }
  const Table table{
      APSIS_DRAW(cauchy),
      APSIS_DRAW(laplace),
      APSIS_DRAW(logistic),
      APSIS_DRAW(maxwell),
      APSIS_DRAW(lognormal, x[1]),
      APSIS_DRAW(pareto, x[1]),
      APSIS_DRAW(rayleigh, x[1]),
      APSIS_DRAW(wald, x[1]),
      APSIS_DRAW(triangular, x[1], x[2], x[3]),
      APSIS_DRAW(weibull_min, x[1], x[2]),
      APSIS_DRAW(double_sided_maxwell, x[1], x[2]),
      {"rademacher", one([=](auto& c, auto x) { return random::rademacher(x[0], shape(c)); })},
      {"geometric", one([=](auto& c, auto x) { return random::geometric(x[0], x[1], shape(c)); })},
  };
#undef APSIS_DRAW
  check_file("random", table);
}

// NumPy's answers.
TEST(ArrayRoom, SetsOfComplexNumbers) {
  const Array a = complex(array({1., 1., 0., 1., 0.}), array({2., 1., 0., 2., -1.})),
              b = complex(array({1., 5.}), array({1., 0.}));
  const auto same = [](const Array& x, const Array& re, const Array& im) {
    return is_leaf<Array>::equal(x, complex(re, im));
  };
  EXPECT_TRUE(same(setdiff1d(a, b), array({0., 0., 1.}), array({-1., 0., 2.})));
  EXPECT_TRUE(same(intersect1d(a, b), array({1.}), array({1.})));
  EXPECT_TRUE(same(setxor1d(a, b), array({0., 0., 1., 5.}), array({-1., 0., 2., 0.})));
  EXPECT_TRUE(is_leaf<Array>::equal(isin(a, b), array({false, true, false, false, false})));
  EXPECT_TRUE(is_leaf<Array>::equal(searchsorted(sort(a), b), astype(array({2, 5}), i64)));
  EXPECT_TRUE(is_leaf<Array>::equal(searchsorted(sort(a), a, true), astype(array({5, 3, 2, 5, 1}), i64)));
  EXPECT_EQ(setdiff1d(astype(a, c64), b).dtype(), c64);  // that of the first
}

}  // namespace
}  // namespace apsis::testing
