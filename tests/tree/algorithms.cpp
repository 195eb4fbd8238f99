// tree_map, filter, partition, combine, tree_equal, at, callables.
#include <gtest/gtest.h>

#include <functional>

#include "apsis/base/error.hpp"
#include "apsis/tree/at.hpp"
#include "apsis/tree/callable.hpp"
#include "apsis/tree/filter.hpp"
#include "models.hpp"

namespace {

/// The message of the Error that `f` throws; empty if it throws none.
template <class F>
std::string error_of(const char* id, F&& f) {
  try {
    f();
  } catch (const apsis::Error& e) {
    EXPECT_STREQ(e.id(), id);
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}
bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(TreeMap, KeepsTypeAndStaticValues) {
  Model model = make_model();
  Model twice = apsis::tree_map([](const Probe& p) { return 2 * p.value(); }, model);
  EXPECT_EQ(values(twice), (std::vector<double>{2, 4, 6, 8, 10}));
  EXPECT_EQ(twice.slope.value, 0.25);
  EXPECT_EQ(values(model), count_from_one(5));
}

TEST(TreeMap, TakesSeveralTrees) {
  auto sum = [](const Probe& a, const Probe& b, const Probe& c) { return a.value() + b.value() + c.value(); };
  EXPECT_EQ(values(apsis::tree_map(sum, make_model(), make_model(), make_model())),
            (std::vector<double>{3, 6, 9, 12, 15}));
  Linear linear{1, 2};
  EXPECT_EQ(values(apsis::tree_map(sum, linear, linear, Linear{10, 20})), (std::vector<double>{12, 24}));
}

TEST(TreeMap, SkipsEmptyLeavesOfTheFirstTree) {
  int calls = 0;
  auto first = [&calls](const Probe& a, const Probe& b) {
    ++calls;
    return b.empty() ? a : b;
  };
  EXPECT_EQ(values(apsis::tree_map(first, Linear{1, {}}, Linear{{}, 3})), (std::vector<double>{1, -1}));
  EXPECT_EQ(calls, 1);
}

TEST(TreeMap, RefusesDifferentStructures) {
  Model shorter = make_model();
  shorter.layers.pop_back();
  auto first = [](const Probe& a, const Probe&) { return a; };
  std::string text = error_of("tree_mismatch", [&] { apsis::tree_map(first, make_model(), shorter); });
  EXPECT_TRUE(
      contains(text,
               "[tree_map] tree 1 and tree 2 differ in structure: `layers` is a sequence of 2 in the first, "
               "a sequence of 1 in the second"))
      << text;
}

TEST(TreeMap, WithPaths) {
  std::string seen;
  apsis::tree_map_with_path(
      [&seen](const std::string& path, const Probe& p) {
        seen += path + ' ';
        return p;
      },
      make_model(), "m");
  EXPECT_EQ(seen, "m.layers[0].weight m.layers[0].bias m.layers[1].weight m.layers[1].bias m.scale ");
}

TEST(TreeMap, ListsLeaves) {
  EXPECT_EQ(apsis::tree_leaves<Probe>(Linear{1, {}}), (std::vector<Probe>{1, {}}));
}

TEST(TreeReduce, FoldsLeavesInTheirOrder) {
  const auto digits = [](int so_far, const Probe& p) { return 10 * so_far + static_cast<int>(p.value()); };
  EXPECT_EQ(apsis::tree_reduce<Probe>(digits, make_model(), 0), 12345);
  EXPECT_EQ(apsis::tree_reduce<Probe>(digits, Linear{7, {}}, 0), 7);
}

TEST(TreeTranspose, TurnsTreesOfTreesRound) {
  using Pair = std::pair<Probe, Probe>;
  const std::vector<Pair> rows{{1, 2}, {3, 4}, {5, 6}};
  using Columns = std::pair<std::vector<Probe>, std::vector<Probe>>;
  const Columns columns = apsis::tree_transpose<Probe>(std::vector<Probe>(3), rows,
                                                       Columns{std::vector<Probe>(3), std::vector<Probe>(3)});
  EXPECT_EQ(values(columns), (std::vector<double>{1, 3, 5, 2, 4, 6}));
  const auto back = apsis::tree_transpose<Probe>(Pair{}, columns, std::vector<Pair>(3));
  EXPECT_TRUE(apsis::tree_equal(back, rows));
}

TEST(Filter, PartitionAndCombineAreInverse) {
  auto [odd, even] =
      apsis::partition(make_model(), [](const Probe& p) { return static_cast<int>(p.value()) % 2 == 1; });
  EXPECT_EQ(values(odd), (std::vector<double>{1, -1, 3, -1, 5}));
  EXPECT_EQ(values(even), (std::vector<double>{-1, 2, -1, 4, -1}));
  EXPECT_TRUE(apsis::tree_equal(apsis::combine(odd, even), make_model()));
  EXPECT_EQ(values(apsis::combine(even, make_model(), odd)), count_from_one(5));
  EXPECT_EQ(values(apsis::filter(make_model(), [](const Probe& p) { return p.value() > 3; })),
            (std::vector<double>{-1, -1, -1, 4, 5}));
}

TEST(Filter, PredicatesMaySeePaths) {
  auto is_weight = [](const Probe&, const std::string& path) { return path.ends_with("weight"); };
  EXPECT_EQ(values(apsis::filter(make_model(), is_weight)), (std::vector<double>{1, -1, 3, -1, -1}));
}

TEST(TreeEqual, ComparesStructureAndLeaves) {
  Model a = make_model(), b = make_model();
  EXPECT_TRUE(apsis::tree_equal(a, b));
  b.layers[1].bias = 9;
  EXPECT_FALSE(apsis::tree_equal(a, b));
  EXPECT_TRUE(apsis::tree_structure_equal(a, b));
  EXPECT_EQ(apsis::structure_difference(a, b), "");
  EXPECT_FALSE(apsis::tree_equal(a, Linear{}));
}

TEST(TreeEqual, ExplainsTheFirstDifference) {
  auto difference = [](auto change) {
    Model other = make_model();
    change(other);
    EXPECT_FALSE(apsis::tree_structure_equal(make_model(), other));
    return apsis::structure_difference(make_model(), other, "model");
  };
  EXPECT_EQ(difference([](Model& m) { m.layers.resize(3); }),
            "`model.layers` is a sequence of 2 in the first, a sequence of 3 in the second");
  EXPECT_EQ(
      difference([](Model& m) { m.slope = 1.; }),
      "`model.slope` is `apsis::Static<double>` 0.25 in the first, `apsis::Static<double>` 1 in the second");
  EXPECT_EQ(difference([](Model& m) { m.scale.reset(); }),
            "`model.scale` is present in the first, none in the second");
  using Map = std::map<std::string, Probe>;
  EXPECT_EQ(apsis::structure_difference(Map{{"a", 1}}, Map{{"b", 1}}, "m"),
            "the first has `m[\"a\"]` where the second has `m[\"b\"]`");
  EXPECT_EQ(apsis::structure_difference(make_model(), Linear{}),
            "the tree is a `Model` in the first, a `Linear` in the second");
}

struct Nest {
  std::optional<Linear> maybe;
  std::shared_ptr<const Linear> shared;
  std::map<std::string, Linear> named;
  std::tuple<Probe, Linear> tuple;
  std::array<std::pair<Probe, Probe>, 2> pairs;
  Model model;
};
Nest make_nest() {
  return {Linear{1, 2}, std::make_shared<const Linear>(Linear{3, 4}), {{"a", {5, 6}}}, {7, {8, 9}}, {},
          make_model()};
}

TEST(At, ReplacesOnePlaceInACopy) {
  Model model = make_model();
  Model changed = apsis::at(model, &Model::layers, 1, &Linear::weight).set(30);
  EXPECT_EQ(values(changed), (std::vector<double>{1, 2, 30, 4, 5}));
  EXPECT_EQ(values(model), count_from_one(5));
  EXPECT_EQ(values(apsis::at(model, &Model::layers, 0).set(Linear{8, 9})),
            (std::vector<double>{8, 9, 3, 4, 5}));
  auto place = apsis::at(model, &Model::layers, 0, &Linear::bias);
  EXPECT_EQ(place.get().value(), 2);
  EXPECT_EQ(values(place.apply([](const Probe& p) { return p.value() * 10; })),
            (std::vector<double>{1, 20, 3, 4, 5}));
  EXPECT_EQ(apsis::at(model, &Model::slope).set(2.).slope.value, 2);
  EXPECT_FALSE(apsis::at(model, &Model::scale).set(std::nullopt).scale.has_value());
}

TEST(At, GoesThroughEveryContainer) {
  Nest nest = make_nest();
  EXPECT_EQ(apsis::at(nest, &Nest::maybe, &Linear::bias).set(9).maybe->bias.value(), 9);
  EXPECT_EQ(apsis::at(nest, &Nest::shared, &Linear::bias).set(9).shared->bias.value(), 9);
  EXPECT_EQ(nest.shared->bias.value(), 4);
  EXPECT_EQ(apsis::at(nest, &Nest::named, "a", &Linear::bias).set(9).named.at("a").bias.value(), 9);
  EXPECT_EQ(std::get<0>(apsis::at(nest, &Nest::tuple, apsis::nth<0>).set(9).tuple).value(), 9);
  EXPECT_EQ(apsis::at(nest, &Nest::tuple, apsis::nth<1>, &Linear::weight).get().value(), 8);
  EXPECT_EQ(apsis::at(nest, &Nest::pairs, 1, apsis::nth<1>).set(9).pairs[1].second.value(), 9);
  EXPECT_EQ(apsis::at(nest, &Nest::model, &Model::layers, 0, &Linear::bias).get().value(), 2);
}

TEST(At, RefusesPlacesThatAreNotThere) {
  Nest nest = make_nest();
  EXPECT_TRUE(contains(error_of("at_index", [&] { (void)apsis::at(nest.model, &Model::layers, 2).get(); }),
                       "index 2 is out of range for a container of 2 elements"));
  EXPECT_TRUE(contains(error_of("at_index", [&] { (void)apsis::at(nest.model, &Model::layers, -1).get(); }),
                       "index -1"));
  EXPECT_TRUE(contains(error_of("at_key", [&] { (void)apsis::at(nest, &Nest::named, "b").get(); }),
                       "no entry with the key \"b\" in a map of 1 entries"));
  nest.maybe.reset();
  EXPECT_TRUE(contains(error_of("at_absent", [&] { apsis::at(nest, &Nest::maybe, &Linear::bias).set(1); }),
                       "an empty optional"));
}

using Function = Probe (*)(Probe, int);

TEST(Callables, SignaturesAreReadWithoutCalling) {
  using apsis::callable_traits;
  using apsis::is_transformable;
  auto simple = [](const Probe&, int) { return Probe(); };
  auto generic = [](auto x) { return x; };
  auto changes = [n = 0](Probe) mutable { return ++n; };
  auto floating = [](const double&, Probe p) { return p; };
  auto fixed = [](apsis::Static<double>, Probe p) noexcept { return p; };
  using Arguments = callable_traits<decltype(simple)>::arguments;
  static_assert(std::is_same_v<Arguments, apsis::detail::TypeList<const Probe&, int>>);
  static_assert(std::is_same_v<callable_traits<decltype(simple)>::result, Probe>);
  static_assert(callable_traits<Function>::is_known);
  static_assert(callable_traits<std::function<Probe(Probe)>>::is_known);
  static_assert(!callable_traits<decltype(generic)>::is_known);
  static_assert(is_transformable<decltype(simple)>() && is_transformable<decltype(generic)>());
  static_assert(is_transformable<decltype(fixed)>() && is_transformable<Function>());
  static_assert(!is_transformable<decltype(changes)>());
  static_assert(!is_transformable<decltype(floating)>());
}

}  // namespace
