#pragma once

// Younger kin of Adam (Optax: optax.contrib).

#include "apsis/optim/adam.hpp"

namespace apsis::optim {

/// The direction of `Acprop`, with the gradient's sign.
struct ScaleByAcprop {
  Array b1 = 0.9, b2 = 0.999;           ///< at least 0, less than 1
  Array eps = 1e-16, eps_root = 1e-16;  ///< at least 0; eps_root is added to the variance in each update
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};
/// The gradient over the deviation of those before it (Zhuang et al., Momentum centering and asynchronous
/// update for adaptive gradient methods, NeurIPS 2021).
struct Acprop {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array b1 = 0.9, b2 = 0.999;             ///< at least 0, less than 1
  Array eps = 1e-16, eps_root = 1e-16;    ///< at least 0; eps_root is added to the variance in each update
  ScalarOrSchedule weight_decay = 0.;     ///< times the learning rate
  Mask mask = {};                         ///< the leaves that decay
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};

/// What `Ademamix` keeps between updates.
template <class P>
struct AdemamixState {
  Array count;  ///< i64: updates so far
  P m1, m2;     ///< the fast and the slow moving average of the gradients
  P nu;         ///< that of their squares
};
/// The direction of `Ademamix`, with the gradient's sign.
struct ScaleByAdemamix {
  Array b1 = 0.9, b2 = 0.999;          ///< at least 0, less than 1
  ScalarOrSchedule b3 = 0.9999;        ///< at least 0, less than 1
  ScalarOrSchedule alpha = 6.;         ///< finite
  Array eps = 1e-8, eps_root = 0.;     ///< at least 0; eps_root is added within the root
  std::optional<Dtype> mu_dtype = {};  ///< that of m1 and m2; empty: the parameter's
  APSIS_TRANSFORMATION(AdemamixState<P>, {}, params, params, params)
};
/// Adam with a second, slow momentum (Pagliardini, Ablin and Grangier, The AdEMAMix optimizer: better,
/// faster, older, ICLR 2025).
struct Ademamix {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array b1 = 0.9, b2 = 0.999;          ///< of the fast momentum, and of the squares; at least 0, less than 1
  ScalarOrSchedule b3 = 0.9999;        ///< of the slow momentum; at least 0, less than 1
  ScalarOrSchedule alpha = 5.;         ///< how much the slow momentum counts
  Array eps = 1e-8, eps_root = 0.;     ///< at least 0; eps_root is added within the root
  std::optional<Dtype> mu_dtype = {};  ///< that of m1 and m2; empty: the parameter's
  ScalarOrSchedule weight_decay = 0.;  ///< times the learning rate
  Mask mask = {};                      ///< the leaves that decay
  APSIS_TRANSFORMATION(AdemamixState<P>, {}, params, params, params)
};

/// The direction of `SimplifiedAdemamix`, with the gradient's sign.
struct ScaleBySimplifiedAdemamix {
  Array b1 = 0.99, b2 = 0.95;       ///< at least 0, less than 1
  ScalarOrSchedule alpha = 0.;      ///< finite
  Array eps = 1e-8, eps_root = 0.;  ///< at least 0; eps_root is added within the root
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};
/// Ademamix with one momentum, to which alpha times the gradient is added (Morwani et al., Connections
/// between schedule-free optimizers, AdEMAMix, and accelerated SGD variants, 2025).
struct SimplifiedAdemamix {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array b1 = 0.99, b2 = 0.95;             ///< at least 0, less than 1
  ScalarOrSchedule alpha = 0.;            ///< finite
  Array eps = 1e-8, eps_root = 0.;        ///< at least 0; eps_root is added within the root
  ScalarOrSchedule weight_decay = 0.;     ///< times the learning rate
  Mask mask = {};                         ///< the leaves that decay
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};

/// count^exponent: what `Adopt` clips directions to.
struct AdoptClip {
  Array exponent = 0.25;
  Array operator()(const Array& count) const;
};
/// The direction of `Adopt`, with the gradient's sign.
struct ScaleByAdopt {
  Array b1 = 0.9, b2 = 0.9999;  ///< at least 0, less than 1
  Array eps = 1e-6;             ///< above 0; the least root of the squares
  bool nesterov = false;
  bool use_clipping = true;
  ScalarOrSchedule clip_value = AdoptClip{};
  std::optional<Dtype> mu_dtype = {};  ///< that of mu; empty: the parameter's
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};
/// Adam whose momentum is of gradients over the root of the squares before them, so that it converges for any
/// b2 (Taniguchi et al., ADOPT: modified Adam can converge with any beta2 with the optimal rate, NeurIPS
/// 2024).
struct Adopt {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array b1 = 0.9, b2 = 0.9999;            ///< at least 0, less than 1
  Array eps = 1e-6;                       ///< above 0; the least root of the squares
  bool nesterov = false;
  bool use_clipping = true;
  ScalarOrSchedule clip_value = AdoptClip{};  ///< of the count of updates before
  std::optional<Dtype> mu_dtype = {};         ///< that of mu; empty: the parameter's
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};

}  // namespace apsis::optim
