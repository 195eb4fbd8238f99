#pragma once

// A loop, whichever op it is: the one description of `while` and `scan`.

#include "ir/regions.hpp"

namespace apsis::detail {

inline bool is_loop(const Eqn& e) { return e.op->kind == OpKind::While || e.op->kind == OpKind::Scan; }
/// In regions too.
bool has_loop(const Graph& graph);

/// Operands in this order: the condition's constants; then, as the body takes them, constants, carries, xs.
/// Results, and outputs of the body: carries, ys. The condition takes its constants and the carries. A scan
/// has no condition and goes over its xs, a while has no xs.
struct Loop {
  explicit Loop(const Eqn& e);
  explicit Loop(const WhileParams& p);
  explicit Loop(const ScanParams& p);

  std::size_t first_carry() const { return cond_consts + consts; }
  std::size_t first_x() const { return first_carry() + carries; }
  /// Whether a carry stays what it is.
  bool unchanging(std::size_t carry) const { return body->outputs()[carry] == consts + carry; }
  /// The numbers of a carry as an input of the condition and of the body.
  ValueId in_cond(std::size_t carry) const { return static_cast<ValueId>(cond_consts + carry); }
  ValueId in_body(std::size_t carry) const { return static_cast<ValueId>(consts + carry); }

  const Graph* cond = nullptr;
  const Graph* body;
  std::size_t cond_consts = 0, consts, carries;
  std::int64_t max_steps = -1;  // of a while; -1: no bound
  std::int64_t site = -1;       // see WhileParams
  std::int64_t length = -1;     // of a scan; -1: that of its lists
  bool reverse = false;
};

/// Axes of an entry of a scan, as those of the array of all entries: axis 0 counts iterations.
inline Dims after_time(Dims axes) {
  for (std::int64_t& axis : axes) ++axis;
  return axes;
}

/// The regions of a loop, and how many of their inputs are constants and carries.
struct LoopRegions {
  GraphRef cond, body;  // cond: null for a scan
  std::size_t cond_consts = 0, consts = 0, carries = 0;
};
/// The parameters of the loop with other regions.
Params with_loop_regions(const Eqn& loop, const LoopRegions& regions);

}  // namespace apsis::detail
