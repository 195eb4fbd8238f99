#pragma once

#include <optional>

#include "ir/graph.hpp"

namespace apsis::detail {

/// Where a cotangent counts. The branch of a select that was not chosen has a zero cotangent, and everything
/// that this is multiplied with on its way back stays zero by the rules of derivatives, but not by those of
/// floating point, where 0·∞ is NaN. So the zeros are put in late: the cotangent goes on as it is, with the
/// condition beside it, until it is added to another.
struct Guard {
  Array condition;  // boolean; empty: it counts everywhere
  Dims axes;        // of the cotangent, those that the condition has: none, that of lanes, all
  bool when = true;
  bool zeroed = false;  // whether the cotangent is zero already where it does not count

  bool is_empty() const { return condition.is_empty(); }
  bool is_scalar() const { return condition.ndim() == 0; }
  bool has_condition_of(const Guard& o) const;
  friend bool operator==(const Guard& a, const Guard& b) {
    return a.has_condition_of(b) && (a.is_empty() || a.when == b.when);
  }
};

Guard guard_of(const AxesCondition& condition);
/// A condition for the first axes of an array.
Guard guard_of(const Array& condition);
inline bool leads(const Dims& axes) { return axes == Dims::counting(axes.size()); }
/// The boolean that says where a guard holds, which is not empty: for its axes, for all those of an array, or
/// for the first axes of an array.
Array holds(const Guard& guard);
Array holds_in(const Guard& guard, const Shape& shape);
Array leading(const Guard& guard, const Shape& shape);

/// `value` where the guard holds; elsewhere `otherwise`, or zero.
Array guarded(const Array& value, const Guard& guard);
Array guarded(const Array& value, const Guard& guard, const Array& otherwise);
/// Where one of them holds, or both.
Guard either(const Guard& a, const Guard& b);
/// Where both hold; nothing if that is nowhere.
std::optional<Guard> both(const Guard& a, const Guard& b);
/// A condition whose value is there and the same for all elements; nothing if it is traced, or differs.
std::optional<bool> known_condition(const Array& condition);

/// A value and, if it is another one repeated along further axes, that one, with the axes it has in the
/// value.
struct Repeated {
  ValueId source;
  Dims axes;
};
Repeated without_repetition(const Graph& graph, ValueId value);

/// The guard for operand `k` of an equation with one result, or for its cotangent, from that of the result's
/// cotangent: entries along the axes of the guard have to do with the same entries of the operand, and no
/// others. Nothing where that is not so.
std::optional<Guard> guard_for_operand(const Graph& graph, const Eqn& e, std::size_t k, const Guard& guard);

}  // namespace apsis::detail
