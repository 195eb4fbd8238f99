#include "apsis/tree/tree.hpp"

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <variant>

#include "apsis/base/error.hpp"
#include "apsis/tree/path.hpp"
#include "apsis/tree/print.hpp"
#include "models.hpp"

namespace foreign {
struct Pose {
  Pose(double r, double t) : rotation(r), translation(t) {}
  Probe rotation, translation;
};
}  // namespace foreign
template <>
struct apsis::tree_trait<foreign::Pose> {
  static constexpr const char* names = "rotation, translation";
  static constexpr decltype(auto) fields(auto& self, auto&& visit) {
    return visit(self.rotation, self.translation);
  }
};

namespace {

using apsis::Static;
using apsis::StaticKey;

struct Relu {
  Probe operator()(Probe x) const { return x; }
};

struct Everything {
  Probe a;
  std::tuple<Probe, int, Linear> tuple{};
  std::pair<Probe, Probe> pair{};
  std::array<Linear, 2> array{};
  std::deque<Probe> deque;
  std::optional<Linear> optional;
  std::variant<Probe, Linear, int> variant;
  std::map<std::string, Probe> map;
  std::unordered_map<int, Linear> hashed;
  std::shared_ptr<const Linear> shared;
  Relu relu;
  foreign::Pose pose{0, 0};
  std::string text;
  std::vector<int> numbers;
  std::vector<bool> bits;
  Probe z;
};
Everything make_everything() {
  return {.a = 1,
          .tuple = {2, 7, {3, 4}},
          .pair = {5, 6},
          .array = {Linear{7, 8}, Linear{9, 10}},
          .deque = {11, 12},
          .optional = Linear{13, 14},
          .variant = Linear{15, 16},
          .map = {{"b", 18}, {"a", 17}},
          .hashed = {{30, {23, 24}}, {10, {19, 20}}, {20, {21, 22}}},
          .shared = std::make_shared<const Linear>(Linear{25, 26}),
          .relu = {},
          .pose = {27, 28},
          .text = "x",
          .numbers = {1, 2},
          .bits = {true, false},
          .z = 29};
}

TEST(Tree, VisitsLeavesInDeclarationOrder) {
  EXPECT_EQ(values(make_model()), count_from_one(5));
  EXPECT_EQ(values(make_everything()), count_from_one(29));
  EXPECT_EQ(apsis::leaf_count(make_everything()), 29u);
}

TEST(Tree, CountsLeavesAtCompileTime) {
  static_assert(apsis::static_leaf_count<Linear> == 2);
  static_assert(apsis::static_leaf_count<std::array<Linear, 3>> == 6);
  static_assert(apsis::static_leaf_count<std::tuple<Probe, int, std::pair<Linear, Relu>>> == 3);
  static_assert(apsis::static_leaf_count<foreign::Pose> == 2);
  static_assert(apsis::static_leaf_count<std::vector<int>> == 0);
  static_assert(apsis::static_leaf_count<Relu> == 0);
  static_assert(apsis::static_leaf_count<Model> == -1);
  static_assert(apsis::is_static_shape<std::array<Linear, 3>>);
  static_assert(apsis::is_static_shape<std::tuple<Linear, Relu>>);
  static_assert(!apsis::is_static_shape<std::tuple<Linear, int>>);
  static_assert(!apsis::is_static_shape<Model>);
}

struct Branch {
  Probe value;
  std::vector<Branch> children;
};

TEST(Tree, TypesMayContainThemselves) {
  Branch tree{1, {{2, {{3, {}}}}, {4, {}}}};
  EXPECT_EQ(values(tree), count_from_one(4));
  EXPECT_EQ(apsis::tree_paths(tree),
            (std::vector<std::string>{"value", "children[0].value", "children[0].children[0].value",
                                      "children[1].value"}));
  EXPECT_NE(key_of(tree), key_of(Branch{1, {{2, {}}, {3, {{4, {}}}}}}));
}

TEST(Tree, FlattenAndUnflattenAreInverse) {
  Everything tree = make_everything();
  auto [leaves, def] = apsis::flatten<Probe>(tree);
  ASSERT_EQ(leaves.size(), 29u);
  EXPECT_EQ(def.leaf_count(), 29u);
  EXPECT_EQ(values(tree), count_from_one(29)) << "flatten of an lvalue leaves it as it was";
  for (Probe& leaf : leaves) leaf = leaf.value() + 100;
  Everything back = apsis::unflatten<Everything>(def, leaves);
  std::vector<double> expected = count_from_one(29);
  for (double& v : expected) v += 100;
  EXPECT_EQ(values(back), expected);
  EXPECT_EQ(key_of(back), key_of(tree));
  EXPECT_EQ(back.text, "x");
  EXPECT_EQ(back.numbers, tree.numbers);
  EXPECT_EQ(tree.shared->weight.value(), 25) << "shared parts of the original are not written";
}

TEST(Tree, FlattenMovesOutOfRvalues) {
  Model model = make_model();
  auto flat = apsis::flatten<Probe>(std::move(model));
  EXPECT_EQ(flat.leaves.size(), 5u);
  EXPECT_EQ(flat.leaves[4].value(), 5);
  EXPECT_EQ(values(*static_cast<const Model*>(flat.def.prototype().tree)), std::vector<double>(5, -1.))
      << "the structure holds no leaves";
}

TEST(Tree, StructuresCompare) {
  auto def = [](const Model& m) { return apsis::flatten<Probe>(m).def; };
  Model a = make_model(), b = make_model();
  b.layers[0].weight = 99;
  EXPECT_EQ(def(a), def(b)) << "values of leaves are no part of the structure";
  b.slope = 0.5;
  EXPECT_FALSE(def(a) == def(b));
  b = make_model(), b.layers.pop_back();
  EXPECT_FALSE(def(a) == def(b));
  b = make_model(), b.scale.reset();
  EXPECT_FALSE(def(a) == def(b));
}

TEST(Tree, AssignTakesARangeAndMovesFromRvalues) {
  Linear linear;
  std::vector<Probe> two{1, 2};
  apsis::assign_leaves(linear, std::span<const Probe>(two));
  EXPECT_EQ(values(linear), count_from_one(2));
  EXPECT_FALSE(two[0].empty());
  apsis::assign_leaves(linear, std::move(two));
  EXPECT_TRUE(two[0].empty());
}

TEST(Tree, UnflattenRefusesWrongNumbersAndTypes) {
  auto flat = apsis::flatten<Probe>(make_model());
  flat.leaves.pop_back();
  try {
    apsis::unflatten<Model>(flat.def, flat.leaves);
    FAIL();
  } catch (const apsis::Error& e) {
    EXPECT_STREQ(e.id(), "tree_leaf_count");
    EXPECT_NE(std::string(e.what()).find("Model has 5 leaves, got 4"), std::string::npos) << e.what();
  }
  try {
    apsis::unflatten<Linear>(flat.def, flat.leaves);
    FAIL();
  } catch (const apsis::Error& e) {
    EXPECT_STREQ(e.id(), "tree_type_differs");
  }
}

TEST(StaticKeys, HoldWhatIsNotALeaf) {
  auto with = [](auto change) {
    Everything tree = make_everything();
    change(tree);
    return key_of(tree);
  };
  StaticKey same = key_of(make_everything());
  EXPECT_EQ(same, with([](Everything& t) { t.a = 99, t.pair.first = 98, t.map["a"] = 97; }));
  EXPECT_NE(same, with([](Everything& t) { std::get<1>(t.tuple) = 8; }));
  EXPECT_NE(same, with([](Everything& t) { t.deque.push_back(1); }));
  EXPECT_NE(same, with([](Everything& t) { t.optional.reset(); }));
  EXPECT_NE(same, with([](Everything& t) { t.variant = Probe(1); }));
  EXPECT_NE(same, with([](Everything& t) { t.variant = 3; }));
  EXPECT_NE(same, with([](Everything& t) { t.map = {{"a", 1}, {"c", 2}}; }));
  EXPECT_NE(same, with([](Everything& t) { t.hashed.erase(10); }));
  EXPECT_NE(same, with([](Everything& t) { t.shared.reset(); }));
  EXPECT_NE(same, with([](Everything& t) { t.text = "y"; }));
  EXPECT_NE(same, with([](Everything& t) { t.numbers = {2, 1}; }));
  EXPECT_NE(same, with([](Everything& t) { t.bits[1] = true; }));
  EXPECT_EQ(with([](Everything& t) { t.variant = 3; }), with([](Everything& t) { t.variant = 3; }));
}

TEST(StaticKeys, DoublesCompareByBits) {
  double nan = __builtin_nan("");
  EXPECT_EQ(key_of(Static<double>(nan)), key_of(Static<double>(nan)));
  EXPECT_NE(key_of(Static<double>(0.)), key_of(Static<double>(-0.)));
  EXPECT_TRUE(Static<double>(nan) == Static<double>(nan));
  EXPECT_FALSE(Static<double>(0.) == Static<double>(-0.));
  EXPECT_NE(key_of(Static(std::vector{1., 2.})), key_of(Static(std::vector{1., 3.})));
}

TEST(StaticKeys, StaticHoldsAnyValue) {
  struct Table {
    std::vector<double> knots;
    std::complex<double> pole;
    std::string_view name;
  };
  auto table = [](double knot, double im, std::string_view name) {
    return Static<Table>({{1., knot}, {0.5, im}, name});
  };
  EXPECT_EQ(key_of(table(2, 3, "a")), key_of(table(2, 3, "a")));
  EXPECT_NE(key_of(table(2, 3, "a")), key_of(table(2.5, 3, "a")));
  EXPECT_NE(key_of(table(2, 3, "a")), key_of(table(2, -3, "a")));
  EXPECT_NE(key_of(table(2, 3, "a")), key_of(table(2, 3, "b")));
  EXPECT_EQ(apsis::to_string(table(2, -3, "a")), "Table{knots=[1, 2], pole=0.5-3i, name=\"a\"}");
}

TEST(StaticKeys, NeighbouringStringsDoNotRunTogether) {
  using Two = std::pair<std::string, std::string>;
  EXPECT_NE(key_of(Two("ab", "c")), key_of(Two("a", "bc")));
}

TEST(StaticKeys, LongKeysMoveToTheHeap) {
  std::string text(1000, 'x');
  StaticKey key = key_of(std::pair(text, 1)), other = key_of(std::pair(text, 2));
  EXPECT_NE(key, other);
  StaticKey copy = key;
  EXPECT_EQ(copy, key);
  EXPECT_EQ(copy.hash(), key.hash());
  StaticKey moved = std::move(copy);
  EXPECT_EQ(moved, key);
  moved = other;
  EXPECT_EQ(moved, other);
  StaticKey small = key_of(3);
  small = std::move(moved);
  EXPECT_EQ(small, other);
}

TEST(Paths, NameEveryKindOfStep) {
  std::vector<std::string> expected{"t.a",
                                    "t.tuple[0]",
                                    "t.tuple[2].weight",
                                    "t.tuple[2].bias",
                                    "t.pair.first",
                                    "t.pair.second",
                                    "t.array[0].weight",
                                    "t.array[0].bias",
                                    "t.array[1].weight",
                                    "t.array[1].bias",
                                    "t.deque[0]",
                                    "t.deque[1]",
                                    "t.optional.weight",
                                    "t.optional.bias",
                                    "t.variant.weight",
                                    "t.variant.bias",
                                    "t.map[\"a\"]",
                                    "t.map[\"b\"]",
                                    "t.hashed[10].weight",
                                    "t.hashed[10].bias",
                                    "t.hashed[20].weight",
                                    "t.hashed[20].bias",
                                    "t.hashed[30].weight",
                                    "t.hashed[30].bias",
                                    "t.shared.weight",
                                    "t.shared.bias",
                                    "t.pose.rotation",
                                    "t.pose.translation",
                                    "t.z"};
  Everything tree = make_everything();
  EXPECT_EQ(apsis::tree_paths(tree, "t"), expected);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(apsis::leaf_path(tree, i, "t"), expected[i]);
  EXPECT_EQ(apsis::tree_paths(Probe(1), "x"), std::vector<std::string>{"x"});
  EXPECT_EQ(apsis::tree_paths(make_model())[3], "layers[1].bias");
}

TEST(Paths, StaticPartsAreListedForPeople) {
  auto parts = apsis::static_parts(make_model(), "model");
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[0].path, "model.layers");
  EXPECT_EQ(parts[0].value, "size 2");
  EXPECT_EQ(parts[1].path, "model.activation");
  EXPECT_EQ(parts[1].value, "1");
  EXPECT_NE(parts[1].type.find("Activation"), std::string::npos);
  EXPECT_EQ(parts[2].path, "model.slope");
  EXPECT_EQ(parts[2].value, "0.25");
  EXPECT_EQ(parts[3].path, "model.scale");
  EXPECT_EQ(parts[3].value, "present");
}

