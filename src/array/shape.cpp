#include "apsis/array/shape.hpp"

#include <algorithm>

#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis {
using namespace detail::arrays;

Array rollaxis(const Array& x, int axis, int start, Loc loc) {
  const LocScope place(loc);
  const int from = checked_axis("rollaxis", axis, x),
            before = checked_new_axis("rollaxis", start < 0 ? start - 1 : start, x);
  return moveaxis(x, from, before > from ? before - 1 : before);
}

Array matrix_transpose(const Array& x, Loc loc) {
  const LocScope place(loc);
  check_rank("matrix_transpose", x.ndim() >= 2, "two axes or more", x);
  return swapaxes(x, -1, -2);
}

Shape broadcast_shapes(std::initializer_list<Shape> shapes, Loc loc) {
  const LocScope place(loc);
  return common_shape("broadcast_shapes", std::span<const Shape>(shapes.begin(), shapes.size()));
}

std::vector<Array> broadcast_arrays(std::span<const Array> arrays, Loc loc) {
  const LocScope place(loc);
  std::vector<Shape> shapes;
  for (const Array& a : arrays) shapes.push_back(a.shape());
  const Shape common = common_shape("broadcast_arrays", shapes);
  std::vector<Array> out;
  for (const Array& a : arrays) out.push_back(broadcast_to(a, common));
  return out;
}
std::vector<Array> broadcast_arrays(std::initializer_list<Array> arrays, Loc loc) {
  return broadcast_arrays(span_of(arrays), loc);
}

Array atleast_1d(const Array& x, Loc loc) {
  const LocScope place(loc);
  return x.ndim() == 0 ? expand_dims(x, 0) : x;
}
Array atleast_2d(const Array& x, Loc loc) {
  const LocScope place(loc);
  return x.ndim() < 2 ? expand_dims(atleast_1d(x), 0) : x;
}
Array atleast_3d(const Array& x, Loc loc) {
  const LocScope place(loc);
  return x.ndim() < 3 ? expand_dims(atleast_2d(x), 2) : x;
}

namespace {

/// All parts with at least so many axes, joined.
Array join(const char* where, std::span<const Array> parts, Array (*extend)(const Array&, Loc), int axis) {
  if (parts.empty()) fail(messages::array_empty, {where});
  std::vector<Array> extended;
  for (const Array& part : parts) extended.push_back(extend(part, {}));
  return concatenate(extended, extended[0].ndim() == 1 ? 0 : axis);
}

Array as_column(const Array& x, Loc) { return x.ndim() < 2 ? expand_dims(atleast_1d(x), 1) : x; }

}  // namespace

Array hstack(std::span<const Array> parts, Loc loc) {
  const LocScope place(loc);
  return join("hstack", parts, atleast_1d, 1);
}
Array vstack(std::span<const Array> parts, Loc loc) {
  const LocScope place(loc);
  return join("vstack", parts, atleast_2d, 0);
}
Array dstack(std::span<const Array> parts, Loc loc) {
  const LocScope place(loc);
  return join("dstack", parts, atleast_3d, 2);
}
Array column_stack(std::span<const Array> parts, Loc loc) {
  const LocScope place(loc);
  return join("column_stack", parts, as_column, 1);
}
Array hstack(std::initializer_list<Array> parts, Loc loc) { return hstack(span_of(parts), loc); }
Array vstack(std::initializer_list<Array> parts, Loc loc) { return vstack(span_of(parts), loc); }
Array dstack(std::initializer_list<Array> parts, Loc loc) { return dstack(span_of(parts), loc); }
Array column_stack(std::initializer_list<Array> parts, Loc loc) { return column_stack(span_of(parts), loc); }

Array block(std::initializer_list<std::initializer_list<Array>> rows, Loc loc) {
  const LocScope place(loc);
  int rank = 2;
  for (const auto& row : rows)
    for (const Array& a : row) rank = std::max(rank, a.ndim());
  std::vector<Array> joined;
  for (const auto& row : rows) {
    std::vector<Array> parts;
    for (const Array& a : row) {
      Shape longer = a.shape();
      while (longer.rank() < rank) longer.insert(0, 1);
      parts.push_back(reshape(a, longer));
    }
    if (parts.empty()) fail(messages::array_empty, {"block"});
    joined.push_back(concatenate(parts, -1));
  }
  if (joined.empty()) fail(messages::array_empty, {"block"});
  return concatenate(joined, -2);
}

Array append(const Array& x, const Array& values, Loc loc) {
  const LocScope place(loc);
  return concatenate({ravel(x), ravel(values)});
}
Array append(const Array& x, const Array& values, int axis, Loc loc) {
  const LocScope place(loc);
  return concatenate({x, values}, axis);
}

namespace {

/// A place counted from the front. Throws if it is not below `limit`.
std::int64_t checked_entry(const char* where, std::int64_t at, std::int64_t entries, std::int64_t limit) {
  const std::int64_t from_front = at < 0 ? at + entries : at;
  if (from_front < 0 || from_front >= limit)
    fail(messages::array_entry, {where, std::to_string(at), std::to_string(entries)});
  return from_front;
}

}  // namespace

