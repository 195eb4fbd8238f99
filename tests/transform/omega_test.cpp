// Arithmetic on trees, and their parts by kind of leaf.

#include <gtest/gtest.h>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

const Array xs = array({1., 2., 3.});

struct Model {
  Array weight, bias;
  int n = 0;
};

TEST(Omega, IsArithmeticOnTrees) {
  Model a{xs, {}, 2}, b{2. * xs, {}, 2};
  Model mean = ((omega(a) + omega(b)) * 0.5).tree;
  expect_near(mean.weight, 1.5 * xs);
  EXPECT_TRUE(mean.bias.is_empty());
  EXPECT_EQ(mean.n, 2);
  expect_near((1. - omega(a) / omega(b)).tree.weight, array({0.5, 0.5, 0.5}));
  expect_near((-omega(a)).tree.weight, -xs);
  EXPECT_THROW(omega(a) * omega(Model{xs, {}, 3}), Error);
}

TEST(Partition, ByKindOfLeaf) {
  Model m{xs, arange(3), 1};  // integers
  auto [trained, fixed] = partition(m, is_inexact_array);
  EXPECT_TRUE(trained.bias.is_empty());
  EXPECT_TRUE(fixed.weight.is_empty());
  auto loss = [](const Model& whole) { return sum(whole.weight * whole.weight * whole.bias); };
  // One half is differentiated, the other is data.
  Model slope = jit(grad([&](const Model& part, const Model& rest) { return loss(combine(part, rest)); }))(
      trained, fixed);
  expect_near(slope.weight, 2. * xs * arange(3));
  EXPECT_TRUE(slope.bias.is_empty());
  EXPECT_TRUE(tree_equal(combine(trained, fixed), m));
  EXPECT_TRUE(tree_equal(filter(m, is_array), m));
}

}  // namespace
}  // namespace apsis::testing
