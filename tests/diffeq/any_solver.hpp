#pragma once

// Solvers by name, all of one type, so that tests over all of them are compiled once.

#include <memory>
#include <string>
#include <vector>

#include "apsis/apsis.hpp"

namespace apsis::testing {

template <TermStructure structure>
struct AnySolver {
  static constexpr TermStructure terms = structure;
  struct Interpolation {
    detail::SolverRef ref;
    std::vector<Array> evaluate(const DenseStep& s) const { return ref.interpolate(ref.self, s); }
  };
  detail::SolverRef ref;
  StepTraits traits() const { return ref.traits; }
  void check(Loc loc) const { ref.check(ref.self, loc); }
  std::vector<Array> init(const SolverStart& s) const { return ref.init(ref.self, s); }
  SolverAttempt step(const SolverStep& s) const { return ref.step(ref.self, s); }
  Interpolation interpolation() const { return {ref}; }
};
using Whole = AnySolver<TermStructure::Whole>;
using Split = AnySolver<TermStructure::Split>;
using Partitioned = AnySolver<TermStructure::Partitioned>;

/// Solvers live as long as the test.
template <class Any, class S>
Any any(S solver) {
  static std::vector<std::unique_ptr<S>> kept;
  kept.push_back(std::make_unique<S>(std::move(solver)));
  return {detail::solver_ref(*kept.back())};
}

struct Named {
  std::string name;
  Whole solver;
  int output;  ///< the order of dense output
  bool stiff;  ///< L-stable
};
/// All that take the whole equation. `newton`: of implicit ones.
inline std::vector<Named> whole_solvers(const NewtonOptions& newton = {}) {
  return {{"euler", any<Whole>(Euler{}), 1, false},
          {"heun", any<Whole>(Heun{}), 2, false},
          {"midpoint", any<Whole>(Midpoint{}), 2, false},
          {"ralston", any<Whole>(Ralston{}), 2, false},
          {"bosh3", any<Whole>(Bosh3{}), 3, false},
          {"tsit5", any<Whole>(Tsit5{}), 5, false},
          {"dopri5", any<Whole>(Dopri5{}), 5, false},
          {"dopri8", any<Whole>(Dopri8{}), 6, false},
          {"vern7", any<Whole>(Vern7{}), 7, false},
          {"vern9", any<Whole>(Vern9{}), 9, false},
          {"leapfrog_midpoint", any<Whole>(LeapfrogMidpoint{}), 2, false},
          {"reversible_heun", any<Whole>(ReversibleHeun{}), 2, false},
          {"half_heun", any<Whole>(HalfSolver{Heun{}}), 2, false},
          {"implicit_euler", any<Whole>(ImplicitEuler{newton}), 1, true},
          {"kvaerno3", any<Whole>(Kvaerno3{newton}), 3, true},
          {"kvaerno4", any<Whole>(Kvaerno4{newton}), 4, true},
          {"kvaerno5", any<Whole>(Kvaerno5{newton}), 4, true},
          {"rodas5p", any<Whole>(Rodas5P{}), 5, true},
          {"radau5", any<Whole>(Radau5{newton}), 4, true},
          {"ndf1", any<Whole>(BackwardDifferences{newton, 1}), 1, true},
          {"ndf2", any<Whole>(BackwardDifferences{newton, 2}), 2, true},
          {"rkc", any<Whole>(RKC{}), 2, false},
          {"auto_switch", any<Whole>(AutoSwitch{Tsit5{}, Rodas5P{}}), 5, false}};
}
inline std::vector<std::pair<std::string, Split>> split_solvers(const NewtonOptions& newton = {}) {
  return {{"kencarp3", any<Split>(KenCarp3{newton})},
          {"kencarp4", any<Split>(KenCarp4{newton})},
          {"kencarp5", any<Split>(KenCarp5{newton})},
          {"sil3", any<Split>(Sil3{newton})},
          {"etdrk4", any<Split>(ETDRK4{})}};
}
struct Stochastic {
  std::string name;
  Whole solver;
};
/// All that take Brownian motion; traits tell the rest.
inline std::vector<Stochastic> stochastic_solvers() {
  return {{"euler", any<Whole>(Euler{})},
          {"heun", any<Whole>(Heun{})},
          {"midpoint", any<Whole>(Midpoint{})},
          {"ralston", any<Whole>(Ralston{})},
          {"reversible_heun", any<Whole>(ReversibleHeun{})},
          {"half_heun", any<Whole>(HalfSolver{Heun{}})},
          {"half_milstein", any<Whole>(HalfSolver{ItoMilstein{}})},
          {"euler_heun", any<Whole>(EulerHeun{})},
          {"ito_milstein", any<Whole>(ItoMilstein{})},
          {"stratonovich_milstein", any<Whole>(StratonovichMilstein{})},
          {"sea", any<Whole>(SEA{})},
          {"sra1", any<Whole>(SRA1{})},
          {"shark", any<Whole>(ShARK{})},
          {"general_shark", any<Whole>(GeneralShARK{})},
          {"slow_rk", any<Whole>(SlowRK{})},
          {"spark", any<Whole>(SPaRK{})}};
}
inline std::vector<std::pair<std::string, Partitioned>> partitioned_solvers() {
  return {{"semi_implicit_euler", any<Partitioned>(SemiImplicitEuler{})},
          {"velocity_verlet", any<Partitioned>(VelocityVerlet{})},
          {"yoshida4", any<Partitioned>(Yoshida4{})}};
}

}  // namespace apsis::testing
