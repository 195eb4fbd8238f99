#pragma once

#include "apsis/core/array.hpp"
#include "apsis/tree/static.hpp"

namespace apsis::nn {

/// In training, zeros in place of a random fraction p of the elements, and the others divided by 1 - p
/// (Srivastava et al. 2014). In inference, `inference_mode(model)`, x as it is.
struct Dropout {
  Static<double> p = 0.5;
  bool inference = false;
  /// Any shape. Throws unless 0 ≤ p < 1.
  Array operator()(const Array& x, const Array& key, Loc loc = Loc::here()) const;
  /// Without a key; throws in training, unless p is 0.
  Array operator()(const Array& x, Loc loc = Loc::here()) const;
};

}  // namespace apsis::nn
