// Kick, drift, kick: Verlet, Phys. Rev. 159, 1967; in the form of Swope et al., J. Chem. Phys. 76, 1982.

#include "apsis/diffeq/symplectic.hpp"

namespace apsis {

const SymplecticComposition& VelocityVerlet::method() {
  static const SymplecticComposition table{.name = "VelocityVerlet",
                                           .order = 2,
                                           .drift = {0, 1},
                                           .kick = {0.5, 0.5},
                                           .drift_time = {0, 0.5},
                                           .kick_time = {0, 1}};
  return table;
}

}  // namespace apsis
