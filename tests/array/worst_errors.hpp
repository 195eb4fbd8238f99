// The largest errors of special functions that the tests of this program have met, for docs/accuracy.md.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "apsis/ops/convert.hpp"
#include "apsis/transform/jvp.hpp"
#include "array/accuracy_section.hpp"
#include "array/suite.hpp"

namespace apsis::testing {

/// An error and the arguments where it was met.
struct Met {
  double error = 0;
  std::string at = "";
  void note(double e, const std::string& arguments) {
    if (at.empty() || e > error) *this = {e, arguments};
  }
};
/// The largest errors of a function: in ULP of the value (or of a scale) in both precisions, and of its first
/// derivatives, relative.
struct Worst {
  Met f64, f32, slope;
  std::string bound;  ///< what the tests allow f64
  bool scaled = false;
};
inline std::map<std::string, Worst>& worst_errors() {
  static std::map<std::string, Worst> all;
  return all;
}

inline double ulps_between(double got, double want) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  const double step = std::nextafter(std::fabs(want), HUGE_VAL) - std::fabs(want);
  return std::fabs(got - want) / step;  // NaN where one of them is, or infinite
}

/// Element i of the inputs, to as many digits as tell them apart.
inline std::string arguments_at(const Arrays& x, std::size_t i) {
  std::string text;
  char one[40];
  for (const Array& a : x) {
    const std::vector<double> v = a.to_vector<double>();
    std::snprintf(one, sizeof one, "%s%.*g", text.empty() ? "" : ", ", a.dtype() == f32 ? 9 : 17,
                  v[i % v.size()]);
    text += one;
  }
  return text;
}

inline double scale_at(const Case& c, std::size_t i) { return c.has("scale") ? c["scale"].real[i] : 0; }

/// The errors of f64 values in ULP, noted.
inline std::vector<double> measure_values(const Case& c, const Function& how) {
  const Arrays x = golden::inputs_of(c);
  const std::vector<double> got = how.run(c, x)[0].to_vector<double>(), &want = c["y0"].real;
  Worst& worst = worst_errors()[c.name];
  worst.scaled = worst.scaled || c.has("scale");
  std::vector<double> errors;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double scale = scale_at(c, i);
    errors.push_back(c.has("scale") ? std::fabs(got[i] - want[i]) / (scale * 0x1p-52)
                                    : ulps_between(got[i], want[i]));
    worst.f64.note(errors.back(), arguments_at(x, i));
  }
  return errors;
}

/// The same points in f32, against f64 at the numbers that these are then; those whose values f32 holds.
inline void measure_single(const Case& c, const Function& how) {
  Arrays single, back;
  std::vector<bool> lost;
  for (const Array& a : golden::inputs_of(c)) {
    single.push_back(astype(a, f32));
    back.push_back(astype(single.back(), f64));
    const std::vector<double> before = a.to_vector<double>(), after = back.back().to_vector<double>();
    lost.resize(std::max(lost.size(), before.size()));
    for (std::size_t i = 0; i < lost.size(); ++i)
      if ((before[i % before.size()] == 0) != (after[i % after.size()] == 0)) lost[i] = true;
  }
  const std::vector<double> got = how.run(c, single)[0].to_vector<double>(),
                            want = how.run(c, back)[0].to_vector<double>();
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double size = std::fabs(want[i]);
    if (lost[i] || !(size >= 0x1p-126 && size < 0x1.fffffep127)) continue;
    const auto rounded = static_cast<float>(size);
    const double ulp = c.has("scale") ? scale_at(c, i) * 0x1p-23
                                      : static_cast<double>(std::nextafter(rounded, HUGE_VALF)) -
                                            static_cast<double>(rounded);
    worst_errors()[c.name].f32.note(std::fabs(got[i] - want[i]) / ulp, arguments_at(single, i));
  }
}

/// First derivatives in forward mode against the exact ones: fields d0, d1 …, or g0, g1 … which are those
/// times ct0.
inline void measure_slopes(const Case& c, const Function& how) {
  const Arrays x = golden::inputs_of(c);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const std::string plain = "d" + std::to_string(k), pulled = "g" + std::to_string(k);
    if (!c.has(plain) && !c.has(pulled)) continue;
    const auto along = [&](const Array& v) {
      Arrays all = x;
      all[k] = v;
      return how.run(c, all)[0];
    };
    const std::vector<double> got = jvp(along, x[k], ones_like(x[k])).second.to_vector<double>();
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double want = c.has(plain) ? c[plain].real[i] : c[pulled].real[i] / c["ct0"].real[i];
      // Beside a value that the derivative multiplies, small ones count for nothing.
      const double floor =
          c.has(plain) ? std::fabs(c["y0"].real[i]) / std::fmax(1, std::fabs(c["x0"].real[i])) : 0;
      if (!(std::fabs(want) + floor >= 1e-290) || got[i] == want) continue;
      worst_errors()[c.name].slope.note(std::fabs(got[i] - want) / (std::fabs(want) + floor),
                                        "by argument " + std::to_string(k + 1) + ": " + arguments_at(x, i));
    }
  }
}

/// A bound in few digits.
inline std::string as_text(double bound) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", bound);
  return text;
}

/// All three; the errors of f64 values.
inline std::vector<double> measure(const Case& c, const Function& how, const std::string& bound) {
  std::vector<double> errors = measure_values(c, how);
  measure_single(c, how);
  measure_slopes(c, how);
  worst_errors()[c.name].bound = bound;
  return errors;
}

}  // namespace apsis::testing
