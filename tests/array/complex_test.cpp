// Complex numbers: values against mpmath, C99 and JAX, compiled against eager bit by bit, derivatives,
// batches, loops.

#include <cmath>
#include <complex>
#include <map>
#include <set>

#include "apsis/apsis.hpp"
#include "array/accuracy_section.hpp"
#include "golden/suite.hpp"
#include "runtime/region.hpp"

namespace apsis::testing {
namespace {

using golden::Case;
using c = std::complex<double>;
using Numbers = std::vector<c>;
using Function = std::function<Array(std::span<const Array>)>;

std::vector<Case> cases(const std::string& file) {
  return golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/" + file + ".txt");
}

Numbers numbers_of(const Array& a) {
  if (is_complex(a.dtype())) return a.to_vector<c>();
  Numbers out;
  for (double x : a.to_vector<double>()) out.push_back(x);
  return out;
}

Numbers numbers_of(const golden::Field& f) {
  Numbers out;
  for (std::size_t i = 0; i < f.real.size(); ++i)
    out.emplace_back(f.real[i], f.is_complex() ? f.imag[i] : 0.);
  return out;
}

template <class F>
Function unary(F f) {
  return [f](std::span<const Array> x) { return f(x[0]); };
}
template <class F>
Function binary(F f) {
  return [f](std::span<const Array> x) { return f(x[0], x[1]); };
}

#define APSIS_UNARY(f)                             \
  {                                                \
#f, unary([](const Array& z) { return f(z); }) \
  }
const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> table{
      APSIS_UNARY(sqrt),
      APSIS_UNARY(rsqrt),
      APSIS_UNARY(exp),
      APSIS_UNARY(exp2),
      APSIS_UNARY(expm1),
      APSIS_UNARY(log),
      APSIS_UNARY(log2),
      APSIS_UNARY(log10),
      APSIS_UNARY(log1p),
      APSIS_UNARY(logistic),
      APSIS_UNARY(sin),
      APSIS_UNARY(cos),
      APSIS_UNARY(tan),
      APSIS_UNARY(asin),
      APSIS_UNARY(acos),
      APSIS_UNARY(atan),
      APSIS_UNARY(sinh),
      APSIS_UNARY(cosh),
      APSIS_UNARY(tanh),
      APSIS_UNARY(asinh),
      APSIS_UNARY(acosh),
      APSIS_UNARY(atanh),
      APSIS_UNARY(abs),
      APSIS_UNARY(sign),
      APSIS_UNARY(conj),
      APSIS_UNARY(real),
      APSIS_UNARY(imag),
      APSIS_UNARY(angle),
      APSIS_UNARY(cumprod),
      APSIS_UNARY(prod),
      APSIS_UNARY(var),
      {"cube", unary([](const Array& z) { return pow(z, 3); })},
      {"inverse_square", unary([](const Array& z) { return pow(z, -2); })},
      {"quotient", unary([](const Array& z) { return (z + 2.) / (z * z + c(0, 1)); })},
      {"fft", unary([](const Array& z) { return fft::fft(z); })},
      {"mul", binary([](const Array& z, const Array& w) { return z * w; })},
      {"div", binary([](const Array& z, const Array& w) { return z / w; })},
      {"pow", binary([](const Array& z, const Array& w) { return pow(z, w); })},
  };
  return table;
}

bool same_bits(const Array& a, const Array& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const Numbers x = numbers_of(a), y = numbers_of(b);
  const auto same = [](double p, double q) {
    return (std::isnan(p) && std::isnan(q)) || (p == q && std::signbit(p) == std::signbit(q));
  };
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!same(x[i].real(), y[i].real()) || !same(x[i].imag(), y[i].imag())) return false;
  return true;
}

/// One unit in the last place of a number of the dtype.
double last_place(double x, bool single) {
  if (single) {
    const auto size = static_cast<float>(std::fabs(x));
    return static_cast<double>(std::nextafter(size, HUGE_VALF)) - static_cast<double>(size);
  }
  return std::nextafter(std::fabs(x), HUGE_VAL) - std::fabs(x);
}

