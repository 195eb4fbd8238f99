// The derivatives of the gamma function's logarithm, of every order.

#include <cmath>
#include <apsis/apsis.hpp>

#include <gtest/gtest.h>

namespace apsis::testing {
namespace {

struct Case {
  int order;
  std::vector<double> x, value;
};
// By mpmath's psi(n, x) at 40 digits.
const Case cases[] = {
    {1,
     {0.125, 0.75, 1, 2.5, 10, 100, -0.375, -2.25, -7.5},
     {65.38813344498803, 2.5418796476716063, 1.6449340668482264, 0.49035775610023485, 0.10516633568168575,
      0.010050166663333571, 10.512294284151519, 19.37941051186914, 9.744766282170433}},
    {2,
     {0.125, 0.75, 1, 2.5, 10, 100, -0.375, -2.25},
     {-1025.7533381181356, -5.3026332163376395, -2.4041138063191885, -0.2362040516417274,
      -0.011049834970802067, -0.00010100499983335, 29.057344543766245, 123.89694977406016}},
    {3,
     {0.125, 0.75, 1, 2.5, 10, 100, -0.375, -2.25, -7.5},
     {24580.143419063566, 19.7633125348506, 6.493939402266829, 0.22390584881725206, 0.0023199013042898686,
      2.030199990001333e-06, 343.7782924908555, 1558.4550231887144, 194.8143059276446}},
    {4,
     {0.125, 0.75, 1, 2.5, 10, 100, -0.375, -2.25},
     {-786445.9854310638, -102.80060581541747, -24.88626612344088, -0.3137559995067314,
      -0.0007299311682352867, -6.120999930011997e-08, 2982.318673662252, 24481.479910902563}},
    {7,
     {0.125, 0.75, 1, 2.5, 10, 100, -0.375, -2.25, -7.5},
     {84557170617.06169, 50402.146499656854, 5060.54987523764, 3.565236352523131, 0.00010051111598689363,
      7.455359496158328e-12, 13104420.127502417, 330352695.3912778, 2580880.436039903}},
    {20,
     {0.125, 0.75, 1, 2.5, 10, 100, -0.375, -2.25},
     {-2.243956035062425e+37, -1.0229115768532278e+21, -2.4329031685078615e+18, -10709198259.124132,
      -0.0028271335649279823, -1.3423500975739656e-23, 2.1451539598739396e+27, 1.0700016187896298e+31}},
    {60,
     {0.125, 0.75, 1, 2.5, 10, 100, -0.375, -2.25},
     {-1.0201500516702966e+137, -3.4788666545393944e+89, -8.32098711274139e+81, -4.424195614523948e+57,
      -8.345955089401754e+20, -1.844906227583489e-40, 8.021720355356058e+107, 4.424195609128541e+118}},
};

TEST(Polygamma, AgreesWithMpmath) {
  constexpr double ulp = 0x1p-52;
  for (const Case& c : cases) {
    const std::vector<double> got = polygamma(c.order, array(c.x)).to_vector<double>();
    const std::vector<double> compiled =
        jit([n = c.order](const Array& x) { return polygamma(n, x); })(array(c.x)).to_vector<double>();
    for (std::size_t i = 0; i < c.x.size(); ++i) {
      SCOPED_TRACE("order " + std::to_string(c.order) + " at " + std::to_string(c.x[i]));
      // Negative numbers: the cotangent, raised to n + 1, has an error of its own.
      const double bound = (c.x[i] > 0 ? 1 : 8) * (c.order + 8) * ulp;
      EXPECT_NEAR(got[i] / c.value[i], 1, bound);
      EXPECT_EQ(got[i], compiled[i]);
      EXPECT_NEAR(
          polygamma(c.order, array(static_cast<float>(c.x[i]))).item<float>() / c.value[i], 1,
          std::isinf(static_cast<float>(c.value[i])) || std::abs(c.value[i]) < 1e-37 ? INFINITY : 1e-7);
    }
  }
}

TEST(Polygamma, EdgesAndDtypes) {
  EXPECT_EQ(polygamma(0, array(2.5)).item<double>(), digamma(array(2.5)).item<double>());
  EXPECT_EQ(polygamma(1, array(2.5)).item<double>(), trigamma(array(2.5)).item<double>());
  for (int n : {1, 2, 3, 8}) {
    EXPECT_EQ(polygamma(n, array(INFINITY)).item<double>(), 0);
    EXPECT_TRUE(std::isnan(polygamma(n, array(std::nan(""))).item<double>()));
    EXPECT_EQ(std::abs(polygamma(n, array(0.)).item<double>()), INFINITY);
    EXPECT_FALSE(std::isfinite(polygamma(n, array(-2.)).item<double>()));
  }
  EXPECT_EQ(polygamma(2, array(std::int64_t{3})).dtype(), Dtype::F64);  // integers become floating
}

TEST(Polygamma, DerivativesOfLgammaOfEveryOrder) {
  const Array x = array({0.3, 1., 4.5});
  auto first = [](const Array& v) {
    return jvp([](const Array& u) { return lgamma(u); }, v, ones_like(v)).second;
  };
  auto derive = [](const auto& f) { return [f](const Array& v) { return jvp(f, v, ones_like(v)).second; }; };
  auto second = derive(first);
  auto third = derive(second);
  auto fourth = derive(third);
  const auto expect_same = [](const Array& got, const Array& want) {
    EXPECT_EQ(got.to_vector<double>(), want.to_vector<double>());
  };
  expect_same(second(x), polygamma(1, x));
  expect_same(third(x), polygamma(2, x));
  expect_same(fourth(x), polygamma(3, x));
  expect_same(jit(grad([&](const Array& v) { return sum(third(v)); }))(x), polygamma(3, x));
  expect_same(grad([](const Array& v) { return sum(polygamma(5, v)); })(x), polygamma(6, x));
}

}  // namespace
}  // namespace apsis::testing
