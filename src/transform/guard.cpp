#include "transform/guard.hpp"

#include <algorithm>

#include "ops/lax.hpp"

namespace apsis::detail {
namespace {

Array of_shape(const Array& condition, const Shape& shape) {
  return condition.shape() == shape ? condition : lax::broadcast_in_dim(condition, shape, {});
}

}  // namespace

Array guarded(const Array& value, const Guard& guard) {
  return guard.is_empty() || guard.zeroed ? value : guarded(value, guard, lax::full_like(value.aval(), 0));
}

Array guarded(const Array& value, const Guard& guard, const Array& otherwise) {
  const Array condition = of_shape(guard.condition, value.shape());
  return guard.when ? lax::select(condition, value, otherwise) : lax::select(condition, otherwise, value);
}

std::optional<Guard> both(const Guard& a, const Guard& b) {
  if (a.is_empty() || a == b) return b;
  if (b.is_empty()) return a;
  if (a.has_condition_of(b)) return std::nullopt;
  const Shape& shape = a.is_scalar() ? b.condition.shape() : a.condition.shape();
  const auto holds = [&](const Guard& g) {
    return of_shape(g.when ? g.condition : lax::logical_not(g.condition), shape);
  };
  return Guard{lax::logical_and(holds(a), holds(b))};
}

std::optional<bool> known_condition(const Array& condition) {
  if (!is_concrete(condition) || condition.size() == 0) return std::nullopt;
  const auto values = condition.span<bool>();
  const bool first = values[0];
  if (!std::ranges::all_of(values, [&](bool v) { return v == first; })) return std::nullopt;
  return first;
}

}  // namespace apsis::detail
