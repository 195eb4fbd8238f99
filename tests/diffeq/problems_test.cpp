// Problems with known ends at several tolerances.

#include <cctype>
#include <cmath>
#include <map>

#include "diffeq/any_solver.hpp"
#include "golden/arrays.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

/// An expression over named values: + - * / ^, signs, parentheses, functions of one or two arguments.
class Expression {
 public:
  Expression(const std::string& text, const std::map<std::string, Array>& names)
      : next_(text.c_str()), names_(names) {}
  Array value() {
    const Array found = sum_of();
    if (space() != '\0') throw std::runtime_error(std::string("cannot read ") + next_);
    return found;
  }

 private:
  char space() {
    while (*next_ == ' ') ++next_;
    return *next_;
  }
  bool take(char c) {
    if (space() != c) return false;
    ++next_;
    return true;
  }
  Array sum_of() {
    Array left = product();
    for (;;) {
      if (take('+'))
        left = left + product();
      else if (take('-'))
        left = left - product();
      else
        return left;
    }
  }
  Array product() {
    Array left = sign();
    for (;;) {
      if (take('*'))
        left = left * sign();
      else if (take('/'))
        left = left / sign();
      else
        return left;
    }
  }
  Array sign() {
    if (take('-')) return -sign();
    if (take('+')) return sign();
    return power_of();
  }
  Array power_of() {
    const Array base = atom();
    if (!take('^')) return base;
    const Array exponent = sign();
    const double e = is_concrete(exponent) ? exponent.item<double>() : 0;
    return e == 2 ? base * base : e == 3 ? base * base * base : pow(base, exponent);
  }
  Array atom() {
    if (take('(')) {
      const Array inner = sum_of();
      take(')');
      return inner;
    }
    if (std::isdigit(static_cast<unsigned char>(space())) || *next_ == '.') {
      char* after = nullptr;
      const double number = std::strtod(next_, &after);
      next_ = after;
      return number;
    }
    std::string name;
    while (std::isalnum(static_cast<unsigned char>(*next_)) || *next_ == '_') name += *next_++;
    if (!take('(')) return names_.at(name);
    const Array x = sum_of();
    const Array second = take(',') ? sum_of() : Array();
    take(')');
    if (name == "sin") return sin(x);
    if (name == "cos") return cos(x);
    if (name == "exp") return exp(x);
    if (name == "sqrt") return sqrt(x);
    if (name == "abs") return abs(x);
    if (name == "floor") return floor(x);
    if (name == "mod") return x - second * floor(x / second);
    if (name == "cbrt_signed") return cbrt(x);
    throw std::runtime_error("no function " + name);
  }

  const char* next_;
  const std::map<std::string, Array>& names_;
};

Array slope(const golden::Case& c, const Array& t, const Array& y) {
  std::map<std::string, Array> names{{"t", t}};
  const std::int64_t n = y.dim(0);
  for (std::int64_t i = 0; i < n; ++i) names["y" + std::to_string(i + 1)] = y[i];
  for (int i = 0; c.text.count("aux" + std::to_string(i)); ++i) {
    const std::string& text = c.text.at("aux" + std::to_string(i));
    const std::size_t equals = text.find(" = ");
    names[text.substr(0, equals)] = Expression(text.substr(equals + 3), names).value();
  }
  std::vector<Array> slopes;
  for (std::int64_t i = 0; i < n; ++i)
    slopes.push_back(Expression(c.text.at("rhs" + std::to_string(i)), names).value() + 0. * y[i]);
  return stack(slopes);
}

