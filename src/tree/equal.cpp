#include "apsis/tree/equal.hpp"

#include "tree/messages.hpp"
#include "tree/path_visitor.hpp"

namespace apsis::detail {
namespace {

struct Leaves final : PathVisitor {
  Leaves() : PathVisitor({}) {}
  void leaf(const void* leaf, const LeafType& type) override {
    leaves.push_back(leaf);
    types.push_back(&type);
  }
  std::vector<const void*> leaves;
  std::vector<const LeafType*> types;
};

struct Part {
  std::string path, what;
};

/// Lists what a tree consists of: two trees of equal structure give equal lists.
struct Outline final : PathVisitor {
  using PathVisitor::PathVisitor;
  void leaf(const void*, const LeafType&) override { parts.push_back({path(), "a leaf"}); }
  void fixed(std::string_view value, std::string_view type) override {
    parts.push_back({path(), "`" + std::string(type) + "` " + std::string(value)});
  }
  void entered(const TreeNode& node) override { parts.push_back({path(), describe_node(node)}); }
  std::vector<Part> parts;
};

Outline outline(ConstTreeRef tree, std::string_view root) {
  Outline visitor(root);
  if (tree.type) tree.type->walk(tree.tree, visitor);
  return visitor;
}

std::string quoted(const std::string& path) { return path.empty() ? "the tree" : "`" + path + "`"; }

}  // namespace

bool structures_equal(ConstTreeRef a, ConstTreeRef b) {
  if (a.type != b.type) return false;
  if (!a.type) return true;
  StaticKey key_a, key_b;
  a.type->append_key(a.tree, key_a);
  b.type->append_key(b.tree, key_b);
  return key_a == key_b;
}

bool trees_equal(ConstTreeRef a, ConstTreeRef b) {
  if (!structures_equal(a, b)) return false;
  Leaves of_a, of_b;
  a.type->walk(a.tree, of_a);
  b.type->walk(b.tree, of_b);
  for (std::size_t i = 0; i < of_a.leaves.size(); ++i) {
    if (!of_a.types[i]->equal(of_a.leaves[i], of_b.leaves[i])) return false;
  }
  return true;
}

std::string structure_difference(ConstTreeRef a, ConstTreeRef b, std::string_view root) {
  if (structures_equal(a, b)) return {};
  Outline of_a = outline(a, root), of_b = outline(b, root);
  std::size_t count = of_a.parts.size() < of_b.parts.size() ? of_a.parts.size() : of_b.parts.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Part &pa = of_a.parts[i], &pb = of_b.parts[i];
    if (pa.path != pb.path)
      return "the first has " + quoted(pa.path) + " where the second has " + quoted(pb.path);
    if (pa.what != pb.what)
      return quoted(pa.path) + " is " + pa.what + " in the first, " + pb.what + " in the second";
  }
  return "the first is a `" + std::string(a.type->name()) + "`, the second a `" +
         std::string(b.type->name()) + "`";
}

void require_same_structure(const char* where, ConstTreeRef first, ConstTreeRef other, std::size_t number) {
  if (structures_equal(first, other)) return;
  fail(messages::tree_mismatch, {where, std::to_string(number), structure_difference(first, other, {})});
}

}  // namespace apsis::detail
