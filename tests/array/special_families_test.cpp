// Families of special functions against mpmath: values to the last places, derivatives of first and second
// order; edges against SciPy.

#include "apsis/array/special.hpp"

#include <cmath>
#include <numbers>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/complex.hpp"
#include "array/last_places.hpp"

namespace apsis::testing {
namespace {

#define APSIS_SPECIAL_1(name)                                     \
  {                                                               \
#name, unary([](const Array& a) { return special::name(a); }) \
  }
#define APSIS_SPECIAL_2(name)                                                         \
  {                                                                                   \
#name, binary([](const Array& a, const Array& b) { return special::name(a, b); }) \
  }

void check(const std::string& name, const Table& table) {
  check_file(name, table);
  check_last_places(name, table);
}

TEST(SpecialFunctions, Combinatorics) {
  const auto repeated = [](const Array& n, const Array& k) {
    return special::comb(n, k, {.repetition = true});
  };
  Table table{
      APSIS_SPECIAL_2(perm),
      APSIS_SPECIAL_2(polygamma),
      APSIS_SPECIAL_1(loggamma),
      {"comb", binary([](const Array& n, const Array& k) { return special::comb(n, k); }, 1e-13)},
      {"comb_repeated", binary(repeated, 0, 0)},
      {"bernoulli", one([](const Case& c, Inputs) { return special::bernoulli(number(c, "n")); }, 3e-16)}};
  check("combinatorics", table);
}

TEST(SpecialFunctions, CountsAreExact) {
  expect_identical(
      {special::comb(array({52., 10., 50., 3.}), array({5., 5., 25., 4.})), special::perm(20., 3)},
      {array({2598960., 252., 126410606437752., 0.}), array(6840.)}, "numbers of choices");
  EXPECT_EQ(special::bernoulli(3, f32).dtype(), f32);
  EXPECT_THROW(special::bernoulli(-1), Error);
  EXPECT_THROW(special::bernoulli(3, i32), Error);
  EXPECT_EQ(special::comb(array({5}), array({2.f})).dtype(), f32);
}

TEST(SpecialFunctions, PolygammaHasNoDerivativeByItsOrder) {
  const auto of_order = [](const Array& n) { return special::polygamma(n, 2.5); };
  EXPECT_THROW(grad(of_order)(array(1.)), Error);
}

TEST(SpecialFunctions, BoxCox) {
  check("box_cox", {APSIS_SPECIAL_2(boxcox), APSIS_SPECIAL_2(boxcox1p), APSIS_SPECIAL_2(inv_boxcox),
                    APSIS_SPECIAL_2(inv_boxcox1p), APSIS_SPECIAL_1(log_expit), APSIS_SPECIAL_2(huber),
                    APSIS_SPECIAL_2(pseudo_huber)});
}

template <class F>
Function first_of(F f) {
  return unary([f](const Array& x) { return f(x).first; });
}
template <class F>
Function second_of(F f) {
  return unary([f](const Array& x) { return f(x).second; });
}

TEST(SpecialFunctions, MoreIntegrals) {
  const auto sici = [](const Array& x) { return special::sici(x); };
  const auto shichi = [](const Array& x) { return special::shichi(x); };
  const auto fresnel = [](const Array& x) { return special::fresnel(x); };
  check("more_integrals", {APSIS_SPECIAL_2(expn),
                           {"si", first_of(sici)},
                           {"ci", second_of(sici)},
                           {"shi", first_of(shichi)},
                           {"chi", second_of(shichi)},
                           {"fresnel_s", first_of(fresnel)},
                           {"fresnel_c", second_of(fresnel)},
                           APSIS_SPECIAL_2(owens_t),
                           APSIS_SPECIAL_1(erfcinv)});
  const Array x = array({-0.5, 0.25});
  expect_identical({special::erfinv(x)}, {erf_inv(x)}, "other names");
}

// Of large and small values the error is that of their logarithm.
// They are long programs: the first of each dtype is compiled.
template <class F>
Function bessel(F f) {
  Function how = binary(f, 3e-13);
  how.compiles_each = false;
  return how;
}
#define APSIS_BESSEL(name)                                                            \
  {                                                                                   \
#name, bessel([](const Array& v, const Array& x) { return special::name(v, x); }) \
  }

TEST(SpecialFunctions, Bessel) {
  check("bessel", {APSIS_BESSEL(jv),
                   APSIS_BESSEL(yv),
                   APSIS_BESSEL(iv),
                   APSIS_BESSEL(ive),
                   APSIS_BESSEL(kv),
                   APSIS_BESSEL(kve),
                   APSIS_SPECIAL_1(j0),
                   APSIS_SPECIAL_1(j1),
                   APSIS_SPECIAL_1(y0),
                   APSIS_SPECIAL_1(y1),
                   APSIS_SPECIAL_1(k0),
                   APSIS_SPECIAL_1(k1),
                   APSIS_SPECIAL_1(k0e),
                   APSIS_SPECIAL_1(k1e),
                   {"bessel_jn",
                    one([](const Case& c, Inputs x) { return special::bessel_jn(x[0], number(c, "v")); })}});
  EXPECT_THROW(special::bessel_jn(array({1.}), -1), Error);
}

TEST(SpecialFunctions, Hypergeometric) {
  const auto run = [](const Case& c, Inputs x) {
    return c.name == "hyp1f1" ? special::hyp1f1(x[0], x[1], x[2]) : special::hyp2f1(x[0], x[1], x[2], x[3]);
  };
  Function how = one(run, 3e-14);
  how.compiles_each = false;
  check("hypergeometric", {{"hyp1f1", how}, {"hyp2f1", how}});
}

TEST(SpecialFunctions, FunctionsOfThePlane) {
  const auto harmonic = [](bool real) {
    return one(
        [real](const Case&, Inputs x) {
          const auto [re, im] = special::sph_harm_y(x[0], x[1], x[2], x[3]);
          return real ? re : im;
        },
        1e-13);
  };
  const auto faddeeva = [](bool real) {
    return one(
        [real](const Case&, Inputs x) {
          const auto [re, im] = special::wofz(x[0], x[1]);
          return real ? re : im;
        },
        1e-13);
  };
  const auto legendre = [](const Case&, Inputs x) { return special::sph_legendre_p(x[0], x[1], x[2]); };
  check("of_the_plane", {{"sph_legendre_p", one(legendre, 1e-13)},
                         {"sph_harm_re", harmonic(true)},
                         {"sph_harm_im", harmonic(false)},
                         {"wofz_re", faddeeva(true)},
                         {"wofz_im", faddeeva(false)}});
}

TEST(SpecialFunctions, FaddeevasFunctionOfComplexNumbers) {
  const Array x = array({0.5, -2., 7.}), y = array({1., 0.25, 0.});
  const auto [re, im] = special::wofz(x, y);
  const Array w = special::wofz(complex(x, y));
  expect_identical({real(w), imag(w)}, {re, im}, "of complex numbers");
  EXPECT_EQ(special::wofz(array({1.f})).dtype(), c64);
  // w' = 2i/√π - 2zw (DLMF 7.10.2)
  const Array z = complex(array({0.5}), array({1.})), one = complex(ones({1}), zeros({1}));
  const Array slope = jvp([](const Array& v) { return special::wofz(v); }, z, one).second;
  const Array want =
      complex(zeros({1}), full({1}, 2 / std::sqrt(std::numbers::pi))) - 2. * z * special::wofz(z);
  EXPECT_NEAR(real(slope)[0].item<double>(), real(want)[0].item<double>(), 1e-15);
  EXPECT_NEAR(imag(slope)[0].item<double>(), imag(want)[0].item<double>(), 1e-15);
}

}  // namespace
}  // namespace apsis::testing
