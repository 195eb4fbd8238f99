#pragma once

#include "apsis/base/loc.hpp"

namespace apsis::detail {

/// The place of the op whose rule runs on this thread (see LocScope); not known outside of rules.
Loc current_place();

}  // namespace apsis::detail
