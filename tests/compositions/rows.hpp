#pragma once

// What files with rows of ops have in common.

#include "compositions/ops.hpp"

namespace apsis::compositions {

using Arrays = std::span<const Array>;
using Numbers = std::span<const Number>;
using Tensors = std::span<const Tensor>;
using Statics = std::span<const double>;
using Shapes = std::vector<Shape>;

/// `choose` of functions of elements: all operands have one shape.
template <int arity>
bool like_first(Random&, const Shape& first, std::vector<double>&, Shapes& others) {
  others.assign(arity - 1, first);
  return true;
}
template <int arity>
ArrayOp elementwise(const char* name, Array (*run)(Arrays, Statics, const Array&),
                    Number (*element)(Numbers)) {
  return {name, like_first<arity>, run, false, element};
}

}  // namespace apsis::compositions
