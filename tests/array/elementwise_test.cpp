// Elementwise functions and activations against JAX, NumPy and mpmath.

#include "apsis/array/elementwise.hpp"
#include "apsis/nn/activation.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/math.hpp"
#include "array/suite.hpp"

namespace apsis::testing {
namespace {

TEST(ArrayRoom, Elementwise) {
  const Table table{
      {"sinc", unary([](const Array& a) { return sinc(a); }, 1e-13)},  // JAX's derivative is off by 3e-14
      APSIS_UNARY(deg2rad),
      APSIS_UNARY(rad2deg),
      {"nan_to_num", unary([](const Array& a) { return nan_to_num(a); }, 0, 0)},
      {"fmax", binary([](const Array& a, const Array& b) { return fmax(a, b); }, 0, 0)},
      {"fmin", binary([](const Array& a, const Array& b) { return fmin(a, b); }, 0, 0)},
      APSIS_BINARY(logaddexp2),
      APSIS_BINARY(float_power),
      {"heaviside", binary([](const Array& a, const Array& b) { return heaviside(a, b); }, 0, 0)},
      {"modf", many([](auto&, auto x) { return both(modf(x[0])); }, 0, 0)},
      {"frexp", many([](auto&, auto x) { return both(frexp(x[0])); }, 0, 0)},
      {"ldexp", binary([](const Array& a, const Array& b) { return ldexp(a, b); }, 0, 0)},
      {"spacing", unary([](const Array& a) { return spacing(a); }, 0, 0)},
      APSIS_UNARY(signbit),
      APSIS_UNARY(isposinf),
      APSIS_UNARY(isneginf),
      {"round",
       one([](auto& c, auto x) { return around(x[0], static_cast<int>(number(c, "decimals"))); }, 1e-15)},
      {"isclose", one([](auto& c, auto x) { return isclose(x[0], x[1], {.equal_nan = flag(c, "nan")}); })},
      APSIS_BINARY(allclose),
      APSIS_BINARY(array_equal),
      APSIS_BINARY(array_equiv),
      {"divmod", many([](auto&, auto x) { return both(divmod(x[0], x[1])); }, 0, 0)},
      APSIS_BINARY(gcd),
      APSIS_BINARY(lcm),
  };
  check_file("elementwise", table);
}

TEST(ArrayRoom, Activations) {
  auto axis = [](const Case& c) { return static_cast<int>(number(c, "axis")); };
  const Table table{
      APSIS_UNARY(selu),
      APSIS_UNARY(relu6),
      APSIS_UNARY(gelu_tanh),
      APSIS_UNARY(mish),
      APSIS_UNARY(log_sigmoid),
      APSIS_UNARY(soft_sign),
      APSIS_UNARY(hard_tanh),
      APSIS_UNARY(hard_sigmoid),
      APSIS_UNARY(hard_silu),
      APSIS_UNARY(sparse_plus),
      APSIS_UNARY(sparse_sigmoid),
      APSIS_UNARY(squareplus),
      APSIS_UNARY(celu),
      APSIS_UNARY(log1mexp),
      {"celu_alpha", binary([](const Array& x, const Array& a) { return celu(x, a); })},
      {"squareplus_b", binary([](const Array& x, const Array& b) { return squareplus(x, b); })},
      {"glu", one([=](auto& c, auto x) { return glu(x[0], axis(c)); })},
      {"logmeanexp", one([](auto& c, auto x) {
         return logmeanexp(x[0], {.axis = dims(c, "axis"), .keepdims = flag(c, "keep")});
       })},
      {"standardize", one([](auto& c, auto x) { return standardize(x[0], {.axis = dims(c, "axis")}); })},
      {"one_hot", one([=](auto& c, auto x) { return one_hot(x[0], number(c, "n"), f32, axis(c)); })},
  };
  check_file("nn", table);
}

}  // namespace
}  // namespace apsis::testing
