#pragma once

#include "apsis/tree/walk.hpp"

namespace apsis::detail {

/// A visitor that knows the path of where it is.
class PathVisitor : public TreeVisitor {
 public:
  explicit PathVisitor(std::string_view root) : path_(root) {}
  void field(std::string_view name) final {
    path_.resize(lengths_.back());
    if (!path_.empty()) path_ += '.';
    path_ += name;
  }
  void step(std::string_view text) final {
    path_.resize(lengths_.back());
    if (path_.empty() && text.starts_with('.')) text.remove_prefix(1);
    path_ += text;
  }
  void begin(const TreeNode& node) final {
    entered(node);
    lengths_.push_back(path_.size());
  }
  void end() final {
    path_.resize(lengths_.back());
    lengths_.pop_back();
    left();
  }
  void leaf(const void*, const LeafType&) override {}
  void fixed(std::string_view, std::string_view) override {}

 protected:
  ~PathVisitor() = default;
  virtual void entered(const TreeNode&) {}
  virtual void left() {}
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::vector<std::size_t> lengths_;
};

/// `size 3`, `none`, `alternative 1`: what a node's value adds to the structure its type gives; empty if
/// nothing.
std::string describe_shape(const TreeNode& node);
/// The node in words: "a `Linear`", "a sequence of 3", "none".
std::string describe_node(const TreeNode& node);

}  // namespace apsis::detail
