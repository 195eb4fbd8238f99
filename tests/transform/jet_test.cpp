// Taylor mode: against nested forward mode, and against series that are known.

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

const Array x0 = array({0.4, 0.9, 1.3});
const std::vector<Array> path = {array({0.7, -0.3, 1.1}), array({-0.2, 0.5, 0.4}), array({0.3, 0.1, -0.6}),
                                 array({0.25, -0.75, 0.5})};

/// The derivatives of t ↦ f(x(t)) by forward mode nested in itself.
template <class F>
std::vector<Array> nested(const F& f, int order) {
  auto along = [&](const Array& t) {
    Array x = x0, power = array(1.);
    double factorial = 1;
    for (std::size_t k = 0; k < path.size(); ++k) {
      power = power * t;
      factorial *= static_cast<double>(k + 1);
      x = x + path[k] * power / factorial;
    }
    return f(x);
  };
  auto d1 = [&](const Array& t) { return jvp(along, t, array(1.)).second; };
  auto d2 = [&](const Array& t) { return jvp(d1, t, array(1.)).second; };
  auto d3 = [&](const Array& t) { return jvp(d2, t, array(1.)).second; };
  auto d4 = [&](const Array& t) { return jvp(d3, t, array(1.)).second; };
  std::vector<Array> all = {d1(array(0.)), d2(array(0.)), d3(array(0.))};
  if (order > 3) all.push_back(d4(array(0.)));
  return all;
}

template <class F>
void expect_jet(const F& f, const char* what, double tolerance = 1e-11) {
  SCOPED_TRACE(what);
  auto [y, ys] = jet(f, x0, path);
  expect_near(y, f(x0), tolerance);
  expect_near(ys, nested(f, 4), tolerance);
}

TEST(Jet, OfElementaryFunctions) {
#define APSIS_JET(...) expect_jet([](const Array& x) { return __VA_ARGS__; }, #__VA_ARGS__)
  APSIS_JET(exp(x));
  APSIS_JET(log(x));
  APSIS_JET(sin(x));
  APSIS_JET(cos(x));
  APSIS_JET(tan(x));
  APSIS_JET(asin(x / 2.));
  APSIS_JET(acos(x / 2.));
  APSIS_JET(atan(x));
  APSIS_JET(sinh(x));
  APSIS_JET(cosh(x));
  APSIS_JET(tanh(x));
  APSIS_JET(asinh(x));
  APSIS_JET(acosh(x + 1.));
  APSIS_JET(atanh(x / 2.));
  APSIS_JET(sqrt(x));
  APSIS_JET(rsqrt(x));
  APSIS_JET(cbrt(x));
  APSIS_JET(expm1(x));
  APSIS_JET(log1p(x));
  APSIS_JET(erf(x));
  APSIS_JET(pow(x, 2.5));
  APSIS_JET(pow(x, x));
  APSIS_JET(pow(x, 5));
  APSIS_JET(atan2(x, 1. + x * x));
  APSIS_JET(logaddexp(x, -x));
#undef APSIS_JET
}

TEST(Jet, OfArithmeticReductionsAndShapes) {
#define APSIS_JET(...) expect_jet([](const Array& x) { return __VA_ARGS__; }, #__VA_ARGS__)
  APSIS_JET(x * x / (1. + x) - 2. * x);
  APSIS_JET(-abs(x) + maximum(x, 1.) * minimum(x, 0.5));
  APSIS_JET(where(x > 0.8, x * x, sin(x)));
  APSIS_JET(sum(x * x) * ones({3}));
  APSIS_JET(prod(x) * x);
  APSIS_JET(max(x) * x);
  APSIS_JET(cumsum(x * x));
  APSIS_JET(matmul(outer(x, x), sin(x)));
  APSIS_JET(dot(x, exp(x)) * x);
  APSIS_JET(concatenate({x[range(1, 3)], flip(x * x)[range(0, 1)]}));
  APSIS_JET(reshape(transpose(outer(x, cos(x))), {9}));
  APSIS_JET(sort(sin(3. * x)));
  APSIS_JET(x.at(1).set(x[0] * x[2]));
#undef APSIS_JET
}

