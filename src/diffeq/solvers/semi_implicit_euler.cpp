#include "apsis/diffeq/symplectic.hpp"

namespace apsis {

// Both slopes are those at the beginning of the step, as Diffrax has it.
const SymplecticComposition& SemiImplicitEuler::method() {
  static const SymplecticComposition table{.name = "SemiImplicitEuler",
                                           .order = 1,
                                           .drift = {1},
                                           .kick = {1},
                                           .drift_time = {0},
                                           .kick_time = {0},
                                           .hermite = false};
  return table;
}

}  // namespace apsis
