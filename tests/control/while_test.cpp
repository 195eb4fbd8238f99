#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct State {
  Array i, x;
};
struct Named {
  Array value;
  std::vector<Array> parts;
  int kind = 2;
};

/// a · x, repeated n times, plus a sine: a loop whose length is its argument.
auto repeat_for(const Array& n) {
  return [n](const Array& x, const Array& a) {
    return while_loop([&](const State& s) { return s.i < n; },
                      [&](const State& s) {
                        return State{s.i + 1, a * s.x + sin(s.x)};
                      },
                      State{0, x})
        .x;
  };
}

TEST(WhileLoop, RunsAsWritten) {
  Array x = array({1., 2.}), a = array(0.5);
  Array want = x;
  for (int i = 0; i < 5; ++i) want = fma(a, want, sin(want));
  expect_same_bits(expect_compiled_as_interpreted(repeat_for(5), x, a), want);
  expect_same_bits(expect_compiled_as_interpreted(repeat_for(0), x, a), x);
  expect_same_bits(jit(repeat_for(5))(x, a), want);
}

TEST(WhileLoop, CarriesStructsWithStaticPartsAndEmptyLeaves) {
  auto run = [](const Array& x) {
    return while_loop([](const Named& s) { return s.value < 100.; },
                      [](const Named& s) {
                        return Named{s.value * 2. + s.parts[0], {s.parts[0] + 1., s.parts[1]}, s.kind};
                      },
                      Named{x, {array(0.), Array()}});
  };
  Named end = expect_compiled_as_interpreted(run, array(1.));
  double value = 1, part = 0;
  while (value < 100) value = value * 2 + part++;
  EXPECT_EQ(end.value.item<double>(), value);
  EXPECT_EQ(end.parts[0].item<double>(), part);
  EXPECT_TRUE(end.parts[1].is_empty());
  EXPECT_EQ(end.kind, 2);
}

TEST(WhileLoop, WeakCarriesTakeTheDtypeOfTheBody) {
  Array step = Array(0.25, f32);
  Array end = while_loop([](const Array& x) { return x < 1.; }, [&](const Array& x) { return x + step; }, 0.);
  EXPECT_EQ(end.dtype(), f32);
  EXPECT_EQ(end.item<float>(), 1.f);
  // An integer that turns into a float, through a second round; and a strong carry that stays.
  Array mean = while_loop([](const Array& x) { return x < 2.; }, [](const Array& x) { return x + 0.5; }, 0);
  EXPECT_EQ(mean.item<double>(), 2.);
  Array strong = while_loop([](const Array& x) { return x < 2.; }, [](const Array& x) { return x + 0.5; },
                            Array(0., f32));
  EXPECT_EQ(strong.dtype(), f32);
}

TEST(WhileLoop, Derivatives) {
  Array a = array(0.7);
  auto by_value = [&](const Array& x) {  // the number of iterations depends on x
    Array end = while_loop([](const Array& y) { return sum(y * y) < 50.; },
                           [&](const Array& y) { return y * (1.2 + a) + 0.1 * sin(y); }, x);
    return sum(end * array({1., -2., 3.}));
  };
  expect_derivatives(by_value, array({0.3, -0.2, 0.5}));
}

TEST(WhileLoop, DerivativesWithRespectToWhatIsCaptured) {
  auto loss = [](const Array& a) {
    return sum(while_loop([](const State& s) { return s.i < 6; },
                          [&](const State& s) {
                            return State{s.i + 1, cos(a) * s.x + a[0] * square(s.x)};
                          },
                          State{0, array({0.3, 0.2})})
                   .x);
  };
  expect_derivatives(loss, array({0.4, -0.3}));
}

TEST(WhileLoop, OfNoIterationsHasTheDerivativeOfTheIdentity) {
  auto loss = [](const Array& x) { return sum(repeat_for(0)(x, x[0])); };
  expect_derivatives(loss, array({0.4, -0.3}));
  expect_same_bits(grad(loss)(array({0.4, -0.3})), array({1., 1.}));
}

TEST(WhileLoop, PullBackMayBeCalledAgain) {
  auto [out, pull] = vjp(repeat_for(4), array(0.3), array(0.8));
  auto [x1, a1] = pull(array(1.));
  auto [x2, a2] = pull(array(2.));
  expect_near(x2, 2. * x1);
  expect_near(a2, 2. * a1);
  Array seeds = array({1., 2., -1.});
  auto all = vmap([pull = pull](const Array& c) { return std::get<0>(pull(c)); })(seeds);
  expect_near(all, seeds * x1);
}

TEST(WhileLoop, Nested) {
  auto loss = [](const Array& x) {
    State end = while_loop([](const State& s) { return s.i < 4; },
                           [&](const State& s) {
                             State inner = while_loop([&](const State& t) { return t.i < s.i; },
                                                      [&](const State& t) {
                                                        return State{t.i + 1, t.x * cos(x) + 0.1 * s.x};
                                                      },
                                                      State{0, s.x});
                             return State{s.i + 1, inner.x + 0.2 * s.x};
                           },
                           State{0, x});
    return sum(end.x * end.x);
  };
  expect_derivatives(loss, array({0.9, -0.4}));
}

TEST(WhileLoop, LaxHasForwardModeOnly) {
  auto lax = [](const Array& x) {
    return while_loop([](const Array& y) { return y < 10.; }, [](const Array& y) { return y * 2.; }, x,
                      {.kind = Loop::Lax});
  };
  EXPECT_EQ(jvp(lax, array(1.), array(1.)).second.item<double>(), 16.);
  EXPECT_THROW(grad(lax)(array(1.)), Error);
}

TEST(WhileLoop, BoundedCountsItsIterations) {
  auto bounded = [](const Array& x) {
    return while_loop([](const Array& y) { return y < 10.; }, [](const Array& y) { return y * 2.; }, x,
                      {.max_steps = 4, .kind = Loop::Bounded});
  };
  EXPECT_EQ(bounded(array(1.)).item<double>(), 16.);
  EXPECT_EQ(grad(bounded)(array(1.)).item<double>(), 16.);
  EXPECT_THROW(bounded(array(0.5)), Error);
}

}  // namespace
}  // namespace apsis::testing
