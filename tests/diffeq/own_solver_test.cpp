// Solvers of one's own: what their members return is looked at, and the options of the library's are in
// range.

#include <cmath>
#include <functional>
#include <limits>

#include "diffeq/refused.hpp"

namespace apsis::testing {
namespace {

const auto decay = [](const Array&, const Array& y) { return -y; };
constexpr double infinity = std::numeric_limits<double>::infinity();
const Array start = array({1., 2.});

/// Euler's method, each of whose members a test can change.
struct Own {
  struct Interpolation {
    std::vector<Array> inside;  // empty: the straight line
    std::vector<Array> evaluate(const DenseStep& s) const {
      return inside.empty() ? LocalLinearInterpolation().evaluate(s) : inside;
    }
  };
  StepTraits what = {.name = "Own", .order = 1};
  std::vector<Array> own = {}, inside = {};
  std::function<void(SolverAttempt&)> change = [](SolverAttempt&) {};

  StepTraits traits() const { return what; }
  std::vector<Array> init(const SolverStart&) const { return own; }
  SolverAttempt step(const SolverStep& s) const {
    const Array h = s.slopes.length(s.t0, s.t1);
    SolverAttempt attempt{.y1 = {s.y0[0] + h * s.slopes(s.t0, s.y0)[0]},
                          .state = std::vector<Array>(s.state.begin(), s.state.end())};
    change(attempt);
    return attempt;
  }
  Interpolation interpolation() const { return {inside}; }
};

std::string text_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("tests/diffeq/own_solver_test.cpp"), std::string::npos) << text;
    return text.substr(0, text.find("\n  at "));
  }
  return "";
}

TEST(OwnSolvers, AreHeldToWhatTheyMustReturn) {
  const auto with = [](auto change) {
    Own solver;
    change(solver);
    return solver;
  };
  const auto step = [&](void (*change)(SolverAttempt&)) { return with([&](Own& s) { s.change = change; }); };
  const struct {
    Own solver;
    const char* text;
  } rows[] = {
      {step([](SolverAttempt&) {}), ""},
      {step([](SolverAttempt& a) { a.y1.push_back(a.y1[0]); }),
       "[Own] y1 of step() is 2 arrays and must be 1 array: it is the state at t1"},
      {step([](SolverAttempt& a) { a.y1[0] = sum(a.y1[0]); }),
       "[Own] y1 of step(), array 0, is f64[] and must be f64[2]: it is the state at t1"},
      {step([](SolverAttempt& a) { a.y1[0] = astype(a.y1[0], f32); }),
       "[Own] y1 of step(), array 0, is f32[2] and must be f64[2]: it is the state at t1"},
      {step([](SolverAttempt& a) { a.y1[0] = Array(); }),
       "[Own] y1 of step(), array 0, is empty and must be f64[2]: it is the state at t1"},
      {step([](SolverAttempt& a) { a.state = {a.y1[0]}; }),
       "[Own] state of step() is 1 array and must be 0 arrays: it replaces what init() returned"},
      {step([](SolverAttempt& a) { a.error = a.y1; }),
       "[Own] error of step() is 1 array and must be 0 arrays: error_order of traits() says that there is no "
       "estimate"},
      {with([](Own& s) { s.what.error_order = 1; }),
       "[Own] error of step() is 0 arrays and must be 1 array: error_order of traits() says that there is an "
       "estimate"},
      {step([](SolverAttempt& a) { a.failed = isnan(a.y1[0]); }),
       "[Own] failed of step() is bool[2] and must be bool[]: it says whether there is no y1"},
      {with([](Own& s) { s.own = {Array()}; }),
       "[Own] init(), array 0, is empty and must be there: what is not carried from step to step is left "
       "out"},
      {with([](Own& s) { s.what.keeps_slope = true; }),
       "[Own] init() is 0 arrays and must be 1 array: keeps_slope of traits() says that it begins with the "
       "slope"},
      {with([](Own& s) { s.what.order = 0; }),
       "[Own] order of traits() is 0 and must be 1 or more: it is that of the method"},
      {with([](Own& s) { s.what.error_order = -1; }),
       "[Own] error_order of traits() is -1 and must be 0 or more: it is the order of the solution whose "
       "error is estimated, 0 without an estimate"},
      {with([](Own& s) { s.inside = {array({1.})}; }),
       "[Own] evaluate() of interpolation(), array 0, is f64[1] and must be f64[2]: it is the state within "
       "the "
       "step"},
  };
  for (const auto& row : rows) {
    const Own& solver = row.solver;
    const char* text = row.text;
    const auto solve = [&](const Array& y) {
      return diffeqsolve(ODETerm{decay}, solver, 0., 1., 0.25, y, {.saveat = {.ts = {0.3}}}).ys;
    };
    const auto by_hand = [&] {
      const auto step =
          solver_step(ODETerm{decay}, solver, solver_start(ODETerm{decay}, solver, 0., start), 0.5);
      solver_interpolate(solver, step, 0.25);
    };
    EXPECT_EQ(text_of([&] { solve(start); }), text);
    EXPECT_EQ(text_of([&] { jit(solve)(start); }), text);
    EXPECT_EQ(text_of(by_hand), text);
  }
  // HalfSolver takes the state of a step apart, and needs it as it must be.
  const HalfSolver<Own> halves{rows[1].solver};
  EXPECT_EQ(text_of([&] { diffeqsolve(ODETerm{decay}, halves, 0., 1., 0.25, start); }), rows[1].text);
}

TEST(Newton, TolerancesAndBoundsAreInRange) {
  const auto solve = [](const NewtonOptions& newton, const Array& y0 = start) {
    return diffeqsolve(ODETerm{decay}, Kvaerno3{newton}, 0., 1., 0.25, y0);
  };
  const auto of_rtol = [&](const Array& rtol) { return solve({.rtol = rtol, .atol = 1e-8}); };
  for (double wrong : {-1e-9, std::nan(""), infinity}) expect_refused("option_range", of_rtol, wrong, 1e-8);
  const auto of_atol = [&](const Array& atol) { return solve({.rtol = 1e-8, .atol = atol}); };
  for (double wrong : {-1e-9, std::nan(""), infinity}) expect_refused("option_range", of_atol, wrong, 1e-8);
  EXPECT_EQ(text_of([&] { of_rtol(-1.); }),
            "[Kvaerno3] newton.rtol is -1.0: give a relative change, 0 or more, such as 1e-8");
  EXPECT_EQ(text_of([&] { of_atol(-1.); }),
            "[Kvaerno3] newton.atol is -1.0: give an absolute change, 0 or more, such as 1e-10");
  const NewtonOptions right{.rtol = 1e-8, .atol = 1e-8};
  for (int wrong : {1, 0, -3}) {
    NewtonOptions newton = right;
    newton.max_steps = wrong;
    EXPECT_EQ(error_of_call([&] { solve(newton); }), "option_range") << wrong;
  }
  for (double wrong : {0., 1., -0.5, 2., std::nan("")}) {
    NewtonOptions newton = right;
    newton.kappa = wrong;
    EXPECT_EQ(error_of_call([&] { solve(newton); }), "option_range") << wrong;
  }
  EXPECT_EQ(text_of([&] { solve({.rtol = 1e-8, .atol = full({3}, 1e-8)}); }),
            "[Kvaerno3] atol is f64[3], but y0 is f64[2]: give a scalar, or an array that broadcasts to the "
            "state");
  EXPECT_EQ(text_of([&] { solve({.rtol = 1e-8, .atol = array({1e-8, 1e-9})}); }), "");
}

}  // namespace
}  // namespace apsis::testing