/// The largest error of a function, of c64 and c128, and where it is.
struct Worst {
  double error[2] = {0, 0};
  std::string bound;
  c at[2];
  bool of_whole = false;
};

/// With APSIS_COMPLEX_ACCURACY=FILE in the environment, the table of docs/accuracy.md.
void write_complex_accuracy(const char* path, const std::map<std::string, Worst>& all) {
  std::stringstream text;
  text << "Largest errors against mpmath at 2400 bits, at the points of `tests/golden/make_complex.py`: of a "
          "part, in "
          "ULP of this part, or\nof both, in ULP of the size of the value, where a part may cancel or is a "
          "small "
          "difference of large angles. Bounds are asserted by\n`tests/array/complex_test.cpp`.\n\nMade by "
          "`APSIS_COMPLEX_ACCURACY=docs/accuracy.md build/tests/test_array "
          "--gtest_filter=Complex.ValuesToTheLastPlaces`.\n\n| function | c64: ULP | at | c128: ULP | at | "
          "bound | "
          "of |\n|---|---|---|---|---|---|---|\n";
  char row[300];
  for (const auto& [name, w] : all) {
    std::snprintf(row, sizeof row, "| %s | %.1f | %.9g%+.9gi | %.1f | %.17g%+.17gi | %s | %s |\n",
                  name.c_str(), w.error[0], w.at[0].real(), w.at[0].imag(), w.error[1], w.at[1].real(),
                  w.at[1].imag(), w.bound.c_str(), w.of_whole ? "the whole" : "a part");
    text << row;
  }
  write_section(path, "Complex numbers", text.str());
}

// 4 ULP a component, or where a component cancels or stands for a difference of large angles, 4 of the whole.
// A power is e^(w log z), as in JAX: the rounding of the exponent makes |w log z| ULP more.
TEST(Complex, ValuesToTheLastPlaces) {
  const std::map<std::string, double> whole{{"log2", 4},
                                            {"log10", 4},
                                            {"pow", 4},
                                            {"exp2", 4},
                                            {"rsqrt", 4},
                                            {"cube", 4},
                                            {"inverse_square", 4},
                                            {"expm1", 4},
                                            {"log1p", 4},
                                            {"logistic", 4},
                                            {"log", 4},
                                            {"mul", 4},
                                            {"div", 4}};
  std::map<std::string, Worst> all;
  for (const Case& cs : cases("complex_exact")) {
    const bool single = cs["x0"].dtype == "c64";
    const auto in = golden::inputs_of(cs);
    const Array got = functions().at(cs.name)(in);
    const Numbers y = numbers_of(got), want = numbers_of(cs["y0"]), x = numbers_of(in[0]);
    const bool by_whole = whole.contains(cs.name);
    const double usual = by_whole ? whole.at(cs.name) : 4;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double unit = last_place(std::abs(want[i]), single);
      const double re =
          std::fabs(y[i].real() - want[i].real()) / (by_whole ? unit : last_place(want[i].real(), single));
      const double im =
          std::fabs(y[i].imag() - want[i].imag()) / (by_whole ? unit : last_place(want[i].imag(), single));
      const double error = std::fmax(re, im);
      const double bound = usual + (cs.name == "pow" ? std::abs(numbers_of(in[1])[i] * std::log(x[i])) : 0);
      Worst& worst = all[cs.name];
      worst.of_whole = by_whole;
      worst.bound = cs.name == "pow" ? "4 + abs(w log z)" : "4";
      if (const std::size_t k = single ? 0 : 1; error >= worst.error[k]) {
        worst.error[k] = error;
        worst.at[k] = x[i];
      }
      EXPECT_LE(error, bound) << cs.name << (single ? " c64" : " c128") << " at " << x[i] << ": " << y[i]
                              << ", not " << want[i];
    }
    const auto f = [&](const std::vector<Array>& z) { return functions().at(cs.name)(z); };
    const Array compiled = jit(f)(in);
    const detail::InterpretScope scope;
    const Array evaluated = jit(f)(in);
    EXPECT_TRUE(same_bits(evaluated, compiled)) << cs.name << "\n"
                                                << to_string(evaluated) << "\n"
                                                << to_string(compiled);
  }
  if (const char* file = std::getenv("APSIS_COMPLEX_ACCURACY")) write_complex_accuracy(file, all);
}

