#pragma once

#include "apsis/base/loc.hpp"

namespace apsis::detail {

/// The place of the op whose rule runs on this thread (see LocScope); not known outside of rules. Errors
/// without a place of their own name it.
Loc current_place();
/// Sets it; returns the one before.
Loc exchange_place(Loc place);

}  // namespace apsis::detail
