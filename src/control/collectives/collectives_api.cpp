// The public collectives: names looked up, dtypes and shapes checked, several axes one after the other.

#include "apsis/control/collectives.hpp"

#include <algorithm>

#include "apsis/ops/arithmetic.hpp"
#include "control/collectives/collectives.hpp"
#include "control/common/messages.hpp"
#include "ops/lax.hpp"
#include "transform/batch/batch.hpp"

namespace apsis {
namespace {

using namespace detail;

std::int64_t size_of(const char* op, const std::string& name, Loc loc) {
  const BatchTrace* vmap = find_axis(name);
  if (!vmap || name.empty()) fail(messages::unknown_axis, {op, name, axes_in_scope()}, loc);
  return vmap->axis();
}

CollectiveParams over(const char* op, const std::string& name, Loc loc) {
  return {name, size_of(op, name, loc), {}, {}};
}

const std::string& one_axis(const char* op, const AxisNames& axes, Loc loc) {
  if (axes.all().size() != 1) fail(messages::one_axis_only, {op, std::to_string(axes.all().size())}, loc);
  return axes.all()[0];
}

/// Over each axis in turn, the innermost name last as in the list.
Array reduce(const char* name, const Op& op, Array x, const AxisNames& axes, Loc loc) {
  for (const std::string& axis : axes.all()) x = bind1(op, make_params(over(name, axis, loc)), {x}, loc);
  return x;
}

std::int64_t place(const char* op, int axis, const Aval& aval, int rank, Loc loc) {
  if (axis < -rank || axis >= rank)
    fail(messages::collective_axis, {op, std::to_string(axis), to_string(aval)}, loc);
  return axis < 0 ? axis + rank : axis;
}

[[noreturn]] void fail_size(const char* op, std::int64_t axis, const Array& x, const char* how,
                            const CollectiveParams& p, Loc loc) {
  fail(messages::collective_size,
       {op, std::to_string(axis), to_string(x.aval()), how, std::to_string(p.size), p.axis}, loc);
}

/// Axis d of n·k entries as two axes, n and k; and the reverse.
Array split_axis_at(const Array& x, std::int64_t d, std::int64_t n) {
  Shape shape = x.shape();
  auto at = static_cast<std::size_t>(d);
  shape[at] /= n;
  shape.insert(at, n);
  return lax::reshape(x, shape);
}
Array join_axes(const Array& x, std::int64_t d) {
  Shape shape = x.shape();
  auto at = static_cast<std::size_t>(d);
  shape[at + 1] *= shape[at];
  shape.erase(at);
  return lax::reshape(x, shape);
}

/// A value that is mapped as if it had been an argument, so that loops whose lanes read it still run each at
/// its own pace.
Array lane_numbers(const BatchTrace& vmap) {
  if (dynamic_cast<const RememberedAxis*>(
          &vmap)) {  // has no lanes yet: of n times 0, 1, …, each keeps its own
    const MappedAxis axis = vmap.axis();
    CollectiveParams own{std::string(axis.name), axis.size, {0}, {}};
    Array n_times = bind1(psum_scatter_op, make_params(own), {lax::iota(Dtype::I64, {axis.size}, 0)});
    return lax::convert(lax::div(n_times, lax::full_like(n_times.aval(), static_cast<double>(axis.size))),
                        Dtype::I32);
  }
  TraceScope outside(vmap.parent());
  return vmap.lane(lax::iota(Dtype::I32, {vmap.axis()}, 0), 0);
}

}  // namespace

std::int64_t axis_size(const AxisNames& axes, Loc loc) {
  std::int64_t size = 1;
  for (const std::string& axis : axes.all()) size *= size_of("axis_size", axis, loc);
  return size;
}

Array axis_index(const AxisNames& axes, Loc loc) {
  Array index;
  for (const std::string& axis : axes.all()) {
    std::int64_t lanes = size_of("axis_index", axis, loc);
    Array next = lane_numbers(*find_axis(axis));
    Array size = literal(Dtype::I32, static_cast<double>(lanes));
    index = index.is_empty() ? next : lax::add(lax::mul(index, size), next);
  }
  return index.is_empty() ? literal(Dtype::I32, 0) : index;
}

Array psum(const Array& x, const AxisNames& axes, Loc loc) {
  return reduce("psum", psum_op, x.dtype() == Dtype::Bool ? lax::convert(x, Dtype::I32) : x, axes, loc);
}

Array pmean(const Array& x, const AxisNames& axes, Loc loc) {
  auto size = static_cast<double>(axis_size(axes, loc));
  return psum(x, axes, loc) / Operand(size, loc);
}

Array pmax(const Array& x, const AxisNames& axes, Loc loc) { return reduce("pmax", pmax_op, x, axes, loc); }
Array pmin(const Array& x, const AxisNames& axes, Loc loc) { return reduce("pmin", pmin_op, x, axes, loc); }

Array all_gather(const Array& x, const AxisNames& axes, const CollectiveOptions& options, Loc loc) {
  std::int64_t d = place("all_gather", options.axis, x.aval(), x.ndim() + (options.tiled ? 0 : 1), loc);
  // The last name varies fastest: its lanes are gathered first, and joined to those of the name before.
  Array out = x;
  const auto& names = axes.all();
  for (std::size_t i = names.size(); i-- > 0;) {
    CollectiveParams p = over("all_gather", names[i], loc);
    p.dims = {d};
    out = bind1(all_gather_op, make_params(p), {out}, loc);
    if (options.tiled || i + 1 < names.size()) out = join_axes(out, d);
  }
  return out;
}

Array psum_scatter(const Array& x, const AxisNames& axes, const CollectiveOptions& options, Loc loc) {
  CollectiveParams p = over("psum_scatter", one_axis("psum_scatter", axes, loc), loc);
  std::int64_t d = place("psum_scatter", options.axis, x.aval(), x.ndim(), loc),
               entries = x.dim(static_cast<int>(d));
  if (options.tiled ? entries % p.size != 0 : entries != p.size)
    fail_size("psum_scatter", d, x, options.tiled ? "a multiple of" : "one entry for each of", p, loc);
  p.dims = {d};
  return bind1(psum_scatter_op, make_params(p), {options.tiled ? split_axis_at(x, d, p.size) : x}, loc);
}

Array all_to_all(const Array& x, const AxisNames& axes, int split_axis, int concat_axis, bool tiled,
                 Loc loc) {
  CollectiveParams p = over("all_to_all", one_axis("all_to_all", axes, loc), loc);
  std::int64_t split = place("all_to_all", split_axis, x.aval(), x.ndim(), loc);
  std::int64_t concat = place("all_to_all", concat_axis, x.aval(), x.ndim(), loc);
  std::int64_t entries = x.dim(static_cast<int>(split));
  if (tiled ? entries % p.size != 0 : entries != p.size)
    fail_size("all_to_all", split, x, tiled ? "a multiple of" : "one entry for each of", p, loc);
  p.dims = {split, concat};
  Array out = bind1(all_to_all_op, make_params(p), {tiled ? split_axis_at(x, split, p.size) : x}, loc);
  return tiled ? join_axes(out, concat) : out;
}

Array ppermute(const Array& x, const AxisNames& axes, const std::vector<std::pair<int, int>>& pairs,
               Loc loc) {
  CollectiveParams p = over("ppermute", one_axis("ppermute", axes, loc), loc);
  p.sources = Dims::filled(static_cast<std::size_t>(p.size), -1);
  std::vector<bool> sends(static_cast<std::size_t>(p.size), false);
  for (auto [source, target] : pairs) {
    bool fits = source >= 0 && source < p.size && target >= 0 && target < p.size;
    if (!fits || sends[static_cast<std::size_t>(source)] || p.sources[static_cast<std::size_t>(target)] >= 0)
      fail(messages::permutation,
           {std::to_string(source), std::to_string(target), std::to_string(p.size), p.axis}, loc);
    sends[static_cast<std::size_t>(source)] = true;
    p.sources[static_cast<std::size_t>(target)] = source;
  }
  return bind1(ppermute_op, make_params(p), {x}, loc);
}

Array pshuffle(const Array& x, const AxisNames& axis, const std::vector<int>& order, Loc loc) {
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t i = 0; i < order.size(); ++i) pairs.emplace_back(order[i], static_cast<int>(i));
  return ppermute(x, axis, pairs, loc);
}

Array pswapaxes(const Array& x, const AxisNames& axis, int axis_of_x, Loc loc) {
  return all_to_all(x, axis, axis_of_x, axis_of_x, false, loc);
}

namespace {

Array unvmap(const char* name, std::int64_t reduction, const Array& x, Loc loc) {
  if (reduction < 2 && x.dtype() != Dtype::Bool)
    fail(messages::unvmap_not_bool, {name, to_string(x.aval())}, loc);
  return bind1(unvmap_op, make_params(UnvmapParams{reduction}), {x}, loc);
}

}  // namespace

Array unvmap_any(const Array& x, Loc loc) { return unvmap("unvmap_any", 0, x, loc); }
Array unvmap_all(const Array& x, Loc loc) { return unvmap("unvmap_all", 1, x, loc); }
Array unvmap_max(const Array& x, Loc loc) { return unvmap("unvmap_max", 2, x, loc); }

}  // namespace apsis
