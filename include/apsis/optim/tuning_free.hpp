#pragma once

// Optimisers that find the length of their steps from how far the parameters have come.

#include "apsis/optim/adam.hpp"
#include "apsis/optim/scale.hpp"

namespace apsis::optim {

/// What the first step of `Dog` goes by: a distance, a distance relative to 1 + the length of the parameters,
/// or a learning rate.
enum class DogStart : std::uint8_t { Distance, Heuristic, LearningRate };
/// What `Dog` keeps between updates.
template <class P>
struct DogState {
  Array count;              ///< i64: updates so far
  Array max_dist;           ///< the greatest distance from the first parameters
  Array sum_sq_norm_grads;  ///< the sum of the squared lengths of gradients
  P params0;                ///< the first parameters
};
/// The gradient times the greatest distance so far over the root of the sum of its squared lengths.
struct ScaleByDog {
  DogStart init_step = DogStart::Heuristic;
  Array init_value = 1e-6;  ///< above 0: the distance or learning rate of the first step
  Array eps = 1e-8;         ///< at least 0; added within the root
  APSIS_TRANSFORMATION(DogState<P>, {}, {}, {}, params)
};
/// Distance over gradients (Ivgi, Hinder and Carmon, DoG is SGD's best friend: a parameter-free dynamic step
/// size schedule, ICML 2023).
struct Dog {
  ScalarOrSchedule learning_rate = 1.;  ///< a factor
  DogStart init_step = DogStart::Heuristic;
  Array init_value = 1e-6;             ///< above 0: the distance or learning rate of the first step
  Array eps = 1e-8;                    ///< at least 0; added within the root
  ScalarOrSchedule weight_decay = 0.;  ///< added to the gradient
  Mask mask = {};                      ///< the leaves that decay
  APSIS_TRANSFORMATION(DogState<P>, {}, {}, {}, params)
};

/// What `Dowg` keeps between updates.
template <class P>
struct DowgState {
  Array count;  ///< i64: updates so far
  Array
      weighted_sq_norm_grads;  ///< the sum of the squared lengths of gradients, each times the estimate then
  Array estim_sq_dist;         ///< the greatest squared distance from the first parameters
  P params0;                   ///< the first parameters
};
/// The gradient times the greatest squared distance so far over the root of its weighted squared lengths.
struct ScaleByDowg {
  Array init_estim_sq_dist = {};  ///< above 0; empty: eps
  Array eps = 1e-4;               ///< above 0
  APSIS_TRANSFORMATION(DowgState<P>, {}, {}, {}, params)
};
/// Distance over weighted gradients (Khaled, Mishchenko and Jin, DoWG unleashed: an efficient universal
/// parameter-free gradient descent method, NeurIPS 2023).
struct Dowg {
  ScalarOrSchedule learning_rate = 1.;  ///< a factor
  Array init_estim_sq_dist = {};        ///< above 0; empty: eps
  Array eps = 1e-4;                     ///< above 0
  ScalarOrSchedule weight_decay = 0.;   ///< added to the gradient
  Mask mask = {};                       ///< the leaves that decay
  APSIS_TRANSFORMATION(DowgState<P>, {}, {}, {}, params)
};

/// What `ScaleByDistanceOverGradients` keeps between updates.
template <class P>
struct LayerDogState {
  P max_dist, grad_sum_of_squares;  ///< a scalar for each leaf
  P params0;                        ///< the first parameters
};
/// `ScaleByDog` with a distance and a sum for each leaf (the same paper, L-DoG). A descent needs
/// global_scale = -1, or `Scale`.
struct ScaleByDistanceOverGradients {
  Array reps_rel = 1e-6;  ///< above 0: the first distance, relative to 1 + the length of the leaf
  Array eps = 1e-8;       ///< at least 0; added within the root
  std::optional<Dtype> param_dtype = {};  ///< that of params0; empty: the parameter's
  Array global_scale = 1.;
  APSIS_TRANSFORMATION(LayerDogState<P>, params, params, params)
};

/// What `DAdaptAdamW` keeps between updates.
template <class P>
struct DAdaptState {
  Array count;                         ///< i64: updates so far
  Array estim_lr, numerator_weighted;  ///< scalars
  P exp_avg, exp_avg_sq, grad_sum;
};
/// AdamW that finds its learning rate (Defazio and Mishchenko, Learning-rate-free learning by D-adaptation,
/// ICML 2023).
struct DAdaptAdamW {
  ScalarOrSchedule learning_rate = 1.;  ///< a factor
  Array b1 = 0.9, b2 = 0.999;           ///< at least 0, less than 1
  Array eps = 1e-8;                     ///< at least 0
  Array estim_lr0 = 1e-6;               ///< the first estimate; above 0
  Array weight_decay = 0.;
  APSIS_TRANSFORMATION(DAdaptState<P>, {}, {}, {}, params, params, params)
};

/// What `Momo` keeps between updates.
template <class P>
struct MomoState {
  Array count;  ///< i64: updates so far
  Array barf;   ///< the moving average of losses
  Array gamma;  ///< that of the product of gradient and parameters
  Array lb;     ///< the lower bound of the loss
  P exp_avg;    ///< the moving average of the gradients
};
/// Momentum whose learning rate is what a model of the loss by tangents allows, `learning_rate` at most
/// (Schaipp et al., MoMo: momentum models for adaptive learning rates, ICML 2024). `update` needs the loss:
/// `update(gradient, state, params, {.value = loss})`.
struct Momo {
  ScalarOrSchedule learning_rate = 1.;  ///< finite, at least 0
  Array beta = 0.9;                     ///< at least 0, less than 1
  Array lower_bound = 0.;               ///< of the loss
  Array weight_decay = 0.;
  bool adapt_lower_bound = false;  ///< the bound is estimated, lower_bound at least
  APSIS_TRANSFORMATION(MomoState<P>, {}, {}, {}, {}, params)
};
/// What `MomoAdam` keeps between updates.
template <class P>
struct MomoAdamState {
  Array count;            ///< i64: updates so far
  Array barf, gamma, lb;  ///< as in MomoState
  P exp_avg, exp_avg_sq;  ///< the moving averages of the gradients and of their squares
};
/// `Momo` of Adam's direction (the same paper). `update` needs the loss.
struct MomoAdam {
  ScalarOrSchedule learning_rate = 1e-2;  ///< finite, at least 0
  Array b1 = 0.9, b2 = 0.999;             ///< at least 0, less than 1
  Array eps = 1e-8;                       ///< at least 0
  Array lower_bound = 0.;                 ///< of the loss
  Array weight_decay = 0.;
  bool adapt_lower_bound = false;  ///< the bound is estimated, lower_bound at least
  APSIS_TRANSFORMATION(MomoAdamState<P>, {}, {}, {}, {}, params, params)
};

}  // namespace apsis::optim
