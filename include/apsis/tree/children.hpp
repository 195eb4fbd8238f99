#pragma once

// The one primitive below all algorithms on trees: visiting the children of a node in declaration order.

#include <utility>

#include "apsis/tree/check.hpp"

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
    visit_element<std::remove_const_t<T>, floats>(*tree, visit, NoStep{});
  }
}

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
    std::size_t i = 0;
    for (auto& element : tree) visit_element<Bare, floats>(element, visit, IndexStep{i++});
  } else if constexpr (kind == TreeKind::Optional) {
    if (tree.has_value()) visit_element<Bare, floats>(*tree, visit, NoStep{});
  } else if constexpr (kind == TreeKind::Variant) {
    visit_alternative<floats, 0>(tree, visit);
  } else if constexpr (kind == TreeKind::Map) {
    using Key = typename Bare::key_type;
    if constexpr (requires { typename Bare::hasher; }) {
      for (auto* entry : sorted_entries(tree)) {
        visit_element<Bare, floats>(entry->second, visit, KeyStep<Key>{&entry->first});
      }
    } else {
      for (auto& entry : tree) visit_element<Bare, floats>(entry.second, visit, KeyStep<Key>{&entry.first});
    }
  } else if constexpr (kind == TreeKind::Pointer) {
    visit_pointee<floats>(tree, visit);
  }
}

}  // namespace apsis::detail
