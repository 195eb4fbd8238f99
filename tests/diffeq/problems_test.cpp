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
    const double e = exponent.item<double>();
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

/// The error at t1, in tolerances: |y - exact| / (rtol |exact| + atol), the greatest.
double error_in_tolerances(const golden::Case& c, const Whole& solver, double rtol, double atol) {
  const Array t = golden::to_array(c["t"]), exact = golden::to_array(c["y1"]);
  const auto solve = [&](const Array& y0, const Array& r, const Array& a) {
    const auto field = [&](const Array& time, const Array& y) { return slope(c, time, y); };
    return diffeqsolve(ODETerm{field}, solver, t[0], t[1], {}, y0,
                       {.controller = PIDController{.rtol = r, .atol = a}, .max_steps = 2'000'000})
        .ys[-1];
  };
  const Array y = jit(solve)(golden::to_array(c["y0"]), array(rtol), array(atol));
  return max(abs(y - exact) / (rtol * abs(exact) + atol)).item<double>();
}

TEST(Problems, ThatAreStiffByRodas5P) {
  int solved = 0;
  for (const golden::Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/problems.txt")) {
    if (c.text.at("kind") != "stiff") continue;
    for (double rtol : {1e-4, 1e-6, 1e-8}) {
      EXPECT_LT(error_in_tolerances(c, any<Whole>(Rodas5P{}), rtol, 1e-3 * rtol), 100)
          << c.name << " at " << rtol;
      ++solved;
    }
  }
  EXPECT_EQ(solved, 3 * 24);
}

}  // namespace
}  // namespace apsis::testing
