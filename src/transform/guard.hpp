#pragma once

#include <optional>

#include "apsis/core/array.hpp"

namespace apsis::detail {

/// Where a cotangent counts. The branch of a select that was not chosen has a zero cotangent, and everything
/// that this is multiplied with on its way back stays zero by the rules of derivatives, but not by those of
/// floating point, where 0·∞ is NaN. So the zeros are put in late: the cotangent goes on as it is, with the
/// condition beside it, until it is added to another.
struct Guard {
  Array condition;  // boolean: a scalar, or of the cotangent's shape; empty: it counts everywhere
  bool when = true;
  bool zeroed = false;  // whether the cotangent is zero already where it does not count

  bool is_empty() const { return condition.is_empty(); }
  bool is_scalar() const { return condition.ndim() == 0; }
  bool has_condition_of(const Guard& o) const { return condition.node() == o.condition.node(); }
  friend bool operator==(const Guard& a, const Guard& b) {
    return a.has_condition_of(b) && (a.is_empty() || a.when == b.when);
  }
};

/// `value` where the guard holds; elsewhere `otherwise`, or zero.
Array guarded(const Array& value, const Guard& guard);
Array guarded(const Array& value, const Guard& guard, const Array& otherwise);
/// Where both hold; nothing if that is nowhere.
std::optional<Guard> both(const Guard& a, const Guard& b);
/// A condition whose value is there and the same for all elements; nothing if it is traced, or differs.
std::optional<bool> known_condition(const Array& condition);

}  // namespace apsis::detail
