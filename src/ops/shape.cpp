#include "apsis/ops/shape.hpp"

#include <algorithm>

#include "apsis/ops/pad.hpp"
#include "core/sizes.hpp"
#include "ops/arguments.hpp"
#include "ops/index_rules.hpp"
#include "ops/messages.hpp"

namespace apsis {
namespace lax = detail::lax;

Array reshape(const Array& x, const Shape& shape, Loc loc) {
  const LocScope place(loc);
  Shape wanted = shape;
  auto unknown = std::ranges::find(wanted, -1);
  if (unknown != wanted.end()) {
    *unknown = 1;
    std::int64_t known = wanted.product();
    *unknown = known > 0 && x.size() % known == 0 ? x.size() / known : -1;
  }
  bool negative = std::ranges::any_of(wanted, [](std::int64_t size) { return size < 0; });
  if (negative || wanted.product() != x.size())
    fail(messages::reshape_size, {to_string(x.shape()), std::to_string(x.size()), to_string(shape)}, loc);
  return lax::reshape(x, wanted);
}

Array ravel(const Array& x, Loc) { return lax::reshape(x, {x.size()}); }

Array transpose(const Array& x, const Axes& permutation, Loc loc) {
  if (permutation.all) {
    Dims reversed = Dims::counting(x.shape().size());
    std::ranges::reverse(reversed);
    return lax::transpose(x, reversed);
  }
  if (permutation.list.size() != x.shape().size())
    fail(messages::permutation_rank, {to_string(permutation.list), to_string(x.shape())}, loc);
  return lax::transpose(x, detail::checked_axes("transpose", permutation.list, x.shape(), loc));
}

Array moveaxis(const Array& x, int source, int destination, Loc loc) {
  return lax::move_axis(x, detail::checked_axis("moveaxis", source, x.shape(), loc),
                        detail::checked_axis("moveaxis", destination, x.shape(), loc));
}

Array swapaxes(const Array& x, int first, int second, Loc loc) {
  Dims permutation = Dims::counting(x.shape().size());
  std::swap(permutation[static_cast<std::size_t>(detail::checked_axis("swapaxes", first, x.shape(), loc))],
            permutation[static_cast<std::size_t>(detail::checked_axis("swapaxes", second, x.shape(), loc))]);
  return lax::transpose(x, permutation);
}

Array squeeze(const Array& x, const Axes& axes, Loc loc) {
  Dims dropped = detail::checked_axes("squeeze", axes.list, x.shape(), loc);
  Shape shape;
  for (std::int64_t i = 0; i < x.ndim(); ++i) {
    std::int64_t size = x.shape()[static_cast<std::size_t>(i)];
    bool drop = axes.all ? size == 1 : dropped.contains(i);
    if (drop && size != 1)
      fail(messages::squeeze_size, {std::to_string(i), to_string(x.shape()), std::to_string(size)}, loc);
    if (!drop) shape.push_back(size);
  }
  return lax::reshape(x, shape);
}

Array expand_dims(const Array& x, int axis, Loc loc) {
  Shape longer = x.shape();
  longer.push_back(1);
  return lax::expand_axis(x, detail::checked_axis("expand_dims", axis, longer, loc));
}

Array broadcast_to(const Array& x, const Shape& shape, Loc loc) {
  bool fits = shape.size() >= x.shape().size();
  for (std::size_t i = 0; fits && i < x.shape().size(); ++i) {
    std::int64_t size = x.shape()[i];
    fits = size == 1 || size == shape[shape.size() - x.shape().size() + i];
  }
  fits = fits && std::ranges::none_of(shape, [](std::int64_t size) { return size < 0; });
  if (!fits) fail(messages::broadcast_to, {to_string(x.shape()), to_string(shape)}, loc);
  const LocScope place(loc);
  return detail::broadcast_last(x, shape);
}

Array concatenate(std::initializer_list<Array> parts, int axis, Loc loc) {
  return concatenate(std::span<const Array>(parts.begin(), parts.size()), axis, loc);
}

Array concatenate(std::span<const Array> parts, int axis, Loc loc) {
  if (parts.empty()) fail(messages::nothing_to_join, {"concatenate"}, loc);
  int along = detail::checked_axis("concatenate", axis, parts[0].shape(), loc);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    Shape expected = parts[0].shape();
    if (parts[i].ndim() == parts[0].ndim())
      expected[static_cast<std::size_t>(along)] = parts[i].shape()[static_cast<std::size_t>(along)];
    if (parts[i].shape() != expected)
      fail(messages::join_shapes,
           {"concatenate", std::to_string(i), to_string(parts[i].shape()), to_string(parts[0].shape()),
            "must agree in all axes but axis " + std::to_string(along)},
           loc);
  }
  return lax::concatenate(detail::promoted(parts), along);
}

