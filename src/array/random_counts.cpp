// Distributions of counts, by the algorithms of jax.random: all elements of a shape draw from one sequence of
// keys, until the last of them is done.

#include <array>
#include <cmath>
#include <utility>

#include "apsis/array/random.hpp"
#include "apsis/array/shape.hpp"
#include "apsis/control/scan.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "array/random_support.hpp"

namespace apsis::random {
using namespace detail;
namespace {

struct Products {
  Array key, count, log_product;
};

/// How many uniform numbers multiply to exp(-rate), less one (Knuth, The Art of Computer Programming
/// 2, 3.4.1).
Array poisson_by_products(const Array& key, const Array& rate) {
  const Array zero = zeros_like(rate);
  const Products end = while_loop([&](const Products& s) { return any(s.log_product > -rate); },
                                  [&](const Products& s) {
                                    const auto [rest, of_u] = split<2>(s.key);
                                    return Products{rest, where(s.log_product > -rate, s.count + 1., s.count),
                                                    s.log_product + log(uniform(of_u, rate.shape(), f32))};
                                  },
                                  Products{key, zero, zero}, {.kind = Loop::Lax});
  return end.count - 1.;
}

/// What was accepted last counts, also of elements that the others wait for, as in JAX: all of them must be
/// done.
struct Tries {
  Array key, found, done;
};

/// For rates from 10 on: transformed rejection, PTRS (Hörmann 1993).
Array poisson_by_rejection(const Array& key, const Array& rate) {
  const Array log_rate = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
  const Array inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), accepted = 0.9277 - 3.6224 / (b - 2.);
  return while_loop([](const Tries& s) { return any(!s.done); },
                    [&](const Tries& s) {
                      const auto [rest, of_u, of_v] = split<3>(s.key);
                      const Array u = uniform(of_u, rate.shape(), f32) - 0.5,
                                  v = uniform(of_v, rate.shape(), f32);
                      const Array inner = 0.5 - abs(u);
                      const Array k = floor((2. * a / inner + b) * u + rate + 0.43);
                      const Array level = log(v * inverse_alpha / (a / (inner * inner) + b));
                      const Array target = -rate + k * log_rate - lgamma(k + 1.);
                      const Array quick = inner >= 0.07 && v <= accepted;
                      const Array outside = k < 0. || (inner < 0.013 && v > inner);
                      const Array take = quick || (!outside && level <= target);
                      return Tries{rest, where(take, k, s.found), s.done || take};
                    },
                    Tries{key, full_like(rate, -1.), rate < 0.}, {.kind = Loop::Lax})
      .found;
}

/// log k! less its leading terms.
Array stirling_tail(const Array& k) {
  constexpr std::array<double, 10> first{
      0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
      0.0138761288230707, 0.0118967099458917, 0.010411265261972,  0.00925546218271273, 0.00833056343336287};
  const Array table = astype(array(std::span<const double>(first), {10}), k.dtype());
  const Array near = clip(k, 0., 9.), far = k + 1., far_square = far * far;
  const Array series = (1. / 12 - (1. / 360 - 1. / 1260 / far_square) / far_square) / far;
  return where(k <= 9., take(table, astype(near, i32), 0), series);
}

struct Gaps {
  Array key, count, sum;
};

/// For n p ≤ 10: how many geometric gaps fit into n (Devroye 1986, X.4.3).
Array binomial_by_gaps(const Array& key, const Array& n, const Array& p) {
  const Array log_rest = log1p(-p), zero = zeros_like(p);
  const Gaps end = while_loop([&](const Gaps& s) { return any(s.sum <= n); },
                              [&](const Gaps& s) {
                                const auto [of_u, rest] = split<2>(s.key);
                                const Array gap = ceil(log(uniform(of_u, p.shape(), p.dtype())) / log_rest);
                                return Gaps{rest, where(s.sum <= n, s.count + 1., s.count), s.sum + gap};
                              },
                              Gaps{key, zero, zero}, {.kind = Loop::Lax});
  return end.count - 1.;
}

/// For n p ≥ 10, p ≤ 1/2: transformed rejection, BTRS (Hörmann 1993).
Array binomial_by_rejection(const Array& key, const Array& n, const Array& p) {
  const Array deviation = sqrt(n * p * (1. - p)), b = 1.15 + 2.53 * deviation,
              a = -0.0873 + 0.0248 * b + 0.01 * p, c = n * p + 0.5, accepted = 0.92 - 4.2 / b,
              odds = p / (1. - p), alpha = (2.83 + 5.1 / b) * deviation, mode = floor((n + 1.) * p);
  return while_loop([](const Tries& s) { return any(!s.done); },
                    [&](const Tries& s) {
                      const auto [rest, of_u, of_v] = split<3>(s.key);
                      const Array u = uniform(of_u, p.shape(), p.dtype()) - 0.5,
                                  v = uniform(of_v, p.shape(), p.dtype());
                      const Array inner = 0.5 - abs(u);
                      const Array quick = inner >= 0.07 && v <= accepted;
                      const Array k = floor((2. * a / inner + b) * u + c);
                      const Array outside = k < 0. || k > n;
                      const Array level = log(v * alpha / (a / (inner * inner) + b));
                      const Array target = (mode + 0.5) * log((mode + 1.) / (odds * (n - mode + 1.))) +
                                           (n + 1.) * log((n - mode + 1.) / (n - k + 1.)) +
                                           (k + 0.5) * log(odds * (n - k + 1.) / (k + 1.)) +
                                           stirling_tail(mode) + stirling_tail(n - mode) - stirling_tail(k) -
                                           stirling_tail(n - k);
                      const Array take = quick || (!outside && level <= target);
                      return Tries{rest, where(take, k, s.found), s.done || take};
                    },
                    Tries{key, full_like(p, -1.), p < 0.}, {.kind = Loop::Lax})
      .found;
}

}  // namespace

