#pragma once

#include "apsis/base/error.hpp"

namespace apsis::detail {

/// The place of the op whose rule runs on this thread (see LocScope); not known outside of rules. Errors
/// without a place of their own name it.
Loc current_place();
/// `loc`, but the current place, if there is one, for a place that is not known or stands in the library's
/// own sources: what the library composes of its public functions (a solve, a layer) has the line of the
/// user's call.
Loc user_place(Loc loc);
/// Sets it; returns the one before.
Loc exchange_place(Loc place);
/// Throws the error that is being handled again, with a place if it has none.
[[noreturn]] void rethrow_at(const Error& error, Loc loc);

}  // namespace apsis::detail
