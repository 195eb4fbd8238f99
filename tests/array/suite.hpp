// Runs the cases of a golden file of room `array` in every way: values against the golden ones, compiled
// against eager and vmap against a loop bit by bit, gradients against the golden ones and against
// differences.
#pragma once

#include "apsis/debug/assert_gradients.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/transform/jit.hpp"
#include "apsis/transform/jit_call.hpp"
#include "apsis/transform/vmap.hpp"
#include "golden/suite.hpp"
#include "runtime/region.hpp"

namespace apsis::testing {

using golden::Arrays;
using golden::Case;
using golden::numbers;
using Inputs = std::span<const Array>;

/// How the cases of one name are run. Tolerances are relative; 0 is exact.
struct Function {
  golden::Runner run;
  double f64_tolerance = 1e-14, f32_tolerance = 2e-6;
  /// The size of the result depends on values: not to be traced where the case has `size -1` or the like.
  bool sized = false;
  double gradient_floor = 0;  ///< see golden::Family
  /// Whether each case is compiled too, and run in lanes; else the first of each name and dtype is.
  bool compiles_each = true;
};
using Table = std::map<std::string, Function>;

inline std::int64_t number(const Case& c, const std::string& key) { return numbers(c, key).at(0); }
inline bool flag(const Case& c, const std::string& key) { return number(c, key) != 0; }
inline Dims dims(const Case& c, const std::string& key) {
  Dims out;
  for (std::int64_t n : numbers(c, key)) out.push_back(n);
  return out;
}

/// Bit for bit; a NaN is any other.
inline bool identical(const Array& a, const Array& b) {
  if (!is_inexact(a.dtype())) return is_leaf<Array>::equal(a, b);
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const auto left = golden::parts(a), right = golden::parts(b);
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!(std::isnan(left[i]) && std::isnan(right[i])) &&
        !(left[i] == right[i] && std::signbit(left[i]) == std::signbit(right[i])))
      return false;
  return true;
}

inline void expect_identical(const Arrays& got, const Arrays& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(identical(got[i], want[i])) << what << ", result " << i << ":\n"
                                            << to_string(got[i]) << "\nagainst\n"
                                            << to_string(want[i]);
}

/// Every second lane has the elements in reverse order, which keeps their ranges.
inline void check_lanes(const Case& c, const golden::Runner& run, const Arrays& x) {
  Arrays turned, stacked;
  for (const Array& a : x) {
    turned.push_back(c.name == "interp" || c.name == "digitize" ? a : reshape(flip(ravel(a)), a.shape()));
    stacked.push_back(stack({a, turned.back(), a}));
  }
  const auto alone = jit([&](const Arrays& lane) { return run(c, lane); });
  const Arrays first = alone(x), second = alone(turned), mapped = jit(vmap(alone))(stacked);
  ASSERT_EQ(mapped.size(), first.size());
  Arrays looped;
  for (std::size_t i = 0; i < first.size(); ++i) looped.push_back(stack({first[i], second[i], first[i]}));
  expect_identical(mapped, looped, "vmap against a loop");
}

inline void check_differences(const Case& c, const golden::Runner& run, const Arrays& x) {
  std::vector<std::size_t> floating;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (is_inexact(x[i].dtype())) floating.push_back(i);
  Arrays some;
  for (std::size_t i : floating) some.push_back(x[i]);
  auto f = [&](const Arrays& in) {
    Arrays all = x, kept;
    for (std::size_t k = 0; k < in.size(); ++k) all[floating[k]] = in[k];
    for (const Array& y : run(c, all))
      if (is_inexact(y.dtype())) kept.push_back(y);
    return kept;
  };
  assert_numerical_gradients(f, std::tuple{some});
}

