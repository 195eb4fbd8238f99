// Gamma draws, and the distributions that are made of them, by the algorithms of jax.random.

#include <cmath>
#include <utility>

#include "apsis/array/random.hpp"
#include "apsis/control/custom.hpp"
#include "apsis/control/while_loop.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/transform/vmap.hpp"
#include "array/incomplete.hpp"
#include "array/random_support.hpp"

namespace apsis::random {
using namespace detail;
namespace {

struct Proposal {
  Array key, x;
};
struct Trial {
  Array key, square, cube, u;  // x², (1 + c x)³ and a uniform number
};

/// One draw, or its logarithm (Marsaglia and Tsang 2000). For a < 1 a draw of a + 1 times u^(1/a). NaN ends
/// the loops; otherwise a proposal is refused with probability 0.05 or less.
Array gamma_draw(const Array& key, const Array& a, bool logarithm) {
  const Dtype dtype = a.dtype();
  const Array plain = a >= 1., shape = where(plain, a, a + 1.);
  const Array d = shape - Array(1. / 3, dtype), c = Array(1. / 3, dtype) / sqrt(d);
  const auto refused = [&](const Trial& t) {
    return t.u >= 1. - 0.0331 * (t.square * t.square) &&
           log(t.u) >= t.square * 0.5 + d * ((1. - t.cube) + log(t.cube));
  };
  const auto next = [&](const Trial& t) {
    const auto [rest, of_x, of_u] = split<3>(t.key);
    const Proposal found = while_loop([&](const Proposal& p) { return 1. + p.x * c <= 0.; },
                                      [&](const Proposal& p) {
                                        const auto [more, of_normal] = split<2>(p.key);
                                        return Proposal{more, normal(of_normal, {}, dtype)};
                                      },
                                      // the first one is refused
                                      Proposal{of_x, full_like(c, -2.) / c});
    const Array v = 1. + found.x * c;
    return Trial{rest, found.x * found.x, (v * v) * v, uniform(of_u, {}, dtype)};
  };
  const auto [of_loop, of_boost] = split<2>(key);
  const Array one = ones_like(a);
  const Array cube = while_loop(refused, next, Trial{of_loop, 0. * one, one, 2. * one}).cube;
  if (logarithm) {
    const Array boost = -exponential(of_boost, {}, dtype);
    return (log(d) + log(cube)) + where(plain || boost == 0, 0., boost * (1. / a));
  }
  const Array boost = pow(1. - uniform(of_boost, {}, dtype), 1. / a);
  return d * cube * where(plain, 1., boost);
}

/// `drawn`, as a function of a: with the derivative of the draw whose probability stays.
template <bool logarithm>
Array implicitly(const Array& drawn, const Array& a) {
  return custom_jvp([](const Array& y, const Array&) { return y; },
                    [](const std::tuple<Array, Array>& at, const std::tuple<Array, Array>& along) {
                      const auto& [y0, p] = at;
                      const auto& [dy0, dp] = along;
                      const Array y = implicitly<logarithm>(y0, p);
                      const Array there = p > 0 && (logarithm ? y > -INFINITY : y > 0);
                      const Array safe = astype(where(there, y, logarithm ? 0. : 1.), f64);
                      const Array q = astype(where(there, p, 1.), f64);
                      const Array slope =
                          special::detail::log_gamma_quantile_slope(q, logarithm ? safe : log(safe));
                      const Array of_draw = astype(logarithm ? slope : safe * slope, y.dtype());
                      return std::pair{y, dy0 + dp * where(there, of_draw, 0.)};
                    })(drawn, a);
}

Array gamma_draws(const char* name, const Array& key, const Array& a, const Shape& shape, Dtype dtype,
                  bool logarithm) {
  check_floating(name, dtype);
  const Shape all = shape_for(name, shape, {a});
  const Array p = parameter(a, all, dtype);
  const std::int64_t count = all.product();
  if (count == 0) return p;
  const Array flat = reshape(stop_gradient(p), {count});
  const Array drawn = vmap([logarithm](const Array& k, const Array& of) {
    return gamma_draw(k, of, logarithm);
  })(random::split(key, count), flat);
  const Array y = reshape(where(flat >= 0., drawn, NAN), all);
  return logarithm ? implicitly<true>(y, p) : implicitly<false>(y, p);
}

}  // namespace

Array gamma(const Array& key, const Array& a, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  return gamma_draws("gamma", key, a, shape, dtype, false);
}

Array loggamma(const Array& key, const Array& a, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  return gamma_draws("loggamma", key, a, shape, dtype, true);
}

Array beta(const Array& key, const Array& a, const Array& b, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("beta", dtype);
  const Shape all = shape_for("beta", shape, {a, b});
  const auto [of_a, of_b] = split<2>(key);
  const Array x = loggamma(of_a, a, all, dtype), y = loggamma(of_b, b, all, dtype), most = maximum(x, y);
  const Array first = exp(x - most), second = exp(y - most);
  return first / (first + second);
}

Array dirichlet(const Array& key, const Array& alpha, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("dirichlet", dtype);
  check_rank("dirichlet", alpha.ndim() >= 1, "one axis or more", alpha);
  Shape all = shape;
  if (all.empty())
    all = alpha.shape();
  else
    all.push_back(alpha.dim(-1));
  const Array x = loggamma(key, alpha, all, dtype);
  const Array terms = exp(x - stop_gradient(max(x, {.axis = -1, .keepdims = true})));
  return terms / sum(terms, {.axis = -1, .keepdims = true});
}

Array chisquare(const Array& key, const Array& df, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("chisquare", dtype);
  return exp(loggamma(key, astype(df, dtype) / 2., shape, dtype)) * 2.;
}

Array f(const Array& key, const Array& dfnum, const Array& dfden, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("f", dtype);
  const Shape all = shape_for("f", shape, {dfnum, dfden});
  const auto [of_below, of_above] = split<2>(key);
  const Array above = chisquare(of_above, dfnum, all, dtype) / parameter(dfnum, all, dtype);
  return above / (chisquare(of_below, dfden, all, dtype) / parameter(dfden, all, dtype));
}

Array t(const Array& key, const Array& df, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("t", dtype);
  const Shape all = shape_for("t", shape, {df});
  const Array half = parameter(df, all, dtype) / 2.;
  const auto [of_normal, of_gamma] = split<2>(key);
  return normal(of_normal, all, dtype) * sqrt(half / gamma(of_gamma, half, all, dtype));
}

Array generalized_normal(const Array& key, const Array& p, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("generalized_normal", dtype);
  const Shape all = shape_for("generalized_normal", shape, {p});
  const auto [of_size, of_sign] = split<2>(key);
  const Array inverse = 1. / parameter(p, all, dtype);
  return rademacher(of_sign, all, dtype) * pow(gamma(of_size, inverse, all, dtype), inverse);
}

Array ball(const Array& key, std::int64_t d, const Array& p, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("ball", dtype);
  check_rank("ball", p.ndim() == 0, "no axis as exponent", p);
  check_count("ball", d);
  Shape all = shape;
  all.push_back(d);
  const auto [of_direction, of_radius] = split<2>(key);
  const Array exponent = astype(p, dtype), g = generalized_normal(of_direction, exponent, all, dtype);
  const Array total = sum(pow(abs(g), exponent), {.axis = -1}) + exponential(of_radius, shape, dtype);
  return g / expand_dims(pow(total, 1. / exponent), -1);
}

}  // namespace apsis::random
