// What must hold of the coefficients of compositions.

#include "apsis/diffeq/symplectic.hpp"
#include "diffeq/table_check.hpp"

namespace apsis {

void check_table(const SymplecticComposition& m, Loc loc) {
  const detail::TableRefusals refuse(m.name ? m.name : "SymplecticComposition", loc);
  const std::size_t stages = m.drift.size();
  if (stages == 0) refuse.wrong_size("drift", 0, "1 or more", "a drift and a kick a stage");
  constexpr const char* why = "a drift and a kick a stage, each with its time";
  refuse.size("kick", m.kick.size(), stages, why);
  refuse.size("drift_time", m.drift_time.size(), stages, why);
  refuse.size("kick_time", m.kick_time.size(), stages, why);
  refuse.finite("drift", m.drift);
  refuse.finite("kick", m.kick);
  refuse.finite("drift_time", m.drift_time);
  refuse.finite("kick_time", m.kick_time);
  if (m.order < 1) refuse.wrong("order", m.order, "1 or more", "it is that of the composition");
  refuse.equal("the sum of drift", refuse.sum(m.drift), 1, refuse.size_of(m.drift),
               "constant slopes are followed exactly");
  refuse.equal("the sum of kick", refuse.sum(m.kick), 1, refuse.size_of(m.kick),
               "constant slopes are followed exactly");
  if (m.order < 2) return;
  // Σ kick[i] (drift[0] + … + drift[i]) = 1/2: q as the kicks see it is at the middle on average, and p as
  // the drifts see it.
  double drifted = 0, total = 0;
  for (std::size_t i = 0; i < stages; ++i) total += m.kick[i] * (drifted += m.drift[i]);
  refuse.equal("Σ kick[i] (drift[0] + … + drift[i])", total, 0.5, refuse.size_of(m.kick),
               "a composition of order 2 or more has it so; give the order that it has");
}

}  // namespace apsis
