#pragma once

// Solvers for q' = f(t, p), p' = g(t, q), such as positions and momenta: their error in energy stays bounded
// over long times. They take a pair of terms and a pair of states, in steps of one length (ConstantStepSize):
//
//   auto sol = diffeqsolve(std::pair{ODETerm{velocity}, ODETerm{force}}, VelocityVerlet{}, 0., 100., 0.01,
//                          std::pair{q, p});

#include <vector>

#include "apsis/diffeq/solver.hpp"

namespace apsis {

/// A composition of drifts and kicks: for each i, q += drift[i] h f(t + drift_time[i] h, p), then
/// p += kick[i] h g(t + kick_time[i] h, q). (Hairer, Lubich, Wanner, Geometric Numerical Integration, II.5
/// and VI.3.) A solver of your own is a struct with a static `method()` that returns one.
struct SymplecticComposition {
  const char* name;
  int order;
  std::vector<double> drift, kick;
  std::vector<double> drift_time, kick_time;
  /// Dense output by the cubic with the slopes at both ends; otherwise by the straight line.
  bool hermite = true;

  /// The first kick is that of where the last step's last one was: it is not computed again.
  bool keeps_kick() const { return drift[0] == 0 && kick_time[0] == 0 && kick_time.back() == 1; }
};
/// Throws if lists differ in length, drifts or kicks do not add up to 1, or the order (up to 2) is not that
/// of the coefficients.
void check_table(const SymplecticComposition& method, Loc loc = Loc::here());

/// Semi-implicit (symplectic) Euler, order 1: a drift, then a kick.
struct SemiImplicitEuler {
  static constexpr TermStructure terms = TermStructure::Partitioned;
  static const SymplecticComposition& method();
};
/// Velocity Verlet (leapfrog), order 2, one evaluation of g a step: Verlet, Computer "experiments" on
/// classical fluids I, Phys. Rev. 159, 1967; Swope et al., J. Chem. Phys. 76, 1982.
struct VelocityVerlet {
  static constexpr TermStructure terms = TermStructure::Partitioned;
  static const SymplecticComposition& method();
};
/// Order 4 by three steps of velocity Verlet: Yoshida, Construction of higher order symplectic integrators,
/// Phys. Lett. A 150, 1990; Forest and Ruth, Fourth-order symplectic integration, Physica D 43, 1990.
struct Yoshida4 {
  static constexpr TermStructure terms = TermStructure::Partitioned;
  static const SymplecticComposition& method();
};

namespace detail {
SolverRef symplectic_solver(const SymplecticComposition& table);
template <>
struct SolverFamily<SymplecticComposition> {
  template <class S>
  static SolverRef ref(const S&) {
    static_assert(terms_of<S>() == TermStructure::Partitioned,
                  "a solver with a SymplecticComposition takes a pair of terms: give it the member "
                  "static constexpr TermStructure terms = TermStructure::Partitioned;");
    return symplectic_solver(S::method());
  }
};
}  // namespace detail

}  // namespace apsis
