#pragma once

#include <memory>

#include "apsis/transform/callee.hpp"
#include "apsis/transform/lane_loops.hpp"
#include "transform/batch/derived.hpp"
#include "transform/stage/stage.hpp"

namespace apsis::detail {

/// How the loops of the op are to run whose batching rule runs: as its vmap says. Automatic outside of rules.
/// The graphs that the rule batches for its regions do the same.
LaneLoops lane_loops();

/// vmap: values with a hidden mapped axis. What no mapped value reaches runs once, unless it works across the
/// lanes.
class BatchTrace : public Trace {
 public:
  BatchTrace(Trace* parent, MappedAxis axis, LaneLoops loops, Loc loc = {})
      : Trace(parent, "vmap", loc), size_(axis.size), axis_name_(axis.name), loops_(loops) {}
  void process(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out,
               Loc loc) override;
  /// A lane's view of `value`; itself if axis is -1.
  Array lane(const Array& value, int axis, Loc loc = {}) const;
  /// The whole value and its mapped axis, or -1.
  std::pair<Array, int> split(const Array& a) const;
  MappedAxis axis() const { return {size_, axis_name_}; }

 private:
  std::int64_t size_;
  std::string axis_name_;  // empty: it has none
  LaneLoops loops_;
  DerivedScope derived_;
};

/// The innermost vmap in progress on this thread that has named its axis so; null if there is none.
const BatchTrace* find_axis(std::string_view name);
/// The names of all axes in scope, the innermost first, as an error lists them.
std::string axes_in_scope();

/// A named axis, remembered beyond its vmap.
struct NamedAxis {
  std::int64_t size;
  std::string name;
  operator MappedAxis() const { return {size, name}; }
};
/// Those in scope, the outermost first.
std::vector<NamedAxis> named_axes();

/// A vmap that is over, or yet to come: what is staged under it will be mapped over its axis by name.
class RememberedAxis : public BatchTrace {
  using BatchTrace::BatchTrace;
};
/// While it lives, these axes are in scope, whatever vmaps are around.
class AxesScope {
 public:
  explicit AxesScope(std::span<const NamedAxis> axes);
  ~AxesScope();
  AxesScope(const AxesScope&) = delete;
  AxesScope& operator=(const AxesScope&) = delete;

 private:
  std::vector<std::unique_ptr<RememberedAxis>> axes_;
  std::vector<std::unique_ptr<TraceScope>> scopes_;
};

/// Whole results and their mapped axes (-1: the same for all lanes). Only operands with axis ≥ 0 are mapped.
struct BatchResult {
  std::vector<Array> outs;
  std::vector<int> axes;
};
BatchResult batch(const Callee& callee, MappedAxis axis, std::span<const Array> operands,
                  std::span<const int> axes, Loc loc = {}, LaneLoops loops = lane_loops());

/// Where the mapped axis of `whole` is, whose lanes' views are `lane`: in front, except for a list whose
/// entries have it, so that its lists are as long for all: there it follows the lists' own lanes.
int mapped_place(const Aval& whole, const Aval& lane);

/// `a` with the mapped axis at `to`: moved there, or broadcast if it has none. That of a list stays.
Array with_axis(const Array& a, int axis, int to, std::int64_t size);

/// What the inputs of a graph are over whole values, and where the mapped axis is: at 0 for those marked in
/// `in_mask`, nowhere (-1) for others. Where lists may be among them, `operands` tell what they are, a list
/// per lane or one list of entries that have the mapped axis; left out, it is the latter.
struct MappedInputs {
  MappedInputs(const Graph& graph, MappedAxis axis, const std::vector<bool>& in_mask,
               std::span<const Aval> operands = {});
  std::vector<Aval> avals;
  std::vector<int> axes;
};

/// The graph over whole values, of `MappedInputs`; outputs marked in `out_mask` have the mapped axis at 0.
/// With `instantiate[i]` output i is mapped even if all lanes are equal.
GraphRef batch_graph(const Graph& graph, MappedAxis axis, const std::vector<bool>& in_mask,
                     const std::vector<bool>& instantiate, std::vector<bool>& out_mask,
                     std::span<const Aval> operands = {});

}  // namespace apsis::detail
