// Errors raised by values: in eager and compiled code, with values, places and lanes in their text.

#include <gtest/gtest.h>

#include "errors/error_of.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

const auto checked = [](const Array& x) {
  error_if(any(x < 0.), "negative: {0}", {x});
  return sqrt(x);
};

TEST(ErrorIf, ShowsValuesAndThePlace) {
  EXPECT_EQ(error_of([] { checked(array({1., -2.})); }), "negative: [ 1. -2.]");
  auto fast = jit(checked);
  EXPECT_EQ(fast(array({1., 4.})).to_vector<double>(), (std::vector<double>{1., 2.}));
  EXPECT_EQ(error_of([&] { fast(array({1., -2.})); }), "negative: [ 1. -2.]");
  try {
    fast(array({1., -2.}));
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("error_if_test.cpp:"), std::string::npos) << e.what();
    EXPECT_STREQ(e.id(), "error_if");
  }
}

TEST(ErrorIf, ReadsBackFromTextWithItsPlace) {
  const auto loop = [](const Array& x) {
    return fori_loop(
        0, 3, [](const Array&, const Array& y) { return jit(checked)(y) * 2.; }, x);
  };
  const detail::GraphRef graph = staged_call(loop, array(1.)).graph;
  EXPECT_TRUE(detail::parse_graph(detail::to_string(*graph)) == graph) << detail::to_string(*graph);
}

TEST(ErrorIf, TakesConditionsOfAnyShape) {
  for (std::int64_t n : {1, 7, 16, 17, 1000}) {
    auto f = jit([](const Array& x) { return error_if(x < 0., "negative"), x * 2.; });
    Array good = ones({n});
    EXPECT_EQ(f(good)[0].item<double>(), 2.);
    EXPECT_EQ(error_of([&] { f(good.at(n - 1).set(-1.)); }), "negative") << n;
    EXPECT_EQ(error_of([&] { f(good.at(0).set(-1.)); }), "negative") << n;
  }
  EXPECT_EQ(error_of([] { jit([](const Array& x) { return error_if(x < 0., "negative"), x; })(zeros({0})); }),
            "");
}

TEST(ErrorIf, ChoosesTheMessageByCode) {
  auto f = [](const Array& code) {
    error_if_code(code, {Message{"first", "one"}, Message{"second", "two"}});
    return code;
  };
  EXPECT_EQ(error_of([&] { jit(f)(array(0)); }), "");
  EXPECT_EQ(error_of([&] { jit(f)(array(1)); }), "one");
  EXPECT_EQ(error_of([&] { jit(f)(array(2)); }), "two");
  EXPECT_EQ(error_of([&] { jit(f)(array(9)); }), "two");
}

/// Fails on its way past 50.
Array counts_to_100(const Array& x) {
  return while_loop([](const Array& y) { return y < 100.; },
                    [](const Array& y) {
                      error_if(y > 50. && y < 60., "passes through {0}", {y});
                      return y + 1.;
                    },
                    x);
}

TEST(ErrorIf, NamesTheLane) {
  auto both = [](auto f, const Array& x) {
    std::string eager = error_of([&] { vmap(f)(x); }), compiled = error_of([&] { jit(vmap(f))(x); });
    EXPECT_EQ(eager, compiled);
    detail::InterpretScope reference;
    EXPECT_EQ(eager, error_of([&] { vmap(f)(x); }));
    return eager;
  };
  EXPECT_EQ(both(checked, array({1., -2., 3., -4.})),
            "negative: -2.0 (2 of 4 lanes failed, the first is lane 1)");
  EXPECT_EQ(both(vmap(checked), array({{1., 2.}, {3., -4.}})),
            "negative: -4.0 (1 of 4 lanes failed, the first is lane 1,1)");
  // Lanes that run at their own pace: the lowest that fails, though another failed first.
  EXPECT_EQ(both(counts_to_100, array({60., 70., 0., 49., 80.})), "passes through 51.0 (lane 2)");
  std::vector<double> starts;
  for (int i = 0; i < 500; ++i) starts.push_back(i < 437 ? 90. : 437. - i);
  EXPECT_EQ(both(counts_to_100, array(starts)), "passes through 51.0 (lane 437)");
  EXPECT_EQ(both(counts_to_100, array({60., 99.})), "");
}

