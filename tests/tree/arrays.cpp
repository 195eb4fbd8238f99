// Trees of real Arrays.
#include <gtest/gtest.h>

#include <optional>

#include "apsis/core/array.hpp"
#include "apsis/tree/path.hpp"
#include "apsis/tree/print.hpp"
#include "apsis/tree/tree.hpp"

namespace {

using apsis::Array;

struct Linear {
  Array weight, bias;
  int order = 1;
};
Linear make_linear() { return {apsis::array({{1., 2.}, {3., 4.}}), apsis::array({5., 6.}), 3}; }

TEST(Arrays, AreLeaves) {
  auto [leaves, def] = apsis::flatten(make_linear());
  ASSERT_EQ(leaves.size(), 2u);
  EXPECT_EQ(leaves[1].to_vector<double>(), (std::vector<double>{5, 6}));
  EXPECT_EQ(leaves[0].use_count(), 1u) << "flatten moves handles out of an rvalue";
  Linear back = apsis::unflatten<Linear>(def, leaves);
  EXPECT_EQ(back.order, 3);
  EXPECT_EQ(back.weight.node(), leaves[0].node());
}

TEST(Arrays, PrintByDtypeAndShape) {
  EXPECT_EQ(apsis::to_string(make_linear()), "Linear{weight=f64[2,2], bias=f64[2], order=3}");
  EXPECT_EQ(apsis::to_string(Linear{}), "Linear{weight=empty, bias=empty, order=1}");
}

TEST(Arrays, LeavesCompareByDtypeShapeAndBits) {
  using Leaf = apsis::is_leaf<Array>;
  double nan = __builtin_nan("");
  EXPECT_TRUE(Leaf::equal(apsis::array({1., nan}), apsis::array({1., nan})));
  EXPECT_FALSE(Leaf::equal(apsis::array({0.}), apsis::array({-0.})));
  EXPECT_FALSE(Leaf::equal(apsis::array({1.}), apsis::array({1.f})));
  EXPECT_FALSE(Leaf::equal(apsis::array({1., 2.}), apsis::array({{1., 2.}})));
  EXPECT_FALSE(Leaf::equal(apsis::array({1.}), Array()));
  EXPECT_TRUE(Leaf::equal(Array(), Array()));
}

}  // namespace
