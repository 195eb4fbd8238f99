// The logarithm of the gamma function and its derivatives.

#include <cmath>
#include <numbers>

#include "apsis/ops/math.hpp"
#include "ops/elementary.hpp"
#include "ops/gamma_params.hpp"
#include "ops/operands.hpp"

namespace apsis::detail {
namespace {

APSIS_ELEMENTARY(Lgamma, lgamma)
APSIS_ELEMENTARY(Digamma, digamma)

constexpr std::int64_t max_order = 100;  // beyond, n! and the powers leave the range of f64 too early
constexpr std::size_t tail_terms = 7;

/// Coefficients of one order, in f64. n! and powers of x are far apart in size: both are scaled by powers of
/// `scale`, a power of two near n / e.
struct PolygammaSeries {
  std::vector<double> tail;    // B_2j / (2j)! (n + 1) … (n + 2j - 1)
  std::vector<double> mirror;  // |d^n/dx^n π cot(π x)| as a polynomial in cot(π x), every other coefficient
  double scale = 1, factor = 1;  // factor: n! / scale^(n + 1)

  explicit PolygammaSeries(std::int64_t n) {
    static constexpr double bernoulli[tail_terms] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                                     5.0 / 66, -691.0 / 2730, 7.0 / 6};
    double rising = 1, factorial = 1;  // (n + 1) … (n + 2j - 1), (2j)!
    for (std::size_t j = 1; j <= tail_terms; ++j) {
      const auto k = static_cast<double>(2 * j);
      factorial *= k * (k - 1);
      rising *= (j == 1 ? 1 : static_cast<double>(n) + k - 2) * (static_cast<double>(n) + k - 1);
      tail.push_back(bernoulli[j - 1] / factorial * rising);
    }
    while (scale * 2 * std::numbers::e <= static_cast<double>(n)) scale *= 2;
    factor = 1 / scale;
    for (std::int64_t k = 1; k <= n; ++k) factor *= static_cast<double>(k) / scale;
    // A_0 = c, A_{k+1} = (1 + c^2) A_k'
    std::vector<double> a{0, 1};
    for (std::int64_t k = 0; k < n; ++k) {
      std::vector<double> next(a.size() + 1, 0.);
      for (std::size_t i = 1; i < a.size(); ++i) {
        next[i - 1] += static_cast<double>(i) * a[i];
        next[i + 1] += static_cast<double>(i) * a[i];
      }
      a = std::move(next);
    }
    for (std::size_t i = static_cast<std::size_t>(n + 1) % 2; i < a.size(); i += 2)
      mirror.push_back(a[i] * std::pow(std::numbers::pi, static_cast<double>(n + 1)));
  }
};

const PolygammaSeries& polygamma_series(std::int64_t n) {
  static const std::vector<PolygammaSeries> all = [] {
    std::vector<PolygammaSeries> made;
    for (std::int64_t k = 0; k <= max_order; ++k) made.emplace_back(k);
    return made;
  }();
  return all[static_cast<std::size_t>(n)];
}

template <math::Model M>
math::Real<M> power(math::Real<M> x, std::int64_t n) {
  math::Real<M> result = x.constant(1);
  for (math::Real<M> square = x;; square = square * square) {
    if (n & 1) result = result * square;
    if ((n >>= 1) == 0) return result;
  }
}

template <math::Model M>
math::Real<M> horner_of(math::Real<M> x, const std::vector<double>& c) {
  math::Real<M> sum = x.constant(c.back());
  for (std::size_t i = c.size() - 1; i-- > 0;) sum = fma(sum, x, c[i]);
  return sum;
}

// n! ζ(n + 1, x), which is the derivative but for its sign: the recurrence (Abramowitz and Stegun 6.4.6)
// n + 9 times, then the asymptotic series (6.4.11), whose first term left out is below 2^-53 of the result
// from there; the reflection (6.4.7) for negative numbers. Powers of n + 1 make its error, n + 4 ULP.
struct Polygamma : Unary {
  static constexpr const char* name = "polygamma";
  static constexpr DtypeSet dtypes = float_dtypes;
  static constexpr bool elementary = true;

