// Every solve ends, and says why.

#include <cmath>
#include <map>

#include "diffeq/refused.hpp"

namespace apsis::testing {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();
const auto square_of = [](const Array&, const Array& y) { return y * y; };
const auto decay = [](const Array&, const Array& y) { return -y; };
const PIDController adaptive{.rtol = 1e-6, .atol = 1e-9};

struct End {
  std::int64_t result, steps;
};
template <class Field, class Method = Tsit5>
End end_of(const Field& field, const Array& y0, double t1, const SolveOptions& options, const Array& dt0 = {},
           Method method = {}) {
  SolveOptions quiet = options;
  quiet.throw_ = false;
  const auto sol = diffeqsolve(ODETerm{field}, method, 0., t1, dt0, y0, quiet);
  return {sol.result.template item<std::int64_t>(), sol.stats.num_steps.template item<std::int64_t>()};
}
constexpr std::int64_t non_finite = 9, dt_min = 10;

// y' = y² has a pole at 1 / y0. A rejected step of one ULP, made shorter, rounds to itself.
TEST(Bounds, ASingularityEndsASolveWithoutMaxSteps) {
  const auto check = [](auto method) {
    for (double t1 : {2., -2.}) {
      const Array y0 = array({t1 / 4, t1 / 2});
      const End end = end_of(square_of, y0, t1, {.controller = adaptive, .max_steps = -1}, {}, method);
      EXPECT_EQ(end.result, dt_min);
      EXPECT_LT(end.steps, 100000);
      // In lanes, and with a gradient: the solves that end well are not disturbed.
      auto solve = [=](const Array& y) {
        auto sol = diffeqsolve(ODETerm{square_of}, method, 0., t1, {}, y,
                               {.controller = adaptive, .max_steps = -1, .throw_ = false});
        return std::pair(sum(sol.ys), sol.result);
      };
      auto [sums, results] = jit(vmap(solve))(stack({0.1 * y0, y0, 0.2 * y0}));
      EXPECT_EQ(results.template to_vector<int>(), (std::vector{0, 10, 0}));
    }
  };
  check(Heun{});
  check(Bosh3{});
  check(Tsit5{});
  check(Dopri5{});
}

TEST(Bounds, NearT1AStepIsNotRepeated) {
  // A jump within the rounding of t1: steps that are rejected there would all end at t1.
  for (double at : {1 - 1e-15, 1 - 1e-14, 1 - 5e-14, 1 - 1e-13}) {
    const auto jump = [at](const Array& t, const Array& y) {
      return where(t < at, -y, 1e18 * cos(1e18 * t) * y);
    };
    const End end = end_of(jump, array({1.}), 1., {.controller = adaptive, .max_steps = -1});
    EXPECT_LT(end.steps, 5000) << at;
  }
}

TEST(Bounds, WhatIsNotFiniteEndsASolve) {
  const SolveOptions free{.controller = adaptive, .max_steps = -1};
  // A slope that tells nothing of the state.
  const auto one = [](const Array&, const Array& y) { return ones_like(y); };
  for (double wrong : {nan, inf}) {
    EXPECT_EQ(end_of(one, array({1., wrong}), 1., free).result, non_finite);
    EXPECT_EQ(end_of(one, array({1., wrong}), 1., {.max_steps = -1}, 0.1).result, non_finite);
  }
  // From some time on; also right after t0, where the rule for the first step looks.
  for (double from : {0., 1e-7, 0.3}) {
    const auto field = [from](const Array& t, const Array& y) { return where(t > from, nan, -y); };
    EXPECT_EQ(end_of(field, array({1., 2.}), 1., free).result, dt_min) << from;
    EXPECT_EQ(end_of(field, array({1., 2.}), 1., {.max_steps = -1}, 0.1).result, non_finite) << from;
    SolveOptions forced = free;
    forced.controller = PIDController{.rtol = 1e-6, .atol = 1e-9, .dtmin = 1e-3};
    const End end = end_of(field, array({1., 2.}), 1., forced);
    EXPECT_EQ(end.result, non_finite) << from;
    EXPECT_LT(end.steps, 400) << "and at once, not by steps of dtmin to the end";
  }
  // Beyond all numbers, though no slope is.
  const auto steep = [](const Array&, const Array& y) { return 1e308 * ones_like(y); };
  EXPECT_EQ(end_of(steep, array({1.}), 10., free).result, non_finite);
  EXPECT_EQ(end_of(steep, array({1.}), 10., {}, 1.).result, non_finite);
}

TEST(Bounds, StepsThatRoundToNoneEndASolve) {
  // 0.75 is rounded to 1 below 2^53, and to nothing above.
  const double big = 0x1p53;
  const auto sol = diffeqsolve(ODETerm{decay}, Euler{}, big - 8, big + 8, 0.75, array({0.}),
                               {.max_steps = -1, .throw_ = false});
  EXPECT_EQ(sol.result.item<int>(), dt_min);
  EXPECT_LE(sol.stats.num_steps.item<int>(), 32);
}

TEST(Bounds, WithoutABoundOfTheUsersThereIsOne) {
  const auto program = [](std::int64_t max_steps) {
    return make_graph(
        [=](const Array& y) {
          return diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., {}, y,
                             {.controller = adaptive, .max_steps = max_steps})
              .ys;
        },
        array({1.}));
  };
  EXPECT_NE(program(-1).find("# 10000000000"), std::string::npos);
  EXPECT_EQ(program(77).find("# 10000000000"), std::string::npos);
}

