#pragma once

#include <string>
#include <type_traits>

namespace apsis {

class Array;

/// Says which types are the dynamic leaves of trees. The specialisation for a leaf type derives from
/// `std::true_type` and provides three hooks:
///   static bool empty(const Leaf&);                  absent: nothing to trace, `combine` looks further
///   static bool equal(const Leaf&, const Leaf&);     same value, for `tree_equal`
///   static void print(std::string&, const Leaf&);    appends a short text such as `f32[64,2]`
/// A leaf must be default-constructible (= empty), copyable and assignable.
template <class T>
struct is_leaf : std::false_type {};

}  // namespace apsis