TEST(ErrorIf, NamesTheLaneOfEachVmap) {
  auto failing_at = [&](const auto& f, const Array& x) {
    std::string compiled = error_of([&] { jit(f)(x); });
    EXPECT_EQ(error_of([&] { f(x); }), compiled);
    detail::InterpretScope reference;
    EXPECT_EQ(error_of([&] { f(x); }), compiled);
    return compiled;
  };
  const Array two = full({3, 4}, 90.).at(1, 3).set(49.), three = full({2, 3, 4}, 90.).at(1, 2, 0).set(49.);
  const VmapOptions lanes{.loops = LaneLoops::Lanes};
  EXPECT_EQ(failing_at(vmap(vmap(counts_to_100)), two), "passes through 51.0 (lane 1,3)");
  EXPECT_EQ(failing_at(vmap(vmap(counts_to_100, lanes), lanes), two), "passes through 51.0 (lane 1,3)");
  EXPECT_EQ(failing_at(vmap(vmap(vmap(counts_to_100))), three), "passes through 51.0 (lane 1,2,0)");
  // Loops of equal length, in lanes or not: the check is in one loop for all lanes.
  auto fixed = [](const Array& x) {
    return fori_loop(
        0, 3, [](const Array&, const Array& y) { return checked(y) + 1.; }, x);
  };
  const Array negative = ones({3, 4}).at(2, 1).set(-1.);
  EXPECT_EQ(failing_at(vmap(vmap(fixed)), negative),
            "negative: -1.0 (1 of 12 lanes failed, the first is lane 2,1)");
  EXPECT_EQ(failing_at(vmap(vmap(grad(counts_to_100))), two), "passes through 51.0 (lane 1,3)");
}

TEST(ErrorIf, InBranchesOnlyForThoseWhoChoseThem) {
  auto f = [](const Array& x) {
    return cond(
        x > 0., [](const Array& v) { return checked(v - 1.); }, [](const Array& v) { return v; }, x);
  };
  Array got = jit(vmap(f))(array({2., -5., 5.}));
  EXPECT_EQ(got.to_vector<double>(), (std::vector<double>{1., -5., 2.}));
  EXPECT_EQ(error_of([&] { jit(vmap(f))(array({2., 0.5, 5.})); }), "negative: -0.5 (lane 1)");
}

TEST(ErrorIf, InReverseModeOfLoops) {
  auto loss = [](const Array& x) {
    return fori_loop(
        0, 4, [](const Array&, const Array& y) { return checked(y) * 2.; }, x);
  };
  expect_compiled_as_interpreted(grad(loss), array(3.));
  EXPECT_EQ(error_of([&] { jit(grad(loss))(array(-1.)); }), "negative: -1.0");
  EXPECT_EQ(error_of([&] {
              jit(vmap(grad(loss)))(array({1., -1.}));
            }),
            "negative: -1.0 (1 of 2 lanes failed, the first is lane 1)");
}

TEST(ErrorIf, LeavesTheProgramUsable) {
  auto f = jit(vmap([](const Array& x) {
    return while_loop([](const Array& y) { return y < 9.; },
                      [](const Array& y) { return error_if(y < 0., "low"), y * 2.; }, x);
  }));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(error_of([&] { f(array({1., -1., 2.})); }), "low (lane 1)");
    EXPECT_EQ(f(array({1., 3., 2.})).to_vector<double>(), (std::vector<double>{16., 12., 16.}));
  }
}

}  // namespace
}  // namespace apsis::testing
