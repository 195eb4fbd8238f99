#pragma once

// Descent along the gradient, its momentum or its sign.

#include "apsis/optim/adam.hpp"
#include "apsis/optim/scale.hpp"

namespace apsis::optim {

/// Stochastic gradient descent, with momentum where it is given.
struct Sgd {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array momentum = {};                    ///< at least 0, less than 1; empty: none
  bool nesterov = false;
  std::optional<Dtype> accumulator_dtype = {};  ///< of the momentum; empty: the parameter's
  APSIS_TRANSFORMATION(TraceState<P>, {}, params)
};
/// Stochastic gradient descent with noise in the gradient (Neelakantan et al., Adding gradient noise improves
/// learning for very deep networks, 2015).
struct NoisySgd {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array eta = 0.01, gamma = 0.55;         ///< the variance is eta / (count + 1)^gamma
  Array key = {};                         ///< of the module `random`; it must be given
  APSIS_TRANSFORMATION(NoiseState<P>, {}, {})
};
/// Steps of learning_rate in the direction of each element's sign (Bernstein et al., signSGD, ICML 2018).
struct SignSgd {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  APSIS_TRANSFORMATION(CountState<P>, {})
};
/// SignSgd of the moving average of the gradients (the same paper).
struct Signum {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array beta = 0.9;                       ///< at least 0, less than 1
  APSIS_TRANSFORMATION(TraceState<P>, {}, params)
};

/// The direction of `Lion`, with the gradient's sign.
struct ScaleByLion {
  Array b1 = 0.9, b2 = 0.99;
  std::optional<Dtype> mu_dtype = {};  ///< that of mu; empty: the parameter's
  APSIS_TRANSFORMATION(TraceState<P>, {}, params)
};
/// Signs of an average of gradient and momentum (Chen et al., Symbolic discovery of optimization algorithms,
/// NeurIPS 2023).
struct Lion {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array b1 = 0.9, b2 = 0.99;              ///< at least 0, less than 1
  ScalarOrSchedule weight_decay = 1e-3;   ///< times the learning rate
  Mask mask = {};                         ///< the leaves that decay
  std::optional<Dtype> mu_dtype = {};     ///< that of mu; empty: the parameter's
  APSIS_TRANSFORMATION(TraceState<P>, {}, params)
};

/// (alpha + beta) g - beta · the gradient of the update before.
struct ScaleByOptimisticGradient {
  Array alpha = 1., beta = 1.;
  APSIS_TRANSFORMATION(TraceState<P>, {}, params)
};
/// Descent for games of several players (Mokhtari, Ozdaglar and Pattathil, A unified analysis of
/// extra-gradient and optimistic gradient methods, AISTATS 2020).
struct OptimisticGradientDescent {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array alpha = 1., beta = 1.;            ///< what is generalised, and what is optimistic
  APSIS_TRANSFORMATION(TraceState<P>, {}, params)
};
/// What `OptimisticAdam` keeps between updates.
template <class P>
struct OptimisticAdamState {
  Array count;  ///< i64: updates so far
  P mu, nu;     ///< as in AdamState
  P direction;  ///< Adam's of the update before
};
/// Optimistic steps of Adam's direction (Daskalakis et al., Training GANs with optimism, ICLR 2018). Optax:
/// optimistic_adam_v2.
struct OptimisticAdam {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array alpha = 1., beta = 1.;
  Array b1 = 0.9, b2 = 0.999;       ///< at least 0, less than 1
  Array eps = 1e-8, eps_root = 0.;  ///< at least 0
  bool nesterov = true;
  std::optional<Dtype> mu_dtype = {};  ///< that of mu; empty: the parameter's
  APSIS_TRANSFORMATION(OptimisticAdamState<P>, {}, params, params, params)
};

/// Steps as long as the parameters, with momentum (You, Gitman and Ginsburg, Large batch training of
/// convolutional networks, 2017).
struct Lars {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  ScalarOrSchedule weight_decay = 0.;
  Mask weight_decay_mask = {};  ///< the leaves that decay
  Array trust_coefficient = 0.001, eps = 0.;
  Mask trust_ratio_mask = {};  ///< the leaves whose steps have the parameter's length
  Array momentum = 0.9;        ///< at least 0, less than 1
  bool nesterov = false;
  APSIS_TRANSFORMATION(TraceState<P>, {}, params)
};
/// Bernstein et al., On the distance between two neural networks and the stability of learning, NeurIPS 2020.
struct Fromage {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array min_norm = 1e-6;                  ///< lengths are this at least
  APSIS_TRANSFORMATION(CountState<P>, {})
};

/// Which gap to the least loss `PolyakSgd` takes: SpsPlus counts losses below f_min as f_min.
enum class PolyakVariant : std::uint8_t { Sps, SpsPlus };
/// The gradient times (loss - f_min) / |g|², max_learning_rate at most.
struct ScaleByPolyak {
  Array f_min = 0., max_learning_rate = 1., eps = 0.;
  PolyakVariant variant = PolyakVariant::Sps;
  APSIS_TRANSFORMATION(EmptyState<P>)
};
/// Descent with Polyak's step length, for losses whose least value is known (Loizou et al., Stochastic Polyak
/// step-size for SGD, AISTATS 2021). `update` needs the loss: `update(gradient, state, params, {.value =
/// loss})`.
struct PolyakSgd {
  Array max_learning_rate = 1.;   ///< above 0
  ScalarOrSchedule scaling = 1.;  ///< of each step
  Array f_min = 0.;               ///< the least loss
  Array eps = 0.;                 ///< at least 0; added to |g|²
  PolyakVariant variant = PolyakVariant::Sps;
  APSIS_TRANSFORMATION(CountState<P>, {})
};

}  // namespace apsis::optim
