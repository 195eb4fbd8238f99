#include <map>
#include <memory>
#include <optional>

#include "apsis/core/array.hpp"
#include "apsis/transform/jit.hpp"
#include "apsis/tree/at.hpp"
#include "apsis/tree/map.hpp"
#include "apsis/tree/tree.hpp"
#include "errors/provoke.hpp"

using namespace apsis;

namespace error_models {

struct Layer {
  Array weight, bias;
};
struct Model {
  std::vector<Layer> layers;
  std::optional<Layer> head;
};
const Model two_layers{{Layer{1., 2.}, Layer{3., 4.}}, {}};
const Model one_layer{{Layer{1., 2.}}, {}};

struct Node {
  Array value;
  std::shared_ptr<Node> next;
};
/// The next of its next, until it goes.
struct Circle {
  std::shared_ptr<Node> first = std::make_shared<Node>(Node{1., nullptr});
  Circle() { first->next = first; }
  ~Circle() { first->next = nullptr; }
};
/// A list of so many nodes.
Node list_of(int nodes) {
  Node first{1., nullptr};
  for (int i = 1; i < nodes; ++i) first = Node{1., std::make_shared<Node>(std::move(first))};
  return first;
}
Array value_of(const Node& node) { return node.value; }

}  // namespace error_models

using namespace error_models;

APSIS_PROVOKES(
    tree_transpose,
    "[tree_transpose] the outer tree has 2 leaves, the tree of trees 3, the transposed one 3: the second "
    "number must be a multiple of the first, not 0, and equal to the third",
    tree_transpose(std::vector<Array>(2), std::vector<Array>(3), std::vector<Array>(3)))
APSIS_PROVOKES(
    tree_mismatch,
    "[tree_map] tree 1 and tree 2 differ in structure: `layers` is a sequence of 2 in the first, a sequence "
    "of 1 in the second. Trees that are combined leaf by leaf need equal containers and equal static values",
    tree_map([](const Array& a, const Array&) { return a; }, two_layers, one_layer))

APSIS_PROVOKES(at_index,
               "[at] index 2 is out of range for a container of 2 elements, in a tree of type "
               "std::vector<error_models::Layer>",
               at(two_layers, &Model::layers, 2).get())

APSIS_PROVOKES(
    at_absent,
    "[at] the path goes through an empty optional: give it a value first, by `at` on itself and `set`",
    at(two_layers, &Model::head, &Layer::bias).get())

APSIS_PROVOKES(at_key,
               "[at] there is no entry with the key \"b\" in a map of 1 entries; `at` replaces entries and "
               "does not add them",
               at(std::map<std::string, Array>{{"a", 1.}}, "b").get())

APSIS_PROVOKES(tree_leaf_count,
               "[unflatten] a tree of type error_models::Model has 2 leaves, got 1; pass the leaves that "
               "flatten gave for a tree of the same structure",
               unflatten<Model>(flatten(one_layer).def, std::vector<Array>{1.}))

APSIS_PROVOKES(tree_type_differs,
               "[unflatten] the structure is of a tree of type error_models::Model, asked for "
               "error_models::Layer; unflatten to the type that was flattened",
               unflatten<Layer>(flatten(one_layer).def, std::vector<Array>{1., 2.}))

APSIS_PROVOKES(
    tree_cycle,
    "[tree] pointers in a tree of type shared_ptr form a cycle: `next` is the tree itself again; "
    "a tree has no way back: hold a number that says which (`Static<int>`) in place of the pointer",
    const Circle circle;
    jit([](const Node& node) { return value_of(node); })(*circle.first))

APSIS_PROVOKES(tree_depth,
               "[tree] a tree of type shared_ptr is nested more than 1000 levels deep: "
               "`next.next.next.next.next` and on; hold the nodes of a long list in a std::vector, or stack "
               "their arrays along a new axis",
               jit([](const Node& node) { return value_of(node); })(list_of(2000)))