Array poisson(const Array& key, const Array& rate, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  if (!is_integer(dtype)) fail(messages::array_dtype, {"poisson", "integers", std::string(name_of(dtype))});
  const Array all = stop_gradient(parameter(rate, shape_for("poisson", shape, {rate}), f32));
  const Array few = all < 10., many = all >= 10. && isfinite(all);
  const Array slow = poisson_by_products(key, where(few, all, 0.)),
              fast = poisson_by_rejection(key, where(many, all, 1e5));
  const Array count = where(few, slow, where(many, fast, -1.));
  return where(all == 0., zeros_like(astype(count, dtype)), astype(count, dtype));
}

Array binomial(const Array& key, const Array& n, const Array& p, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("binomial", dtype);
  const Dtype computed = inexact(p.dtype());
  const Shape all = shape_for("binomial", shape, {n, p});
  const Array chance = stop_gradient(parameter(p, all, computed));
  const Array given = stop_gradient(parameter(n, all, computed)), whole = floor(given);
  const Array low = chance < 0.5, half = where(low, chance, 1. - chance);
  const Array valid = half >= 0. && given >= 0., finite = valid && isfinite(given);
  const Array q = where(valid, half, 0.01);
  const Array few = given * q <= 10., gaps = finite && few, rejection = finite && !few;
  const Array slow = binomial_by_gaps(key, where(gaps, whole, -1.), q);
  const Array fast = binomial_by_rejection(key, where(rejection, whole, 1e4), where(rejection, q, 0.5));
  const Array drawn = where(few, slow, fast);
  const Array counted = where(low, drawn, whole - drawn);
  return astype(where(finite, counted, where(valid, INFINITY, NAN)), dtype);
}

Array multinomial(const Array& key, const Array& n, const Array& p, const Shape& shape, Dtype dtype,
                  Loc loc) {
  const LocScope place(loc);
  check_floating("multinomial", dtype);
  check_rank("multinomial", p.ndim() >= 1, "one axis or more as probabilities", p);
  const Array given[] = {n, p};
  const Dtype computed = promoted_inexact(given)[0].dtype();
  const Shape all = shape.empty() ? p.shape() : shape;
  Shape draws = all;
  draws.erase(draws.size() - 1);
  const Array chances = moveaxis(parameter(p, all, computed), -1, 0);
  const Array rest = cumsum(chances, {.axis = 0, .reverse = true});
  const Array ratios = clip(chances / where(rest == 0., 1., rest), 0., 1.);
  using Entry = std::pair<Array, Array>;
  const auto [left, counts] = scan(
      [&](const Array& remainder, const Entry& entry) {
        const Array count = binomial(entry.second, remainder, entry.first, draws, computed);
        return std::pair{remainder - count, count};
      },
      parameter(n, draws, computed), Entry{ratios, random::split(key, chances.dim(0))});
  return astype(moveaxis(counts, 0, -1), dtype);
}

}  // namespace apsis::random