  template <math::Model M>
  static math::Real<M> value(math::Real<M> x, std::int64_t n) {
    if constexpr (math::is_f32<M>) {
      return math::narrow(x.m, value(math::widen(x), n));
    } else {
      const PolygammaSeries& series = polygamma_series(n);
      const auto negative = x < 0.0;
      const auto y = select(negative, 1.0 - x, x);
      const auto z = y + static_cast<double>(n + 9), inverse = 1.0 / z;
      const auto tail = fma(inverse, fma(inverse, horner_of(inverse * inverse, series.tail), 0.5),
                            1.0 / static_cast<double>(n));
      auto sum = power(inverse * series.scale, n) * series.scale * tail;
      for (std::int64_t k = n + 8; k >= 0; --k)
        sum = sum + power(series.scale / (y + static_cast<double>(k)), n + 1);
      sum = sum * series.factor;
      const auto angle = (x - rint(x)) * std::numbers::pi;
      const auto cotangent = math::cos(angle) / math::sin(angle);
      auto mirror = horner_of(cotangent * cotangent, series.mirror);
      if (n % 2 == 0) mirror = mirror * cotangent;
      const auto reflected = n % 2 == 0 ? mirror + sum : mirror - sum;
      const auto magnitude = select(negative, reflected, sum);
      return n % 2 == 0 ? -magnitude : magnitude;
    }
  }
  template <class M>
  static auto compute(const M& m, auto x, const Params& params) {
    return value(math::Real<M>{m, x}, params.as<PolygammaParams>().n).v;
  }
};

void polygamma_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const std::int64_t n = params.as<PolygammaParams>().n;
  if (n < 1 || n > max_order) fail(messages::polygamma_order, {std::to_string(n), std::to_string(max_order)});
  elementwise_shape<Polygamma>(params, in, out);
}

void polygamma_emit(Emitter& e, const Params& params, std::span<const Value> in, std::span<Value> out) {
  const std::string name = "polygamma_" + std::to_string(params.as<PolygammaParams>().n);
  visit_dtype<float_dtypes>(in[0].dtype, [&]<class T>(std::type_identity<T>) {
    using C = ComputeOf<T>;
    const Value x = std::is_same_v<T, C> ? in[0] : e.convert(in[0], dtype_of<C>);
    auto body = [](Emitter& inner, const void* context, std::span<const Value> a, std::span<Value> result) {
      result[0] = emit_text<Polygamma, C>(inner, *static_cast<const Params*>(context), a);
    };
    e.function(name.c_str(), body, &params, {&x, 1}, out);
    if constexpr (!std::is_same_v<T, C>) out[0] = e.convert(out[0], dtype_of<T>);
  });
}

Array derivative_of_digamma(std::int64_t n, const Array& x, Loc loc = {}) {
  return bind1(polygamma_op, make_params(PolygammaParams{n}), {x}, loc);
}

void polygamma_jvp(const JvpRule& r) {
  bind(polygamma_op, r.params, r.primals, r.outs);
  const std::int64_t n = r.params.as<PolygammaParams>().n;
  r.out_tangents[0] = lax::mul(r.tangents[0], derivative_of_digamma(n + 1, r.primals[0]));
}

Array lgamma_derivative(const Array& x, const Array&) { return apply(digamma_op, x); }
Array digamma_derivative(const Array& x, const Array&) { return derivative_of_digamma(1, x); }

}  // namespace

constinit const Op lgamma_op = elementwise_op<Lgamma, lgamma_op>(unary_jvp<lgamma_op, lgamma_derivative>);
constinit const Op digamma_op =
    elementwise_op<Digamma, digamma_op>(unary_jvp<digamma_op, digamma_derivative>);

const Op polygamma_op = {
    .name = Polygamma::name,
    .kind = OpKind::Elementwise,
    .shape = polygamma_shape,
    .evaluate = elementwise_evaluate<Polygamma>,
    .jvp = polygamma_jvp,
    .batch = elementwise_batch<polygamma_op>,
    .emit = polygamma_emit,
    .parse = parse_params<PolygammaParams>,
    .spreads_nan = true,
};

}  // namespace apsis::detail

namespace apsis {

using namespace detail;

Array lgamma(const Array& x, Loc loc) { return bind_floating(lgamma_op, x, loc); }
Array digamma(const Array& x, Loc loc) { return bind_floating(digamma_op, x, loc); }
Array trigamma(const Array& x, Loc loc) { return polygamma(1, x, loc); }
Array polygamma(std::int64_t n, const Array& x, Loc loc) {
  const LocScope place(loc);
  if (n == 0) return digamma(x, loc);
  return derivative_of_digamma(n, floating("polygamma", x, loc), loc);
}

}  // namespace apsis
