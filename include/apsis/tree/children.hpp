#pragma once

// The one primitive below all algorithms on trees: visiting the children of a node in declaration order.

#include <utility>

#include "apsis/tree/check.hpp"
#include "apsis/tree/nesting.hpp"

namespace apsis::detail {

// How a child is reached from its parent. Nothing is computed until a path is printed. (Fields have no step
// of their own: their names are told by walk.hpp, and one type of step keeps instantiations few.)
template <std::size_t index, bool pair>
struct TupleStep {};
struct IndexStep {
  std::size_t index;
};
template <class Key>
struct KeyStep {
  const Key* key;
};
struct NoStep {};

template <class T, Floats floats, std::size_t index, class Field, class Visit>
[[gnu::always_inline]] constexpr void visit_field(Field& field, Visit& visit) {
  if constexpr (is_admitted<std::remove_const_t<Field>, floats>) {
    visit(field, NoStep{});
  } else {
    (void)sizeof(CheckField<T, std::remove_const_t<Field>, index>);
  }
}
template <class T, Floats floats, class Visit, std::size_t... index, class... Field>
[[gnu::always_inline]] constexpr void visit_fields(Visit& visit, std::index_sequence<index...>,
                                                   Field&... field) {
  (visit_field<T, floats, index>(field, visit), ...);
}

template <class T, Floats floats, class Element, class Visit, class Step>
[[gnu::always_inline]] constexpr void visit_element(Element& element, Visit& visit, Step step) {
  if constexpr (is_admitted<std::remove_const_t<Element>, floats>) {
    visit(element, step);
  } else {
    (void)sizeof(CheckElement<T, std::remove_const_t<Element>>);
  }
}

template <Floats floats, class T, class Visit, std::size_t... index>
[[gnu::always_inline]] constexpr void visit_tuple(T& tree, Visit& visit, std::index_sequence<index...>) {
  using std::get;
  constexpr bool pair = requires { tree.first; };
  (visit_element<std::remove_const_t<T>, floats>(get<index>(tree), visit, TupleStep<index, pair>{}), ...);
}

template <template <class...> class Holder, class... Alternative>
constexpr std::size_t count_alternatives(const Holder<Alternative...>*) {
  return sizeof...(Alternative);
}
template <Floats floats, std::size_t index, class T, class Visit>
constexpr void visit_alternative(T& tree, Visit& visit) {
  using std::get;
  if constexpr (index < count_alternatives(static_cast<const T*>(nullptr))) {
    if (tree.index() == index) {
      visit_element<std::remove_const_t<T>, floats>(get<index>(tree), visit, NoStep{});
    } else {
      visit_alternative<floats, index + 1>(tree, visit);
    }
  }
}

/// The entries of an unordered map in the order of their keys, which makes its leaves' order reproducible.
template <class T>
auto sorted_entries(T& map) {
  using Entry = decltype(&*map.begin());
  std::vector<Entry> entries;
  entries.reserve(map.size());
  for (auto& entry : map) entries.push_back(&entry);
  for (std::size_t gap = entries.size() / 2; gap > 0; gap /= 2) {  // Shell's sort: <algorithm> is heavy
    for (std::size_t i = gap; i < entries.size(); ++i) {
      Entry moved = entries[i];
      std::size_t j = i;
      for (; j >= gap && moved->first < entries[j - gap]->first; j -= gap) entries[j] = entries[j - gap];
      entries[j] = moved;
    }
  }
  return entries;
}

/// Visits what a smart pointer points to. Shared content is copied before it is handed out for change,
/// because other trees hold it too.
template <Floats floats, class T, class Visit>
constexpr void visit_pointee(T& tree, Visit& visit) {
  using Element = std::remove_const_t<typename T::element_type>;
  if (!tree) return;
  if constexpr (!std::is_const_v<T> && requires { tree.use_count(); }) {
    Element* copy = new Element(*tree);
    tree.reset(copy);
    visit_element<T, floats>(*copy, visit, NoStep{});
  } else {
    // Who only reads the pointer only reads what it points to.
    using Pointee = std::conditional_t<std::is_const_v<T>, const Element, typename T::element_type>;
    visit_element<std::remove_const_t<T>, floats>(static_cast<Pointee&>(*tree), visit, NoStep{});
  }
}

template <Floats floats, class T>
void walk(const T& tree, TreeVisitor& visitor);

/// What a container, whose content its type does not tell, holds.
template <class T>
struct ContentOf {
  template <class Bare>
  static constexpr auto find() {
    if constexpr (requires { typename Bare::mapped_type; })
      return std::type_identity<typename Bare::mapped_type>{};
    else if constexpr (requires { typename Bare::value_type; })
      return std::type_identity<typename Bare::value_type>{};
    else if constexpr (requires { typename Bare::element_type; })
      return std::type_identity<std::remove_const_t<typename Bare::element_type>>{};
    else
      return std::type_identity<void>{};
  }
  using type = typename decltype(find<T>())::type;
};
/// Whether a container of leaves or of static values, which ends there.
template <class T>
constexpr bool holds_no_trees() {
  using Content = typename ContentOf<T>::type;
  if constexpr (std::is_void_v<Content>)
    return false;
  else
    return tree_kind<Content> == TreeKind::Leaf || is_static_value<Content>;
}

/// Stands while the content of a container is walked that may hold others of its own type.
template <Floats floats, class T>
struct Nested : Nesting {
  explicit Nested(const T& tree)
      : Nesting(&tree, [](const void* t, TreeVisitor& visitor) {
          walk<floats>(*static_cast<const T*>(t), visitor);
        }) {}
};
struct NotNested {
  explicit NotNested(const auto&) {}
};
template <Floats floats, class T>
using NestedIn = std::conditional_t<holds_no_trees<T>(), NotNested, Nested<floats, T>>;

/// Calls `visit(child, step)` for each child of `tree`, in order. Leaves and static values have none.
template <Floats floats = Floats::Refused, class T, class Visit>
[[gnu::always_inline]] constexpr void children(T& tree, Visit&& visit) {
  using Bare = std::remove_const_t<T>;
  constexpr TreeKind kind = tree_kind<T>;
  if constexpr (kind == TreeKind::Fields) {
    if constexpr (!HasTreeTrait<Bare> && !FieldAccess::declared<Bare>) (void)sizeof(RefuseFixedMembers<Bare>);
    with_fields(
        tree, [&visit]<class... Field>(Field & ... field) __attribute__((always_inline)) {
          visit_fields<Bare, floats>(visit, std::make_index_sequence<sizeof...(Field)>{}, field...);
        });
  } else if constexpr (kind == TreeKind::Tuple) {
    visit_tuple<floats>(tree, visit, std::make_index_sequence<std::tuple_size<Bare>::value>{});
  } else if constexpr (kind == TreeKind::FixedArray) {
    for (std::size_t i = 0; i < std::tuple_size<Bare>::value; ++i) {
      visit_element<Bare, floats>(tree[i], visit, IndexStep{i});
    }
  } else if constexpr (kind == TreeKind::Sequence) {
    [[maybe_unused]] const NestedIn<floats, Bare> nested(tree);
    std::size_t i = 0;
    for (auto& element : tree) visit_element<Bare, floats>(element, visit, IndexStep{i++});
  } else if constexpr (kind == TreeKind::Optional) {
    [[maybe_unused]] const NestedIn<floats, Bare> nested(tree);
    if (tree.has_value()) visit_element<Bare, floats>(*tree, visit, NoStep{});
  } else if constexpr (kind == TreeKind::Variant) {
    [[maybe_unused]] const NestedIn<floats, Bare> nested(tree);
    visit_alternative<floats, 0>(tree, visit);
  } else if constexpr (kind == TreeKind::Map) {
    [[maybe_unused]] const NestedIn<floats, Bare> nested(tree);
    using Key = typename Bare::key_type;
    if constexpr (requires { typename Bare::hasher; }) {
      for (auto* entry : sorted_entries(tree)) {
        visit_element<Bare, floats>(entry->second, visit, KeyStep<Key>{&entry->first});
      }
    } else {
      for (auto& entry : tree) visit_element<Bare, floats>(entry.second, visit, KeyStep<Key>{&entry.first});
    }
  } else if constexpr (kind == TreeKind::Pointer) {
    [[maybe_unused]] const NestedIn<floats, Bare> nested(tree);
    visit_pointee<floats>(tree, visit);
  }
}

}  // namespace apsis::detail
