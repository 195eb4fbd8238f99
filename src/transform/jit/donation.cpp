#include "transform/jit/donation.hpp"

#include <algorithm>

#include "codegen/plan/in_place.hpp"
#include "core/given_up.hpp"

namespace apsis::detail {

GivenUp::GivenUp(const JitCall& call) : held_(call.nodes.size()) {
  for (std::size_t i = 0; i < held_.size(); ++i) {
    Array* given = call.given_up[i];
    if (!given || given->node() != call.nodes[i] || given->is_empty()) continue;  // not, or twice
    held_[i] = static_cast<Array&&>(*given);
    *given = given_up_array(held_[i].aval());
  }
}

void GivenUp::reuse(const JitEntry& entry, const Program& program, const JitCall& call, Array* results) {
  std::call_once(entry.overwritable_known, [&] { entry.overwritable = overwritable_inputs(*entry.graph); });
  const std::vector<std::int32_t>& inputs = entry.overwritable;
  if (std::ranges::all_of(inputs, [](std::int32_t i) { return i < 0; })) return;
  std::vector<std::size_t> place_of_input;  // the rest are captures
  for (std::size_t i = 0; i < call.nodes.size(); ++i)
    if (call.nodes[i]) place_of_input.push_back(i);
  for (std::size_t o = 0; o < inputs.size(); ++o) {
    if (inputs[o] < 0 || static_cast<std::size_t>(inputs[o]) >= place_of_input.size()) continue;
    std::size_t place = place_of_input[static_cast<std::size_t>(inputs[o])];
    Node* n = call.nodes[place];
    if (held_[place].is_empty() || n->borrowed || n->literal || n->refs.load(std::memory_order_acquire) != 1)
      continue;
    if (std::ranges::count(call.nodes, n) != 1) continue;  // it is another argument too
    results[o] = static_cast<Array&&>(held_[place]);
    n->aval = program.outputs[o];
  }
}

}  // namespace apsis::detail
