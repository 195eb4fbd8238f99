// The range of each option: what is just inside is taken, what is just outside refused.

#include <cmath>

#include <variant>

#include "diffeq/refused.hpp"

namespace apsis::testing {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();
const auto decay = [](const Array&, const Array& y) { return -y; };
const Array start = array({1., 2.});

struct Row {
  const char* name;
  std::variant<Array PIDController::*, Tolerance PIDController::*> field;
  std::vector<double> right, wrong;
  const char* id = "option_range";
};

TEST(Ranges, OfPIDController) {
  const Row rows[] = {
      {"rtol", &PIDController::rtol, {0., 1e-12, 1e-3, 0.5}, {-1e-9, nan, inf}},
      {"atol", &PIDController::atol, {0., 1e-12, 1e-3, 2.}, {-1e-9, nan}},
      {"atol", &PIDController::atol, {}, {inf}, "all_left_out"},
      {"pcoeff", &PIDController::pcoeff, {0., 0.4}, {nan, inf, -inf}},
      {"icoeff", &PIDController::icoeff, {0.3, 1.}, {nan, inf}},
      {"dcoeff", &PIDController::dcoeff, {0., 0.1}, {nan, inf}},
      {"icoeff", &PIDController::icoeff, {}, {0., -1.}, "coefficients"},
      {"dtmin", &PIDController::dtmin, {1e-9, 0.1}, {0., -0.1, nan, inf}},
      {"dtmax", &PIDController::dtmax, {0.1, 5., inf}, {0., -0.1, nan}},
      {"factormin", &PIDController::factormin, {1e-3, 1.}, {0., -1., 1.01, nan}},
      {"factormax", &PIDController::factormax, {1., 3., inf}, {0.99, -1., nan}},
      {"safety", &PIDController::safety, {0.1, 0.99}, {0., 1., 1.1, -0.9, nan}},
  };
  for (const Row& row : rows) {
    const auto solve = [&](const Array& value) {
      PIDController c{.rtol = 1e-4, .atol = 1e-4};
      std::visit([&](auto field) { c.*field = value; }, row.field);
      return diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, start, {.controller = c, .max_steps = -1}).ys;
    };
    SCOPED_TRACE(row.name);
    auto compiled = jit([&](const Array& value) { return solve(value); });
    for (double value : row.right) {
      EXPECT_EQ(error_of_call([&] { solve(value); }), "") << value;
      EXPECT_EQ(error_of_call([&] { compiled(array(value)); }), "") << value;
    }
    for (double value : row.wrong) {
      EXPECT_EQ(error_of_call([&] { solve(value); }), row.id) << value;
      EXPECT_EQ(error_of_call([&] { compiled(array(value)); }), row.id) << value;
      EXPECT_EQ(error_of_call([&] {
                  vmap([&](const Array& v) { return solve(v); })(array({value, value}));
                }),
                row.id)
          << value;
    }
  }
}

TEST(Ranges, TolerancesBroadcastToTheState) {
  const auto solve = [](const Array& rtol, const Array& atol) {
    return diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., {}, start,
                       {.controller = PIDController{.rtol = rtol, .atol = atol}})
        .result.item<int>();
  };
  EXPECT_EQ(solve(array({1e-3, 1e-6}), 1e-9), 0);
  EXPECT_EQ(solve(1e-3, full({1}, 1e-9)), 0);
  EXPECT_EQ(error_of_call([&] { solve(1e-3, full({1, 2}, 1e-9)); }), "tolerance_shape");
  EXPECT_EQ(error_of_call([&] { solve(array({0., 1e-3}), 0.); }), "no_tolerance");
}

TEST(Ranges, OfNumbersOfTheSolve) {
  const auto id = [](const SolveOptions& o) {
    return error_of_call([&] { diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.5, start, o); });
  };
  for (std::int64_t n : {-1, 2, 5}) EXPECT_EQ(id({.max_steps = n}), "");
  EXPECT_EQ(id({.max_steps = 0}), "max_steps_reached");
  EXPECT_EQ(id({.max_steps = -2}), "option_range");
  for (std::int64_t n : {0, 1, 2, 4096, 5000}) EXPECT_EQ(id({.saveat = {.steps = n}}), "");
  EXPECT_EQ(id({.saveat = {.steps = -1}}), "option_range");
  EXPECT_EQ(id({.saveat = {.steps = 1}, .max_steps = -1}), "steps_without_bound");
  for (std::int64_t n : {0, 2, 3}) EXPECT_EQ(id({.checkpoints = n}), "");
  for (std::int64_t n : {-1, 1}) EXPECT_EQ(id({.checkpoints = n}), "option_range");
  for (std::int64_t n : {0, 1, 1000}) EXPECT_EQ(id({.checkpoint_bytes = n}), "");
  EXPECT_EQ(id({.checkpoint_bytes = -1}), "option_range");
  EXPECT_EQ(id({.progress = {.every_seconds = -1.}}), "progress_interval");
}

}  // namespace
}  // namespace apsis::testing