inline void check_case(const golden::Family& family, const Case& c, const Function& function, bool compiles) {
  const Arrays x = golden::inputs_of(c);
  const Arrays y = function.run(c, x);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const golden::Field& want = c["y" + std::to_string(i)];
    golden::expect_same(y[i], want, golden::tolerance(family, want), "y" + std::to_string(i));
  }
  EXPECT_FALSE(c.has("y" + std::to_string(y.size()))) << "there are more results";
  golden::check_gradients(family, c, function.run, x);
  if (c.text.contains("smooth")) check_differences(c, function.run, x);
  const bool exact = function.sized && (numbers(c, "size") == std::vector<std::int64_t>{-1} ||
                                        numbers(c, "length") == std::vector<std::int64_t>{-1} ||
                                        numbers(c, "segments") == std::vector<std::int64_t>{-1});
  if (!compiles || exact || x.empty()) return;
  const auto jitted = jit([&](const Arrays& in) { return function.run(c, in); });
  const Arrays compiled = jitted(x);
  for (std::size_t i = 0; i < y.size(); ++i)  // products are rounded before sums where each op runs alone
    golden::expect_same(compiled[i], c["y" + std::to_string(i)],
                        golden::tolerance(family, c["y" + std::to_string(i)]), "compiled");
  {
    detail::InterpretScope reference;
    expect_identical(compiled, jitted(x), "compiled against the evaluator");
  }
  check_lanes(c, function.run, x);
}

/// Runs tests/golden/NAME.txt. Each case has its function, each function a case.
inline void check_golden(const std::string& name, const Table& table) {
  std::set<std::string> unused, compiled;
  for (const auto& [function, how] : table) unused.insert(function);
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/" + name + ".txt")) {
    std::string about = c.name;
    for (const auto& [key, words] : c.text) about += " " + key + "=" + words;
    if (c.has("x0")) about += " on " + c["x0"].dtype;
    SCOPED_TRACE(about);
    const auto found = table.find(c.name);
    if (found == table.end()) {
      ADD_FAILURE() << "no function";
      continue;
    }
    unused.erase(c.name);
    const Function& how = found->second;
    const bool first = compiled.insert(c.name + (c.has("x0") ? c["x0"].dtype : "")).second;
    try {
      check_case({name.c_str(), how.f64_tolerance, how.f32_tolerance, {}, 0, how.gradient_floor}, c, how,
                 first || how.compiles_each);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
  EXPECT_TRUE(unused.empty()) << "no case of " << ::testing::PrintToString(unused);
}

/// Runs tests/golden/array_NAME.txt.
inline void check_file(const std::string& name, const Table& table) { check_golden("array_" + name, table); }

// The shapes that most functions have.

template <class F>
Function unary(F f, double f64_tolerance = 1e-14, double f32_tolerance = 2e-6) {
  return {[f](const Case&, Inputs x) { return Arrays{f(x[0])}; }, f64_tolerance, f32_tolerance};
}
template <class F>
Function binary(F f, double f64_tolerance = 1e-14, double f32_tolerance = 2e-6) {
  return {[f](const Case&, Inputs x) { return Arrays{f(x[0], x[1])}; }, f64_tolerance, f32_tolerance};
}
/// f(case, inputs) gives one array.
template <class F>
Function one(F f, double f64_tolerance = 1e-14, double f32_tolerance = 2e-6) {
  return {[f](const Case& c, Inputs x) { return Arrays{f(c, x)}; }, f64_tolerance, f32_tolerance};
}
/// f(case, inputs) gives several.
template <class F>
Function many(F f, double f64_tolerance = 1e-14, double f32_tolerance = 2e-6) {
  return {[f](const Case& c, Inputs x) {
            auto y = f(c, x);
            return Arrays(std::begin(y), std::end(y));
          },
          f64_tolerance, f32_tolerance};
}
inline Function sized(Function f) {
  f.sized = true;
  return f;
}
inline Arrays both(std::pair<Array, Array> pair) { return {pair.first, pair.second}; }

}  // namespace apsis::testing

/// Entries of a table for functions that are called by their names.
#define APSIS_UNARY(name)                                \
  {                                                      \
#name, unary([](const Array& a) { return name(a); }) \
  }
#define APSIS_BINARY(name)                                                   \
  {                                                                          \
#name, binary([](const Array& a, const Array& b) { return name(a, b); }) \
  }
