// Properties of random trees of random shape, and of the dispatch path.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <random>
#include <set>

#include "apsis/tree/equal.hpp"
#include "apsis/tree/filter.hpp"
#include "apsis/tree/path.hpp"
#include "models.hpp"

static long allocations = 0;
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

/// A tree whose shape is all in its value.
struct Node {
  std::variant<Probe, int, std::vector<Node>, std::map<std::string, Node>, std::optional<Linear>> content;
};

Node random_node(std::mt19937& random, int depth) {
  auto pick = [&](unsigned n) { return static_cast<int>(random() % n); };
  switch (depth > 0 ? pick(5) : pick(2)) {
    case 0:
      return {Probe(pick(1000))};
    case 1:
      return {pick(3)};
    case 2: {
      std::vector<Node> children;
      for (int n = pick(4); n > 0; --n) children.push_back(random_node(random, depth - 1));
      return {children};
    }
    case 3: {
      std::map<std::string, Node> children;
      for (int n = pick(4); n > 0; --n)
        children[std::string(1, static_cast<char>('a' + pick(5)))] = random_node(random, depth - 1);
      return {children};
    }
    default:
      return {pick(2) ? std::optional(Linear{pick(9), pick(9)}) : std::nullopt};
  }
}

TEST(RandomTrees, RoundTripAndAgree) {
  std::mt19937 random(1);
  int different = 0;
  for (int i = 0; i < 500; ++i) {
    SCOPED_TRACE(i);
    Node tree = random_node(random, 4), other = random_node(random, 4);
    auto [leaves, def] = apsis::flatten<Probe>(tree);
    ASSERT_TRUE(apsis::tree_equal(apsis::unflatten<Node>(def, leaves), tree));
    ASSERT_EQ(leaves.size(), apsis::leaf_count(tree));
    std::vector<std::string> paths = apsis::tree_paths(tree);
    ASSERT_EQ(paths.size(), leaves.size());
    ASSERT_EQ(std::set<std::string>(paths.begin(), paths.end()).size(), paths.size()) << "paths are unique";
    auto [even, odd] =
        apsis::partition(tree, [](const Probe& p) { return static_cast<int>(p.value()) % 2 == 0; });
    ASSERT_TRUE(apsis::tree_equal(apsis::combine(even, odd), tree));
    bool same = apsis::tree_structure_equal(tree, other);
    ASSERT_EQ(same, key_of(tree) == key_of(other));
    ASSERT_EQ(same, apsis::structure_difference(tree, other).empty());
    if (same) {
      ASSERT_EQ(apsis::tree_paths(other), paths);
    }
    different += !same;
  }
  EXPECT_GT(different, 100) << "the generator makes trees of many shapes";
}

TEST(Dispatch, VisitingAndKeysDoNotAllocate) {
  Model model = make_model();
  double sum = 0;
  apsis::StaticKey key;
  long before = allocations;
  apsis::for_each_leaf(model, [&sum](const Probe& p) { sum += p.value(); });
  apsis::append_static_key(model, key);
  long after = allocations;
  EXPECT_EQ(after - before, 0);
  EXPECT_EQ(sum, 15);
  EXPECT_FALSE(key.empty());
}

}  // namespace
