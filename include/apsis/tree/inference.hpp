#pragma once

#include "apsis/tree/tree.hpp"

namespace apsis {

namespace detail {

template <class T>
void set_inference(T& tree, bool value);

template <class T, std::size_t index, class Field>
void set_inference_field(Field& field, bool value) {
  if constexpr (std::is_same_v<Field, bool>) {
    if constexpr (field_name<T, index>() == "inference") field = value;
  } else {
    set_inference(field, value);
  }
}

template <class T>
void set_inference(T& tree, bool value) {
  constexpr TreeKind kind = tree_kind<T>;
  if constexpr (kind == TreeKind::Fields) {
    with_fields(tree, [value]<class... Field>(Field&... field) {
      [&]<std::size_t... index>(std::index_sequence<index...>) {
        (set_inference_field<T, index>(field, value), ...);
      }
      (std::index_sequence_for<Field...>{});
    });
  } else if constexpr (kind != TreeKind::Leaf && kind != TreeKind::Static && kind != TreeKind::Erased &&
                       !is_refused(kind)) {
    children(tree, [value](auto& child, auto) { set_inference(child, value); });
  }
}

}  // namespace detail

/// A copy in which every `bool inference` field, at any depth, is `value`: layers such as dropout act
/// differently when a model is used than when it is trained. The flags are static, so a jitted function is
/// traced once for each mode. (Equinox: nn.inference_mode.)
template <class T>
T inference_mode(T tree, bool value = true) {
  detail::set_inference(tree, value);
  return tree;
}

}  // namespace apsis
