#pragma once

#include "apsis/core/array.hpp"

namespace apsis::train {

/// What `EarlyStopping` keeps between updates: scalars, a tree like any other.
struct EarlyStoppingState {
  Array best_metric;     ///< f64: the least so far, ∞ at first
  Array patience_count;  ///< i64: updates since then
  Array has_improved;    ///< boolean: whether the last one was better than all before
  Array should_stop;     ///< boolean: stays true
};

/// Ends a training whose metric does not fall any more, as flax.training.early_stopping.
///
///   train::EarlyStopping stopping{.patience = 5};
///   auto state = stopping.init();
///   …
///   state = stopping.update(validation_loss, state);
///   if (state.has_improved) best = model;
///   if (state.should_stop) break;
///
/// Works on values and in compiled programs. To watch what should grow, give its negative.
struct EarlyStopping {
  Array min_delta = 0.;       ///< at least 0: the metric falls if it falls by more than this
  std::int64_t patience = 0;  ///< at least 0: as many updates without are borne, the next one stops

  /// Throws for options out of their range.
  EarlyStoppingState init(Loc loc = Loc::here()) const;
  /// A metric that is NaN is no improvement. Throws if it is no real scalar.
  EarlyStoppingState update(const Array& metric, const EarlyStoppingState& state,
                            Loc loc = Loc::here()) const;
};

}  // namespace apsis::train
