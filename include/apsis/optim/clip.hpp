#pragma once

// Clipping of gradients.

#include "apsis/ops/reduce.hpp"
#include "apsis/optim/rule.hpp"

namespace apsis::optim {

/// Each element to [-max_delta, max_delta].
struct Clip {
  Array max_delta = 1.;  ///< above 0
  APSIS_TRANSFORMATION(EmptyState<P>)
};
/// Each leaf so that its root mean square is threshold at most.
struct ClipByBlockRms {
  Array threshold = 1.;  ///< above 0
  APSIS_TRANSFORMATION(EmptyState<P>)
};
/// The whole gradient so that its length is max_norm at most (Pascanu, Mikolov and Bengio, On the difficulty
/// of training recurrent neural networks, ICML 2013).
struct ClipByGlobalNorm {
  Array max_norm = 1.;  ///< above 0
  APSIS_TRANSFORMATION(EmptyState<P>)
};
/// Each unit (a column of a matrix, a filter of a convolution, a whole vector) so that its length is
/// `clipping` times that of its parameter at most, or times eps (Brock et al., High-performance large-scale
/// image recognition without normalization, ICML 2021). Throws for arrays of more than five axes without
/// `axis`.
struct AdaptiveGradClip {
  Array clipping = 0.01;  ///< above 0
  Array eps = 1e-3;       ///< 0 or more
  Axes axis = {};         ///< what a unit extends over; none: as above
  APSIS_TRANSFORMATION(EmptyState<P>)
};

}  // namespace apsis::optim
