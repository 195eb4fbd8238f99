#pragma once

// What checks of random programs share: inputs, settings of the compiler, what counts as the same.

#include <optional>

#include "codegen/compile/compile.hpp"
#include "compositions/check.hpp"
#include "compositions/forms.hpp"

namespace apsis::compositions {

/// Inputs that are a function of the seed: of both signs, the same in single precision, not near a decision.
std::vector<double> points(const Shape& shape, std::uint64_t seed);

/// Bit by bit; NaNs are equal whatever their payload.
bool same(const Array& a, const Array& b);
/// Also where zeros have other signs: a branch that a lane does not take, or a trip that it does not make,
/// adds +0 to sums of its cotangents in a batch, and nothing in a single call.
bool same_but_for_signs_of_zeros(const Array& a, const Array& b);

struct Setting {
  detail::CodegenOptions options;
  const char* name;
};
/// Widths, levels, instruction sets: the bits must not depend on them.
std::span<const Setting> settings();

}  // namespace apsis::compositions