TEST(Print, ShowsStructsContainersAndStaticValues) {
  EXPECT_EQ(
      apsis::to_string(make_model()),
      "Model{layers=[Linear{weight=p1, bias=p2}, Linear{weight=p3, bias=p4}], activation=1, slope=0.25, "
      "scale=p5}");
  Everything tree = make_everything();
  tree.optional.reset();
  tree.a = Probe();
  EXPECT_EQ(
      apsis::to_string(tree),
      "Everything{a=empty, tuple=(p2, 7, Linear{weight=p3, bias=p4}), pair=(p5, p6), "
      "array=[Linear{weight=p7, bias=p8}, Linear{weight=p9, bias=p10}], deque=[p11, p12], optional=none, "
      "variant=Linear{weight=p15, bias=p16}, map={\"a\": p17, \"b\": p18}, "
      "hashed={10: Linear{weight=p19, bias=p20}, 20: Linear{weight=p21, bias=p22}, "
      "30: Linear{weight=p23, bias=p24}}, shared=Linear{weight=p25, bias=p26}, relu=Relu, "
      "pose=Pose{rotation=p27, translation=p28}, text=\"x\", numbers=[1, 2], bits=10, z=p29}");
  EXPECT_EQ(apsis::to_string(Static(std::vector{0.5, 2.})), "[0.5, 2]");
}

}  // namespace
