// Elementwise functions to the last places, element by element, where the suite compares with the largest of
// an array: values, first derivatives in both modes, and second ones.
#pragma once

#include <cstdio>
#include <sstream>

#include "apsis/transform/jvp.hpp"
#include "array/accuracy_section.hpp"
#include "array/suite.hpp"

namespace apsis::testing {

/// How far a function may be from exact values, in ULP.
using Bounds = std::map<std::string, double>;

inline double ulps_between(double got, double want) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  const double step = std::nextafter(std::fabs(want), HUGE_VAL) - std::fabs(want);
  return std::fabs(got - want) / step;  // NaN where one of them is, or infinite
}

inline void expect_derivatives(const Array& got, const golden::Field& want, const Case& c, double tolerance,
                               const std::string& what) {
  const std::vector<double> d =
      got.is_empty() ? std::vector<double>(want.real.size()) : got.to_vector<double>();
  for (std::size_t i = 0; i < d.size(); ++i) {
    if (d[i] == want.real[i]) continue;  // infinite
    const double floor = std::fabs(c["y0"].real[i]) / std::fmax(1, std::fabs(c["x0"].real[i]));
    EXPECT_LE(std::fabs(d[i] - want.real[i]), tolerance * (std::fabs(want.real[i]) + floor))
        << what << " of " << c.name << " at element " << i << ": " << d[i] << ", not " << want.real[i];
  }
}

/// Cases with fields d0, d1 … (first derivatives) and d00, d01 … (second ones). Derivatives are relative to
/// their size and that of y / x.
inline void check_elementwise_derivatives(const Case& c, const Function& how, double first, double second) {
  const Arrays x = golden::inputs_of(c);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::string key = "d" + std::to_string(i);
    if (!c.has(key)) continue;
    const auto along = [&](const Array& v) {
      Arrays all = x;
      all[i] = v;
      return how.run(c, all)[0];
    };
    expect_derivatives(jvp(along, x[i], ones_like(x[i])).second, c[key], c, first,
                       "forward derivative " + key);
    for (std::size_t j = 0; j < x.size(); ++j) {
      const std::string both = key + std::to_string(j);
      const auto slope = [&](const Array& v) {
        Arrays all = x;
        all[j] = v;
        const auto by_i = [&](const Array& u) {
          Arrays these = all;
          these[i] = u;
          return how.run(c, these)[0];
        };
        auto [value, pull] = vjp(by_i, all[i]);
        return std::get<0>(pull(ones_like(value)));
      };
      if (j == i) expect_derivatives(slope(x[i]), c[key], c, first, "derivative " + key);
      if (c.has(both))
        expect_derivatives(jvp(slope, x[j], ones_like(x[j])).second, c[both], c, second,
                           "derivative " + both);
    }
  }
}

/// The largest error of a function, and what it may be; whether of a scale instead of the value itself.
struct Worst {
  double error = 0, bound = 0;
  bool scaled = false;
};
/// What the tests of this program have found so far.
inline std::map<std::string, Worst>& worst_errors() {
  static std::map<std::string, Worst> all;
  return all;
}

/// The f64 cases of tests/golden/array_NAME.txt that have `text ulp BOUND`, and their derivatives, relative
/// to the exact ones.
inline void check_last_places(const std::string& name, const Table& table, double first = 1e-12,
                              double second = 1e-10) {
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/array_" + name + ".txt")) {
    if (!c.text.contains("ulp")) continue;
    Worst& worst = worst_errors()[c.name];
    worst.bound = std::fmax(worst.bound, std::stod(c.text.at("ulp")));
    worst.scaled = worst.scaled || c.has("scale");
    const Arrays y = table.at(c.name).run(c, golden::inputs_of(c));
    for (std::size_t r = 0; r < y.size(); ++r) {
      const std::vector<double> got = y[r].to_vector<double>(), &want = c["y" + std::to_string(r)].real;
      ASSERT_EQ(got.size(), want.size()) << c.name;
      for (std::size_t i = 0; i < want.size(); ++i) {
        double error = ulps_between(got[i], want[i]);
        if (c.has("scale")) error = std::fabs(got[i] - want[i]) / (c["scale"].real[i] * 0x1p-52);
        worst.error = std::fmax(worst.error, error);
        EXPECT_LE(error, std::stod(c.text.at("ulp")))
            << c.name << " at element " << i << ": " << got[i] << ", not " << want[i];
      }
    }
    check_elementwise_derivatives(c, table.at(c.name), first, second);
  }
}

/// Rewrites the table of special functions of docs/accuracy.md.
inline void write_accuracy(const char* path) {
  std::stringstream file;
  file << "Largest errors of f64 against mpmath at the points of `tests/golden/make_special.py`, in ULP of "
          "the value, "
          "or of a scale, the envelope of\nfunctions that oscillate or the larger terms of a sum, as the "
          "script "
          "says. Bounds are asserted by `tests/array/special_families_test.cpp`.\n\nMade by "
          "`APSIS_SPECIAL_ACCURACY=docs/accuracy.md build/tests/test_array "
          "--gtest_filter=SpecialFunctions.*`.\n\n| function | error | bound | of |\n|---|---|---|---|\n";
  char row[160];
  for (const auto& [name, worst] : worst_errors()) {
    std::snprintf(row, sizeof row, "| %s | %.1f | %.0f | %s |\n", name.c_str(), worst.error, worst.bound,
                  worst.scaled ? "a scale" : "the value");
    file << row;
  }
  write_section(path, "Special functions", file.str());
}

}  // namespace apsis::testing
