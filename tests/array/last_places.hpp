// Elementwise functions to the last places, element by element, where the suite compares with the largest of
// an array: values, first derivatives in both modes, and second ones.
#pragma once

#include "array/worst_errors.hpp"

namespace apsis::testing {

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

/// The f64 cases of tests/golden/array_NAME.txt that have `text ulp BOUND`, and their derivatives, relative
/// to the exact ones.
inline void check_last_places(const std::string& name, const Table& table, double first = 1e-12,
                              double second = 1e-10) {
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/array_" + name + ".txt")) {
    if (!c.text.contains("ulp")) continue;
    const std::string& bound = c.text.at("ulp");
    const std::vector<double> errors = measure(c, table.at(c.name), bound);
    for (std::size_t i = 0; i < errors.size(); ++i)
      EXPECT_LE(errors[i], std::stod(bound)) << c.name << " at " << arguments_at(golden::inputs_of(c), i);
    check_elementwise_derivatives(c, table.at(c.name), first, second);
  }
}

}  // namespace apsis::testing
