#include "apsis/train/early_stopping.hpp"

#include <limits>

#include "apsis/core/op.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/select.hpp"
#include "train/messages.hpp"

namespace apsis::train {

EarlyStoppingState EarlyStopping::init(Loc loc) const {
  const LocScope place(loc);
  if (patience < 0) fail(messages::stopping_option, {"patience", std::to_string(patience), "at least 0"});
  const Array delta = concrete_value(min_delta);
  if (min_delta.ndim() != 0 || (!delta.is_empty() && !(delta.item<double>() >= 0)))
    fail(messages::stopping_option, {"min_delta", to_string(min_delta), "a scalar, at least 0"});
  return {.best_metric = array(std::numeric_limits<double>::infinity()),
          .patience_count = array(std::int64_t{0}),
          .has_improved = array(false),
          .should_stop = array(false)};
}

EarlyStoppingState EarlyStopping::update(const Array& metric, const EarlyStoppingState& state,
                                         Loc loc) const {
  const LocScope place(loc);
  if (metric.ndim() != 0 || is_complex(metric.dtype()))
    fail(messages::stopping_metric, {to_string(metric.aval())});
  const Array now = astype(metric, f64), improved = state.best_metric - now > min_delta;
  return {.best_metric = where(improved, now, state.best_metric),
          .patience_count = where(improved, 0, state.patience_count + 1),
          .has_improved = improved,
          .should_stop = state.should_stop || (!improved && state.patience_count >= patience)};
}

}  // namespace apsis::train
