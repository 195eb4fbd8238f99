// Collectives: ops that work across the lanes of a named axis. The vmap of that axis puts ordinary ops on
// whole arrays in their place; every other transformation passes them on by their name.

#include <algorithm>

#include "control/collectives/collectives.hpp"

#include "control/common/messages.hpp"
#include "ops/lax.hpp"
#include "transform/batch/batch.hpp"

namespace apsis::detail {
namespace {

const CollectiveParams& collective(const Params& params) { return params.as<CollectiveParams>(); }

std::string_view axis_of(const Params& params) { return collective(params).axis; }

// Whoever parses a program with a collective and runs it meets this; a traced function was refused where it
// asked.
void unbound(const Params& params, std::span<const Array>, std::span<Array>) {
  fail(messages::unknown_axis, {"collective", collective(params).axis, axes_in_scope()});
}

Array run(const Op& op, const Params& params, const Array& x) { return bind1(op, params, {x}); }

/// Another axis than the op's is mapped: it goes in front, and the op's own axes of the array one further.
void pass_on(const Op& op, const BatchRule& r) {
  CollectiveParams p = collective(r.params);
  for (std::int64_t& d : p.dims) ++d;
  r.outs.push_back(run(op, make_params(p), with_axis(r.operands[0], r.axes[0], 0, r.size)));
  r.out_axes.push_back(0);
}
bool is_mine(const BatchRule& r) { return r.size.name == collective(r.params).axis; }

void same_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const auto& p = collective(params);
  APSIS_ASSERT(in.size() == 1 && p.size >= 0 && p.dims.empty());
  for (std::int64_t from : p.sources) APSIS_ASSERT(from >= -1 && from < p.size);
  APSIS_ASSERT(p.sources.empty() || static_cast<std::int64_t>(p.sources.size()) == p.size);
  out.push_back(in[0]);
}

// psum, pmax, pmin: a reduction over the lanes.

Array lane_sum(const BatchRule& r) {
  if (r.axes[0] >= 0) return lax::reduce_sum(r.operands[0], {r.axes[0]});
  return lax::mul(r.operands[0], lax::full_like(r.operands[0].aval(), static_cast<double>(r.size.size)));
}

void psum_batch(const BatchRule& r) {
  r.outs.push_back(is_mine(r) ? lane_sum(r) : run(psum_op, r.params, r.operands[0]));
  r.out_axes.push_back(is_mine(r) ? -1 : r.axes[0]);
}

template <const Op& op, Array (*reduce)(const Array&, const Dims&)>
void extreme_batch(const BatchRule& r) {
  bool mine = is_mine(r), mapped = r.axes[0] >= 0;
  r.outs.push_back(!mine    ? run(op, r.params, r.operands[0])
                   : mapped ? reduce(r.operands[0], {r.axes[0]})
                            : r.operands[0]);
  r.out_axes.push_back(mine ? -1 : r.axes[0]);
}

template <const Op& op>
void linear_jvp(const JvpRule& r) {
  r.outs[0] = run(op, r.params, r.primals[0]);
  r.out_tangents[0] = run(op, r.params, r.tangents[0]);
}

/// The mean of the tangents of the lanes that have the extreme value.
template <const Op& op>
void extreme_jvp(const JvpRule& r) {
  const Array& x = r.primals[0];
  Array best = run(op, r.params, x), zero = lax::full_like(x.aval(), 0);
  Array has_it = lax::eq(x, best);
  Array count = run(psum_op, r.params, lax::convert(has_it, x.dtype()));
  r.outs[0] = best;
  r.out_tangents[0] = lax::div(run(psum_op, r.params, lax::select(has_it, r.tangents[0], zero)), count);
}

void psum_transpose(const TransposeRule& r) { r.out[0].add(run(psum_op, r.params, r.cotangents[0])); }

// all_gather and psum_scatter: each the transpose of the other. dims[0]: the axis of the longer array.

/// Each lane takes one of the entries along the first of `dims`.
void check_split(const CollectiveParams& p, const Aval& in) {
  APSIS_ASSERT(p.dims[0] >= 0 && p.dims[0] < in.rank() &&
               in.shape()[static_cast<std::size_t>(p.dims[0])] == p.size);
}

void all_gather_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1 && collective(params).size >= 0 && collective(params).dims.size() == 1 &&
               collective(params).dims[0] >= 0 && collective(params).dims[0] <= in[0].rank());
  const auto& p = collective(params);
  Shape shape = in[0].shape();
  shape.insert(static_cast<std::size_t>(p.dims[0]), p.size);
  out.push_back(Aval(in[0].dtype(), shape, in[0].weak()));
}