// Each part for itself, where it is no small difference of large numbers.
TEST(Complex, PartsToTheLastPlaces) {
  int parts = 0;
  for (const Case& cs : cases("complex_parts")) {
    const bool single = cs["x0"].dtype == "c64";
    const Numbers y = numbers_of(functions().at(cs.name)(golden::inputs_of(cs))), want = numbers_of(cs["y0"]);
    const auto& plain = cs["parts"].integers;
    for (std::size_t i = 0; i < 2 * y.size(); ++i) {
      if (!plain[i]) continue;
      const double got = i % 2 ? y[i / 2].imag() : y[i / 2].real(),
                   exact = i % 2 ? want[i / 2].imag() : want[i / 2].real();
      EXPECT_LE(std::fabs(got - exact), 4 * last_place(exact, single))
          << cs.name << (single ? " c64, " : " c128, ") << (i % 2 ? "imaginary" : "real") << " part " << got
          << ", not " << exact;
      ++parts;
    }
  }
  EXPECT_GT(parts, 1500);
}

// C99 leaves signs open where the other part is NaN and where a periodic function has no angle. Of a NaN it
// is asked only that it shows.
TEST(Complex, ZerosInfinitiesAndNaN) {
  for (const Case& cs : cases("complex_edges")) {
    const auto in = golden::inputs_of(cs);
    const Array got = functions().at(cs.name)(in);
    const Numbers y = numbers_of(got), want = numbers_of(cs["y0"]), x = numbers_of(in[0]);
    const bool by_im =
        cs.name == "exp" || cs.name.starts_with("sinh") || cs.name.starts_with("cosh") || cs.name == "tanh";
    const bool by_re = cs.name == "sin" || cs.name == "cos" || cs.name == "tan";
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (std::isnan(x[i].real()) || std::isnan(x[i].imag())) {
        EXPECT_TRUE(std::isnan(y[i].real()) || std::isnan(y[i].imag()) || !std::isnan(std::abs(want[i])))
            << cs.name << " at " << x[i] << ": " << y[i];
        continue;
      }
      const bool open = std::isnan(want[i].real()) || std::isnan(want[i].imag()) ||
                        (by_im && std::isinf(x[i].imag())) || (by_re && std::isinf(x[i].real()));
      const auto equal = [&](double a, double b) {
        if (std::isnan(b)) return std::isnan(a);
        if (std::isinf(b) || b == 0)
          return std::fabs(a) == std::fabs(b) && (open || std::signbit(a) == std::signbit(b));
        return std::fabs(a - b) <= 4 * last_place(b, false);
      };
      EXPECT_TRUE(equal(y[i].real(), want[i].real()) && equal(y[i].imag(), want[i].imag()))
          << cs.name << " at " << x[i] << ": " << y[i] << ", not " << want[i];
    }
  }
}

void expect_near(const Array& got, const Numbers& want, const std::string& what, double tolerance = 1e-12) {
  const Numbers y = numbers_of(got);
  ASSERT_EQ(y.size(), want.size()) << what;
  for (std::size_t i = 0; i < y.size(); ++i)
    EXPECT_LE(std::abs(y[i] - want[i]), tolerance * (1 + std::abs(want[i])))
        << what << ", " << i << ": " << y[i] << ", not " << want[i];
}

