#pragma once

#include "apsis/transform/stages.hpp"
#include "transform/jit_entry.hpp"

namespace apsis::detail {

Stages make_stages(EntryRef entry, std::string argument_names);

}  // namespace apsis::detail