Array insert(const Array& x, const Dims& places, const Array& values, int axis, Loc loc) {
  const LocScope place(loc);
  const int along = checked_axis("insert", axis, x);
  const std::int64_t n = x.dim(along);
  // Of each new entry, in the order of the result: where it goes, and its number among the values.
  std::vector<std::pair<std::int64_t, std::int64_t>> entries;
  for (std::int64_t at : places)
    entries.emplace_back(checked_entry("insert", at, n, n + 1), static_cast<std::int64_t>(entries.size()));
  std::ranges::stable_sort(entries, {}, &std::pair<std::int64_t, std::int64_t>::first);
  const Shape added = with_size_at(x.shape(), along, static_cast<std::int64_t>(entries.size()));
  std::vector<std::int64_t> from;
  std::size_t next = 0;
  for (std::int64_t i = 0; i <= n; ++i) {
    for (; next < entries.size() && entries[next].first == i; ++next)
      from.push_back(n + entries[next].second);
    if (i < n) from.push_back(i);
  }
  const Array both = concatenate({x, broadcast_to(astype(values, x.dtype()), added)}, along);
  return from.empty() ? both : take(both, numbers(from), along);
}

Array delete_(const Array& x, const Dims& places, int axis, Loc loc) {
  const LocScope place(loc);
  const int along = checked_axis("delete_", axis, x);
  const std::int64_t n = x.dim(along);
  std::vector<bool> kept(static_cast<std::size_t>(n), true);
  for (std::int64_t at : places) kept[static_cast<std::size_t>(checked_entry("delete_", at, n, n))] = false;
  std::vector<std::int64_t> from;
  for (std::int64_t i = 0; i < n; ++i)
    if (kept[static_cast<std::size_t>(i)]) from.push_back(i);
  return from.empty() ? part(x, along, 0, 0) : take(x, numbers(from), along);
}

Array insert(const Array& x, const Dims& places, const Array& values, Loc loc) {
  return insert(ravel(x, loc), places, values, 0, loc);
}
Array delete_(const Array& x, const Dims& places, Loc loc) { return delete_(ravel(x, loc), places, 0, loc); }

std::vector<Array> array_split(const Array& x, std::int64_t parts, int axis, Loc loc) {
  const LocScope place(loc);
  const int along = checked_axis("array_split", axis, x);
  if (parts <= 0) fail(messages::array_count, {"array_split", std::to_string(parts)});
  const std::int64_t size = x.dim(along) / parts, longer = x.dim(along) % parts;
  std::vector<Array> out;
  std::int64_t start = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t stop = start + size + (i < longer);
    out.push_back(part(x, along, start, stop));
    start = stop;
  }
  return out;
}

std::vector<Array> hsplit(const Array& x, std::int64_t parts, Loc loc) {
  return split(x, parts, x.ndim(loc) == 1 ? 0 : 1, loc);
}
std::vector<Array> vsplit(const Array& x, std::int64_t parts, Loc loc) { return split(x, parts, 0, loc); }
std::vector<Array> dsplit(const Array& x, std::int64_t parts, Loc loc) { return split(x, parts, 2, loc); }

Array fliplr(const Array& x, Loc loc) { return flip(x, 1, loc); }
Array flipud(const Array& x, Loc loc) { return flip(x, 0, loc); }

Array rot90(const Array& x, int quarters, int first, int second, Loc loc) {
  const LocScope place(loc);
  const int from = checked_axis("rot90", first, x), to = checked_axis("rot90", second, x);
  switch (((quarters % 4) + 4) % 4) {
    case 1:
      return swapaxes(flip(x, to), from, to);
    case 2:
      return flip(x, {from, to});
    case 3:
      return flip(swapaxes(x, from, to), to);
    default:
      return x;
  }
}

Array roll(const Array& x, const Dims& shifts, const Axes& axes, Loc loc) {
  const LocScope place(loc);
  if (axes.list.size() != shifts.size())
    fail(messages::array_sizes,
         {"roll", "shifts " + to_string(shifts), "axes " + to_string(axes.list), "give one shift an axis"});
  Array rolled = x;
  for (std::size_t i = 0; i < shifts.size(); ++i)
    rolled = roll(rolled, shifts[i], checked_axis("roll", axes.list[i], x));
  return rolled;
}

Array repeat(const Array& x, const Dims& counts, int axis, Loc loc) {
  const LocScope place(loc);
  const int along = checked_axis("repeat", axis, x);
  if (static_cast<std::int64_t>(counts.size()) != x.dim(along))
    fail(messages::array_sizes, {"repeat", "counts " + to_string(counts), to_string(x.aval()),
                                 "give one count an entry of the axis"});
  std::vector<std::int64_t> from;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    check_count("repeat", counts[i]);
    from.insert(from.end(), static_cast<std::size_t>(counts[i]), static_cast<std::int64_t>(i));
  }
  return from.empty() ? part(x, along, 0, 0) : take(x, numbers(from), along);
}

Array resize(const Array& x, const Shape& shape, Loc loc) {
  const LocScope place(loc);
  for (std::int64_t size : shape) check_count("resize", size);
  const std::int64_t n = shape.product();
  if (x.size() == 0 || n == 0) return zeros(shape, x.dtype());
  const std::int64_t copies = (n + x.size() - 1) / x.size();
  return reshape(part(tile(ravel(x), {copies}), 0, 0, n), shape);
}

}  // namespace apsis
