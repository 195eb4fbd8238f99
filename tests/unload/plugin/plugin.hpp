#pragma once

#include "apsis/apsis.hpp"

namespace plugin {

// What the program hands in.
using Function = apsis::Jitted<apsis::Array (*)(const apsis::Array&)>;
using Line = apsis::Closure<apsis::Array(apsis::Array)>;

}  // namespace plugin
