#pragma once

#include <optional>

#include "apsis/transform/jit.hpp"
#include "apsis/transform/stages.hpp"
#include "transform/jit/jit_entry.hpp"

namespace apsis::detail {

/// `core`: of the function that the entry belongs to, if to one.
Stages make_stages(EntryRef entry, std::string argument_names, std::optional<JitCore> core = {});

}  // namespace apsis::detail