Array stack(std::initializer_list<Array> parts, int axis, Loc loc) {
  return stack(std::span<const Array>(parts.begin(), parts.size()), axis, loc);
}

Array stack(std::span<const Array> parts, int axis, Loc loc) {
  if (parts.empty()) fail(messages::nothing_to_join, {"stack"}, loc);
  Shape longer = parts[0].shape();
  longer.push_back(1);
  int along = detail::checked_axis("stack", axis, longer, loc);
  std::vector<Array> expanded;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].shape() != parts[0].shape())
      fail(messages::join_shapes,
           {"stack", std::to_string(i), to_string(parts[i].shape()), to_string(parts[0].shape()),
            "must agree; broadcast them first"},
           loc);
    expanded.push_back(lax::expand_axis(parts[i], along));
  }
  return lax::concatenate(detail::promoted(expanded), along);
}

namespace {

// The entries [start, limit) of one axis.
Array window(const Array& x, int axis, std::int64_t start, std::int64_t limit) {
  Dims starts = Dims::filled(x.shape().size(), 0), limits = x.shape();
  starts[static_cast<std::size_t>(axis)] = start;
  limits[static_cast<std::size_t>(axis)] = limit;
  return lax::slice(x, starts, limits);
}

}  // namespace

std::vector<Array> unstack(const Array& x, int axis, Loc loc) {
  int along = detail::checked_axis("unstack", axis, x.shape(), loc);
  std::vector<Array> out;
  for (std::int64_t i = 0; i < x.dim(along); ++i)
    out.push_back(lax::squeeze_axis(window(x, along, i, i + 1), along));
  return out;
}

void detail::unstack_into(const Array& x, int axis, std::span<Array> out, Loc loc) {
  int along = checked_axis("unstack", axis, x.shape(), loc);
  if (x.dim(along) != static_cast<std::int64_t>(out.size()))
    fail(messages::unstack_size, {std::to_string(out.size()), to_string(x.shape()), std::to_string(along)},
         loc);
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto at = static_cast<std::int64_t>(i);
    out[i] = lax::squeeze_axis(window(x, along, at, at + 1), along);
  }
}

std::vector<Array> split(const Array& x, std::int64_t parts, int axis, Loc loc) {
  int along = detail::checked_axis("split", axis, x.shape(), loc);
  std::int64_t size = x.dim(along);
  if (parts <= 0 || size % parts != 0)
    fail(messages::split_size, {std::to_string(along), to_string(x.shape()), std::to_string(parts)}, loc);
  std::vector<Array> out;
  for (std::int64_t i = 0; i < parts; ++i)
    out.push_back(window(x, along, i * (size / parts), (i + 1) * (size / parts)));
  return out;
}

std::vector<Array> split_at(const Array& x, const Dims& places, int axis, Loc loc) {
  int along = detail::checked_axis("split_at", axis, x.shape(), loc);
  Dims ends = places;
  ends.push_back(x.dim(along));
  std::vector<Array> out;
  std::int64_t start = 0;
  for (std::int64_t end : ends) {
    if (end < start || end > x.dim(along))
      fail(messages::split_places, {to_string(places), std::to_string(along), to_string(x.shape())}, loc);
    out.push_back(window(x, along, start, end));
    start = end;
  }
  return out;
}

Array tile(const Array& x, const Dims& repeats, Loc loc) {
  const LocScope place(loc);
  if (std::ranges::any_of(repeats, [](std::int64_t n) { return n < 0; }))
    fail(messages::negative_count, {"tile", to_string(repeats)}, loc);
  Shape shape = x.shape();
  Dims counts = repeats;
  while (shape.size() < counts.size()) shape.insert(0, 1);
  while (counts.size() < shape.size()) counts.insert(0, 1);
  // Each axis becomes a pair: which copy, which entry.
  Shape paired, joined;
  Dims entry_axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    paired.push_back(counts[i]);
    entry_axes.push_back(static_cast<std::int64_t>(paired.size()));
    paired.push_back(shape[i]);
    joined.push_back(detail::size_product(counts[i], shape[i]));
  }
  return lax::reshape(lax::broadcast_in_dim(lax::reshape(x, shape), paired, entry_axes), joined);
}

Array repeat(const Array& x, std::int64_t count, int axis, Loc loc) {
  const LocScope place(loc);
  int along = detail::checked_axis("repeat", axis, x.shape(), loc);
  if (count < 0) fail(messages::negative_count, {"repeat", std::to_string(count)}, loc);
  auto at = static_cast<std::size_t>(along);
  Shape shape = x.shape();
  shape.insert(at + 1, count);
  Dims axes = Dims::counting(x.shape().size());
  for (std::int64_t& a : axes) a += a > along;
  Array spread = lax::broadcast_in_dim(x, shape, axes);
  Shape joined = x.shape();
  joined[at] = detail::size_product(joined[at], count);
  return lax::reshape(spread, joined);
}

