#pragma once

// Times as options take them.

#include <initializer_list>
#include <span>
#include <vector>

#include "apsis/core/array.hpp"
#include "apsis/tree/fields.hpp"

namespace apsis {

/// Times given to a solve: an Array, or numbers in braces, as in `.ts = {0., 0.5, 1.}`. Empty unless given.
class Times : public Array {
 public:
  Times() = default;
  Times(const Array& times) : Array(times) {}
  Times(std::initializer_list<double> times)
      : Array(array(std::span<const double>(times.begin(), times.size()),
                    Shape{static_cast<std::int64_t>(times.size())})) {}
  Times(const std::vector<double>& times) : Array(array(times)) {}
};

inline std::string to_string(const Times& times) { return to_string(static_cast<const Array&>(times)); }

/// A tree of the one array.
template <>
struct tree_trait<Times> {
  static constexpr const char* names = "times";
  static constexpr auto fields(auto& self, auto&& visit) {
    using Leaf =
        std::conditional_t<std::is_const_v<std::remove_reference_t<decltype(self)>>, const Array, Array>;
    return visit(static_cast<Leaf&>(self));
  }
};

}  // namespace apsis
