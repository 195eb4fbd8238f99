#include "apsis/array/random.hpp"

#include <cmath>
#include <numbers>

#include "apsis/array/dtype.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "array/random_support.hpp"

namespace apsis::random {
using namespace detail;

Array cauchy(const Array& key, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("cauchy", dtype);
  const Array u = uniform(key, shape, dtype, finfo(dtype).eps, 1.);
  return tan(std::numbers::pi * (u - 0.5));
}

Array laplace(const Array& key, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("laplace", dtype);
  const Array u = uniform(key, shape, dtype, -1. + finfo(dtype).epsneg, 1.);
  return sign(u) * log1p(-abs(u));
}

Array logistic(const Array& key, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("logistic", dtype);
  const Array u = uniform(key, shape, dtype, finfo(dtype).tiny, 1.);
  return log(u) - log1p(-u);
}

Array lognormal(const Array& key, const Array& sigma, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("lognormal", dtype);
  const Shape all = shape_for("lognormal", shape, {sigma});
  return exp(normal(key, all, dtype) * parameter(sigma, all, dtype));
}

Array maxwell(const Array& key, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("maxwell", dtype);
  Shape points = shape;
  points.push_back(3);
  return norm(normal(key, points, dtype), {.axis = -1});
}

Array double_sided_maxwell(const Array& key, const Array& location, const Array& scale, const Shape& shape,
                           Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("double_sided_maxwell", dtype);
  // JAX's shape: that of the parameters behind the one asked for.
  Shape all = shape_for("double_sided_maxwell", shape, {location, scale});
  for (std::int64_t size : shape_for("double_sided_maxwell", {}, {location, scale})) all.push_back(size);
  const auto [of_size, of_sign] = split<2>(key);
  const Array size = maxwell(of_size, all, dtype), turn = rademacher(of_sign, all, dtype);
  return turn * size * astype(scale, dtype) + astype(location, dtype);
}

Array pareto(const Array& key, const Array& b, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("pareto", dtype);
  const Shape all = shape_for("pareto", shape, {b});
  return exp(exponential(key, all, dtype) / parameter(b, all, dtype));
}

Array rayleigh(const Array& key, const Array& scale, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("rayleigh", dtype);
  const Shape all = shape_for("rayleigh", shape, {scale});
  return parameter(scale, all, dtype) * sqrt(log(uniform(key, all, dtype)) * -2.);
}

Array triangular(const Array& key, const Array& left, const Array& mode, const Array& right,
                 const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("triangular", dtype);
  const Shape all = shape_for("triangular", shape, {left, mode, right});
  const Array a = parameter(left, all, dtype), c = parameter(mode, all, dtype),
              b = parameter(right, all, dtype);
  const Array u = uniform(key, all, dtype), before = (c - a) / (b - a);
  return where(u < before, a + sqrt(u * (b - a) * (c - a)), b - sqrt((1. - u) * (b - a) * (b - c)));
}

Array wald(const Array& key, const Array& mean, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("wald", dtype);
  const Shape all = shape_for("wald", shape, {mean});
  const Array m = parameter(mean, all, dtype);
  const auto [of_normal, of_uniform] = split<2>(key);
  const Array y = square(normal(of_normal, all, dtype)), z = uniform(of_uniform, all, dtype);
  const Array x = m + square(m) * y / 2. - m / 2. * sqrt(4. * m * y + square(m) * square(y));
  return where(z <= m / (m + x), x, square(m) / x);
}

Array weibull_min(const Array& key, const Array& scale, const Array& concentration, const Shape& shape,
                  Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("weibull_min", dtype);
  const Shape all = shape_for("weibull_min", shape, {scale, concentration});
  const Array u = uniform(key, all, dtype);
  return pow(-log1p(-u), 1. / parameter(concentration, all, dtype)) * parameter(scale, all, dtype);
}

Array rademacher(const Array& key, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  if (is_unsigned_integer(dtype) || dtype == boolean)
    fail(messages::array_dtype, {"rademacher", "dtypes with signs", std::string(name_of(dtype))});
  return astype(2 * astype(bernoulli(key, 0.5, shape), i64) - 1, dtype);
}

Array geometric(const Array& key, const Array& p, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  const Array probability = inexact(p);
  const Shape all = shape_for("geometric", shape, {p});
  const Array u = uniform(key, all, probability.dtype());
  const Array tried = log(where(u == 0, 1., u)) / broadcast_to(log1p(-probability), all);
  return astype(floor(tried) + 1., dtype);
}

}  // namespace apsis::random
