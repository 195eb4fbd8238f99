#pragma once

#include <string_view>

#include "apsis/io/metrics.hpp"

namespace apsis::detail {

/// Throws for names that are no text, "step", or there twice.
void check_names(const Metrics& metrics);

/// An event with numbers as TensorBoard's files have it, with its frame. `seconds`: since 1970.
std::string scalar_event(double seconds, std::int64_t step, const Metrics& metrics);
/// The event that such a file begins with.
std::string version_event(double seconds);
/// The event that takes back those of this step and later ones.
std::string restart_event(double seconds, std::int64_t step);
/// How many of the bytes are whole events. None at all: 0.
std::size_t whole_events(std::string_view bytes);

}  // namespace apsis::detail
