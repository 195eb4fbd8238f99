// Special functions against SciPy and mpmath.

#include "apsis/array/special.hpp"

#include <cmath>
#include <set>

#include "array/worst_errors.hpp"

namespace apsis::testing {
namespace {

constexpr double ulp64 = 0x1p-52, ulp32 = 0x1p-23;

Table special_functions() {
  auto near = [](auto f, double ulps) { return unary(f, ulps * ulp64, ulps * ulp32); };
  auto near2 = [](auto f, double ulps) { return binary(f, ulps * ulp64, ulps * ulp32); };
  return {
      {"gamma", near([](const Array& x) { return special::gamma(x); }, 10)},
      {"gammasgn", near([](const Array& x) { return special::gammasgn(x); }, 0)},
      {"factorial", near([](const Array& x) { return special::factorial(x); }, 10)},
      {"beta", near2([](const Array& a, const Array& b) { return special::beta(a, b); }, 20)},
      {"betaln", near2([](const Array& a, const Array& b) { return special::betaln(a, b); }, 10)},
      {"poch", near2([](const Array& a, const Array& b) { return special::poch(a, b); }, 20)},
      {"multigammaln", one([](auto& c, auto x) { return special::multigammaln(x[0], number(c, "d")); })},
      {"logit", near([](const Array& x) { return special::logit(x); }, 4)},
      {"xlogy", near2([](const Array& a, const Array& b) { return special::xlogy(a, b); }, 4)},
      {"xlog1py", near2([](const Array& a, const Array& b) { return special::xlog1py(a, b); }, 4)},
      {"entr", near([](const Array& x) { return special::entr(x); }, 4)},
      {"rel_entr", near2([](const Array& a, const Array& b) { return special::rel_entr(a, b); }, 4)},
      {"kl_div", near2([](const Array& a, const Array& b) { return special::kl_div(a, b); }, 10)},
      {"ndtr", near([](const Array& x) { return special::ndtr(x); }, 5)},
      {"log_ndtr", near([](const Array& x) { return special::log_ndtr(x); }, 8)},
      {"ndtri", near([](const Array& x) { return special::ndtri(x); }, 10)},
  };
}

TEST(ArrayRoom, Special) {
  check_file("special", special_functions());
  const Array x = array({0.25, 3.});
  expect_identical({special::gammaln(x), special::expit(x)}, {lgamma(x), logistic(x)}, "other names");
}

// Element by element, where the suite compares with the largest of an array: the bounds of the header.
TEST(ArrayRoom, SpecialToTheLastPlaces) {
  const std::map<std::string, double> bounds{
      {"gamma", 8},   {"gammasgn", 0}, {"factorial", 8}, {"logit", 4}, {"xlogy", 4},
      {"xlog1py", 4}, {"entr", 4},     {"rel_entr", 4},  {"ndtr", 5},  {"log_ndtr", 8},
      {"ndtri", 8},   {"beta", 8},     {"betaln", 20},   {"poch", 8},  {"kl_div", 4}};
  const Table table = special_functions();
  std::set<std::string> measured;
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/array_special.txt")) {
    const auto bound = bounds.find(c.name);
    if (bound == bounds.end() || c["y0"].dtype != "f64" || c["x0"].dtype != "f64") continue;
    measured.insert(c.name);
    const std::vector<double> errors = measure(c, table.at(c.name), as_text(bound->second));
    for (std::size_t i = 0; i < errors.size(); ++i)
      EXPECT_LE(errors[i], bound->second) << c.name << " at " << arguments_at(golden::inputs_of(c), i);
  }
  EXPECT_EQ(measured.size(), bounds.size());
}

TEST(ArrayRoom, GammaOfWholeNumbersIsExact) {
  std::vector<double> x, want;
  for (double n = 1, product = 1; product < 0x1p52; product *= n++) {
    x.push_back(n);
    want.push_back(product);
  }
  expect_identical({special::gamma(array(x)), special::factorial(array(x) - 1.)}, {array(want), array(want)},
                   "factorials");
  expect_identical({special::gamma(astype(array(x)(range(0, 11)), f32))},
                   {astype(array(want)(range(0, 11)), f32)}, "factorials");
}

TEST(ArrayRoom, GammaOfLargeNumbersIsInfinite) {
  for (const Dtype dtype : {f64, f32, f16, bf16}) {
    EXPECT_TRUE(
        all(isinf(special::gamma(astype(array({200., 1000., 6e4, double(INFINITY)}), dtype)))).item<bool>());
    const double below = dtype == f64 ? -1000.5 : -100.5;
    EXPECT_TRUE(all(special::gamma(Array(below, dtype)) == 0.).item<bool>());
  }
  EXPECT_LT(std::abs(special::gamma(171.5).item<double>() / 9.483367566824795e307 - 1), 1e-13);
}

}  // namespace
}  // namespace apsis::testing
