// What a solution says of itself.

#include <gtest/gtest.h>

#include <sstream>

#include <apsis/apsis.hpp>

namespace apsis::testing {
namespace {

struct Oscillator {
  Array position, velocity;
};
const auto spring = [](const Array&, const Oscillator& y) { return Oscillator{y.velocity, -y.position}; };

TEST(PrintSolution, OneSolve) {
  const auto sol = diffeqsolve(ODETerm{spring}, Euler{}, 0., 1., 0.25, Oscillator{1., 0.},
                               {.saveat = {.ts = {0., 0.5, 1.}}});
  const std::string text =
      "Successful, 4 steps, 0 of them rejected, 4 evaluations\n"
      "  ts: f64[3], from 0 to 1\n"
      "  ys.position: f64[3], in the end 0.628906\n"
      "  ys.velocity: f64[3], in the end -0.9375\n";
  EXPECT_EQ(to_string(sol), text);
  std::ostringstream stream;
  stream << sol;
  EXPECT_EQ(stream.str(), text);
}

TEST(PrintSolution, RowsThatAreNotUsedAndEvents) {
  const auto solve = [](const Array& y0) {
    return diffeqsolve(ODETerm{[](const Array&, const Array& y) { return full_like(y, -1.); }}, Euler{}, 0.,
                       4., 0.25, y0,
                       {.saveat = {.steps = 1},
                        .events = {Event{[](const Array&, const Array& y) { return y[0]; }}},
                        .max_steps = 32});
  };
  const Array y0 = array({1.125, 2.});
  EXPECT_EQ(to_string(jit(solve)(y0)),
            "EventOccurred, 5 steps, 0 of them rejected, 5 evaluations\n"
            "  ts: f64[32], 5 rows used, from 0.25 to 1.125\n"
            "  ys: f64[32,2], in the end [0.    0.875]\n"
            "  events occurred: [1] times; events[0] ended the solve\n");
  // Outside of jit all rows are used.
  EXPECT_EQ(to_string(solve(y0)),
            "EventOccurred, 5 steps, 0 of them rejected, 5 evaluations\n"
            "  ts: f64[5], from 0.25 to 1.125\n"
            "  ys: f64[5,2], in the end [0.    0.875]\n"
            "  events occurred: [1] times; events[0] ended the solve\n");
}

TEST(PrintSolution, FailedManyAndTraced) {
  const auto solve = [](const Array& rate) {
    return diffeqsolve(
        ODETerm{[&](const Array&, const Array& y) { return rate * y * y; }}, Tsit5{}, 0., 1., {}, 1.,
        {.controller = PIDController{.rtol = 1e-6, .atol = 1e-9}, .max_steps = 50, .throw_ = false});
  };
  EXPECT_TRUE(to_string(solve(2.)).starts_with("MaxStepsReached, 50 steps")) << to_string(solve(2.));
  const std::string many = to_string(vmap(solve)(array({0.1, 0.5, 2.})));
  EXPECT_TRUE(many.starts_with("3 solves: 2 Successful, 1 MaxStepsReached, ")) << many;
  std::string traced;
  jit([&](const Array& rate) {
    const auto sol = solve(rate);
    traced = to_string(sol);
    return sol.ys;
  })(array(0.1));
  EXPECT_EQ(traced, "a solution whose values are not known yet: ts f64[1], ys f64[1]\n");
}

}  // namespace
}  // namespace apsis::testing
