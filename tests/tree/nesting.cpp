// Trees that would use up the stack: cycles of pointers, lists of many nodes.

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "apsis/apsis.hpp"

namespace apsis {
namespace {

struct Node {
  Array value;
  std::shared_ptr<Node> next;
};
struct List {
  Array value;
  std::vector<List> rest;
};
struct Model {
  std::vector<Node> parts;
};
struct Held {
  Array value;
  AnyTree next;
};
struct Owner {
  Array value;
  std::unique_ptr<Owner> next;
};

template <class F>
void expect_error(const char* id, const char* part, const F& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_STREQ(error.id(), id) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    return;
  }
  ADD_FAILURE() << "nothing was thrown";
}

/// Two nodes, each of which is next to the other.
struct Circle {
  std::shared_ptr<Node> first = std::make_shared<Node>(Node{1., nullptr});
  Circle() { first->next = std::make_shared<Node>(Node{2., first}); }
  ~Circle() { first->next->next = nullptr; }
};

template <class Made>
void unlink(Made& first) {
  while (first.next) {
    auto next = std::move(first.next);
    first = std::move(*next);
  }
}
Node chain(int nodes) {
  Node first{1., nullptr};
  for (int i = 1; i < nodes; ++i) first = Node{1., std::make_shared<Node>(std::move(first))};
  return first;
}
List nested_lists(int nodes) {
  List first{1., {}};
  for (int i = 1; i < nodes; ++i) {
    List around{1., {}};
    around.rest.push_back(std::move(first));
    first = std::move(around);
  }
  return first;
}

const auto first_of = [](const Model& m) { return 2. * m.parts[0].value; };
const auto first_value = [](const auto& tree) { return 2. * tree.value; };

TEST(TreeNesting, ACycleIsRefusedEverywhere) {
  const Circle circle;
  const Model m{{Node{3., circle.first}}};
  const char* where = "`[0].next.next.next` is `[0].next` again";
  expect_error("tree_cycle", where, [&] { jit(first_of)(m); });
  expect_error("tree_cycle", where, [&] { grad(first_of)(m); });
  expect_error("tree_cycle", where, [&] { vmap(first_of)(m); });
  expect_error("tree_cycle", where, [&] { jvp(first_of, m, m); });
  expect_error("tree_cycle", where, [&] { trace(first_of, m); });
  expect_error("tree_cycle", where, [&] { cond(true, first_of, first_of, m); });
  expect_error("tree_cycle", where, [&] { flatten(m); });
  expect_error("tree_cycle", where, [&] { tree_map([](const Array& x) { return x; }, m); });
  expect_error("tree_cycle", where, [&] { to_string(m); });
  expect_error("tree_cycle", where, [&] { tree_paths(m); });
  expect_error("tree_cycle", where, [&] { pure_callback(first_of, Array(1.))(m); });
  expect_error("tree_cycle", "again", [&] {
    jit([&](const Array& x) { return Node{x, circle.first}; })(1.);
  });
  // It is still what it was.
  EXPECT_EQ(circle.first->next->next, circle.first);
  EXPECT_EQ(jit([](const Array& x) { return x; })(1.).item<double>(), 1.);
}

TEST(TreeNesting, LongListsAreRefused) {
  for (int nodes : {1200, 100000}) {
    Node first = chain(nodes);
    expect_error("tree_depth", "`next.next.next", [&] { jit(first_value)(first); });
    expect_error("tree_depth", "`next.next.next", [&] { grad(first_value)(first); });
    unlink(first);
    Owner owner{1., nullptr};
    for (int i = 1; i < nodes; ++i) owner = Owner{1., std::make_unique<Owner>(std::move(owner))};
    expect_error("tree_depth", "`next.next.next", [&] { leaf_count(owner); });
    unlink(owner);
  }
  // (A vector of vectors is destroyed by recursion: this many are none of ours to refuse.)
  const List lists = nested_lists(5000);
  expect_error("tree_depth", "rest[0].rest[0]", [&] { jit(first_value)(lists); });
  expect_error("tree_depth", "rest[0].rest[0]", [&] { grad(first_value)(lists); });
  Held held{1., {}};
  for (int i = 0; i < 2000; ++i) held = Held{1., AnyTree(std::move(held))};
  expect_error("tree_depth", "next.next", [&] { jit(first_value)(held); });
}

TEST(TreeNesting, ListsThatAreNotSoLongWork) {
  Node first = chain(900);
  const auto total = [](const Node& list) {
    Array sum_of_all = 0.;
    for (const Node* n = &list; n; n = n->next.get()) sum_of_all = sum_of_all + n->value;
    return sum_of_all;
  };
  EXPECT_EQ(jit(total)(first).item<double>(), 900.);
  EXPECT_EQ(leaf_count(grad(total)(first)), 900u);
  unlink(first);
  // Counted anew by each thread, and after an error.
  std::thread([&] {
    Node own = chain(900);
    EXPECT_EQ(leaf_count(own), 900u);
    unlink(own);
  }).join();
}

// Whoever reads a tree leaves shared content shared.
TEST(TreeNesting, ReadingLeavesSharedContentShared) {
  const auto last = std::make_shared<Node>(Node{3., nullptr});
  const Node first{1., std::make_shared<Node>(Node{2., last})};
  EXPECT_EQ(leaf_count(first), 3u);
  jit(first_value)(first);
  EXPECT_EQ(first.next->next, last);
}

}  // namespace
}  // namespace apsis
