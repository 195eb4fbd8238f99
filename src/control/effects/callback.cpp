// Callbacks: functions of the host as ops. The pure one is a value like any other; the other one is an
// effect.

#include "apsis/control/callback.hpp"

#include <cstring>

#include "control/common/messages.hpp"
#include "control/common/regions.hpp"
#include "control/effects/callback.hpp"
#include "ops/lax.hpp"
#include "transform/batch/batch.hpp"

namespace apsis::detail {
namespace {

const CallbackParams& callback(const Params& params) { return params.as<CallbackParams>(); }

void callback_shape(const Params& params, std::span<const Aval>, std::vector<Aval>& out) {
  const auto& p = callback(params);
  for (std::size_t i = 0; i < p.dtypes.size(); ++i) out.push_back(Aval(p.dtypes[i], p.shapes[i]));
}

std::size_t bytes_of(const Aval& aval, std::int64_t parts) {
  return parts ? aval.bytes() / static_cast<std::size_t>(parts) : 0;
}

Shape without_lanes(const Shape& shape, std::int64_t axes) {
  Shape out = shape;
  for (std::int64_t k = 0; k < axes; ++k) out.erase(0);
  return out;
}

/// A lane's elements, copied: what the function keeps must not be memory that the program works in.
Array part_of(const Array& a, std::int64_t lane_axes, std::int64_t lanes, std::int64_t lane) {
  Array part = allocate(Aval(a.dtype(), without_lanes(a.shape(), lane_axes), a.weak()));
  std::size_t bytes = bytes_of(a.aval(), lanes);
  std::memcpy(mutable_data<char>(part),
              static_cast<const char*>(data_of(a)) + static_cast<std::size_t>(lane) * bytes, bytes);
  return part;
}

void callback_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto& p = callback(params);
  const Loc loc{p.file.c_str(), p.called_in.c_str(), static_cast<unsigned>(p.line)};
  Shape shape = !in.empty() ? in[0].shape() : !out.empty() ? out[0].shape() : Shape{};
  std::int64_t lanes = 1;
  for (std::int64_t k = 0; k < p.lane_axes; ++k) lanes *= shape[static_cast<std::size_t>(k)];
  std::vector<Array> args, results;
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    args.clear();
    results.clear();
    for (const Array& a : in) args.push_back(part_of(a, p.lane_axes, lanes, lane));
    p.function(args, results);
    if (results.size() != out.size())
      fail(messages::callback_count, {p.name, std::to_string(results.size()), std::to_string(out.size())},
           loc);
    for (std::size_t i = 0; i < out.size(); ++i) {
      Array result = results[i];
      Aval want(p.dtypes[i], without_lanes(out[i].shape(), p.lane_axes));
      if (!result.is_empty() && result.weak() && result.dtype() != want.dtype())
        result = lax::convert(result, want.dtype());
      if (result.is_empty() || result.dtype() != want.dtype() || result.shape() != want.shape())
        fail(messages::callback_result,
             {p.name, std::to_string(i), result.is_empty() ? "empty" : to_string(result.aval()),
              to_string(want)},
             loc);
      std::size_t bytes = bytes_of(out[i].aval(), lanes);
      std::memcpy(mutable_data<char>(out[i]) + static_cast<std::size_t>(lane) * bytes, data_of(result),
                  bytes);
    }
  }
}

template <const Op& op>
void callback_jvp(const JvpRule& r) {
  const auto& p = callback(r.params);
  for (Dtype d : p.dtypes)
    if (is_inexact(d)) fail(messages::callback_derivative, {p.name});
  bind(op, r.params, r.primals, r.outs);
}

template <const Op& op>
void callback_batch(const BatchRule& r) {
  CallbackParams p = callback(r.params);
  auto method = static_cast<VmapMethod>(p.vmap_method);
  if (p.ordered) fail(messages::callback_ordered, {p.name});
  if (method == VmapMethod::Refuse) fail(messages::callback_vmap, {p.name});
  std::vector<Array> operands;
  for (std::size_t i = 0; i < r.operands.size(); ++i)
    operands.push_back(r.axes[i] < 0 && method == VmapMethod::ExpandDims
                           ? lax::expand_axis(r.operands[i], 0)
                           : with_axis(r.operands[i], r.axes[i], 0, r.size));
  if (method == VmapMethod::Sequential) ++p.lane_axes;
  for (Shape& shape : p.shapes) shape.insert(0, r.size);
  r.outs = bind_all(op, make_params(p), operands);
  r.out_axes.assign(r.outs.size(), 0);
}

}  // namespace

void refuse_ordered(const Graph& graph) {
  for (const Eqn& e : graph.eqns()) {
    if (e.op == &io_callback_op && callback(e.params).ordered)
      fail(messages::callback_ordered, {callback(e.params).name}, e.loc);
    each_region(e.params, [](const Graph& region) { refuse_ordered(region); });
  }
}

std::uint64_t fresh_identity() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

std::vector<Array> callback_call(const CallbackCall& call, Loc loc) {
  CallbackParams p;
  p.function = call.function;
  p.name = call.name;
  p.vmap_method = static_cast<std::int64_t>(call.vmap_method);
  p.ordered = call.ordered;
  p.file = loc.file;
  p.called_in = loc.function;
  p.line = loc.line;
  for (const Array& a : call.like) {
    p.dtypes.push_back(a.dtype());
    p.shapes.push_back(a.shape());
  }
  return bind_all(call.effect ? io_callback_op : pure_callback_op, make_params(p), call.operands, loc);
}

const Op pure_callback_op = {
    .name = "pure_callback",
    .kind = OpKind::Effect,
    .shape = callback_shape,
    .evaluate = callback_evaluate,
    .jvp = callback_jvp<pure_callback_op>,
    .batch = callback_batch<pure_callback_op>,
};
const Op io_callback_op = {
    .name = "io_callback",
    .kind = OpKind::Effect,
    .effect = true,
    .shape = callback_shape,
    .evaluate = callback_evaluate,
    .jvp = callback_jvp<io_callback_op>,
    .batch = callback_batch<io_callback_op>,
};

}  // namespace apsis::detail