// JAX's convention: the gradient of a real function is ∂x - i∂y.
TEST(Complex, DerivativesAreJaxs) {
  for (const Case& cs : cases("complex_gradients")) {
    SCOPED_TRACE(cs.name);
    const Array z = golden::to_array(cs["x0"]), v = golden::to_array(cs["v"]),
                weights = golden::to_array(cs["weights"]);
    const auto f = [&](const Array& x) { return functions().at(cs.name)(std::span<const Array>(&x, 1)); };
    const auto loss = [&](const Array& x) { return sum(real(f(x) * weights)); };
    const auto [value, tangent] = jvp(f, z, v);
    expect_near(value, numbers_of(cs["y0"]), cs.name + " value");
    expect_near(tangent, numbers_of(cs["t0"]), cs.name + " jvp");
    expect_near(grad(loss)(z), numbers_of(cs["g0"]), cs.name + " grad");
    expect_near(jit(grad(loss))(z), numbers_of(cs["g0"]), cs.name + " jit(grad)");
    expect_near(grad(jit(loss))(z), numbers_of(cs["g0"]), cs.name + " grad(jit)");
    expect_near(jit([&](const Array& x) { return jvp(f, x, v).second; })(z), numbers_of(cs["t0"]),
                cs.name + " jit(jvp)");
  }
}

TEST(Complex, HolomorphicDerivatives) {
  for (const Case& cs : cases("complex_gradients")) {
    static const std::set<std::string> others{"abs", "sign", "conj", "real", "imag", "angle", "var"};
    if (others.contains(cs.name)) continue;
    SCOPED_TRACE(cs.name);
    const Array z = golden::to_array(cs["x0"]), v = golden::to_array(cs["v"]);
    const auto f = [&](const Array& x) { return functions().at(cs.name)(std::span<const Array>(&x, 1)); };
    const Array j = jacrev(holomorphic(f))(z);
    EXPECT_EQ(j.dtype(), c128);
    expect_near(matmul(j, v), numbers_of(cs["t0"]), cs.name + " jacrev");
    expect_near(jit(jacfwd(holomorphic(f)))(z), numbers_of(j), cs.name + " jacfwd");
    const auto whole = [&](const Array& x) { return sum(f(x)); };
    expect_near(jit(grad(holomorphic(whole)))(z), numbers_of(j.ndim() == 2 ? sum(j, {.axis = 0}) : j),
                cs.name + " grad");
  }
  const auto f = [](const Array& z) { return z * exp(z); };
  const Array z = complex(array(.3), array(-1.2)), second = grad(holomorphic(grad(holomorphic(f))))(z);
  expect_near(second, numbers_of((z + 2.) * exp(z)), "second derivative");
  expect_near(jacfwd(holomorphic(grad(holomorphic(f))))(z), numbers_of(second), "forward over reverse");
  const auto lanes = vmap(grad(holomorphic(f)))(stack({z, conj(z)}));
  expect_near(lanes, numbers_of((stack({z, conj(z)}) + 1.) * exp(stack({z, conj(z)}))), "lanes");
  const auto with_aux = [&](const Array& x) { return std::pair(f(x), abs(x)); };
  const auto [slope, aux] = grad(holomorphic(with_aux))(z);
  expect_near(slope, numbers_of((z + 1.) * exp(z)), "beside an auxiliary result");
  expect_near(aux, numbers_of(abs(z)), "auxiliary result");
}

// Parts divided by √2: one rounding, where JAX multiplies with a reciprocal.
TEST(Complex, RandomNumbersAreJaxs) {
  for (const Case& cs : cases("complex_random")) {
    const Array want = golden::to_array(cs["y0"]), key = golden::to_array(cs["x0"]);
    const double bound = want.dtype() == c128 ? 2e-15 : 1e-6;
    const Array got = cs.name == "normal" ? random::normal(key, want.shape(), want.dtype())
                                          : random::orthogonal(key, 3, {.m = 2, .dtype = want.dtype()});
    EXPECT_EQ(got.dtype(), want.dtype());
    EXPECT_LE(max(abs(got - want)).item<double>(), bound * 4) << cs.name;
  }
  const Array many = random::normal(random::key(3), {20000}, c128);
  const double sigma = 1 / std::sqrt(20000.);  // of the mean of the squares of sizes, and √2 of each part's
  EXPECT_NEAR(mean(square(abs(many))).item<double>(), 1, 4 * sigma);
  EXPECT_NEAR(mean(square(real(many))).item<double>(), .5, 4 * sigma);
  EXPECT_NEAR(mean(real(many) * imag(many)).item<double>(), 0, 4 * sigma);
}

