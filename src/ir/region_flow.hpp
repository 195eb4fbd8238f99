#pragma once

// How values come into the regions of an equation and go out of them. Walks over programs (what is live, what
// differs from lane to lane, what is updated in place) follow this description, whichever op it is of.

#include <functional>

#include "ir/loop.hpp"

namespace apsis::detail {

/// How often a region runs when its equation does.
enum class Runs : std::uint8_t {
  Once,
  Wrapped,     // once, unless a rule of the op's own takes its place
  Chosen,      // once, if operand 0 chooses it among the regions
  Repeatedly,  // in each iteration: the body and the condition of a loop
  ByLane       // once for each lane
};

/// One region of an equation. Its inputs are constants, then carries, then entries; only those of loops have
/// carries. The inputs of each kind follow each other among the operands too. Output r is result r, and the
/// first outputs of a loop's body are also the carries of the next iteration.
struct RegionFlow {
  const Graph* region;
  Runs runs;
  std::size_t first_operand = 0;  // of the constants
  std::size_t consts;             // how many
  std::size_t first_carry = 0;    // operand; the entries come after the carries
  std::size_t carries = 0;
  /// False for the condition of a loop, whose output says whether there is another iteration.
  bool gives_results = true;
  /// How often a loop runs is told by the lists whose entries it takes, by one as well as by another.
  bool counted_by_lists = false;
  /// ByLane: the axis of each operand of which a lane gets an entry, or -1 where it gets the whole operand.
  const Dims* lane_axes = nullptr;

  /// The operand that an input is, or is an entry of; of a carry, in the first iteration.
  std::size_t operand_of(std::size_t input) const {
    return input < consts ? first_operand + input : first_carry + (input - consts);
  }
};

/// The regions that run, in the order of the parameters. Empty for ops without regions, and for those that
/// keep regions for their rules alone.
std::vector<RegionFlow> region_flows(const Eqn& e);

/// Whether a region runs more than once: in iterations or by lane.
inline bool runs_often(const Eqn& e) { return is_loop(e) || e.op->kind == OpKind::MapLanes; }

/// Some of the operands and results of an equation, one mark each.
struct Kept {
  std::vector<char> operands, results;
};
/// The parameters of an equation that runs a region often with these operands and results alone.
/// `part(region, inputs, outputs)` is the region with the marked inputs and outputs.
using PartOf =
    std::function<GraphRef(const Graph&, const std::vector<char>& inputs, const std::vector<char>& outputs)>;
Params params_with(const Eqn& e, const Kept& kept, const PartOf& part);

}  // namespace apsis::detail
