// The logarithm of the gamma function and its derivatives.

#include <numbers>

#include "apsis/ops/math.hpp"
#include "ops/elementary.hpp"
#include "ops/operands.hpp"

namespace apsis::detail {
namespace {

APSIS_ELEMENTARY(Lgamma, lgamma)
APSIS_ELEMENTARY(Digamma, digamma)

// Abramowitz and Stegun 6.4: the recurrence (6.4.6) eight times, then the asymptotic series (6.4.12), whose
// first term left out is below 5e-16 of the result from there; the reflection (6.4.7) below 1/2.
struct Trigamma : Unary {
  static constexpr const char* name = "trigamma";
  static constexpr DtypeSet dtypes = float_dtypes;
  static constexpr bool elementary = true;
  template <class M>
  static auto compute(const M& m, auto value) {
    using T = typename M::Scalar;
    static constexpr T series[] = {T(1.0 / 6),  T(-1.0 / 30),     T(1.0 / 42), T(-1.0 / 30),
                                   T(5.0 / 66), T(-691.0 / 2730), T(7.0 / 6)};
    const math::Real<M> x{m, value};
    const auto reflected = x < T(0.5);
    const auto y = select(reflected, T(1) - x, x);
    const auto z = y + T(8), inverse = T(1) / z, square = inverse * inverse;
    auto sum = fma(horner(square, series) * square, inverse, fma(square, T(0.5), inverse));
    for (int k = 7; k >= 0; --k) {
      const auto term = T(1) / (y + T(k));
      sum = fma(term, term, sum);
    }
    const auto sine = math::sin((x - rint(x)) * T(std::numbers::pi));
    const auto mirror = T(std::numbers::pi * std::numbers::pi) / (sine * sine);
    return select(reflected, mirror - sum, sum).v;
  }
};

Array lgamma_derivative(const Array& x, const Array&) { return apply(digamma_op, x); }
Array digamma_derivative(const Array& x, const Array&) { return apply(trigamma_op, x); }

}  // namespace

constinit const Op lgamma_op = elementwise_op<Lgamma, lgamma_op>(unary_jvp<lgamma_op, lgamma_derivative>);
constinit const Op digamma_op =
    elementwise_op<Digamma, digamma_op>(unary_jvp<digamma_op, digamma_derivative>);

const Op trigamma_op = {
    .name = "trigamma",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<Trigamma>,
    .evaluate = elementwise_evaluate<Trigamma>,
    .batch = elementwise_batch<trigamma_op>,
    .emit = elementwise_emit<Trigamma>,
    .not_differentiable = "the third derivative of lgamma is not provided",
};

}  // namespace apsis::detail

namespace apsis {

using namespace detail;

Array lgamma(const Array& x, Loc loc) { return bind_floating(lgamma_op, x, loc); }
Array digamma(const Array& x, Loc loc) { return bind_floating(digamma_op, x, loc); }
Array trigamma(const Array& x, Loc loc) { return bind_floating(trigamma_op, x, loc); }

}  // namespace apsis
