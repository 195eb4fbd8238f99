// The public functions give JAX's values and gradients, edge cases included.
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "golden/suite.hpp"

namespace {

using namespace apsis;
using golden::Arrays;
using golden::Case;
using golden::Family;
using golden::numbers;
using golden::Runner;

template <class F>
Runner unary(F f) {
  return [f](const Case&, std::span<const Array> x) { return Arrays{f(x[0])}; };
}
template <class F>
Runner binary(F f) {
  return [f](const Case&, std::span<const Array> x) { return Arrays{f(x[0], x[1])}; };
}
template <class F>
Runner one(F f) {
  return [f](const Case& c, std::span<const Array> x) { return Arrays{f(c, x)}; };
}

/// Adds NAME, and NAME_edges and the like that are the same function on other inputs.
void add(std::map<std::string, Runner>& runners, const std::string& name, const Runner& run) {
  for (const char* ending : {"", "_edges", "_at_zero", "_ties", "_zero_base", "_negative_base", "_zero"})
    runners[name + ending] = run;
}

#define UNARY(name) add(f, #name, unary([](const Array& x) { return name(x); }))
#define BINARY(name) add(f, #name, binary([](const Array& a, const Array& b) { return name(a, b); }))

Family elementwise() {
  std::map<std::string, Runner> f;
  UNARY(sin);
  UNARY(cos);
  UNARY(tan);
  UNARY(asin);
  UNARY(acos);
  UNARY(atan);
  UNARY(sinh);
  UNARY(cosh);
  UNARY(tanh);
  UNARY(asinh);
  UNARY(atanh);
  UNARY(exp);
  UNARY(exp2);
  UNARY(expm1);
  UNARY(log);
  UNARY(log2);
  UNARY(log10);
  UNARY(log1p);
  UNARY(sqrt);
  UNARY(rsqrt);
  UNARY(cbrt);
  UNARY(reciprocal);
  UNARY(square);
  UNARY(abs);
  UNARY(sign);
  UNARY(floor);
  UNARY(ceil);
  UNARY(round);
  UNARY(erf);
  UNARY(erfc);
  UNARY(logistic);
  UNARY(isnan);
  UNARY(isinf);
  BINARY(pow);
  BINARY(atan2);
  BINARY(hypot);
  BINARY(floor_divide);
  BINARY(copysign);
  BINARY(logaddexp);
  add(f, "is_finite", unary([](const Array& x) { return isfinite(x); }));
  add(f, "neg", unary([](const Array& x) { return -x; }));
  add(f, "div", binary([](const Array& a, const Array& b) { return a / b; }));
  add(f, "mod", binary([](const Array& a, const Array& b) { return a % b; }));
  add(f, "rem", binary([](const Array& a, const Array& b) { return fmod(a, b); }));
  add(f, "max", binary([](const Array& a, const Array& b) { return maximum(a, b); }));
  add(f, "min", binary([](const Array& a, const Array& b) { return minimum(a, b); }));
  add(f, "clamp", one([](const Case&, auto x) { return clip(x[1], x[0], x[2]); }));
  add(f, "where", one([](const Case&, auto x) { return where(x[0], x[1], x[2]); }));
  add(f, "integer_pow", one([](const Case& c, auto x) { return pow(x[0], numbers(c, "n")[0]); }));
  add(f, "eq", binary([](const Array& a, const Array& b) { return a == b; }));
  add(f, "ne", binary([](const Array& a, const Array& b) { return a != b; }));
  add(f, "lt", binary([](const Array& a, const Array& b) { return a < b; }));
  add(f, "le", binary([](const Array& a, const Array& b) { return a <= b; }));
  add(f, "gt", binary([](const Array& a, const Array& b) { return a > b; }));
  add(f, "ge", binary([](const Array& a, const Array& b) { return a >= b; }));
  // JAX's atanh is off by 7e-15.
  return {"elementwise", 1e-14, 1e-6, f, 200};
}

Family integer() {
  std::map<std::string, Runner> f;
  BINARY(floor_divide);
  f["mod"] = binary([](const Array& a, const Array& b) { return a % b; });
  f["rem"] = binary([](const Array& a, const Array& b) { return fmod(a, b); });
  f["power"] = binary([](const Array& a, const Array& b) { return pow(a, b); });
  return {"integer", 0, 0, f, 8 * 4};
}

Axes axes(const Case& c) { return Axes(Dims(numbers(c, "axis"))); }

Family reduce() {
  std::map<std::string, Runner> f;
  f["sum"] = one([](const Case& c, auto x) { return sum(x[0], {.axis = axes(c)}); });
  f["mean"] = one([](const Case& c, auto x) { return mean(x[0], {.axis = axes(c)}); });
  f["var"] = one([](const Case& c, auto x) { return var(x[0], {.axis = axes(c)}); });
  f["std"] = one([](const Case& c, auto x) { return std_(x[0], {.axis = axes(c)}); });
  f["logsumexp"] = one([](const Case& c, auto x) { return logsumexp(x[0], {.axis = axes(c)}); });
  return {"reduce", 1e-13, 1e-5, f, 70};
}

class GoldenFunctions : public testing::TestWithParam<Family (*)()> {};

TEST_P(GoldenFunctions, equal_jax) { golden::check_family(GetParam()()); }

INSTANTIATE_TEST_SUITE_P(files, GoldenFunctions, testing::Values(elementwise, integer, reduce),
                         [](const auto& info) { return std::string(info.param().file); });

}  // namespace
