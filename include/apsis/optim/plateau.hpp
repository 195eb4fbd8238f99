#pragma once

#include "apsis/optim/rule.hpp"

namespace apsis::optim {

/// What `ReduceOnPlateau` keeps between updates.
template <class P>
struct PlateauState {
  Array scale;                          ///< what gradients are multiplied by
  Array best_value;                     ///< the least mean of losses so far
  Array plateau_count, cooldown_count;  ///< i64
  Array count;                          ///< i64: losses in the mean
  Array avg_value;                      ///< the mean of losses since
};
/// Multiplies by a scale that falls when the loss stays: by `factor` after `patience` means of
/// `accumulation_size` losses without one below (1 - rtol) · the best - atol. `update` needs the loss:
/// `update(gradient, state, params,
/// {.value = loss})`. Put it behind an optimiser, in a chain.
struct ReduceOnPlateau {
  Array factor = 0.1;                  ///< above 0, less than 1
  std::int64_t patience = 10;          ///< 1 or more
  Array rtol = 1e-4, atol = 0.;        ///< at least 0
  std::int64_t cooldown = 0;           ///< means that do not count after a fall
  std::int64_t accumulation_size = 1;  ///< 1 or more
  Array min_scale = 0.;                ///< at least 0
  APSIS_TRANSFORMATION(PlateauState<P>, {}, {}, {}, {}, {}, {})
};

}  // namespace apsis::optim