TEST(Complex, BatchesAreTheirSingleCalls) {
  const Array rows = reshape(complex(linspace(-2., 2., 15), linspace(1., -3., 15)), {3, 5});
  for (const Case& cs : cases("complex_gradients")) {
    const auto f = [&](const Array& x) { return functions().at(cs.name)(std::span<const Array>(&x, 1)); };
    const Array together = vmap(f)(rows), compiled = jit(vmap(f))(rows);
    for (std::int64_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(same_bits(together[i], f(rows[i]))) << cs.name;
      EXPECT_TRUE(same_bits(compiled[i], jit(f)(rows[i]))) << cs.name;
    }
  }
}

TEST(Complex, SecondDerivatives) {
  const auto f = [](const Array& xy) {
    const Array z = complex(xy[0], xy[1]);
    return real(exp(z) / (z * z + 1.) + log(z) * sqrt(z)) + abs(sin(z));
  };
  const Array at = array({.7, -.4});
  const Array h = hessian(f)(at), compiled = jit(hessian(f))(at);
  const double step = 1e-5;
  for (int j = 0; j < 2; ++j) {
    const Array d = at.at(j).add(step), u = at.at(j).add(-step);
    const Array difference = (grad(f)(d) - grad(f)(u)) / (2 * step);
    EXPECT_LE(max(abs(h[j] - difference)).item<double>(), 1e-8);
  }
  EXPECT_LE(max(abs(h - compiled)).item<double>(), 1e-13);
}

