#pragma once

// How derivatives of a solve are found.

#include <cstdint>
#include <optional>

#include "apsis/diffeq/controller.hpp"

namespace apsis {

/// What derivatives of a solve are: those of its steps; or, of a solve that ends in a steady state, of that
/// state, as f(t1, y) = 0 defines it (by the implicit function theorem; the steps leave no tape). That the
/// slope at the end is small is not checked. (Diffrax: ImplicitAdjoint.) Reversible: those of its steps up to
/// rounding, by reverse mode alone; the steps leave no tape, and are run back from t1 instead, in memory that
/// does not grow with their number but for their times. For ReversibleHeun, VelocityVerlet and Yoshida4.
/// Backsolve: those of the equation, not of its steps, by reverse mode alone: the adjoint equation is solved
/// from t1 to t0, and the equation back with it, in memory that does not grow with the steps. Its gradients
/// are exact to the tolerances only, and wrong where the equation is not stable back in time: the others are
/// to be preferred. See BacksolveOptions. (Diffrax: BacksolveAdjoint.)
enum class Adjoint : std::uint8_t { Steps, SteadyState, Reversible, Backsolve };

/// Of Adjoint::Backsolve.
struct BacksolveOptions {
  /// That of the solves back in time, of the state, its cotangent and the parameters' cotangents; not given:
  /// that of the solve.
  std::optional<Controller> controller = {};
  /// Errors of the parameters' cotangents do not count: they do not act back on the rest. Fewer steps, for a
  /// PIDController. (Diffrax: adjoint_rms_seminorm.)
  bool seminorm = false;
};

}  // namespace apsis