Array roll(const Array& x, std::int64_t shift, int axis, Loc loc) {
  int along = detail::checked_axis("roll", axis, x.shape(), loc);
  std::int64_t size = x.dim(along);
  if (size == 0) return x;
  const std::int64_t behind = shift % size, first = behind > 0 ? size - behind : -behind;
  if (first == 0) return x;
  Array parts[] = {window(x, along, first, size), window(x, along, 0, first)};
  return lax::concatenate(parts, along);
}

Array repeat(const Array& x, std::int64_t count, Loc loc) { return repeat(ravel(x, loc), count, 0, loc); }

Array roll(const Array& x, std::int64_t shift, Loc loc) {
  return reshape(roll(ravel(x, loc), shift, 0, loc), x.shape(), loc);
}

Array flip(const Array& x, const Axes& axes, Loc loc) {
  return lax::reverse(x, axes.all ? Dims::counting(x.shape().size())
                                  : detail::checked_axes("flip", axes.list, x.shape(), loc));
}

Array diff(const Array& x, int axis, Loc loc) {
  int along = detail::checked_axis("diff", axis, x.shape(), loc);
  std::int64_t size = x.dim(along);
  if (size == 0) return x;
  Array later = window(x, along, 1, size), earlier = window(x, along, 0, size - 1);
  return x.dtype() == boolean ? lax::ne(later, earlier) : lax::sub(later, earlier);
}

Array pad(const Array& x, const Dims& low, const Dims& high, const Dims& interior, const Array& value,
          Loc loc) {
  const LocScope place(loc);
  const Shape& shape = x.shape();
  if (interior.size() != shape.size() || std::ranges::any_of(interior, [](auto n) { return n < 0; }))
    fail(messages::pad_interior, {to_string(interior), to_string(shape)}, loc);
  constexpr std::int64_t most = std::int64_t(1) << 60;
  bool fits = low.size() == shape.size() && high.size() == shape.size() && value.ndim() == 0;
  Shape made;
  for (std::size_t i = 0; fits && i < shape.size(); ++i) {
    const std::int64_t gaps = detail::size_product(std::max<std::int64_t>(shape[i] - 1, 0), interior[i]),
                       spread = detail::size_sum(shape[i], gaps),
                       longest = std::max({spread, low[i], high[i]});
    fits = std::min(low[i], high[i]) >= -most && (longest > most || spread + low[i] + high[i] >= 0);
    made.push_back(fits && longest <= most ? spread + low[i] + high[i] : longest);
  }
  if (!fits)
    fail(messages::pad_numbers, {to_string(low), to_string(high), to_string(shape), to_string(value.shape())},
         loc);
  detail::checked_count(x.dtype(), made);  // throws
  const Array filling = value.dtype() == x.dtype() ? value : lax::convert(value, x.dtype(), x.weak());
  return lax::pad(x, filling, low, high, interior);
}
Array pad(const Array& x, const Dims& low, const Dims& high, const Array& value, Loc loc) {
  return pad(x, low, high, Dims::filled(x.shape().size(), 0), value, loc);
}

namespace {

// [n, m]: column - row compared with k.
Array band(const Array& x, const char* where, int k, bool lower, Loc loc) {
  if (x.ndim() < 2) fail(messages::needs_rank, {where, "2", to_string(x.shape())}, loc);
  Shape matrix{x.dim(-2), x.dim(-1)};
  Array distance = lax::sub(lax::iota(i64, matrix, 1), lax::iota(i64, matrix, 0));
  Array bound = lax::full(matrix, i64, k);
  Array keep = lower ? lax::le(distance, bound) : lax::ge(distance, bound);
  return lax::select(detail::broadcast_last(keep, x.shape()), x, lax::full_like(x.aval(), 0));
}

}  // namespace

Array tril(const Array& x, int k, Loc loc) { return band(x, "tril", k, true, loc); }
Array triu(const Array& x, int k, Loc loc) { return band(x, "triu", k, false, loc); }

// Element i of the diagonal is number i·(m + 1) of the matrix: a strided slice, or padding between the
// elements.
Array diag(const Array& x, Loc loc) {
  if (x.ndim() == 1) {
    std::int64_t n = x.size();
    if (n == 0) return lax::reshape(x, {0, 0});
    return lax::reshape(lax::pad(x, detail::literal(x.dtype(), 0), {0}, {0}, {n}), {n, n});
  }
  if (x.ndim() != 2) fail(messages::needs_rank, {"diag", "1 or 2", to_string(x.shape())}, loc);
  std::int64_t n = std::min(x.dim(0), x.dim(1)), m = x.dim(1);
  if (n == 0) return lax::reshape(lax::slice(x, {0, 0}, {0, 0}), {0});
  return lax::slice(lax::reshape(x, {x.size()}), {0}, {(n - 1) * (m + 1) + 1}, {m + 1});
}

}  // namespace apsis
