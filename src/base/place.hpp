#pragma once

#include "apsis/base/error.hpp"

namespace apsis::detail {

/// The place of the op whose rule runs on this thread (see LocScope); not known outside of rules. Errors
/// without a place of their own name it.
Loc current_place();
/// `loc` if it is a place in a user's source; otherwise (it is unknown, or the library's own: a header's
/// template, or a function written on the public API) the current place.
Loc users_place(Loc loc);
/// Sets it; returns the one before.
Loc exchange_place(Loc place);
/// Throws the error that is being handled again, with a place if it has none.
[[noreturn]] void rethrow_at(const Error& error, Loc loc);

}  // namespace apsis::detail
