#include "apsis/nn/dropout.hpp"

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/random.hpp"
#include "apsis/ops/select.hpp"
#include "nn/messages.hpp"

namespace apsis::nn {

Array Dropout::operator()(const Array& x, const Array& key, Loc loc) const {
  const LocScope place(loc);
  if (!(p >= 0. && p < 1.)) fail(messages::dropout_p, {std::to_string(p.value)});
  if (inference || p.value == 0) return x;
  if (key.is_empty()) fail(messages::dropout_key, {});
  const double kept = 1 - p.value;
  return where(random::bernoulli(key, kept, x.shape()), x / kept, 0);
}

Array Dropout::operator()(const Array& x, Loc loc) const { return (*this)(x, Array(), loc); }

}  // namespace apsis::nn
