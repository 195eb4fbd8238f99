#include "apsis/transform/callee.hpp"

#include "apsis/tree/path.hpp"
#include "transform/stage/presence.hpp"

namespace apsis::detail {

std::vector<bool> presence(ConstTreeRef tree) {
  std::vector<bool> leaves;
  if (tree.type)
    tree.type->each_leaf(tree.tree, {&leaves, [](void* context, void* leaf) {
                                       static_cast<std::vector<bool>*>(context)->push_back(
                                           !static_cast<const Array*>(leaf)->is_empty());
                                     }});
  return leaves;
}

std::string path_among(std::span<const NamedTree> trees, std::size_t i, const std::vector<bool>* present) {
  std::size_t number = 0, place = 0, left = i;
  for (const NamedTree& t : trees) {
    std::string root = t.name ? t.name : "argument " + std::to_string(number++);
    std::vector<bool> there = presence(t.tree);
    for (std::size_t leaf = 0; leaf < there.size(); ++leaf, ++place)
      if ((present ? (*present)[place] : there[leaf]) && left-- == 0)
        return detail::leaf_path(t.tree, leaf, root);
  }
  return "array " + std::to_string(i);
}

LeafNames names_of(const NamedTree& tree) {
  return {&tree, [](const void* context, std::size_t i) {
            return path_among({static_cast<const NamedTree*>(context), 1}, i);
          }};
}

}  // namespace apsis::detail