TEST(Jet, ThroughLoopsAndBranches) {
  expect_jet(
      [](const Array& x) {
        return while_loop([](const std::pair<Array, Array>& s) { return s.first < 4; },
                          [&](const std::pair<Array, Array>& s) {
                            return std::pair<Array, Array>{s.first + 1, sin(s.second * x) + 1.};
                          },
                          std::pair<Array, Array>{0, x})
            .second;
      },
      "while");
  expect_jet(
      [](const Array& x) {
        auto [last, ys] = scan(
            [](const Array& c, const Array& v) {
              return std::pair{sin(c * v), c + v};
            },
            array(0.5), x);
        return ys * last;
      },
      "scan");
  expect_jet(
      [](const Array& x) {
        return cond(
            sum(x) > 0., [](const Array& v) { return v * v; }, [](const Array& v) { return v; }, x);
      },
      "cond");
  expect_jet(jit([](const Array& x) { return exp(x) * x; }), "jit");
  expect_jet(checkpoint([](const Array& x) { return exp(x) * x; }), "checkpoint");
  expect_jet(vmap([](const Array& v) {
               return while_loop([](const Array& y) { return y < 5.; },
                                 [&](const Array& y) { return y * (1. + v); }, v);
             }),
             "lanes");
  expect_jet(grad([](const Array& x) { return sum(x * x * sin(x)); }), "grad");
  auto cube = custom_jvp([](const Array& x) { return x * x * x; },
                         [](const Array& x, const Array& dx) {
                           return std::pair{x * x * x, 9. * x * x * dx};
                         });
  expect_jet(cube, "custom_jvp");
}

TEST(Jet, ComposesWithOtherTransformations) {
  auto third = [](const Array& x) {
    return jet([](const Array& v) { return exp(2. * v); }, x, {array(1.), array(0.), array(0.)}).second[2];
  };
  Array at = array(0.3), want = 8. * exp(0.6 * ones({}));
  expect_near(third(at), want);
  expect_near(jit(third)(at), want);
  expect_near(grad(third)(at), 2. * want);
  expect_near(vmap(third)(array({0.3, 0.3})), want * ones({2}));
}

TEST(Jet, OfHighOrderGrowsAsAPower) {
  // The derivatives of exp(sin t) at 0 (OEIS A002017).
  std::vector<Array> line(10, array(0.));
  line[0] = array(1.);
  auto f = [](const Array& t) { return exp(sin(t)); };
  auto [y, ys] = jet(f, array(0.), line);
  const double want[] = {1, 1, 0, -3, -8, -3, 56, 217, 64, -2951};
  for (std::size_t k = 0; k < 10; ++k)
    EXPECT_NEAR(ys[k].item<double>(), want[k], 1e-9 * std::max(1., std::abs(want[k])));
  auto lines = [&](std::size_t order) {
    std::vector<Array> series(order, array(0.));
    series[0] = array(1.);
    std::string text =
        trace([&](const Array& t) { return jet(f, t, series).second.back(); }, array(0.)).text();
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_LT(lines(12), 8 * lines(6));  // cubic growth; nested forward mode would take 64 times as much
}

TEST(Jet, OnTreesWithPartsThatDoNotMove) {
  struct Model {
    Array a, b;
    int n = 2;
  };
  auto f = [](const Model& m, const Array& x) {
    return std::pair{m.a * x * static_cast<double>(m.n) + m.b, x > 0.};
  };
  auto [y, ys] =
      jet(f, std::tuple{Model{array(3.), array(1.)}, array(2.)},
          {std::tuple{Model{array(1.), Array()}, array(10.)}, std::tuple{Model{Array(), Array()}, Array()}});
  EXPECT_EQ(y.first.item<double>(), 13);
  EXPECT_EQ(ys[0].first.item<double>(), 2 * (3 * 10 + 1 * 2));
  EXPECT_EQ(ys[1].first.item<double>(), 2 * 2 * 1 * 10);
  EXPECT_TRUE(ys[0].second.is_empty());
}

}  // namespace
}  // namespace apsis::testing