void all_gather_batch(const BatchRule& r) {
  if (!is_mine(r)) return pass_on(all_gather_op, r);
  r.outs.push_back(
      with_axis(r.operands[0], r.axes[0], static_cast<int>(collective(r.params).dims[0]), r.size));
  r.out_axes.push_back(-1);
}

void all_gather_transpose(const TransposeRule& r) {
  r.out[0].add(run(psum_scatter_op, r.params, r.cotangents[0]));
}

void psum_scatter_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1 && collective(params).dims.size() == 1);
  check_split(collective(params), in[0]);
  Shape shape = in[0].shape();
  shape.erase(static_cast<std::size_t>(collective(params).dims[0]));
  out.push_back(Aval(in[0].dtype(), shape, in[0].weak()));
}

void psum_scatter_batch(const BatchRule& r) {
  if (!is_mine(r)) return pass_on(psum_scatter_op, r);
  r.outs.push_back(lane_sum(r));
  r.out_axes.push_back(static_cast<int>(collective(r.params).dims[0]));
}

void psum_scatter_transpose(const TransposeRule& r) {
  r.out[0].add(run(all_gather_op, r.params, r.cotangents[0]));
}

// all_to_all: dims are the axis split, as the operand counts, and the axis made, as the result counts.

void all_to_all_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1 && collective(params).dims.size() == 2);
  check_split(collective(params), in[0]);
  APSIS_ASSERT(collective(params).dims[1] >= 0 && collective(params).dims[1] < in[0].rank());
  const auto& p = collective(params);
  Shape shape = in[0].shape();
  shape.erase(static_cast<std::size_t>(p.dims[0]));
  shape.insert(static_cast<std::size_t>(p.dims[1]), p.size);
  out.push_back(Aval(in[0].dtype(), shape, in[0].weak()));
}

/// Of the whole array, the axis split becomes the mapped one, and the mapped one that of the senders.
void all_to_all_batch(const BatchRule& r) {
  if (!is_mine(r)) return pass_on(all_to_all_op, r);
  const auto& p = collective(r.params);
  Array whole = with_axis(r.operands[0], r.axes[0], 0, r.size);
  Dims order;
  for (int k = 1; k < whole.ndim(); ++k)
    if (k != p.dims[0] + 1) order.push_back(k);
  order.insert(static_cast<std::size_t>(p.dims[1]), 0);
  order.insert(0, p.dims[0] + 1);
  r.outs.push_back(lax::transpose(whole, order));
  r.out_axes.push_back(0);
}

void all_to_all_transpose(const TransposeRule& r) {
  CollectiveParams p = collective(r.params);
  std::swap(p.dims[0], p.dims[1]);
  r.out[0].add(run(all_to_all_op, make_params(p), r.cotangents[0]));
}

// ppermute: dims[t] is the lane whose value lane t gets, -1 for none.

void ppermute_batch(const BatchRule& r) {
  const auto& p = collective(r.params);
  if (!is_mine(r)) {
    r.outs.push_back(run(ppermute_op, r.params, r.operands[0]));
    r.out_axes.push_back(r.axes[0]);
    return;
  }
  Array whole = with_axis(r.operands[0], r.axes[0], 0, r.size);
  // Neighbours that stay neighbours move together; a table of indices would be one more input of the program.
  std::vector<Array> parts;
  const auto lanes = p.sources.size();
  for (std::size_t t = 0, end; t < lanes; t = end) {
    for (end = t + 1; end < lanes; ++end)
      if (p.sources[end] != (p.sources[t] < 0 ? -1 : p.sources[end - 1] + 1)) break;
    Shape shape = whole.shape();
    shape[0] = static_cast<std::int64_t>(end - t);
    Dims start = Dims::filled(shape.size(), 0), limit = whole.shape();
    start[0] = p.sources[t];
    limit[0] = p.sources[t] + shape[0];
    parts.push_back(p.sources[t] < 0 ? lax::full(shape, whole.dtype(), 0, whole.weak())
                                     : lax::slice(whole, start, limit));
  }
  r.outs.push_back(parts.empty() ? whole : lax::concatenate(parts, 0));
  r.out_axes.push_back(0);
}

