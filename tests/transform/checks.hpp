#pragma once

// Comparisons that the tests of transformations, loops and compiled functions share. A tree is compared leaf
// by leaf.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>
#include <apsis/apsis.hpp>

#include "runtime/region.hpp"
#include "transform/stage/stage.hpp"

namespace apsis::testing {

template <class T>
std::vector<Array> leaves_of(const T& tree) {
  std::vector<Array> out;
  for_each_leaf(tree, [&out](const Array& a) { out.push_back(a); });
  return out;
}

template <class T, class R>
void expect_same_bits(const T& got_tree, const R& want_tree) {
  std::vector<Array> got = leaves_of(got_tree), want = leaves_of(want_tree);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].is_empty(), want[i].is_empty()) << "leaf " << i;
    if (got[i].is_empty()) continue;
    ASSERT_TRUE(got[i].aval() == want[i].aval())
        << "leaf " << i << ": " << to_string(got[i].aval()) << " and " << to_string(want[i].aval());
    ASSERT_EQ(std::memcmp(data_of(got[i]), data_of(want[i]), got[i].aval().bytes()), 0)
        << "leaf " << i << ": " << to_string(got[i]) << "\nand " << to_string(want[i]);
  }
}

/// Shapes agree, and elements to `tolerance`, relative to the larger of 1 and the wanted one.
template <class T, class R>
void expect_near(const T& got_tree, const R& want_tree, double tolerance = 1e-13) {
  std::vector<Array> got = leaves_of(got_tree), want = leaves_of(want_tree);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].is_empty(), want[i].is_empty()) << "leaf " << i;
    if (got[i].is_empty()) continue;
    ASSERT_EQ(to_string(got[i].shape()), to_string(want[i].shape())) << "leaf " << i;
    std::vector<double> a = got[i].template to_vector<double>(), b = want[i].template to_vector<double>();
    for (std::size_t k = 0; k < a.size(); ++k)
      ASSERT_NEAR(a[k], b[k], tolerance * std::max(1., std::abs(b[k]))) << "leaf " << i << ", element " << k;
  }
}

/// f(args…) as a Graph, with what it takes: the leaves of the arguments, then the arrays it captured.
struct StagedCall {
  detail::GraphRef graph;
  std::vector<Array> inputs;
};
template <class F, class... A>
StagedCall staged_call(const F& f, const A&... args) {
  detail::FlatFunction<F, A...> flat(f, args...);
  std::vector<Aval> avals;
  for (const Array& a : flat.leaves()) avals.push_back(a.aval());
  detail::Staged staged = detail::stage_with(flat, avals, "test");
  StagedCall call{staged.graph, flat.leaves()};
  call.inputs.insert(call.inputs.end(), staged.captures.begin(), staged.captures.end());
  return call;
}

/// f(args…) run compiled and run by the reference evaluator: the same bits. Returns the result.
template <class F, class... A>
auto expect_compiled_as_interpreted(const F& f, const A&... args) {
  auto compiled = f(args...);
  detail::InterpretScope reference;
  expect_same_bits(compiled, f(args...));
  return compiled;
}

/// The gradient of `loss` by central differences of the fourth order.
template <class F>
Array differences(const F& loss, const Array& x, double h = 1e-3) {
  std::vector<double> at = x.to_vector<double>(), slope;
  for (std::size_t i = 0; i < at.size(); ++i) {
    auto value = [&](double shift) {
      std::vector<double> moved = at;
      moved[i] += shift;
      return loss(array(moved, x.shape())).template item<double>();
    };
    slope.push_back((8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h));
  }
  return array(slope, x.shape());
}

/// All that can be differentiated twice of a scalar loss of one Array, in each mode and nesting: against
/// differences, and against the reference evaluator bit by bit.
template <class F>
void expect_derivatives(const F& loss, const Array& x, double tolerance = 1e-8, double h = 1e-3) {
  expect_compiled_as_interpreted(loss, x);
  Array slope = expect_compiled_as_interpreted(grad(loss), x);
  expect_near(slope, differences(loss, x, h), tolerance);
  expect_near(expect_compiled_as_interpreted(jacfwd(loss), x), slope, 1e-11);
  Array direction = cos(arange(static_cast<double>(x.size())) + 0.5);
  direction = reshape(direction, x.shape());
  expect_near(jvp(loss, x, direction).second, sum(slope * direction), 1e-11);

  auto along = [&](const Array& at) { return sum(grad(loss)(at) * direction); };
  Array curvature = expect_compiled_as_interpreted(grad(along), x);  // reverse over reverse
  expect_near(curvature, differences(along, x, h), tolerance);
  auto forward_over_reverse = [&](const Array& at) { return jvp(grad(loss), at, direction).second; };
  expect_near(expect_compiled_as_interpreted(forward_over_reverse, x), curvature, 1e-11);
  auto reverse_over_forward = grad([&](const Array& at) { return jvp(loss, at, direction).second; });
  expect_near(expect_compiled_as_interpreted(reverse_over_forward, x), curvature, 1e-11);
  auto slope_along = [&](const Array& at) { return jvp(loss, at, direction).second; };
  auto forward_over_forward = [&](const Array& at) { return jvp(slope_along, at, direction).second; };
  expect_near(expect_compiled_as_interpreted(forward_over_forward, x), sum(curvature * direction), 1e-11);
}

}  // namespace apsis::testing
