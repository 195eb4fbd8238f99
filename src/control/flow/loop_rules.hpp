#pragma once

// The parts that the rules of while and scan are made of. A loop body takes (consts, carry, xs).

#include <array>
#include <string>

#include "control/common/regions.hpp"
#include "ir/loop.hpp"
#include "transform/derivatives/split.hpp"

namespace apsis::detail {

/// Throws unless the body returns the carry it got; `results` starts with the carry.
void check_carry(const char* op, std::span<const Aval> carry, std::span<const Aval> results);

/// "a loop at FILE:LINE": the one whose rule runs, for notes of what was chosen for it.
std::string this_loop();

/// The tangents that a tangent body takes beside the body's inputs; only scans have xs.
struct LoopTangents {
  std::vector<Array> consts, carry, xs = {};
};

std::vector<bool> slice_mask(const std::vector<bool>& mask, std::size_t from, std::size_t count);

/// Which outputs depend on the inputs marked.
std::vector<bool> dependence(const Graph& graph, const std::vector<bool>& in_mask);
/// Marks the carries of a loop's body that come to depend on marked inputs, after any number of iterations.
void mark_dependent_carries(const Graph& body, std::vector<bool>& in_mask, std::size_t consts,
                            std::size_t carries);

/// A loop in two: one over what is known, whose body is `known`, and one over the rest, whose body is to be
/// made of `linear`.
struct SplitLoop : Split {
  /// `first`: the first operand that is the body's.
  SplitLoop(const Graph& body, const LinearizeRule& r, std::size_t first, std::size_t consts,
            std::size_t carries);
  std::vector<bool> in_mask;    // the body's inputs that the loop over the rest has
  std::size_t consts, carries;  // of the loop over what is known
  std::vector<Array> operands;  // of its body
  LoopTangents tangents;        // operands of the other
};

/// Transforms a loop body until the carries that come out marked are those that went in marked:
/// `make(in_mask, instantiate, out_mask)` transforms the body; the carry part of `in_mask` grows.
template <class Make>
GraphRef carry_fixpoint(std::vector<bool>& in_mask, std::size_t consts, std::size_t carries,
                        std::vector<bool>& out_mask, Make&& make, std::size_t outputs) {
  for (;;) {
    std::vector<bool> instantiate(outputs, false);
    for (std::size_t c = 0; c < carries; ++c) instantiate[c] = in_mask[consts + c];
    GraphRef graph = make(in_mask, instantiate, out_mask);
    bool settled = true;
    for (std::size_t c = 0; c < carries; ++c) {
      settled &= in_mask[consts + c] == out_mask[c];
      in_mask[consts + c] = in_mask[consts + c] || out_mask[c];
    }
    if (settled) return graph;
  }
}

/// A loop over (primals, tangents): each group of operands (consts, carry, xs) is followed by the tangents of
/// those marked, or in Taylor mode by `copies` derivatives of each.
class Widening {
 public:
  Widening(std::array<std::size_t, 3> groups, std::vector<bool> in_mask, std::vector<bool> out_mask,
           std::size_t copies = 1)
      : groups_(groups), in_mask_(std::move(in_mask)), out_mask_(std::move(out_mask)), copies_(copies) {}
  /// Operands of a group in the wide loop.
  std::size_t width(int group) const;
  /// `jvp_body` (of jvp_graph or jet_graph) with its inputs and outputs in the wide loop's order.
  GraphRef interleave(const Graph& jvp_body) const;
  /// `tangents` are those of the operands marked, in order.
  std::vector<Array> operands(std::span<const Array> primals, std::span<const Array> tangents) const;
  /// The loop's results as (results…, tangents of those marked…).
  std::vector<Array> tangents_last(std::span<const Array> results) const;

 private:
  /// Tangents in a group of operands, and of the carries that come out.
  std::size_t moving(int group) const;
  std::size_t moving_carries() const { return copies_ * count(slice_mask(out_mask_, 0, groups_[1])); }
  std::size_t start(int group) const {
    return group == 0 ? 0 : start(group - 1) + groups_[static_cast<std::size_t>(group) - 1];
  }
  std::array<std::size_t, 3> groups_;
  std::vector<bool> in_mask_, out_mask_;
  std::size_t copies_;
};

/// Whether an operand is a list for each lane: what reads it goes by the lanes. Of other mapped lists the
/// entries have the mapped axis.
bool lists_by_lane(const BatchRule& r);
/// vmap of a loop whose lanes differ in length: `map_lanes` around the unbatched loop.
void batch_as_lanes(const Op& op, const BatchRule& r);
/// Whether a body for all lanes at once would record lists of lanes, those of a loop within whose lanes
/// differ in length: such a loop is run by its lanes as a whole.
bool records_lanes(const Graph& body);

/// A batch of one is the loop itself: there is nothing to decide, and nothing to mask. False where there are
/// more lanes, or lists of lanes, or the loop asks for the axis.
bool batch_of_one(const Op& op, const BatchRule& r);

}  // namespace apsis::detail
