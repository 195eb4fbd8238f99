// forbid: the identity that refuses one transformation.

#include "apsis/ops/forbid.hpp"

#include <cstring>

#include "apsis/core/emitter.hpp"
#include "apsis/core/make_params.hpp"
#include "ir/graph.hpp"
#include "ops/forbid_params.hpp"
#include "ops/messages.hpp"
#include "ops/table.hpp"

namespace apsis::detail {
namespace {

[[noreturn]] void refuse(const ForbidParams& p, Loc loc = {}) {
  static constexpr const char* words[] = {"differentiated", "differentiated in reverse mode",
                                          "batched by vmap", "traced"};
  fail(messages::forbidden, {p.name, words[static_cast<std::size_t>(p.what)]}, loc);
}

void forbid_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  if (in.size() != 1) fail(messages::wrong_operand_count, {"forbid", "1", std::to_string(in.size())});
  out.push_back(in[0]);
}

void forbid_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  if (std::size_t bytes = in[0].aval().bytes())
    std::memcpy(mutable_data<char>(out[0]), data_of(in[0]), bytes);
}

void forbid_emit(Emitter&, const Params&, std::span<const Value> in, std::span<Value> out) { out[0] = in[0]; }

// A tangent that only forward mode may see keeps the mark.
void forbid_jvp(const JvpRule& r) {
  const auto& p = r.params.as<ForbidParams>();
  if (p.what == Forbid::Differentiation) refuse(p);
  bind(forbid_op, r.params, r.primals, r.outs);
  if (p.what == Forbid::Reverse)
    bind(forbid_op, r.params, r.tangents, r.out_tangents);
  else
    r.out_tangents[0] = r.tangents[0];
}

void forbid_transpose(const TransposeRule& r) {
  const auto& p = r.params.as<ForbidParams>();
  if (p.what == Forbid::Reverse && !r.cotangents[0].is_empty()) refuse(p);
  r.out[0].add(r.cotangents[0]);
}

void forbid_batch(const BatchRule& r) {
  const auto& p = r.params.as<ForbidParams>();
  if (p.what == Forbid::Batching) refuse(p);
  r.outs.push_back(bind1(forbid_op, r.params, {r.operands[0]}));
  r.out_axes.push_back(r.axes[0]);
}

bool forbid_rewrite(GraphBuilder&, const Params& params, std::span<const ValueId>, std::span<ValueId>,
                    Loc loc) {
  const auto& p = params.as<ForbidParams>();
  if (p.what == Forbid::Staging) refuse(p, loc);
  return false;
}

}  // namespace

const Op forbid_op = {
    .name = "forbid",
    .kind = OpKind::Elementwise,
    .shape = forbid_shape,
    .evaluate = forbid_evaluate,
    .jvp = forbid_jvp,
    .transpose = forbid_transpose,
    .batch = forbid_batch,
    .emit = forbid_emit,
    .rewrite = forbid_rewrite,
    .parse = parse_params<ForbidParams>,
    .spreads_nan = true,
};

Array forbid(const Array& x, Forbid what, std::string_view name, Loc loc) {
  return bind1(forbid_op, make_params(ForbidParams{what, std::string(name)}), {x}, loc);
}

}  // namespace apsis::detail