// Steps of dtmin are accepted whatever their error, once each. Counts by Diffrax 0.7.2 for y' = -1000 (y -
// cos t).
TEST(Bounds, StepsOfDtminAreNotTriedTwice) {
  const auto field = [](const Array& t, const Array& y) { return -1000. * (y - cos(t)); };
  const auto count = [&](double dtmin) {
    const auto sol = diffeqsolve(ODETerm{field}, Tsit5{}, 0., 2., 0.01, array({0.}),
                                 {.controller = PIDController{.rtol = 1e-8, .atol = 1e-10, .dtmin = dtmin}});
    return std::pair(sol.stats.num_accepted_steps.item<int>(), sol.stats.num_rejected_steps.item<int>());
  };
  EXPECT_EQ(count(1e-3), std::pair(1215, 5));
  EXPECT_EQ(count(0x1p-10), std::pair(1222, 6));
  // Where it stops instead, a step of dtmin that rounds to a little less is none that is too short.
  for (double dtmin : {0.1, 0x1p-3, 0.3}) {
    const auto sol = diffeqsolve(
        ODETerm{decay}, Tsit5{}, 0.7, 2., dtmin, array({1.}),
        {.controller =
             PIDController{.rtol = 1e-2, .atol = 1e-2, .dtmin = dtmin, .dtmax = dtmin, .force_dtmin = false},
         .throw_ = false});
    EXPECT_EQ(sol.result.item<int>(), 0) << dtmin;
  }
}

TEST(Bounds, FailuresSayWhere) {
  struct Oscillator {
    Array x, v;
  };
  const auto stiff = [](const Array&, const Oscillator& y) {
    return Oscillator{y.v, array({{-1., -1.}, {-1., -1e9}}) * y.x};
  };
  const auto solve = [=](const Array& t1) {
    return diffeqsolve(ODETerm{stiff}, Tsit5{}, 0., t1, {}, Oscillator{ones({2, 2}), zeros({2, 2})},
                       {.controller = adaptive, .max_steps = 500})
        .ys.x;
  };
  const auto text_of = [](const auto& call) {
    try {
      call();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  const std::string now = text_of([&] { solve(1.); }), compiled = text_of([&] { jit(solve)(array(1.)); });
  EXPECT_EQ(now, compiled);
  for (const char* part :
       {"max_steps = 500 attempts end at t = 0.0", "short of t1 = 1.0", "times its tolerance",
        "y0.x[1, 1] changes fastest", "tests/diffeq/bounds_test.cpp:"})
    EXPECT_NE(now.find(part), std::string::npos) << part << "\n" << now;
  EXPECT_EQ(now.find("use an adaptive controller"), std::string::npos);
}

// At t0 = 10⁶ the rounding of f32 is a sixteenth: 100 ULP are more than the interval, and must not swallow
// it.
TEST(Bounds, FarFromZeroInF32) {
  const auto sol = diffeqsolve(ODETerm{decay}, Tsit5{}, 1e6, 1e6 + 4, {}, array({1.f, 2.f}),
                               {.controller = PIDController{.rtol = 1e-3, .atol = 1e-3}, .throw_ = false});
  EXPECT_EQ(sol.result.item<int>(), 0);
  EXPECT_NEAR(sol.ys[0][0].item<float>(), std::exp(-4.), 5e-3);
}

TEST(Bounds, FailuresNameKeysOfMaps) {
  const std::map<std::string, Array> y0{{"a}b", array({1., 2.})}, {"c;d", array(3.)}};
  const auto squares = [](const Array&, std::map<std::string, Array> y) {
    for (auto& [key, v] : y) v = v * v;
    return y;
  };
  try {
    diffeqsolve(ODETerm{squares}, Tsit5{}, 0., 1., {}, y0, {.controller = adaptive});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("y0[\"c,d\"] changes fastest"), std::string::npos) << e.what();
  }
}

TEST(Bounds, StatesOfSizeZeroHaveNoError) {
  const auto sol = diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., {}, zeros({0, 3}), {.controller = adaptive});
  EXPECT_EQ(sol.result.item<int>(), 0);
  EXPECT_EQ(sol.ys.shape(), (Shape{1, 0, 3}));
}

}  // namespace
}  // namespace apsis::testing
