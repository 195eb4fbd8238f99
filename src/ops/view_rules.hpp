#pragma once

// What all view ops share: they evaluate by copying through the view, emit by permuting elements, and are
// linear.

#include "apsis/core/emitter.hpp"
#include "apsis/core/op.hpp"
#include "ir/graph.hpp"
#include "ir/view.hpp"
#include "ops/lax.hpp"
#include "ops/strided_copy.hpp"
#include "ops/view_params.hpp"

namespace apsis::detail {

using ViewFunction = bool (*)(const Params&, const Aval& out, const View& in, View& result);

template <ViewFunction view_rule>
void evaluate_view(const Params& params, std::span<const Array> in, std::span<Array> out) {
  View view;
  APSIS_ASSERT(view_rule(params, out[0].aval(), View::contiguous(in[0].shape()), view));
  copy_view(view, data_of(in[0]), mutable_data<char>(out[0]), item_size(in[0].dtype()));
}

template <ViewFunction view_rule>
void emit_view(Emitter&, const Params& params, std::span<const Aval> in_avals, std::span<const Value> in,
               std::span<const Aval> out_avals, std::span<Value> out) {
  View view;
  APSIS_ASSERT(view_rule(params, out_avals[0], View::contiguous(in_avals[0].shape()), view));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = in[static_cast<std::size_t>(view.at(static_cast<std::int64_t>(i)))];
}

/// The jvp of a linear op of one operand.
template <const Op& op>
void jvp_of_linear(const JvpRule& r) {
  r.outs[0] = bind1(op, r.params, {r.primals[0]});
  r.out_tangents[0] = bind1(op, r.params, {r.tangents[0]});
}

/// The scalar that `v` repeats, if `v` is a broadcast scalar.
bool find_splat(const GraphBuilder& builder, ValueId v, ValueId& scalar);
/// Rewrites shared by all view ops: one that changes nothing is its operand, and a view of a broadcast scalar
/// is that scalar broadcast.
bool rewrite_view(GraphBuilder& builder, const Op& op, const Params& params, ValueId operand, ValueId& result,
                  Loc loc);

}  // namespace apsis::detail
