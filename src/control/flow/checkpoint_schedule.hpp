#pragma once

// Which states of a loop are kept so that it can be run backwards in bounded memory.

#include <cstdint>
#include <vector>

#include "apsis/core/array.hpp"

namespace apsis::detail {

/// How many steps to go forward from a kept state before the next one is kept, when `steps` steps are to be
/// reversed (at least 2) and `states` states may be kept, the first included (at least 2). With this choice
/// the number of forward steps is the least possible, r·steps - C(states + r, r - 1) with the smallest r for
/// which C(states + r, r) ≥ steps (Griewank & Walther 2000, Algorithm 799, revolve).
Array steps_to_next(const Array& steps, const Array& states);

/// The states to keep on the first way through a loop of known length, in order; no more than `states`.
std::vector<std::int64_t> first_kept(std::int64_t length, std::int64_t states);

/// For a loop of unknown length every `stride`-th state is kept. When there are `states` of them (an even
/// number), every other one makes room and the stride, a power of two, doubles. This is where state number
/// index·stride is; over all index < states it is a permutation, and a state keeps its place when the stride
/// doubles. Each state kept costs a few operations, however many there are; the exchange rules of Stumm &
/// Walther (2010) and Wang, Moin & Iaccarino (2009) need fewer forward steps for some lengths (never by more
/// than a factor of about 1.3) but look through the kept states at every step.
Array place_of_kept(const Array& index, const Array& stride, std::int64_t states);

}  // namespace apsis::detail
