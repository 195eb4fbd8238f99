// Three steps of velocity Verlet, of lengths w, 1 - 2 w and w with w = 1 / (2 - 2^(1/3)): Yoshida, Phys.
// Lett. A 150, 1990, equation (2.11).

#include "apsis/diffeq/symplectic.hpp"

namespace apsis {
namespace {

constexpr double w = 1.3512071919596578;

}  // namespace

const SymplecticComposition& Yoshida4::method() {
  static const SymplecticComposition table{.name = "Yoshida4",
                                           .order = 4,
                                           .drift = {0, w, 1 - 2 * w, w},
                                           .kick = {w / 2, (1 - w) / 2, (1 - w) / 2, w / 2},
                                           .drift_time = {0, w / 2, 0.5, 1 - w / 2},
                                           .kick_time = {0, w, 1 - w, 1}};
  return table;
}

}  // namespace apsis