void ppermute_transpose(const TransposeRule& r) {
  CollectiveParams p = collective(r.params);
  Dims back = Dims::filled(p.sources.size(), -1);
  for (std::size_t t = 0; t < p.sources.size(); ++t)
    if (p.sources[t] >= 0) back[static_cast<std::size_t>(p.sources[t])] = static_cast<std::int64_t>(t);
  p.sources = back;
  r.out[0].add(run(ppermute_op, make_params(p), r.cotangents[0]));
}

// unvmap: a reduction of all elements in all lanes of every vmap, so each takes the whole array as it is.

enum Reduction : std::int64_t { Any, All, Max };

std::string_view every_axis(const Params&) { return ""; }

void unvmap_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const std::int64_t reduction = params.as<UnvmapParams>().reduction;
  APSIS_ASSERT(in.size() == 1 && reduction >= 0 && reduction <= 2);
  out.push_back(Aval(in[0].dtype(), {}, in[0].weak()));
}

void unvmap_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  Dims all = Dims::counting(static_cast<std::size_t>(in[0].ndim()));
  switch (params.as<UnvmapParams>().reduction) {
    case Any:
      out[0] = lax::reduce_or(in[0], all);
      return;
    case All:
      out[0] = lax::reduce_and(in[0], all);
      return;
    default:
      out[0] = lax::reduce_max(in[0], all);
      return;
  }
}

void unvmap_batch(const BatchRule& r) {
  r.outs.push_back(run(unvmap_op, r.params, r.operands[0]));
  r.out_axes.push_back(-1);
}

}  // namespace

const Op psum_op = {
    .name = "psum",
    .kind = OpKind::Collective,
    .shape = same_shape,
    .evaluate = unbound,
    .jvp = linear_jvp<psum_op>,
    .transpose = psum_transpose,
    .batch = psum_batch,
    .axis = axis_of,
    .parse = parse_params<CollectiveParams>,
};
const Op pmax_op = {
    .name = "pmax",
    .kind = OpKind::Collective,
    .shape = same_shape,
    .evaluate = unbound,
    .jvp = extreme_jvp<pmax_op>,
    .batch = extreme_batch<pmax_op, lax::reduce_max>,
    .axis = axis_of,
    .parse = parse_params<CollectiveParams>,
};
const Op pmin_op = {
    .name = "pmin",
    .kind = OpKind::Collective,
    .shape = same_shape,
    .evaluate = unbound,
    .jvp = extreme_jvp<pmin_op>,
    .batch = extreme_batch<pmin_op, lax::reduce_min>,
    .axis = axis_of,
    .parse = parse_params<CollectiveParams>,
};
const Op all_gather_op = {
    .name = "all_gather",
    .kind = OpKind::Collective,
    .shape = all_gather_shape,
    .evaluate = unbound,
    .jvp = linear_jvp<all_gather_op>,
    .transpose = all_gather_transpose,
    .batch = all_gather_batch,
    .axis = axis_of,
    .parse = parse_params<CollectiveParams>,
};
const Op psum_scatter_op = {
    .name = "psum_scatter",
    .kind = OpKind::Collective,
    .shape = psum_scatter_shape,
    .evaluate = unbound,
    .jvp = linear_jvp<psum_scatter_op>,
    .transpose = psum_scatter_transpose,
    .batch = psum_scatter_batch,
    .axis = axis_of,
    .parse = parse_params<CollectiveParams>,
};
const Op all_to_all_op = {
    .name = "all_to_all",
    .kind = OpKind::Collective,
    .shape = all_to_all_shape,
    .evaluate = unbound,
    .jvp = linear_jvp<all_to_all_op>,
    .transpose = all_to_all_transpose,
    .batch = all_to_all_batch,
    .axis = axis_of,
    .parse = parse_params<CollectiveParams>,
};
const Op ppermute_op = {
    .name = "ppermute",
    .kind = OpKind::Collective,
    .shape = same_shape,
    .evaluate = unbound,
    .jvp = linear_jvp<ppermute_op>,
    .transpose = ppermute_transpose,
    .batch = ppermute_batch,
    .axis = axis_of,
    .parse = parse_params<CollectiveParams>,
};
const Op unvmap_op = {
    .name = "unvmap",
    .kind = OpKind::Collective,
    .shape = unvmap_shape,
    .evaluate = unvmap_evaluate,
    .batch = unvmap_batch,
    .axis = every_axis,
    .parse = parse_params<UnvmapParams>,
};

}  // namespace apsis::detail
