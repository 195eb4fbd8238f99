#include "apsis/array/sort.hpp"

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/shape.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis {
using namespace detail::arrays;

Array sort(const Array& x, const SortOptions& options, Loc loc) {
  const LocScope place(loc);
  const int axis = checked_axis("sort", options.axis, x);
  const Array ascending = sort(x, axis);
  return options.descending ? flip(ascending, axis) : ascending;
}

// Backwards twice, so that equal entries keep their order.
Array argsort(const Array& x, const SortOptions& options, Loc loc) {
  const LocScope place(loc);
  const int axis = checked_axis("argsort", options.axis, x);
  if (!options.descending) return argsort(x, axis);
  return x.dim(axis) - 1 - flip(argsort(flip(x, axis), axis), axis);
}

Array lexsort(std::span<const Array> keys, int axis, Loc loc) {
  const LocScope place(loc);
  if (keys.empty()) fail(messages::array_empty, {"lexsort"});
  const int along = checked_axis("lexsort", axis, keys[0]);
  return argsort(std::vector<Array>(keys.rbegin(), keys.rend()), along);
}
Array lexsort(std::initializer_list<Array> keys, int axis, Loc loc) {
  return lexsort(span_of(keys), axis, loc);
}

namespace {

void check_place(const char* where, std::int64_t kth, std::int64_t n) {
  if (kth < -n || kth >= n) fail(messages::array_entry, {where, std::to_string(kth), std::to_string(n)});
}

}  // namespace

Array partition(const Array& x, std::int64_t kth, int axis, Loc loc) {
  const LocScope place(loc);
  const int along = checked_axis("partition", axis, x);
  check_place("partition", kth, x.dim(along));
  return sort(x, along);
}

Array argpartition(const Array& x, std::int64_t kth, int axis, Loc loc) {
  const LocScope place(loc);
  const int along = checked_axis("argpartition", axis, x);
  check_place("argpartition", kth, x.dim(along));
  return argsort(x, along);
}

}  // namespace apsis
