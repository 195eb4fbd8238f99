#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Pair {
  Array first, second;
};

Array root_or_line(const Array& x) {
  return cond(
      x > 1., [](const Array& v) { return sqrt(v - 1.); }, [](const Array& v) { return -v; }, x);
}

TEST(Cond, RunsOneBranch) {
  expect_same_bits(expect_compiled_as_interpreted(root_or_line, array(5.)), array(2.));
  expect_same_bits(expect_compiled_as_interpreted(root_or_line, array(0.5)), array(-0.5));
  // The branch that is not taken does not run: its error stays away.
  auto guarded = [](const Array& x) {
    return cond(
        x > 0., [](const Array& v) { return v; },
        [](const Array& v) {
          error_if(v <= 0., Message{"own", "taken"});
          return v;
        },
        x);
  };
  EXPECT_EQ(guarded(array(1.)).item<double>(), 1.);
  EXPECT_EQ(jit(guarded)(array(1.)).item<double>(), 1.);
  EXPECT_THROW(guarded(array(-1.)), Error);
  EXPECT_THROW(jit(guarded)(array(-1.)), Error);
}

TEST(Cond, OverTreesWithCaptures) {
  Array a = array({1., 2.});
  auto f = [&](const Pair& p) {
    return cond(
        sum(p.first) > 0.,
        [&](const Pair& q) {
          return Pair{q.first * a, q.second};
        },
        [&](const Pair& q) {
          return Pair{q.first - q.second * a, q.second + 1.};
        },
        p);
  };
  Pair taken = expect_compiled_as_interpreted(f, Pair{array({1., 1.}), array(2.)});
  expect_same_bits(taken, Pair{array({1., 2.}), array(2.)});
  Pair other = expect_compiled_as_interpreted(f, Pair{array({-1., -1.}), array(2.)});
  expect_same_bits(other, Pair{array({-3., -5.}), array(3.)});
}

TEST(Cond, Derivatives) {
  for (double sign : {1., -1.}) {
    auto loss = [=](const Array& x) {
      Array w = sin(x);
      return sum(cond(
                     sign * x[0] > 0., [&](const Array& v) { return v * v * w; },
                     [&](const Array& v) { return exp(v) + w[1]; }, x) *
                 x);
    };
    expect_derivatives(loss, array({0.5, -0.7, 0.2}));
  }
}

TEST(Cond, InLanesKeepsNansOfTheOtherBranchOut) {
  Array xs = array({5., 0.5, 1., -2., 1.25});
  Array got = expect_compiled_as_interpreted(vmap(root_or_line), xs);
  Array slopes = expect_compiled_as_interpreted(vmap(grad(root_or_line)), xs);
  for (int i = 0; i < 5; ++i) {
    expect_same_bits(Array(got[i]), root_or_line(xs[i]));
    expect_same_bits(Array(slopes[i]), grad(root_or_line)(xs[i]));
  }
  auto total = [](const Array& v) { return sum(vmap(root_or_line)(v)); };
  expect_near(grad(total)(xs), array({0.25, -1., -1., -1., 1.}));
  expect_near(jit(grad(total))(xs), array({0.25, -1., -1., -1., 1.}));
  // Captured, the lanes' values are operands all the same.
  auto captured = [](const Array& x) {
    Array y = x * 1.;
    return cond(
        y > 1., [&] { return sqrt(y - 1.); }, [&] { return -y; });
  };
  expect_near(grad([&](const Array& v) { return sum(vmap(captured)(v)); })(xs),
              array({0.25, -1., -1., -1., 1.}));
}

TEST(Switch, ClampsItsIndex) {
  auto twice = [](const Array& x) { return 2. * x; };
  auto square_of = [](const Array& x) { return x * x; };
  auto minus = [](const Array& x) { return -x; };
  auto f = [=](const Array& k, const Array& x) { return switch_(k, std::tuple{twice, square_of, minus}, x); };
  double want[] = {6., 6., 9., -3., -3.};
  double slope[] = {2., 2., 6., -1., -1.};
  for (int k = -1; k < 4; ++k) {
    EXPECT_EQ(expect_compiled_as_interpreted(f, array(k), array(3.)).item<double>(), want[k + 1]);
    EXPECT_EQ(grad<1>(f)(array(k), array(3.)).item<double>(), slope[k + 1]);
  }
  Array lanes = vmap(f, {.in_axes = {0, {}}})(array({-1, 0, 1, 2, 3}), array(3.));
  expect_same_bits(lanes, array({6., 6., 9., -3., -3.}));
  Array slopes = vmap(grad<1>(f), {.in_axes = {0, {}}})(array({-1, 0, 1, 2, 3}), array(3.));
  expect_same_bits(slopes, array({2., 2., 6., -1., -1.}));
}

TEST(Cond, ErrorsNameThePlace) {
  auto identity = [](const Array& x) { return x; };
  auto text = [](const auto& f) -> std::string {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(text([&] { cond(array(1.), identity, identity, array(1.)); }).find("cond_test.cpp:"),
            std::string::npos);
  EXPECT_NE(text([&] { switch_(array(true), std::tuple{identity}, array(1.)); }).find("cond_test.cpp:"),
            std::string::npos);
  auto half = [](const Array& x) { return sum(x); };
  EXPECT_NE(text([&] {
              cond(true, identity, half, array({1., 2.}));
            }).find("cond_test.cpp:"),
            std::string::npos);
}

TEST(Cond, InsideLoopsInLanes) {
  auto collatz = [](const Array& start) {  // the number of steps to 1
    return while_loop([](const Pair& p) { return p.first > 1; },
                      [](const Pair& p) {
                        Array next = cond(
                            p.first % 2 == 0, [](const Array& n) { return floor_divide(n, 2); },
                            [](const Array& n) { return 3 * n + 1; }, p.first);
                        return Pair{next, p.second + 1};
                      },
                      Pair{start, array(0)})
        .second;
  };
  EXPECT_EQ(collatz(array(27)).item<int>(), 111);
  Array steps = expect_compiled_as_interpreted(vmap(collatz), array({1, 2, 3, 7, 27, 6}));
  expect_same_bits(steps, array({0, 1, 7, 16, 111, 8}));
}

}  // namespace
}  // namespace apsis::testing
