#pragma once

// The small transformations that optimisers are made of, for `chain`. `update` gives the change to add:
// a descent ends with `ScaleByLearningRate`, which turns the sign.

#include <optional>

#include "apsis/optim/mask.hpp"
#include "apsis/optim/rule.hpp"
#include "apsis/optim/schedule.hpp"

namespace apsis::optim {

/// The gradient as it is.
struct Identity {
  APSIS_TRANSFORMATION(EmptyState<P>)
};
/// Zeros: parameters that stay.
struct SetToZero {
  APSIS_TRANSFORMATION(EmptyState<P>)
};
/// step_size · g.
struct Scale {
  Array step_size = 1.;
  APSIS_TRANSFORMATION(EmptyState<P>)
};
/// -learning_rate · g.
struct ScaleByLearningRate {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  bool flip_sign = true;                  ///< the minus; false to climb
  APSIS_TRANSFORMATION(CountState<P>, {})
};
/// step_size(count) · g.
struct ScaleBySchedule {
  ScalarOrSchedule step_size = 1.;
  APSIS_TRANSFORMATION(CountState<P>, {})
};
/// The sign of each element.
struct ScaleBySign {
  APSIS_TRANSFORMATION(EmptyState<P>)
};
/// g times the Euclidean length of its parameter, min_scale at least.
struct ScaleByParamBlockNorm {
  Array min_scale = 1e-3;
  APSIS_TRANSFORMATION(EmptyState<P>)
};
/// g times the root mean square of its parameter, min_scale at least.
struct ScaleByParamBlockRms {
  Array min_scale = 1e-3;
  APSIS_TRANSFORMATION(EmptyState<P>)
};
/// g times trust_coefficient · |parameter| / (|g| + eps), where neither length is 0 (You et al., Large batch
/// optimization for deep learning, ICLR 2020).
struct ScaleByTrustRatio {
  Array min_norm = 0.;  ///< lengths are this at least
  Array trust_coefficient = 1., eps = 0.;
  APSIS_TRANSFORMATION(EmptyState<P>)
};
/// g + weight_decay · parameter, for the leaves that the mask chooses.
struct AddDecayedWeights {
  ScalarOrSchedule weight_decay = 0.;
  Mask mask = {};
  APSIS_TRANSFORMATION(CountState<P>, {})
};
/// What `AddNoise` keeps between updates.
template <class P>
struct NoiseState {
  Array count;  ///< i64: updates so far
  Array key;
};
/// g plus normal noise of variance eta / (count + 1)^gamma (Neelakantan et al., Adding gradient noise
/// improves learning for very deep networks, 2015).
struct AddNoise {
  Array eta = 0.01, gamma = 0.55;
  Array key = {};  ///< of the module `random`; it must be given
  APSIS_TRANSFORMATION(NoiseState<P>, {}, {})
};
/// Matrices and larger arrays less their means over all axes but the first (Yong et al., Gradient
/// centralization, ECCV 2020).
struct Centralize {
  APSIS_TRANSFORMATION(EmptyState<P>)
};
/// g · scale_factor / (|g| + eps), |g| the length of the whole gradient.
struct NormalizeByUpdateNorm {
  Array scale_factor = 1., eps = 1e-6;
  APSIS_TRANSFORMATION(EmptyState<P>)
};
/// What `Trace` and `Ema` keep between updates.
template <class P>
struct TraceState {
  Array count;  ///< i64: updates so far
  P trace;
};
/// Momentum: the sum of all gradients so far, each decay times what it was in the update before.
struct Trace {
  Array decay = 0.9;
  bool nesterov = false;
  std::optional<Dtype> accumulator_dtype = {};  ///< of the trace; empty: the parameter's
  APSIS_TRANSFORMATION(TraceState<P>, {}, params)
};
/// The exponential moving average of the gradients.
struct Ema {
  Array decay = 0.9;                            ///< at least 0, less than 1
  bool debias = true;                           ///< without the bias of beginning with zeros
  std::optional<Dtype> accumulator_dtype = {};  ///< of the average; empty: the parameter's
  APSIS_TRANSFORMATION(TraceState<P>, {}, params)
};
/// Sums k gradients, zeros meanwhile.
struct ApplyEvery {
  std::int64_t k = 1;  ///< 1 or more
  APSIS_TRANSFORMATION(TraceState<P>, {}, params)
};
/// NaN becomes 0.
struct ZeroNans {
  APSIS_TRANSFORMATION(EmptyState<P>)
};
/// Changes that would make a parameter negative make it 0.
struct KeepParamsNonnegative {
  APSIS_TRANSFORMATION(EmptyState<P>)
};

}  // namespace apsis::optim