TEST(Complex, MakingAndTakingApart) {
  const Array x = array({1., 2., 3.}), y = array({-1.f, 0.f, 4.f});
  EXPECT_EQ(complex(x, y).dtype(), c128);
  EXPECT_EQ(complex(y, y).dtype(), c64);
  EXPECT_EQ(complex(y, 2.).dtype(), c64);
  EXPECT_EQ(complex(1, 2).dtype(), c128);
  EXPECT_EQ(complex(zeros({0}), 1.).shape(), Shape{0});
  EXPECT_EQ(array(Numbers{{1, 2}, {3, 4}}).to_vector<c>(), (Numbers{{1, 2}, {3, 4}}));
  EXPECT_EQ(Array(c(1, 2)).dtype(), c128);
  EXPECT_TRUE(Array(c(1, 2)).weak());
  EXPECT_EQ((x * c(0, 1)).to_vector<c>(), (Numbers{{0, 1}, {0, 2}, {0, 3}}));
  EXPECT_EQ((y * std::complex<float>(0, 1)).dtype(), c64);
  EXPECT_EQ(real(x).to_vector<double>(), x.to_vector<double>());
  EXPECT_EQ(imag(x).to_vector<double>(), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(iscomplex(complex(x, y)).to_vector<bool>(), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(isreal(x).to_vector<bool>(), (std::vector<bool>{true, true, true}));
  EXPECT_EQ((complex(x, y) == complex(x, 0.)).to_vector<bool>(), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(astype(complex(x, y), f32).to_vector<double>(), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(astype(x, c64).to_vector<c>(), (Numbers{1, 2, 3}));
  EXPECT_EQ(astype(array(Numbers{{0, 1}, {0, 0}}), boolean).to_vector<bool>(),
            (std::vector<bool>{true, false}));
  const Array big = complex(1e300, 1e300), tiny = complex(1e-300, 1e-300);
  EXPECT_DOUBLE_EQ(abs(big).item<double>(), std::hypot(1e300, 1e300));
  EXPECT_EQ((big / big).item<c>(), c(1, 0));
  EXPECT_EQ((tiny / tiny).item<c>(), c(1, 0));
  const Array z = complex(.1, .3);
  EXPECT_EQ(imag(z * conj(z)).item<double>(), 0);
}

TEST(Complex, SumsAndAverages) {
  const Array z = reshape(complex(arange(6.), arange(6., 12.)), {2, 3});
  expect_near(sum(z), {{15, 51}}, "sum");
  expect_near(sum(z, {.axis = 0}), {{3, 15}, {5, 17}, {7, 19}}, "sum over rows");
  expect_near(mean(z, {.axis = 1}), {{1, 7}, {4, 10}}, "mean");
  expect_near(var(z), {35. / 6}, "var");
  EXPECT_EQ(var(z).dtype(), f64);
  expect_near(norm(z), {std::sqrt(55. + 451.)}, "norm");
  expect_near(cumsum(z, {.axis = 1}), {{0, 6}, {1, 13}, {3, 21}, {3, 9}, {7, 19}, {12, 30}}, "cumsum");
  expect_near(prod(array(Numbers{{1, 1}, {2, 0}, {0, 1}})), {{-2, 2}}, "prod");
  expect_near(prod(zeros({0}, c128)), {{1, 0}}, "empty product");
  expect_near(cumprod(array(Numbers{{1, 1}, {2, 0}, {0, 1}}), {.reverse = true}), {{-2, 2}, {0, 2}, {0, 1}},
              "cumprod");
  expect_near(sum(z, {.where = real(z) > 2., .initial = c(1, 1)}), {{13, 31}}, "where");
}

// numpy.vdot, vecdot, correlate, cov and corrcoef conjugate; dot, inner and convolve do not.
TEST(Complex, ProductsThatConjugate) {
  const Array z = array(Numbers{{1, 2}, {-3, .5}, {0, -1}}), w = array(Numbers{{2, 0}, {1, 1}, {0, 3}});
  expect_near(dot(z, w), {{1.5, 1.5}}, "dot");
  expect_near(vdot(z, w), {{-3.5, -7.5}}, "vdot");
  expect_near(vecdot(reshape(z, {3, 1}), reshape(w, {3, 1}), 0), {{-3.5, -7.5}}, "vecdot");
  expect_near(correlate(z, w), {{-3.5, 7.5}}, "correlate");
  expect_near(cov(z), {{79. / 12}}, "cov");
  const Array both = stack({z, w}), r = corrcoef(both), c = cov(both);
  expect_near(r,
              {{1, 0},
               numbers_of(c)[1] / std::sqrt(numbers_of(c)[0].real() * numbers_of(c)[3].real()),
               std::conj(numbers_of(r)[1]),
               {1, 0}},
              "corrcoef");
  expect_near(nan_to_num(complex(array({double(NAN), 1.}), array({1., double(NAN)}))), {{0, 1}, {1, 0}},
              "nan_to_num");
  expect_near(z.at(1).divide(2.), {{1, 2}, {-1.5, .25}, {0, -1}}, "divide");
  expect_near(z.at(1).power(2.), {{1, 2}, {8.75, -3}, {0, -1}}, "power");
}

// Small products are four products of the parts: compiled code meets real numbers.
TEST(Complex, SmallProductsAreThoseOfTheParts) {
  const auto product = [](const Array& a, const Array& b) { return einsum("bik,bkj->bij", {a, b}); };
  for (const Dtype dtype : {c64, c128})
    for (const std::int64_t n : {0, 1, 2, 3, 15, 40}) {
      const Array x = astype(sin(arange(5. * 2. * double(n))), dtype == c64 ? f32 : f64), y = cos(3. * x);
      const Array a = reshape(complex(x, y), {5, 2, n}), b = reshape(complex(y, x + 1.), {5, n, 2});
      const Array of_parts = complex(product(real(a), real(b)) - product(imag(a), imag(b)),
                                     product(real(a), imag(b)) + product(imag(a), real(b)));
      EXPECT_TRUE(tree_equal(product(a, b), of_parts)) << n;
      EXPECT_TRUE(tree_equal(jit(product)(a, b), of_parts)) << n;
      EXPECT_TRUE(
          tree_equal(jit(vmap([](const Array& p, const Array& q) { return matmul(p, q); }))(a, b), of_parts))
          << n;
      if (n == 0) continue;
      EXPECT_EQ(lower(product, a, b).compile().code_text().find("apsis_call_kernel"), std::string::npos) << n;
    }
  const Array z = complex(sin(arange(4.)), cos(arange(4.)));
  expect_near(outer(z, z)[1], numbers_of(z[1] * z), "outer");
}

TEST(Complex, MovesKeepTheParts) {
  const Array z = complex(arange(6.), -arange(6.));
  const auto moved = [](const Array& z) {
    const Array a = reshape(z * c(0, 1), {2, 3});
    const Array b = concatenate({transpose(a), transpose(a) * 2.}, 1);
    const Array p = pad(b, {1, 0}, {0, 1});
    return p.at(0, 0).set(c(7, 8)).at(array({1, 1}), array({2, 2})).add(c(1, 0)) +
           take(p, array({0, 1, 3, 2}), 0);
  };
  EXPECT_TRUE(same_bits(moved(z), jit(moved)(z)));
  const auto chosen = [](const Array& z) { return where(real(z) > 2., z, conj(z) * 2.); };
  EXPECT_TRUE(same_bits(chosen(z), jit(chosen)(z)));
}

TEST(Complex, InLoops) {
  const auto escape = [](const Array& point) {
    struct State {
      Array z, count;
    };
    const State end = while_loop([](const State& s) { return (abs(s.z) <= 2.) && (s.count < 50); },
                                 [&](const State& s) {
                                   return State{s.z * s.z + point, s.count + 1};
                                 },
                                 State{point * 0., Array(0, i64)});
    return end.count;
  };
  const Array x = linspace(-2., 1., 7), y = linspace(-1., 1., 5);
  std::vector<std::int64_t> want;
  for (double b : y.to_vector<double>())
    for (double a : x.to_vector<double>()) {
      c z = 0;
      std::int64_t n = 0;
      for (; std::abs(z) <= 2 && n < 50; ++n) z = z * z + c(a, b);
      want.push_back(n);
    }
  const Array points = reshape(complex(x, reshape(y, {5, 1})), {35});
  EXPECT_EQ(vmap(escape)(points).to_vector<std::int64_t>(), want);
  EXPECT_EQ(jit(vmap(escape))(points).to_vector<std::int64_t>(), want);

  const auto turned = [](const Array& w) {
    return scan(
               [&](const Array& z, const Array& k) {
                 return std::pair{z * w + k, z};
               },
               Array(c(1, 0), c128), arange(4.))
        .second;
  };
  const Array w = Array(c(.6, .8), c128);
  Numbers states{1};
  for (int k = 0; k < 3; ++k) states.push_back(states.back() * c(.6, .8) + double(k));
  expect_near(turned(w), states, "scan");
  expect_near(jit(turned)(w), states, "jit(scan)");
  const auto loss = [&](const Array& w) { return sum(real(turned(w)) * imag(turned(w))); };
  const double h = 1e-6;
  const auto at = [&](c d) { return loss(Array(c(.6, .8) + d, c128)).item<double>(); };
  const c want_gradient((at(h) - at(-h)) / (2 * h), -(at(c(0, h)) - at(c(0, -h))) / (2 * h));
  expect_near(grad(loss)(w), {want_gradient}, "grad(scan)", 1e-8);
  expect_near(jit(grad(loss))(w), {want_gradient}, "jit(grad(scan))", 1e-8);
}

}  // namespace
}  // namespace apsis::testing
