#pragma once

// A while or scan equation, taken apart.

#include "ir/regions.hpp"

namespace apsis::detail {

inline bool is_loop(const Eqn& e) { return e.op->kind == OpKind::While || e.op->kind == OpKind::Scan; }
/// In regions too.
bool has_loop(const Graph& graph);

/// A scan has no condition, a while no xs. Operands in this order: the condition's constants; then, as the
/// body takes them, constants, carries, xs. Results, and outputs of the body: carries, ys.
struct Loop {
  explicit Loop(const Eqn& e);
  std::size_t first_carry() const { return cond_consts + consts; }
  bool unchanging(std::size_t carry) const { return body.outputs()[carry] == consts + carry; }

  const Graph* cond = nullptr;
  const Graph& body;
  std::size_t cond_consts = 0, consts, carries, xs;
  bool lists = false;  // the xs are lists: one of them says how often
};

}  // namespace apsis::detail
