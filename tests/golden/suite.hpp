// Runs the cases of a golden file of operations: values, then gradients.
#pragma once

#include <algorithm>
#include <functional>

#include "apsis/core/op.hpp"
#include "apsis/transform/grad.hpp"
#include "golden/arrays.hpp"
#include "ops/lax.hpp"

namespace apsis::golden {

using Arrays = std::vector<Array>;
using Runner = std::function<Arrays(const Case&, std::span<const Array>)>;

/// A file and how each of its cases, by name, is computed.
struct Family {
  const char* file;
  double f64_tolerance, f32_tolerance;  // 0: exact
  std::map<std::string, Runner> runners;
  std::size_t cases;  // at least so many are run, so that a name no longer matched is noticed
  /// Gradients are compared as if the largest entry were this at least: one that is 0 as the sum of terms of
  /// this size has their rounding.
  double gradient_floor = 0;
};

inline bool is_wide(const Field& f) { return f.dtype == "f64" || f.dtype == "c128"; }

inline double tolerance(const Family& family, const Field& f) {
  return is_wide(f) ? family.f64_tolerance : family.f32_tolerance;
}

/// The gradients of a case's floating inputs for the recorded cotangents.
inline void check_gradients(const Family& family, const Case& c, const Runner& run, const Arrays& x) {
  std::vector<std::size_t> wrt, floating;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (c.has("g" + std::to_string(i))) wrt.push_back(i);
  if (wrt.empty()) return;
  Arrays some, cotangents;
  for (std::size_t i : wrt) some.push_back(x[i]);
  for (std::size_t i = 0; c.has("y" + std::to_string(i)); ++i) {
    if (!c.has("ct" + std::to_string(i))) continue;
    floating.push_back(i);
    cotangents.push_back(to_array(c["ct" + std::to_string(i)]));
  }
  auto f = [&](const Arrays& in) {
    Arrays all = x;
    for (std::size_t k = 0; k < wrt.size(); ++k) all[wrt[k]] = in[k];
    Arrays outs = run(c, all), kept;
    for (std::size_t i : floating) kept.push_back(outs[i]);
    return kept;
  };
  auto [value, pull] = vjp(f, some);
  Arrays gradients = std::get<0>(pull(cotangents));
  // A derivative is as exact as the less exact of what it is of and by.
  const bool exact_results =
      std::ranges::all_of(cotangents, [](const Array& y) { return y.dtype() == f64 || y.dtype() == c128; });
  for (std::size_t k = 0; k < wrt.size(); ++k) {
    const Field& want = c["g" + std::to_string(wrt[k])];
    const double bound = exact_results && is_wide(want) ? std::fmax(10 * family.f64_tolerance, 1e-14)
                                                        : std::fmax(10 * family.f32_tolerance, 1e-6);
    // A cotangent that is zero by structure is an empty array.
    Array got =
        gradients[k].is_empty() ? detail::lax::full(x[wrt[k]].shape(), x[wrt[k]].dtype(), 0) : gradients[k];
    expect_same(got, want, bound, "gradient of x" + std::to_string(wrt[k]), family.gradient_floor);
  }
}

inline void check_family(const Family& family) {
  std::size_t ran = 0;
  for (const Case& c : read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/ops_" + family.file + ".txt")) {
    auto runner = family.runners.find(c.name);
    if (runner == family.runners.end()) continue;
    std::string about = c.name;
    for (const auto& [key, words] : c.text) about += " " + key + "=" + words;
    SCOPED_TRACE(about + " on " + c["x0"].dtype);
    ++ran;
    try {
      const Arrays x = inputs_of(c);
      Arrays y = runner->second(c, x);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const Field& want = c["y" + std::to_string(i)];
        expect_same(y[i], want, tolerance(family, want), "y" + std::to_string(i));
      }
      check_gradients(family, c, runner->second, x);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
  EXPECT_GE(ran, family.cases);
}

}  // namespace apsis::golden
