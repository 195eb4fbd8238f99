#pragma once

// Steps scaled by what each element's gradients were before, without momentum of their own.

#include "apsis/optim/adam.hpp"
#include "apsis/optim/scale.hpp"

namespace apsis::optim {

/// What is kept of the squares of gradients.
template <class P>
struct RmsState {
  Array count;  ///< i64: updates so far
  P nu;
};
/// What is kept of gradients and their squares, and of momentum.
template <class P>
struct RmsPropState {
  Array count;  ///< i64: updates so far
  P mu;         ///< empty unless centered
  P nu;
  P trace;  ///< empty without momentum
};
/// Two moving averages of squares.
template <class P>
struct AdadeltaState {
  Array count;  ///< i64: updates so far
  P e_g, e_x;   ///< of the gradients, and of the steps
};

/// g over the root of the sum of squares.
struct ScaleByRss {
  Array initial_accumulator_value = 0.1, eps = 1e-7;
  APSIS_TRANSFORMATION(RmsState<P>, {}, params)
};
/// Duchi, Hazan and Singer, Adaptive subgradient methods for online learning and stochastic optimization,
/// JMLR 2011.
struct Adagrad {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array initial_accumulator_value = 0.1;  ///< at least 0
  Array eps = 1e-7;                       ///< at least 0; added within the root
  APSIS_TRANSFORMATION(RmsState<P>, {}, params)
};

/// g over the root of the moving average of squares.
struct ScaleByRms {
  Array decay = 0.9, eps = 1e-8, initial_scale = 0.;
  bool eps_in_sqrt = true, bias_correction = false;
  APSIS_TRANSFORMATION(RmsState<P>, {}, params)
};
/// g over its moving standard deviation.
struct ScaleByStddev {
  Array decay = 0.9, eps = 1e-8, initial_scale = 0.;
  bool eps_in_sqrt = true, bias_correction = false;
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};
/// Tieleman and Hinton, Lecture 6.5, 2012; centered: Graves, Generating sequences with recurrent neural
/// networks, 2013.
struct RmsProp {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array decay = 0.9;                      ///< at least 0, less than 1
  Array eps = 1e-8, initial_scale = 0.;   ///< at least 0
  bool eps_in_sqrt = true, centered = false;
  Array momentum = {};  ///< at least 0, less than 1; empty: none
  bool nesterov = false, bias_correction = false;
  APSIS_TRANSFORMATION(RmsPropState<P>, {}, params, params, params)
};

/// The direction of `Adadelta`, with the gradient's sign.
struct ScaleByAdadelta {
  Array rho = 0.9, eps = 1e-6;
  APSIS_TRANSFORMATION(AdadeltaState<P>, {}, params, params)
};
/// Zeiler, ADADELTA: an adaptive learning rate method, 2012.
struct Adadelta {
  ScalarOrSchedule learning_rate = 1.;  ///< finite, at least 0
  Array rho = 0.9;                      ///< at least 0, less than 1
  Array eps = 1e-6;                     ///< at least 0
  ScalarOrSchedule weight_decay = 0.;
  Mask mask = {};  ///< the leaves that decay
  APSIS_TRANSFORMATION(AdadeltaState<P>, {}, params, params)
};

/// What `Adafactor` keeps between updates.
template <class P>
struct FactoredState {
  Array count;     ///< i64: updates so far
  P v_row, v_col;  ///< means of squares over columns and rows, of leaves that are factored
  P v;             ///< the squares of the others
  P trace;         ///< empty without momentum
};
/// g over the root of the moving average of squares, of which large matrices keep means over rows and columns
/// alone.
struct ScaleByFactoredRms {
  bool factored = true;
  Array decay_rate = 0.8;
  std::int64_t step_offset = 0, min_dim_size_to_factor = 128;
  Array epsilon = 1e-30;
  APSIS_TRANSFORMATION(FactoredState<P>, {}, params, params, params, params)
};
/// Shazeer and Stern, Adafactor: adaptive learning rates with sublinear memory cost, ICML 2018.
struct Adafactor {
  ScalarOrSchedule learning_rate = 1.;        ///< finite, at least 0
  std::int64_t min_dim_size_to_factor = 128;  ///< smaller matrices keep all of their squares
  Array decay_rate = 0.8;
  std::int64_t decay_offset = 0;
  bool multiply_by_parameter_scale = true;
  Array clipping_threshold = 1.;            ///< above 0; empty: none
  Array momentum = {};                      ///< at least 0, less than 1; empty: none
  ScalarOrSchedule weight_decay_rate = {};  ///< empty: none
  Array eps = 1e-30;                        ///< at least 0
  bool factored = true;
  Mask mask = {};  ///< the leaves that decay
  APSIS_TRANSFORMATION(FactoredState<P>, {}, params, params, params, params)
};

/// What `Sm3` keeps between updates.
template <class P>
struct Sm3State {
  Array count;                         ///< i64: updates so far
  std::vector<std::vector<Array>> mu;  ///< for each leaf and axis, the accumulators along it
  P nu;                                ///< momentum
};
/// The direction of `Sm3`, with the gradient's sign.
struct ScaleBySm3 {
  Array b1 = 0.9, b2 = 1., eps = 1e-8;
  APSIS_TRANSFORMATION(Sm3State<P>, {}, ::apsis::optim::detail::axes_of(tree_leaves(params)), params)
};
/// Anil et al., Memory-efficient adaptive optimization, NeurIPS 2019.
struct Sm3 {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array momentum = 0.9;                   ///< at least 0, less than 1
  APSIS_TRANSFORMATION(Sm3State<P>, {}, ::apsis::optim::detail::axes_of(tree_leaves(params)), params)
};

/// What `Rprop` keeps between updates.
template <class P>
struct RpropState {
  P step_sizes, previous;
};
/// The direction of `Rprop`, with the gradient's sign.
struct ScaleByRprop {
  Array learning_rate = 1e-3, eta_minus = 0.5, eta_plus = 1.2, min_step_size = 1e-6, max_step_size = 50.;
  APSIS_TRANSFORMATION(RpropState<P>, params, params)
};
/// Steps by the signs of the whole gradient, not of samples: longer while they stay, shorter after a change
/// (Riedmiller and Braun 1993).
struct Rprop {
  Array learning_rate = 1e-3;             ///< the first step; above 0
  Array eta_minus = 0.5, eta_plus = 1.2;  ///< the factors; above 0
  Array min_step_size = 1e-6, max_step_size = 50.;
  APSIS_TRANSFORMATION(RpropState<P>, params, params)
};

}  // namespace apsis::optim
