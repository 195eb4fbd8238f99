#pragma once

#include "compositions/forms.hpp"

namespace apsis::compositions {

/// How deep transformations nest in generated programs.
inline constexpr int max_nesting = 4;

/// A program of one parameter and one result, a function of the seed alone.
Block generate(std::uint64_t seed);

/// A program like those of users: arrays of 1 to 100,000 elements, sizes at and around the thresholds of the
/// compiler, in three levels of loops and branches whose trips and choices depend on the data, so on the
/// lane.
Block generate_nest(std::uint64_t seed);

/// Shorter programs for which `fails` holds too: greedy, until nothing can be left out or `tries` are used
/// up.
Block shrink(Block program, const std::function<bool(const Block&)>& fails, int tries = 1500);

}  // namespace apsis::compositions
