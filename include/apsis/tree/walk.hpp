#pragma once

// Walking a tree for code that is not a template: a visitor hears of nodes, steps, leaves and static values.

#include "apsis/tree/children.hpp"
#include "apsis/tree/type.hpp"

namespace apsis::detail {

/// The hooks of a leaf type, erased.
struct LeafType {
  bool (*empty)(const void* leaf);
  bool (*equal)(const void* a, const void* b);
  void (*print)(std::string& out, const void* leaf);
};
template <class Leaf>
inline constexpr LeafType leaf_type{
    [](const void* leaf) { return is_leaf<Leaf>::empty(*static_cast<const Leaf*>(leaf)); },
    [](const void* a, const void* b) {
      return is_leaf<Leaf>::equal(*static_cast<const Leaf*>(a), *static_cast<const Leaf*>(b));
    },
    [](std::string& out, const void* leaf) { is_leaf<Leaf>::print(out, *static_cast<const Leaf*>(leaf)); }};

struct TreeNode {
  TreeKind kind;
  std::string_view (*type_name)();
  std::size_t size;  // children; for a variant the index of the alternative
  const void* tree;
};

class TreeVisitor {
 public:
  /// The next child is the field of this name.
  virtual void field(std::string_view name) = 0;
  /// The next child is reached by this text: `[3]`, `["key"]`, `.first`, or nothing.
  virtual void step(std::string_view text) = 0;
  virtual void begin(const TreeNode& node) = 0;
  virtual void end() = 0;
  virtual void leaf(const void* leaf, const LeafType& type) = 0;
  /// A static value as text, with the text of its type.
  virtual void fixed(std::string_view value, std::string_view type) = 0;

 protected:
  ~TreeVisitor() = default;
};

// Texts of static values.
void print_integer(std::string& out, long long value);
void print_unsigned(std::string& out, unsigned long long value);
void print_floating(std::string& out, double value, bool single);
void print_quoted(std::string& out, std::string_view text);
void print_address(std::string& out, const void* bytes, std::size_t size);
/// Prints what `walk` tells as `to_string` does, for static values that have a structure.
void print_walk(std::string& out, const void* tree, void (*walk)(const void* tree, TreeVisitor& visitor));

template <class T>
constexpr std::string_view type_name_of() {
  return type_name<T>();
}

template <Floats floats, class T>
void walk(const T& tree, TreeVisitor& visitor);

template <class T>
void print_baked(std::string& out, const T& value);

template <class T>
void print_static(std::string& out, const T& value) {
  if constexpr (is_static_wrapper<T>) {
    print_baked(out, value.value);
  } else if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    print_integer(out, static_cast<long long>(value));
  } else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>) {
    print_unsigned(out, value);
  } else if constexpr (std::is_integral_v<T>) {
    print_integer(out, value);
  } else if constexpr (std::is_floating_point_v<T>) {
    print_floating(out, static_cast<double>(value), std::is_same_v<T, float>);
  } else if constexpr (tree_kind<T> == TreeKind::Complex) {
    print_floating(out, static_cast<double>(value.real()), std::is_same_v<typename T::value_type, float>);
    out += value.imag() < 0 ? "" : "+";
    print_floating(out, static_cast<double>(value.imag()), std::is_same_v<typename T::value_type, float>);
    out += 'i';
  } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
    print_quoted(out, value);
  } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
    for (bool bit : value) out += bit ? '1' : '0';
  } else if constexpr (std::is_pointer_v<T> || std::is_member_pointer_v<T>) {
    print_address(out, &value, sizeof value);
  } else if constexpr (std::is_null_pointer_v<T>) {
    out += "nullptr";
  } else {
    static_assert(std::is_empty_v<T>);
    out += short_type_name(type_name<T>());
  }
}

template <class Step>
void tell_step(TreeVisitor& visitor, Step) {
  visitor.step({});
}
inline void tell_step(TreeVisitor& visitor, IndexStep step) {
  std::string text = "[";
  print_unsigned(text, step.index);
  visitor.step(text += ']');
}
template <std::size_t index, bool pair>
void tell_step(TreeVisitor& visitor, TupleStep<index, pair>) {
  if constexpr (pair) {
    visitor.step(index == 0 ? ".first" : ".second");
  } else {
    tell_step(visitor, IndexStep{index});
  }
}
template <class Key>
void tell_step(TreeVisitor& visitor, KeyStep<Key> step) {
  std::string text = "[";
  print_baked(text, *step.key);
  visitor.step(text += ']');
}

template <class T>
std::size_t node_size(const T& tree) {
  constexpr TreeKind kind = tree_kind<T>;
  if constexpr (kind == TreeKind::Tuple || kind == TreeKind::FixedArray) {
    return std::tuple_size<T>::value;
  } else if constexpr (kind == TreeKind::Sequence || kind == TreeKind::Map) {
    return tree.size();
  } else if constexpr (kind == TreeKind::Variant) {
    return tree.index();
  } else {
    return static_cast<bool>(tree) ? 1 : 0;
  }
}

template <class T>
void print_baked(std::string& out, const T& value) {
  if constexpr (is_static_value<T>) {
    print_static(out, value);
  } else {
    print_walk(out, &value, [](const void* tree, TreeVisitor& visitor) {
      walk<Floats::Baked>(*static_cast<const T*>(tree), visitor);
    });
  }
}

template <class T, std::size_t... index>
const std::string_view* field_names(std::index_sequence<index...>) {
  static const std::string_view names[] = {field_name<T, index>()..., {}};
  return names;
}

template <Floats floats, class Field>
void walk_field(const Field& field, std::string_view name, TreeVisitor& visitor) {
  if constexpr (is_admitted<Field, floats>) {
    visitor.field(name);
    walk<floats>(field, visitor);
  }
}

/// Not by `children`: one function a struct, instead of one a field, keeps instantiations few.
template <Floats floats, class T>
void walk_fields(const T& tree, TreeVisitor& visitor) {
  with_fields(tree, [&visitor, &tree]<class... Field>(const Field&... field) {
    [[maybe_unused]] const std::string_view* name = field_names<T>(std::index_sequence_for<Field...>{});
    visitor.begin({TreeKind::Fields, &type_name_of<T>, sizeof...(Field), &tree});
    (walk_field<floats>(field, *name++, visitor), ...);
    visitor.end();
  });
}

template <Floats floats, class T>
void walk(const T& tree, TreeVisitor& visitor) {
  constexpr TreeKind kind = tree_kind<T>;
  if constexpr (kind == TreeKind::Leaf) {
    // (An Array in a `Static` is refused where the key is made.)
    if constexpr (floats == Floats::Refused) visitor.leaf(&tree, leaf_type<T>);
  } else if constexpr (is_static_value<T>) {
    std::string text;
    print_static(text, tree);
    visitor.fixed(text, type_name<T>());
  } else if constexpr (kind == TreeKind::Erased) {
    ConstTreeRef ref = tree_trait<T>::erased(tree);
    const Nested<floats, T> nested(tree);
    if (ref.type) ref.type->walk(ref.tree, visitor);
  } else if constexpr (kind == TreeKind::Fields) {
    walk_fields<floats>(tree, visitor);
  } else if constexpr (!is_refused(kind)) {
    visitor.begin({kind, &type_name_of<T>, node_size(tree), &tree});
    children<floats>(tree, [&visitor](const auto& child, auto step) {
      tell_step(visitor, step);
      walk<floats>(child, visitor);
    });
    visitor.end();
  }
}

}  // namespace apsis::detail
