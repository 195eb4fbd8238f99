// Trees of real Arrays.
#include <gtest/gtest.h>

#include <optional>

#include "apsis/core/array.hpp"
#include "apsis/tree/any_tree.hpp"
#include "apsis/tree/filter.hpp"
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

TEST(Arrays, StaticsConvertToArrays) {
  apsis::Static<double> fixed = 0.5;
  Array weak = fixed;
  EXPECT_EQ(weak.item<double>(), 0.5);
  EXPECT_TRUE(weak.weak());
  EXPECT_EQ(apsis::Operand(apsis::Static(3)).array.item<int>(), 3);
  static_assert(!std::is_convertible_v<apsis::Static<std::string>, Array>);
  static_assert(std::is_constructible_v<apsis::Operand, apsis::Static<float>>);
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

class Controller {
  APSIS_FIELDS(Controller, held_)
  apsis::AnyTree held_;

 public:
  template <class T>
  Controller(T controller) : held_(std::move(controller)) {}
  const apsis::AnyTree& held() const { return held_; }
};
struct Pid {
  Array rtol, atol;
  int order = 2;
};
struct Constant {};
struct Options {
  Controller controller = Constant{};
  Array dt0;
};

TEST(AnyTrees, AreTreesOfWhatTheyHold) {
  Options options{.controller = Pid{1e-6, 1e-9}, .dt0 = 0.1};
  EXPECT_EQ(apsis::tree_paths(options, "options"),
            (std::vector<std::string>{"options.controller.held_.rtol", "options.controller.held_.atol",
                                      "options.dt0"}));
  EXPECT_EQ(apsis::to_string(options),
            "Options{controller=Controller{held_=Pid{rtol=~f64[], atol=~f64[], order=2}}, dt0=~f64[]}");
  auto [leaves, def] = apsis::flatten(options);
  ASSERT_EQ(leaves.size(), 3u);
  leaves[1] = apsis::array({1., 2.});
  Options back = apsis::unflatten<Options>(def, leaves);
  EXPECT_EQ(back.controller.held().as<Pid>()->atol.size(), 2);
  EXPECT_EQ(options.controller.held().as<Pid>()->atol.size(), 1) << "a copy holds its own tree";
  EXPECT_EQ(back.controller.held().as<Constant>(), nullptr);
}

TEST(AnyTrees, KeysHoldTheTypeAndTheStaticValues) {
  auto key = [](const Options& options) {
    apsis::StaticKey bytes;
    apsis::append_static_key(options, bytes);
    return bytes;
  };
  EXPECT_EQ(key({Pid{1., 2.}}), key({Pid{3., 4.}}));
  EXPECT_NE(key({Pid{1., 2.}}), key({Pid{1., 2., 3}}));
  EXPECT_NE(key({Pid{1., 2.}}), key({Constant{}}));
  EXPECT_TRUE(apsis::tree_equal(Options{Pid{1., 2.}}, Options{Pid{1., 2.}}));
  EXPECT_EQ(apsis::structure_difference(Options{Pid{1., 2.}}, Options{Pid{1., 2., 3}}),
            "`controller.held_.order` is `int` 2 in the first, `int` 3 in the second");
}

TEST(Arrays, PartitionByDtype) {
  auto [real, rest] = apsis::partition(std::pair(apsis::array({1.}), apsis::array({1})),
                                       [](const Array& a) { return a.dtype() == apsis::f64; });
  EXPECT_TRUE(real.second.is_empty());
  EXPECT_TRUE(rest.first.is_empty());
  EXPECT_EQ(apsis::to_string(apsis::combine(real, rest)), "(f64[1], i32[1])");
}

}  // namespace
