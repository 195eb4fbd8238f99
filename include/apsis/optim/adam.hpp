#pragma once

// Adam and its kin: steps of the mean of the gradients over the square root of the mean of their squares.

#include <optional>

#include "apsis/optim/mask.hpp"
#include "apsis/optim/rule.hpp"
#include "apsis/optim/schedule.hpp"

namespace apsis::optim {

/// What Adam and most of its kin keep between updates.
template <class P>
struct AdamState {
  Array count;  ///< i64: updates so far
  P mu, nu;     ///< the moving averages of the gradients and of their squares
};

/// The direction of `Adam`, with the gradient's sign.
struct ScaleByAdam {
  Array b1 = 0.9, b2 = 0.999;       ///< at least 0, less than 1
  Array eps = 1e-8, eps_root = 0.;  ///< at least 0; eps_root is added within the root
  bool nesterov = false;
  std::optional<Dtype> mu_dtype = {};  ///< that of mu; empty: the parameter's
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};
/// Kingma and Ba, Adam: a method for stochastic optimization, ICLR 2015.
struct Adam {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array b1 = 0.9, b2 = 0.999;             ///< at least 0, less than 1
  Array eps = 1e-8, eps_root = 0.;        ///< at least 0; eps_root is added within the root
  bool nesterov = false;
  std::optional<Dtype> mu_dtype = {};  ///< that of mu; empty: the parameter's
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};
/// Adam with decay of weights beside the gradient (Loshchilov and Hutter, Decoupled weight decay
/// regularization, ICLR 2019).
struct AdamW {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array b1 = 0.9, b2 = 0.999;             ///< at least 0, less than 1
  Array eps = 1e-8, eps_root = 0.;        ///< at least 0; eps_root is added within the root
  ScalarOrSchedule weight_decay = 1e-4;   ///< times the learning rate
  Mask mask = {};                         ///< the leaves that decay
  bool nesterov = false;
  std::optional<Dtype> mu_dtype = {};  ///< that of mu; empty: the parameter's
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};
/// Dozat, Incorporating Nesterov momentum into Adam, 2016.
struct NAdam {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array b1 = 0.9, b2 = 0.999;             ///< at least 0, less than 1
  Array eps = 1e-8, eps_root = 0.;        ///< at least 0
  std::optional<Dtype> mu_dtype = {};     ///< that of mu; empty: the parameter's
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};
/// NAdam with decay of weights, as AdamW.
struct NAdamW {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array b1 = 0.9, b2 = 0.999;             ///< at least 0, less than 1
  Array eps = 1e-8, eps_root = 0.;        ///< at least 0
  ScalarOrSchedule weight_decay = 1e-4;   ///< times the learning rate
  Mask mask = {};                         ///< the leaves that decay
  std::optional<Dtype> mu_dtype = {};     ///< that of mu; empty: the parameter's
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};

/// The direction of `Adamax`, with the gradient's sign.
struct ScaleByAdamax {
  Array b1 = 0.9, b2 = 0.999, eps = 1e-8;
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};
/// Adam with the greatest of the decayed absolute values in the place of the root (Kingma and Ba 2015,
/// section 7).
struct Adamax {
  ScalarOrSchedule learning_rate = 1e-3;   ///< finite, at least 0
  Array b1 = 0.9, b2 = 0.999, eps = 1e-8;  ///< b1, b2 at least 0, less than 1; eps at least 0
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};
/// Adamax with decay of weights, as AdamW.
struct AdamaxW {
  ScalarOrSchedule learning_rate = 1e-3;   ///< finite, at least 0
  Array b1 = 0.9, b2 = 0.999, eps = 1e-8;  ///< b1, b2 at least 0, less than 1; eps at least 0
  ScalarOrSchedule weight_decay = 1e-4;    ///< times the learning rate
  Mask mask = {};                          ///< the leaves that decay
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};

/// What `AmsGrad` keeps between updates.
template <class P>
struct AmsGradState {
  Array count;  ///< i64: updates so far
  P mu, nu, nu_max;
};
/// The direction of `AmsGrad`, with the gradient's sign.
struct ScaleByAmsGrad {
  Array b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0.;
  bool bias_correction_mu = true, bias_correction_nu = true;
  std::optional<Dtype> mu_dtype = {};  ///< that of mu; empty: the parameter's
  APSIS_TRANSFORMATION(AmsGradState<P>, {}, params, params, params)
};
/// Adam by the greatest second moment so far (Reddi, Kale and Kumar, On the convergence of Adam and beyond,
/// ICLR 2018).
struct AmsGrad {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array b1 = 0.9, b2 = 0.999;             ///< at least 0, less than 1
  Array eps = 1e-8, eps_root = 0.;        ///< at least 0; eps_root is added within the root
  bool bias_correction_mu = true, bias_correction_nu = true;
  std::optional<Dtype> mu_dtype = {};  ///< that of mu; empty: the parameter's
  APSIS_TRANSFORMATION(AmsGradState<P>, {}, params, params, params)
};

/// The direction of `AdaBelief`, with the gradient's sign.
struct ScaleByBelief {
  Array b1 = 0.9, b2 = 0.999, eps = 1e-16, eps_root = 1e-16;
  bool nesterov = false;
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};
/// Adam by the variance of the gradients about their mean (Zhuang et al., AdaBelief optimizer, NeurIPS 2020).
struct AdaBelief {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array b1 = 0.9, b2 = 0.999;             ///< at least 0, less than 1
  Array eps = 1e-16, eps_root = 1e-16;    ///< at least 0; eps_root is added to the variance in each update
  bool nesterov = false;
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};

/// The direction of `Yogi`, with the gradient's sign.
struct ScaleByYogi {
  Array b1 = 0.9, b2 = 0.999, eps = 1e-3, eps_root = 0.;
  Array initial_accumulator_value = 1e-6;
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};
/// Adam whose second moment changes by additions (Zaheer et al., Adaptive methods for nonconvex optimization,
/// NeurIPS 2018).
struct Yogi {
  ScalarOrSchedule learning_rate = 1e-3;   ///< finite, at least 0
  Array b1 = 0.9, b2 = 0.999, eps = 1e-3;  ///< b1, b2 at least 0, less than 1; eps at least 0
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};

/// The direction of `RAdam`, with the gradient's sign.
struct ScaleByRAdam {
  Array b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0., threshold = 5.;
  bool nesterov = false;
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};
/// Adam with a rectified step, momentum alone while the variance is not known (Liu et al., On the variance of
/// the adaptive learning rate and beyond, ICLR 2020).
struct RAdam {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array b1 = 0.9, b2 = 0.999;             ///< at least 0, less than 1
  Array eps = 1e-8, eps_root = 0.;        ///< at least 0; eps_root is added within the root
  Array threshold = 5.;                   ///< of the length of the average from which on the variance counts
  bool nesterov = false;
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};

/// The direction of `NovoGrad`, with the gradient's sign.
struct ScaleByNovoGrad {
  Array b1 = 0.9, b2 = 0.25, eps = 1e-8, eps_root = 0., weight_decay = 0.;
  std::optional<Dtype> mu_dtype = {};  ///< that of mu; empty: the parameter's
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};
/// Adam with one second moment, the squared length of the gradient, for each leaf (Ginsburg et al.,
/// Stochastic gradient methods with layer-wise adaptive moments, 2019).
struct NovoGrad {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array b1 = 0.9, b2 = 0.25;              ///< at least 0, less than 1
  Array eps = 1e-6, eps_root = 0.;        ///< at least 0; eps_root is added within the root
  Array weight_decay = 0.;
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};

/// What `Adan` keeps between updates.
template <class P>
struct AdanState {
  Array count;  ///< i64: updates so far
  P m, v, n;    ///< the moving averages of gradients, of their differences, of the squares
  P gradient;   ///< of the update before
};
/// The direction of `Adan`, with the gradient's sign.
struct ScaleByAdan {
  Array b1 = 0.98, b2 = 0.92, b3 = 0.99, eps = 1e-8, eps_root = 0.;
  APSIS_TRANSFORMATION(AdanState<P>, {}, params, params, params, params)
};
/// Xie et al., Adan: adaptive Nesterov momentum algorithm, IEEE TPAMI 2024.
struct Adan {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array b1 = 0.98, b2 = 0.92, b3 = 0.99;  ///< at least 0, less than 1
  Array eps = 1e-8, eps_root = 1e-8;      ///< at least 0; eps_root is added within the root
  ScalarOrSchedule weight_decay = 0.;     ///< times the learning rate
  Mask mask = {};                         ///< the leaves that decay
  APSIS_TRANSFORMATION(AdanState<P>, {}, params, params, params, params)
};

/// Adam whose step has the length of the parameter, a leaf at a time (You et al., Large batch optimization
/// for deep learning, ICLR 2020).
struct Lamb {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array b1 = 0.9, b2 = 0.999;             ///< at least 0, less than 1
  Array eps = 1e-6, eps_root = 0.;        ///< at least 0; eps_root is added within the root
  ScalarOrSchedule weight_decay = 0.;     ///< times the learning rate
  Mask mask = {};                         ///< the leaves that decay
  APSIS_TRANSFORMATION(AdamState<P>, {}, params, params)
};

}  // namespace apsis::optim
