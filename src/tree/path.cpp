#include "apsis/tree/path.hpp"

#include "tree/path_visitor.hpp"

namespace apsis::detail {
namespace {

class LeafPaths final : public PathVisitor {
 public:
  using PathVisitor::PathVisitor;
  void leaf(const void*, const LeafType&) override { paths.push_back(path()); }
  std::vector<std::string> paths;
};

class LeafPath final : public PathVisitor {
 public:
  LeafPath(std::string_view root, std::size_t index) : PathVisitor(root), left_(index) {}
  void leaf(const void*, const LeafType&) override {
    if (left_-- == 0) found = path();
  }
  std::string found;

 private:
  std::size_t left_;
};

class StaticParts final : public PathVisitor {
 public:
  using PathVisitor::PathVisitor;
  void fixed(std::string_view value, std::string_view type) override {
    parts.push_back({path(), std::string(type), std::string(value)});
  }
  void entered(const TreeNode& node) override {
    std::string shape = describe_shape(node);
    if (!shape.empty()) parts.push_back({path(), std::string(node.type_name()), shape});
  }
  std::vector<StaticPart> parts;
};

}  // namespace

std::string describe_shape(const TreeNode& node) {
  switch (node.kind) {
    case TreeKind::Sequence:
      return "size " + std::to_string(node.size);
    case TreeKind::Map:
      return std::to_string(node.size) + (node.size == 1 ? " key" : " keys");
    case TreeKind::Optional:
    case TreeKind::Pointer:
      return node.size ? "present" : "none";
    case TreeKind::Variant:
      return "alternative " + std::to_string(node.size);
    default:
      return {};
  }
}

std::string describe_node(const TreeNode& node) {
  std::string size = std::to_string(node.size);
  switch (node.kind) {
    case TreeKind::Fields:
      return "a `" + short_type_name(node.type_name()) + "`";
    case TreeKind::Tuple:
      return "a tuple of " + size;
    case TreeKind::FixedArray:
      return "an array of " + size;
    case TreeKind::Sequence:
      return "a sequence of " + size;
    case TreeKind::Map:
      return "a map of " + size;
    default:
      return describe_shape(node);
  }
}

std::vector<std::string> leaf_paths(ConstTreeRef tree, std::string_view root) {
  LeafPaths visitor(root);
  tree.type->walk(tree.tree, visitor);
  return static_cast<std::vector<std::string>&&>(visitor.paths);
}

std::string leaf_path(ConstTreeRef tree, std::size_t index, std::string_view root) {
  LeafPath visitor(root, index);
  tree.type->walk(tree.tree, visitor);
  return static_cast<std::string&&>(visitor.found);
}

std::vector<StaticPart> static_parts(ConstTreeRef tree, std::string_view root) {
  StaticParts visitor(root);
  tree.type->walk(tree.tree, visitor);
  return static_cast<std::vector<StaticPart>&&>(visitor.parts);
}

}  // namespace apsis::detail
