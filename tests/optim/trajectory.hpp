// Runs of optimisers over the problem of tests/golden/make_optim.py.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include <apsis/apsis.hpp>

#include "golden/golden.hpp"

namespace apsis::optim::testing {

struct Params {
  Array b, c, w;  // the order of Optax's trees
};

inline const std::vector<golden::Case>& cases() {
  static const std::vector<golden::Case> all = golden::read(APSIS_SOURCE_DIR "/tests/golden/optim.txt");
  return all;
}
inline const golden::Case& case_of(const std::string& kind, const std::string& name) {
  for (const golden::Case& c : cases())
    if (c.name == kind && (name.empty() || c.text.at("name") == name)) return c;
  throw std::runtime_error("no golden case " + kind + " " + name);
}
inline Array array_of(const golden::Field& f) {
  Array a = f.is_integer() ? array(f.integers, Shape(std::span<const std::int64_t>(f.shape)))
                           : array(f.real, Shape(std::span<const std::int64_t>(f.shape)));
  return f.dtype == "f32" ? astype(a, f32) : a;
}
/// The start ("0"), curvature ("a") or target ("t").
inline Params problem(const std::string& which, Dtype dtype) {
  const golden::Case& c = case_of("problem", "");
  auto leaf = [&](const char* name) { return astype(array_of(c[name + which]), dtype); };
  return {leaf("b"), leaf("c"), leaf("w")};
}

/// The gradient that make_optim.py gives in step k, from 1.
inline Params gradient_of(const std::string& name, const Params& p, const Params& a, const Params& t, int k) {
  Params g = tree_map([](const Array& s, const Array& x, const Array& y) { return s * (x - y); }, a, p, t);
  const double inf = std::numeric_limits<double>::infinity();
  if (name == "apply_if_finite" && (k == 2 || (k >= 5 && k <= 9))) g.w = g.w + inf;
  if (name == "multi_steps_finite" && (k == 2 || (k >= 5 && k <= 9))) g.w = g.w + inf;
  if (name == "multi_steps_large" && k % 5 == 3) g.b = g.b * 100;
  if (name == "zero_nans" && k % 4 == 2) g.b = g.b.at(1).set(std::nan(""));
  return g;
}

/// How far trajectories may differ, in units in the last place of the largest of 1 and the value. The two
/// sides round powers, roots and sums differently, by an ULP each; averages of a hundred gradients add these
/// up, and the first steps of Adam divide by 1 - b2, which makes a thousand of one.
struct Tolerance {
  double ulps = 4096;
  int steps = 100;  ///< that are compared
};

/// An optimiser that takes the loss or its gradient, which `make` gives of curvature and target.
template <class Optimizer, class Make>
struct WithExtra {
  Optimizer optimizer;
  Make make;
  auto init(const Params& p) const { return optimizer.init(p); }
};
template <class Optimizer, class Make>
WithExtra(Optimizer, Make) -> WithExtra<Optimizer, Make>;

template <class Optimizer, class State>
auto step_of(const Optimizer& optimizer, const Params& gradient, const State& state, const Params& p,
             const Params&, const Params&, const Array& loss) {
  return optimizer.update(gradient, state, p, {.value = loss});
}
template <class Optimizer, class Make, class State>
auto step_of(const WithExtra<Optimizer, Make>& with, const Params& gradient, const State& state,
             const Params& p, const Params& a, const Params& t, const Array&) {
  return with.optimizer.update(gradient, state, p, with.make(a, t));
}

/// The parameters (or what `result` makes of parameters and state) after the steps of the golden case, in f64
/// and f32.
template <class Optimizer, class Result>
void follow(const std::string& name, const Optimizer& optimizer, Tolerance tolerance, Result result) {
  bool found = false;
  for (const golden::Case& c : cases()) {
    if (c.name != "trajectory" || c.text.at("name") != name) continue;
    found = true;
    const Dtype dtype = c["w"].dtype == "f32" ? f32 : f64;
    Params p = problem("0", dtype), a = problem("a", dtype), t = problem("t", dtype);
    if (c["c"].shape.size() == 2)
      for (Params* each : {&p, &a, &t}) each->c = reshape(each->c, {1});
    auto state = optimizer.init(p);
    const std::vector<std::int64_t>& steps = c["steps"].integers;
    const double unit = tolerance.ulps * (dtype == f32 ? 0x1p-23 : 0x1p-52);
    std::size_t row = 0;
    for (int k = 1; k <= steps.back(); ++k) {
      Array loss = 0.;
      for_each_leaf(
          tree_map([](const Array& s, const Array& x, const Array& y) { return s * square(x - y) / 2; }, a, p,
                   t),
          [&](const Array& x) { loss = loss + sum(x); });
      auto [change, next] = step_of(optimizer, gradient_of(name, p, a, t, k), state, p, a, t, loss);
      p = apply_updates(p, change);
      state = next;
      if (k != steps[row] || k > tolerance.steps) continue;
      const Params now = result(p, state);
      const std::pair<const char*, Array> leaves[] = {{"w", now.w}, {"b", now.b}, {"c", now.c}};
      for (const std::pair<const char*, Array>& each : leaves) {
        const std::string leaf = each.first;
        EXPECT_EQ(each.second.dtype(), dtype) << name;
        const std::vector<double> got = each.second.to_vector<double>();
        for (std::size_t i = 0; i < got.size(); ++i) {
          const double want = c[leaf].real[row * got.size() + i];
          EXPECT_NEAR(got[i], want, unit * std::max(1., std::abs(want)))
              << name << " " << to_string(dtype) << " " << leaf << "[" << i << "] step " << k << ": "
              << std::abs(got[i] - want) / unit * tolerance.ulps << " ULP";
        }
      }
      ++row;
    }
  }
  EXPECT_TRUE(found) << "no trajectory is named " << name;
}
template <class Optimizer>
void follow(const std::string& name, const Optimizer& optimizer, Tolerance tolerance = {}) {
  follow(name, optimizer, tolerance, [](const Params& p, const auto&) { return p; });
}

}  // namespace apsis::optim::testing