SolveOptions options_of(const Array& rtol, const Array& atol) {
  return {.controller = PIDController{.rtol = rtol, .atol = atol}, .max_steps = 200'000};
}

/// A compiled solve of the problem as a function of rtol, with atol = rtol / 1000.
auto solve_of(const golden::Case& c, const Whole& solver, const Array& dt0) {
  return jit([c, solver, dt0](const Array& rtol) {
    const Array t = golden::to_array(c["t"]);
    const auto field = [c](const Array& time, const Array& y) { return slope(c, time, y); };
    return diffeqsolve(ODETerm{field}, solver, t[0], t[1], dt0, golden::to_array(c["y0"]),
                       options_of(rtol, 1e-3 * rtol));
  });
}

std::vector<golden::Case> problems(const std::string& kind) {
  std::vector<golden::Case> found;
  for (golden::Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/problems.txt"))
    if (c.text.at("kind") == kind) found.push_back(std::move(c));
  return found;
}

// To a hundred tolerances in each element.
TEST(Problems, ThatAreStiff) {
  const std::vector<double> loose{1e-4, 1e-6}, all{1e-4, 1e-6, 1e-8};
  const struct {
    Whole solver;
    std::vector<double> rtols;
  } suites[] = {{any<Whole>(Rodas5P{}), all},
                {any<Whole>(Radau5{}), all},
                {any<Whole>(BackwardDifferences{}), all},
                {any<Whole>(Kvaerno5{}), all},
                {any<Whole>(Kvaerno4{}), loose},
                {any<Whole>(Kvaerno3{}), loose}};
  int solved = 0;
  for (const golden::Case& c : problems("stiff"))
    for (const auto& [solver, rtols] : suites) {
      const auto solve = solve_of(c, solver, {});
      const Array exact = golden::to_array(c["y1"]);
      for (double rtol : rtols) {
        const Array y = solve(rtol).ys[-1];
        EXPECT_LT(max(abs(y - exact) / (rtol * abs(exact) + 1e-3 * rtol)).item<double>(), 100)
            << c.name << " by " << solver.traits().name << " at " << rtol;
        ++solved;
      }
    }
  EXPECT_EQ(solved, 24 * (3 + 3 + 3 + 3 + 2 + 2));
}

/// Whether the last digits decide about the steps: slopes of F1, F3 and F5 jump, so that steps end there by
/// trial; and Dopri8's estimate is a difference of large numbers, whose rounding choices of steps enlarge.
bool steps_by_rounding(const golden::Case& c, const Named& solver) {
  return c.name == "NSDT_F1" || c.name == "NSDT_F3" || c.name == "NSDT_F5" || solver.name == "dopri8";
}

// With the steps of Diffrax, and its errors: some of these problems enlarge those of single steps.
TEST(Problems, ThatAreNotStiff) {
  int solved = 0;
  for (const golden::Case& c : problems("nonstiff"))
    for (const Named& s : whole_solvers()) {
      if (!c.has(s.name + "_rtols")) continue;
      const auto solve = solve_of(c, s.solver, c["dt0"].real[0]);
      const std::vector<double>& rtols = c[s.name + "_rtols"].real;
      for (std::size_t i = 0; i < rtols.size(); ++i, ++solved) {
        SCOPED_TRACE(c.name + " by " + s.name + " at " + std::to_string(rtols[i]));
        const auto sol = solve(rtols[i]);
        const Array exact = golden::to_array(c["y1"]);
        const double error = max(abs(sol.ys[-1] - exact)).item<double>();
        const double theirs = c[s.name + "_errors"].real[i];
        const auto& counts = c[s.name + "_counts"].integers;
        const auto accepted = sol.stats.num_accepted_steps.item<std::int64_t>();
        const auto rejected = sol.stats.num_rejected_steps.item<std::int64_t>();
        const double rounding = 1e-12 * max(abs(exact)).item<double>();
        if (steps_by_rounding(c, s)) {
          const auto attempts = static_cast<double>(counts[2 * i] + counts[2 * i + 1]);
          EXPECT_NEAR(static_cast<double>(accepted + rejected), attempts, 0.15 * attempts);
          EXPECT_LE(error, 5 * theirs + rounding);
        } else {
          EXPECT_EQ(accepted, counts[2 * i]);
          EXPECT_EQ(rejected, counts[2 * i + 1]);
          EXPECT_NEAR(error, theirs, 0.03 * theirs + rounding);
        }
      }
    }
  EXPECT_EQ(solved, 27 * (3 + 3 + 2 + 3));
}

// By methods of high order, with the errors of Dopri8 at that tolerance or better.
TEST(Problems, ThatAreNotStiffByHighOrders) {
  const std::pair<const char*, Whole> solvers[] = {{"vern7", any<Whole>(Vern7{})},
                                                   {"vern9", any<Whole>(Vern9{})}};
  for (const golden::Case& c : problems("nonstiff"))
    for (const auto& [name, solver] : solvers) {
      const bool jumps = c.name == "NSDT_F3" || c.name == "NSDT_F5";
      if (!c.has("dopri8_rtols") || jumps) continue;  // slopes that jump are for low orders
      const auto solve = solve_of(c, solver, c["dt0"].real[0]);
      const std::vector<double>& rtols = c["dopri8_rtols"].real;
      for (std::size_t i = 0; i < rtols.size(); ++i) {
        SCOPED_TRACE(c.name + " by " + name + " at " + std::to_string(rtols[i]));
        const Array exact = golden::to_array(c["y1"]);
        const double error = max(abs(solve(rtols[i]).ys[-1] - exact)).item<double>();
        EXPECT_LE(error, 20 * c["dopri8_errors"].real[i] + 100 * rtols[i] * max(abs(exact)).item<double>());
      }
    }
}

}  // namespace
}  // namespace apsis::testing
