#pragma once

// Parameters of the ops with regions. They stand here, not in control, because code generation reads them.

#include "ir/graph.hpp"

namespace apsis::detail {

/// Adjoint kinds of `while_loop`, with Equinox's names: the default keeps a growing tape.
enum class LoopKind : std::uint8_t { Checkpointed, Bounded, Lax, Sensitivities };

/// while: operands (cond_consts…, body_consts…, carry…), results (carry…, ys…). `cond`: (cond_consts…,
/// carry…) → bool[]. `body`: (body_consts…, carry…) → (carry…, ys…). The ys are appended each iteration to
/// lists. `max_steps` < 0: no bound.
struct WhileParams {
  GraphRef cond, body;
  std::int64_t cond_consts = 0, body_consts = 0, carries = 0;
  std::int64_t max_steps = -1;
  LoopKind kind = LoopKind::Checkpointed;
  /// No part of the program: in code generation, which place errors of the loop name (see
  /// passes/error_sites.hpp).
  std::int64_t site = -1;
  static void each(auto& self, auto&& visit) {
    visit("cond_consts", self.cond_consts);
    visit("body_consts", self.body_consts);
    visit("carries", self.carries);
    visit("max_steps", self.max_steps);
    visit("kind", self.kind);
    visit("cond", self.cond);
    visit("body", self.body);
  }
};

/// scan: operands (consts…, carry…, xs…), results (carry…, ys…). `body`: (consts…, carry…, x…) → (carry…,
/// y…). The xs are arrays stacked along axis 0 of length `length`, or lists of so many entries; or `length`
/// is -1, all xs are lists of one length, and the ys are lists. Of a known length the ys that are lists make
/// lists of lists, the others are stacked. `reverse` goes from the last entry to the first; ys stay at the
/// index of their x (for lists too).
struct ScanParams {
  GraphRef body;
  std::int64_t consts = 0, carries = 0, length = 0;
  bool reverse = false;
  static void each(auto& self, auto&& visit) {
    visit("consts", self.consts);
    visit("carries", self.carries);
    visit("length", self.length);
    visit("reverse", self.reverse);
    visit("body", self.body);
  }
};

/// cond (and switch): operands (index: i64[], operands…), results of the branch chosen; the index is clamped.
struct CondParams {
  std::vector<GraphRef> branches;
  static void each(auto& self, auto&& visit) { visit("branches", self.branches); }
};

/// map_lanes: runs `region` for each of `lanes` lanes, each at its own pace. in_axes[i]: the mapped axis of
/// operand i (always 0) or -1 when shared by all lanes. Results have the lanes along axis 0. `nest`: where
/// the lanes are those of a vmap in a vmap, made one axis, the lengths of these, the outermost first; else
/// empty.
struct MapLanesParams {
  GraphRef region;
  std::int64_t lanes = 0;
  Dims in_axes, nest = {};
  static void each(auto& self, auto&& visit) {
    visit("lanes", self.lanes);
    visit("nest", self.nest);
    visit("in_axes", self.in_axes);
    visit("region", self.region);
  }
};

/// call: runs `region` on the operands (a jitted function met inside another trace).
struct CallParams {
  GraphRef region;
  std::string name;
  static void each(auto& self, auto&& visit) {
    visit("name", self.name);
    visit("region", self.region);
  }
};

}  // namespace apsis::detail
