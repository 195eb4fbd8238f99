#pragma once

// Optimisers whose parameters are the first ones plus what all gradients so far say.

#include "apsis/optim/adam.hpp"

namespace apsis::optim {

/// What `Madgrad` keeps between updates.
template <class P>
struct MadgradState {
  Array count;    ///< i64: updates so far
  P grad_sum_sq;  ///< the weighted sum of the squares of gradients
  P s;            ///< the weighted sum of gradients
  P params0;      ///< the first parameters
};
/// Dual averaging with the cube root of the sum of squares, and momentum (Defazio and Jelassi, Adaptivity
/// without compromise: a momentumized, adaptive, dual averaged gradient method for stochastic optimization,
/// JMLR 2022).
struct Madgrad {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array momentum = 0.9;                   ///< at least 0, less than 1
  Array weight_decay = 0.;                ///< added to the gradient
  Array eps = 1e-6;                       ///< above 0
  APSIS_TRANSFORMATION(MadgradState<P>, {}, params, params, params)
};

/// What `Cocob` keeps between updates, all of them an element.
template <class P>
struct CocobState {
  Array count;  ///< i64: updates so far
  P params0;    ///< the first parameters
  P sums;       ///< minus the sum of gradients
  P scale;      ///< the greatest absolute value of gradients
  P total;      ///< the sum of absolute values of gradients
  P reward;     ///< what the bets have won
};
/// Betting on coins, which needs no learning rate (Orabona and Tommasi, Training deep networks without
/// learning rates through coin betting, NeurIPS 2017).
struct Cocob {
  ScalarOrSchedule learning_rate = 1.;  ///< a factor of the gradients
  Array alpha = 100.;                   ///< above 0: how many first bets are small
  Array eps = 1e-8;                     ///< above 0: the first scale
  ScalarOrSchedule weight_decay = 0.;   ///< added to the gradient
  Mask mask = {};                       ///< the leaves that decay
  APSIS_TRANSFORMATION(CocobState<P>, {}, params, params, params, params, params)
};

}  // namespace apsis::optim
