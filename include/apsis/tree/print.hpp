#pragma once

#include "apsis/tree/tree.hpp"

namespace apsis {

namespace detail {
std::string print_tree(ConstTreeRef tree);
}

/// `Linear{weight=f32[64,2], bias=f32[64]}`: struct and member names, leaves by dtype and shape, static
/// values in full.
template <class T>
requires(!is_leaf<T>::value) std::string to_string(const T& tree) {
  return detail::print_tree(tree_ref(tree));
}

}  // namespace apsis
