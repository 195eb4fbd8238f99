#pragma once

#include "apsis/base/error.hpp"

namespace apsis::messages {
#define APSIS_MESSAGE(id, text) inline constexpr Message id{#id, text};
#include "stats/messages.inc"
#undef APSIS_MESSAGE
}  // namespace apsis::messages
