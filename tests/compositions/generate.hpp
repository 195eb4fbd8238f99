#pragma once

#include "compositions/forms.hpp"

namespace apsis::compositions {

/// How deep transformations nest in generated programs.
inline constexpr int max_nesting = 4;

/// A program of one parameter and one result, a function of the seed alone.
Block generate(std::uint64_t seed);

/// Shorter programs for which `fails` holds too: greedy, until nothing can be left out or `tries` are used
/// up.
Block shrink(Block program, const std::function<bool(const Block&)>& fails, int tries = 400);

}  // namespace apsis::compositions
