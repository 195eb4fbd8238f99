#pragma once

#include <optional>

#include "apsis/core/array.hpp"

namespace apsis {

/// Options of `dot_general`: the axes of a and b that go together.
struct DotOptions {
  Dims contract_a = {}, contract_b = {};  ///< multiplied and summed over
  Dims batch_a = {}, batch_b = {};        ///< the same in both, and first in the result
  /// To multiply and add in, if it is the wider one, and of the result; without, that of the operands.
  std::optional<Dtype> preferred_element_type = {};
};
/// The product of two arrays by their axes: the result has the batch axes, the other axes of a, then those of
/// b. Throws where axes that go together differ in number or size, or one is named twice.
/// (jax.lax.dot_general)
Array dot_general(const Array& a, const Array& b, const DotOptions& options, Loc loc = Loc::here());

}  // namespace apsis
