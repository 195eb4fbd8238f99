// Indexing is done in layers: a static window (integers and ranges), then run-time positions inside it, then
// a reshape for new and dropped axes. An update goes the same way down, combines, and puts each layer back.

#include "apsis/ops/index.hpp"

#include <algorithm>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/shape.hpp"
#include "ops/arguments.hpp"
#include "ops/elementwise.hpp"
#include "ops/index_rules.hpp"
#include "ops/messages.hpp"
#include "ops/table.hpp"

namespace apsis {
namespace lax = detail::lax;
namespace {

using detail::GatherParams;
using detail::ScatterKind;

struct Plan {
  Dims start, limit, stride, reversed;  // the window; axes walked backwards
  std::vector<Array> positions;         // index arrays in i64, not negative, broadcast to one shape
  Dims position_axes;                   // the axes of x that they index
  bool all_scalars = true;
  bool unique = false;  // promised: no element is named twice
  detail::OutOfBounds mode = detail::OutOfBounds::Clip;
  GatherParams gather;  // of the positions, within the window without its integer axes
  Shape core;           // the window without its integer axes
  Shape taken;          // after the positions, before new axes
  Shape result;
};

std::string axis_text(std::int64_t axis) { return std::to_string(axis); }

std::int64_t integer_position(std::int64_t i, std::int64_t axis, const Shape& shape, Loc loc) {
  std::int64_t size = shape[static_cast<std::size_t>(axis)];
  if (i < -size || i >= size)
    fail(messages::index_bounds, {std::to_string(i), axis_text(axis), to_string(shape), std::to_string(size)},
         loc);
  return i < 0 ? i + size : i;
}

// Python's slice.indices, then turned round if the step is negative.
void take_range(Plan& plan, const Range& r, std::int64_t axis, const Shape& shape, Loc loc) {
  if (r.step == 0) fail(messages::range_step, {axis_text(axis), to_string(shape)}, loc);
  std::int64_t size = shape[static_cast<std::size_t>(axis)];
  bool backwards = r.step < 0;
  std::int64_t lowest = backwards ? -1 : 0, highest = backwards ? size - 1 : size;
  auto end = [&](const Bound& b, std::int64_t open) {
    if (b.open) return open;
    return std::clamp(b.value < 0 ? b.value + size : b.value, lowest, highest);
  };
  std::int64_t first = end(r.start, backwards ? highest : lowest),
               last = end(r.stop, backwards ? lowest : highest);
  const std::int64_t distance = backwards ? first - last : last - first;
  // A step past the end is one to the end: all later arithmetic on steps stays small.
  const std::int64_t longest = std::max<std::int64_t>(distance, 1);
  const std::int64_t step = backwards ? -std::max(r.step, -longest) : std::min(r.step, longest);
  std::int64_t count = distance > 0 ? (distance + step - 1) / step : 0;
  std::int64_t low = count == 0 ? 0 : backwards ? first - (count - 1) * step : first;
  plan.start.push_back(low);
  plan.limit.push_back(count == 0 ? 0 : low + (count - 1) * step + 1);
  plan.stride.push_back(step);
  if (backwards) plan.reversed.push_back(axis);
}

// A concrete boolean array as the index arrays of its true elements.
std::vector<Index> expand_mask(const Index& index) {
  Array mask = concrete_value(index.array);
  if (mask.is_empty()) fail(messages::traced_mask, {to_string(index.array.aval())}, index.loc);
  auto* set = static_cast<const bool*>(data_of(mask));
  std::vector<std::vector<std::int64_t>> columns(mask.shape().size());
  for (std::int64_t i = 0; i < mask.size(); ++i) {
    if (!set[i]) continue;
    std::int64_t rest = i;
    for (std::size_t axis = columns.size(); axis-- > 0; rest /= mask.shape()[axis])
      columns[axis].push_back(rest % mask.shape()[axis]);
  }
  std::vector<Index> out;
  for (const auto& column : columns) out.emplace_back(array(column), index.loc);
  return out;
}

std::vector<Index> without_masks(const Array& x, std::span<const Index> indices) {
  const auto is_mask = [](const Index& i) {
    return i.kind == Index::Kind::Array && i.array.dtype() == boolean;
  };
  const auto axes_of = [&](const Index& i) -> std::int64_t {
    if (i.kind == Index::Kind::NewAxis || i.kind == Index::Kind::Ellipsis) return 0;
    return is_mask(i) ? i.array.ndim() : 1;
  };
  std::vector<Index> out;
  std::int64_t axis = 0, used = 0;
  for (const Index& index : indices) used += axes_of(index);
  for (const Index& index : indices) {
    if (!is_mask(index)) {
      out.push_back(index);
      axis +=
          index.kind == Index::Kind::Ellipsis ? std::max<std::int64_t>(x.ndim() - used, 0) : axes_of(index);
      continue;
    }
    const Shape& mask = index.array.shape();
    bool fits = mask.rank() > 0 && axis + mask.rank() <= x.ndim();
    for (std::int64_t i = 0; fits && i < mask.rank(); ++i)
      fits = mask[static_cast<std::size_t>(i)] == x.shape()[static_cast<std::size_t>(axis + i)];
    if (!fits)
      fail(messages::mask_shape, {to_string(mask), to_string(x.shape()), axis_text(axis)}, index.loc);
    for (Index& column : expand_mask(index)) out.push_back(column);
    axis += mask.rank();
  }
  return out;
}

// Replaces the ellipsis by whole axes, and adds those missing at the end.
std::vector<Index> completed(const Array& x, std::vector<Index> indices, Loc loc) {
  std::int64_t used = 0, ellipses = 0;
  for (const Index& index : indices) {
    used += index.kind != Index::Kind::Ellipsis && index.kind != Index::Kind::NewAxis;
    ellipses += index.kind == Index::Kind::Ellipsis;
  }
  if (ellipses > 1) fail(messages::two_ellipses, {}, loc);
  if (used > x.ndim()) fail(messages::too_many_indices, {std::to_string(used), to_string(x.shape())}, loc);
  std::vector<Index> whole(static_cast<std::size_t>(x.ndim() - used), Index(range(), loc));
  auto place = std::ranges::find_if(indices, [](const Index& i) { return i.kind == Index::Kind::Ellipsis; });
  if (place != indices.end()) place = indices.erase(place);
  indices.insert(place, whole.begin(), whole.end());
  return indices;
}

// The shape that the index arrays take, and where it stands among the other axes.
void plan_positions(Plan& plan, const Dims& core_axes, std::size_t block_at, const char* where, Loc loc) {
  std::vector<Shape> shapes;
  for (const Array& p : plan.positions) shapes.push_back(p.shape());
  Shape rows = detail::broadcast_shapes(where, shapes, loc);
  plan.all_scalars = rows.empty();
  plan.gather.slice_sizes = plan.core;
  Dims kept;
  for (std::size_t i = 0; i < plan.positions.size(); ++i) {
    plan.positions[i] = detail::broadcast_last(plan.positions[i], rows);
    for (std::size_t axis = 0; axis < core_axes.size(); ++axis)
      if (core_axes[axis] == plan.position_axes[i]) {
        plan.gather.start_index_map.push_back(static_cast<std::int64_t>(axis));
        plan.gather.slice_sizes[axis] = 1;
      }
  }
  plan.gather.collapsed_slice_dims = plan.gather.start_index_map;
  for (std::size_t axis = 0; axis < plan.core.size(); ++axis)
    if (!plan.gather.collapsed_slice_dims.contains(static_cast<std::int64_t>(axis)))
      kept.push_back(plan.core[axis]);
  plan.taken = kept;
  for (std::size_t i = 0; i < rows.size(); ++i) plan.taken.insert(block_at + i, rows[i]);
  for (std::size_t i = 0; i < plan.taken.size(); ++i)
    if (i < block_at || i >= block_at + rows.size())
      plan.gather.offset_dims.push_back(static_cast<std::int64_t>(i));
}

/// Where an index points. Nothing is taken from an axis without entries; an update has nothing to write
/// there.
Plan make_plan(const Array& x, std::span<const Index> given, bool takes, Loc loc) {
  std::vector<Index> indices = completed(x, without_masks(x, given), loc);
  bool any_array = std::ranges::any_of(indices, [](const Index& i) { return i.kind == Index::Kind::Array; });
  auto advanced = [&](const Index& i) {
    return i.kind == Index::Kind::Array || (any_array && i.kind == Index::Kind::Integer);
  };

  Plan plan;
  const Shape& shape = x.shape();
  Dims core_axes;
  // NumPy's rule: the positions' axes stand where the advanced indices stand, or in front if these are not
  // neighbours.
  std::size_t block_at = 0, kept = 0;
  bool seen = false, closed = false, in_front = false;
  std::int64_t axis = 0;
  for (const Index& index : indices) {
    if (advanced(index)) {
      if (!seen) block_at = kept;
      in_front = in_front || closed;
      seen = true;
    } else {
      closed = seen;
    }
    switch (index.kind) {
      case Index::Kind::NewAxis:
        break;
      case Index::Kind::Integer: {
        std::int64_t at = integer_position(index.range.start.value, axis, shape, index.loc);
        plan.start.push_back(at);
        plan.limit.push_back(at + 1);
        plan.stride.push_back(1);
        ++axis;
        break;
      }
      case Index::Kind::Range: {
        take_range(plan, index.range, axis, shape, index.loc);
        std::size_t i = static_cast<std::size_t>(axis);
        core_axes.push_back(axis);
        plan.core.push_back((plan.limit[i] - plan.start[i] + plan.stride[i] - 1) / plan.stride[i]);
        ++kept;
        ++axis;
        break;
      }
      default: {
        std::int64_t size = shape[static_cast<std::size_t>(axis)];
        if (takes && size == 0 && index.array.size() != 0)
          fail(messages::index_empty_axis, {axis_text(axis), to_string(shape)}, index.loc);
        plan.start.push_back(0);
        plan.limit.push_back(size);
        plan.stride.push_back(1);
        core_axes.push_back(axis);
        plan.core.push_back(size);
        plan.position_axes.push_back(axis);
        plan.positions.push_back(detail::index_values("index", index.array, size, index.loc));
        ++axis;
      }
    }
  }
  if (in_front) block_at = 0;
  plan.taken = plan.core;
  if (any_array) plan_positions(plan, core_axes, block_at, "index", loc);

  // New axes stand among the kept ones; the positions' axes do not move for them unless they stand behind.
  plan.result = plan.taken;
  std::size_t rows = plan.taken.size() - (any_array ? plan.gather.offset_dims.size() : plan.taken.size());
  std::size_t at = in_front ? rows : 0;
  bool passed = in_front;
  for (const Index& index : indices) {
    if (index.kind == Index::Kind::NewAxis)
      plan.result.insert(at++, 1);
    else if (index.kind == Index::Kind::Range)
      ++at;
    else if (advanced(index) && !passed) {
      at += rows;
      passed = true;
    }
  }
  return plan;
}

Array window_of(const Array& x, const Plan& plan) {
  Array part = lax::reverse(lax::slice(x, plan.start, plan.limit, plan.stride), plan.reversed);
  return lax::reshape(part, plan.core);
}

std::vector<Array> dynamic_starts(const Plan& plan) {
  std::vector<Array> starts(plan.core.size(), detail::literal(i64, 0));
  for (std::size_t i = 0; i < plan.positions.size(); ++i)
    starts[static_cast<std::size_t>(plan.gather.start_index_map[i])] = plan.positions[i];
  return starts;
}

Array index_vectors(const Plan& plan) {
  std::vector<Array> columns;
  for (const Array& p : plan.positions) columns.push_back(lax::expand_axis(p, p.ndim()));
  return lax::concatenate(columns, columns[0].ndim() - 1);
}

Array take_positions(const Array& core, const Plan& plan) {
  if (plan.positions.empty()) return core;
  if (!plan.all_scalars || plan.mode != detail::OutOfBounds::Clip) {
    GatherParams places = plan.gather;
    places.mode = plan.mode;
    return lax::gather(core, index_vectors(plan), places);
  }
  return lax::reshape(lax::dynamic_slice(core, dynamic_starts(plan), plan.gather.slice_sizes), plan.taken);
}

Array combine(ScatterKind kind, const Array& old, const Array& values) {
  switch (kind) {
    case ScatterKind::Set:
      return values;
    case ScatterKind::Add:
      return lax::add(old, values);
    case ScatterKind::Mul:
      return lax::mul(old, values);
    case ScatterKind::Min:
      return bind1(detail::minimum_op, {}, {old, values});
    default:
      return bind1(detail::maximum_op, {}, {old, values});
  }
}

// One position known at run time: the slice there is replaced, unless the position is out of bounds.
Array put_slice(const Array& core, const Array& values, const Plan& plan, ScatterKind kind) {
  std::vector<Array> starts = dynamic_starts(plan);
  Array old = lax::dynamic_slice(core, starts, plan.gather.slice_sizes);
  Array fresh = combine(kind, old, lax::reshape(values, plan.gather.slice_sizes));
  if (plan.mode == detail::OutOfBounds::Clip) return lax::dynamic_update_slice(core, fresh, starts);
  Array inside;
  for (std::size_t i = 0; i < plan.positions.size(); ++i) {
    auto axis = static_cast<std::size_t>(plan.gather.start_index_map[i]);
    const Array& position = plan.positions[i];
    Array fits =
        lax::logical_and(lax::ge(position, detail::literal(i64, 0)),
                         lax::lt(position, detail::literal(i64, static_cast<double>(plan.core[axis]))));
    inside = inside.is_empty() ? fits : lax::logical_and(inside, fits);
  }
  Array kept = lax::select(lax::broadcast_in_dim(inside, fresh.shape(), {}), fresh, old);
  return lax::dynamic_update_slice(core, kept, starts);
}

Array put_positions(const Array& core, const Array& values, const Plan& plan, ScatterKind kind) {
  if (plan.positions.empty()) return combine(kind, core, values);
  if (plan.all_scalars) return put_slice(core, values, plan, kind);
  GatherParams places = plan.gather;
  places.mode = plan.mode;
  return lax::scatter(core, index_vectors(plan), values, {places, kind, plan.unique});
}

// x with its window replaced. Contiguous windows of large arrays are written to, which costs the window where
// nobody else needs the array. Those of others are cut out and joined again, axis by axis, so that small
// arrays are only renamed; strided ones are chosen by a constant mask.
Array put_window(const Array& x, const Array& part, const Plan& plan, std::size_t axis = 0) {
  constexpr std::int64_t small = 64;
  const bool contiguous = std::ranges::all_of(plan.stride, [](std::int64_t step) { return step == 1; });
  if (contiguous && x.size() > small && part.size() > 0 && part.shape() != x.shape()) {
    std::vector<Array> starts;
    for (std::int64_t start : plan.start) starts.push_back(detail::literal(i64, start));
    return lax::dynamic_update_slice(x, part, starts);
  }
  while (axis < x.shape().size() && plan.limit[axis] - plan.start[axis] == x.shape()[axis] &&
         plan.stride[axis] == 1)
    ++axis;
  if (axis == x.shape().size()) return part;
  auto cut = [&](std::int64_t start, std::int64_t limit) {
    Dims starts = Dims::filled(x.shape().size(), 0), limits = x.shape();
    starts[axis] = start;
    limits[axis] = limit;
    return lax::slice(x, starts, limits);
  };
  if (plan.stride[axis] == 1) {
    std::vector<Array> parts;
    if (plan.start[axis] > 0) parts.push_back(cut(0, plan.start[axis]));
    parts.push_back(put_window(cut(plan.start[axis], plan.limit[axis]), part, plan, axis + 1));
    if (plan.limit[axis] < x.shape()[axis]) parts.push_back(cut(plan.limit[axis], x.shape()[axis]));
    return lax::concatenate(parts, static_cast<int>(axis));
  }
  // The strided axis, with the inner axes already whole.
  Dims starts = Dims::filled(x.shape().size(), 0), limits = x.shape(),
       strides = Dims::filled(x.shape().size(), 1);
  starts[axis] = plan.start[axis];
  limits[axis] = plan.limit[axis];
  strides[axis] = plan.stride[axis];
  Array rows = put_window(lax::slice(x, starts, limits, strides), part, plan, axis + 1);
  std::int64_t count = rows.shape()[axis];
  std::int64_t covered = count == 0 ? 0 : (count - 1) * plan.stride[axis] + 1;
  Dims low = Dims::filled(x.shape().size(), 0), high = low, interior = low;
  low[axis] = plan.start[axis];
  high[axis] = x.shape()[axis] - plan.start[axis] - covered;
  interior[axis] = plan.stride[axis] - 1;
  Array chosen =
      lax::pad(lax::full(rows.shape(), boolean, 1), detail::literal(boolean, 0), low, high, interior);
  return lax::select(chosen, lax::pad(rows, detail::literal(x.dtype(), 0), low, high, interior), x);
}

void set_mode(Plan& plan, IndexMode mode) {
  plan.mode = mode == IndexMode::Fill ? detail::OutOfBounds::Fill : detail::OutOfBounds::Clip;
  if (mode != IndexMode::Wrap) return;
  for (std::size_t i = 0; i < plan.positions.size(); ++i) {
    Array& position = plan.positions[i];
    const std::int64_t size = plan.core[static_cast<std::size_t>(plan.gather.start_index_map[i])];
    if (size == 0) continue;
    const Array around = lax::full_like(position.aval(), static_cast<double>(size));
    const Array rest = bind1(detail::rem_op, {}, {position, around});
    position = lax::select(lax::lt(rest, lax::full_like(rest.aval(), 0)), lax::add(rest, around), rest);
  }
}

Array update(const Array& x, std::span<const Index> index, const IndexPromises& promises, const Array& given,
             ScatterKind kind, IndexMode mode, Loc loc) {
  const LocScope place(loc);
  Plan plan = make_plan(x, index, false, loc);
  plan.unique = promises.unique;
  set_mode(plan, mode);
  if (is_floating(given.dtype()) && (is_integer(x.dtype()) || x.dtype() == boolean))
    fail(messages::update_fractions, {to_string(given.aval()), to_string(x.aval())}, loc);
  if (is_complex(given.dtype()) && !is_complex(x.dtype()))
    fail(messages::update_parts, {to_string(given.aval()), to_string(x.aval())}, loc);
  Array values = given.dtype() == x.dtype() && given.weak() == x.weak()
                     ? given
                     : lax::convert(given, x.dtype(), x.weak());
  bool fits = values.shape().size() <= plan.result.size();
  std::size_t shift = fits ? plan.result.size() - values.shape().size() : 0;
  for (std::size_t i = 0; fits && i < values.shape().size(); ++i)
    fits = values.shape()[i] == 1 || values.shape()[i] == plan.result[shift + i];
  if (!fits)
    fail(messages::update_shape, {to_string(values.shape()), to_string(plan.result), to_string(x.shape())},
         loc);
  if (x.size() == 0) return x;
  values = lax::reshape(detail::broadcast_last(values, plan.result), plan.taken);

  Array core = put_positions(window_of(x, plan), values, plan, kind);
  Shape whole;
  for (std::size_t i = 0; i < plan.start.size(); ++i)
    whole.push_back((plan.limit[i] - plan.start[i] + plan.stride[i] - 1) / plan.stride[i]);
  return put_window(x, lax::reverse(lax::reshape(core, whole), plan.reversed), plan);
}

}  // namespace

Array detail::index_array(const Array& x, std::span<const Index> index, Loc loc) {
  const LocScope place(loc);
  Plan plan = make_plan(x, index, true, loc);
  return lax::reshape(take_positions(window_of(x, plan), plan), plan.result);
}

Array Array::operator[](const Index& index) const {
  return detail::index_array(*this, {&index, 1}, index.loc);
}

Array IndexUpdate::get(IndexMode mode, Loc loc) const {
  const LocScope place(loc);
  Plan plan = make_plan(x_, index_, true, loc);
  set_mode(plan, mode);
  return lax::reshape(take_positions(window_of(x_, plan), plan), plan.result);
}
Array IndexUpdate::set(const Array& v, IndexMode mode, Loc loc) const {
  return update(x_, index_, promises_, v, ScatterKind::Set, mode, loc);
}
Array IndexUpdate::add(const Array& v, IndexMode mode, Loc loc) const {
  return update(x_, index_, promises_, v, ScatterKind::Add, mode, loc);
}
Array IndexUpdate::multiply(const Array& v, IndexMode mode, Loc loc) const {
  return update(x_, index_, promises_, v, ScatterKind::Mul, mode, loc);
}
Array IndexUpdate::subtract(const Array& v, IndexMode mode, Loc loc) const {
  const LocScope place(loc);
  detail::check_dtype("subtract", detail::number_dtypes | detail::complex_dtypes, x_.aval(), loc);
  // Negated in x's dtype: unsigned values have no negative. What that would lose is left for the update to
  // refuse.
  const bool loses = (is_floating(v.dtype()) && !is_inexact(x_.dtype())) ||
                     (is_complex(v.dtype()) && !is_complex(x_.dtype()));
  return add(loses ? v : -lax::convert(v, x_.dtype(), x_.weak()), mode, loc);
}
Array IndexUpdate::divide(const Array& v, IndexMode mode, Loc loc) const {
  const LocScope place(loc);
  detail::check_dtype("divide", detail::number_dtypes | detail::complex_dtypes, x_.aval(), loc);
  return x_ / IndexUpdate(ones_like(x_), index_).promise(promises_).multiply(v, mode, loc);
}
Array IndexUpdate::power(const Array& v, IndexMode mode, Loc loc) const {
  const LocScope place(loc);
  detail::check_dtype("power", detail::number_dtypes | detail::complex_dtypes, x_.aval(), loc);
  return pow(x_, IndexUpdate(ones_like(x_), index_).promise(promises_).multiply(v, mode, loc), loc);
}
Array IndexUpdate::min(const Array& v, IndexMode mode, Loc loc) const {
  return update(x_, index_, promises_, v, ScatterKind::Min, mode, loc);
}
Array IndexUpdate::max(const Array& v, IndexMode mode, Loc loc) const {
  return update(x_, index_, promises_, v, ScatterKind::Max, mode, loc);
}

Array take(const Array& x, const Array& indices, int axis, Loc loc) {
  int along = detail::checked_axis("take", axis, x.shape(), loc);
  std::vector<Index> index(static_cast<std::size_t>(along), Index(range(), loc));
  index.emplace_back(indices, loc);
  return detail::index_array(x, index, loc);
}

Array take(const Array& x, const Array& indices, Loc loc) { return take(ravel(x, loc), indices, 0, loc); }

// Along the other axes the index is the coordinate: JAX's batching axes.
Array take_along_axis(const Array& x, const Array& indices, int axis, Loc loc) {
  const LocScope place(loc);
  int along = detail::checked_axis("take_along_axis", axis, x.shape(), loc);
  auto at = static_cast<std::size_t>(along);
  if (indices.ndim() != x.ndim())
    fail(messages::take_along_rank, {to_string(indices.shape()), to_string(x.shape())}, loc);
  Shape shapes[] = {x.shape(), indices.shape()};
  shapes[0][at] = shapes[1][at] = 1;
  Shape common = detail::broadcast_shapes("take_along_axis", shapes, loc), whole = common, rows = common;
  whole[at] = x.shape()[at];
  rows[at] = indices.shape()[at];
  Array source = detail::broadcast_last(x, whole);
  Array positions =
      detail::broadcast_last(detail::index_values("take_along_axis", indices, whole[at], loc), rows);
  if (whole[at] == 0 && positions.size() != 0)
    fail(messages::index_empty_axis, {axis_text(along), to_string(x.shape())}, loc);
  GatherParams p;
  p.slice_sizes = Dims::filled(whole.size(), 1);
  p.start_index_map = p.collapsed_slice_dims = {along};
  for (std::int64_t i = 0; i < x.ndim(); ++i)
    if (i != along) p.operand_batching_dims.push_back(i);
  p.start_indices_batching_dims = p.operand_batching_dims;
  return lax::gather(source, lax::expand_axis(positions, positions.ndim()), p);
}

}  // namespace apsis
