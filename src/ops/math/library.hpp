#pragma once

// The elementary functions that the library itself holds as machine code, of one element and of as many as
// fill a register. Programs call them where they would otherwise hold a copy each, which takes long to
// compile. Their text is that of `functions.hpp`, which lists them, so their bits are those of the evaluator
// and of code that is generated.

#include <string>
#include <string_view>

namespace apsis::detail::math {

/// The C symbol of a function (`apsis_sin`) of floats of 4 or 8 bytes, so many side by side in one register
/// of at most `register_bytes`: `apsis_sin_f64x8`. It takes and returns them by value. Empty if there is
/// none.
std::string library_symbol(std::string_view name, int element_bytes, int lanes, int register_bytes);

}  // namespace apsis::detail::math
