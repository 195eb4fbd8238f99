#include "codegen/support/kernels.hpp"

#include <cstring>
#include <string>

#include "codegen/builder/messages.hpp"
#include "ir/effects.hpp"
#include "ops/packed_matrices.hpp"
#include "passes/error_sites.hpp"

namespace apsis::detail {
namespace {

/// An array over memory that it does not own.
Array borrow(const Aval& aval, void* data) {
  auto* node = new BufferNode(aval, data);
  node->borrowed = true;
  node->release = [](void*) {};
  return Array::adopt(node);
}

void evaluate(const Kernel& kernel, void* const* pointers) {
  TraceScope none(nullptr);
  std::vector<Array> in, out;
  in.reserve(kernel.in.size());
  out.reserve(kernel.out.size());
  for (const Aval& a : kernel.in) in.push_back(borrow(a, *pointers++));
  for (std::size_t i = 0; i < kernel.out.size(); ++i) out.push_back(borrow(kernel.out[i], pointers[i]));
  if (kernel.packed) return evaluate_packed(*kernel.op, kernel.params, in, out, kernel.packed);
  kernel.op->evaluate(kernel.params, in, out);
  // A rule may put another array in place of the one it was given to fill.
  for (std::size_t i = 0; i < out.size(); ++i)
    if (data_of(out[i]) != pointers[i]) std::memcpy(pointers[i], data_of(out[i]), kernel.out[i].bytes());
}

/// The same in the lanes of these contexts, the outermost last: errors name them.
void evaluate_in(std::span<const CallContext* const> lanes, const Kernel& kernel, void* const* pointers) {
  if (lanes.empty()) return evaluate(kernel, pointers);
  const CallContext& c = *lanes.back();
  std::span<const std::int64_t> nest;
  if (c.nest) nest = {c.nest + 1, static_cast<std::size_t>(*c.nest)};
  LaneScope lane(c.lanes[c.slot], nest);
  evaluate_in(lanes.first(lanes.size() - 1), kernel, pointers);
}

}  // namespace
}  // namespace apsis::detail

extern "C" std::int32_t apsis_call_kernel(apsis::detail::CallContext* context, std::int64_t index,
                                          void* const* pointers) noexcept {
  using namespace apsis::detail;
  const std::int32_t status = keep_error(context, [&] {
    const Kernel& kernel = static_cast<const Kernel*>(context->kernels)[index];
    if (kernel.op->kind != apsis::OpKind::Effect) return evaluate(kernel, pointers);
    std::vector<const CallContext*> lanes;
    for (const CallContext* c = context; c; c = c->outer)
      if (c->lanes) lanes.push_back(c);
    evaluate_in(lanes, kernel, pointers);
  });
  if (status && context->lanes)
    static_cast<CallState*>(context->runtime)->failed_lane = context->lanes[context->slot];
  return status;
}

extern "C" void apsis_copy_given(void* to, const void* from, std::int64_t bytes) noexcept {
  if (to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

extern "C" std::int32_t apsis_fail_max_steps(apsis::detail::CallContext* context, std::int64_t max_steps,
                                             std::int64_t site) noexcept {
  using namespace apsis;
  return detail::keep_error(context, [&] {
    const auto& state = *static_cast<detail::CallState*>(context->runtime);
    const detail::Graph* program = state.call ? state.call->graph : state.graph;
    fail(messages::max_steps_exceeded, {std::to_string(max_steps)},
         program ? detail::place_of_site(*program, site) : Loc{});
  });
}
