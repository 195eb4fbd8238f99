#pragma once

#include "apsis/optim/scale.hpp"

namespace apsis::optim {

/// What `Prodigy` keeps between updates.
template <class P>
struct ProdigyState {
  Array count;                         ///< i64: updates so far
  Array estim_lr, numerator_weighted;  ///< scalars
  P exp_avg, exp_avg_sq, grad_sum, params0;
};
/// Adam that finds its learning rate from the distance to the first parameters (Mishchenko and Defazio,
/// Prodigy: an expeditiously adaptive parameter-free learner, ICML 2024).
struct Prodigy {
  ScalarOrSchedule learning_rate = 1.;  ///< a factor
  Array b1 = 0.9, b2 = 0.999;           ///< at least 0, less than 1
  Array b3 = {};                        ///< empty: sqrt(b2)
  Array eps = 1e-8;                     ///< at least 0
  Array estim_lr0 = 1e-6;               ///< the first estimate; above 0
  Array estim_lr_coef = 1.;             ///< a factor of the estimate
  Array weight_decay = 0.;
  bool safeguard_warmup = false;  ///< for learning rates that begin near 0
  APSIS_TRANSFORMATION(ProdigyState<P>, {}, {}, {}, params, params, params, params)
};

}  // namespace apsis::optim
