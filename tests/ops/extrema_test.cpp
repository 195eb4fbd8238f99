// The larger and the smaller of two numbers with all signs, zeros, infinities and NaN: as IEEE 754-2019's
// maximum and minimum, whether the second is an array or a constant of the program.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <apsis/apsis.hpp>

namespace apsis {
namespace {

double larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

void expect_same(const Array& got, const Array& a, double b, double sign) {
  const auto results = astype(got, f64).to_vector<double>(), of = astype(a, f64).to_vector<double>();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double want = sign * larger(sign * of[i], sign * b);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(results[i])) << of[i] << " and " << b;
    } else {
      EXPECT_EQ(results[i], want) << of[i] << " and " << b;
      EXPECT_EQ(std::signbit(results[i]), std::signbit(want)) << of[i] << " and " << b;
    }
  }
}

TEST(Extrema, OfAllKindsOfNumbers) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> kinds = {0., -0., 1., -1., 2.5, -2.5, inf, -inf, nan, -nan};
  std::vector<double> many;
  for (int k = 0; k < 7; ++k) many.insert(many.end(), kinds.begin(), kinds.end());
  for (const Dtype dtype : {f64, f32, f16, bf16}) {
    const Array a = astype(array(many), dtype);
    for (const double b : kinds) {
      const Array each = full({a.size()}, b, dtype);
      const auto up = [](const Array& x, const Array& y) { return maximum(x, y); };
      const auto down = [](const Array& x, const Array& y) { return minimum(x, y); };
      expect_same(up(a, each), a, b, 1);
      expect_same(down(a, each), a, b, -1);
      expect_same(jit(up)(a, each), a, b, 1);
      expect_same(jit(down)(a, each), a, b, -1);
      expect_same(jit([=](const Array& x) { return maximum(x, b); })(a), a, b, 1);
      expect_same(jit([=](const Array& x) { return minimum(b, x); })(a), a, b, -1);
    }
  }
}

}  // namespace
}  // namespace apsis
