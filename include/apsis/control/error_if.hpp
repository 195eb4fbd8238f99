#pragma once

// Errors that depend on values, in eager and in compiled code.
//
//   error_if(any(x < 0.), "[my_log] the argument is negative: {0}", {x});

#include <initializer_list>
#include <span>

#include "apsis/core/array.hpp"

namespace apsis {

/// Throws, when the program runs, if the code is not zero: code k (clamped) throws messages[k - 1], with {0},
/// {1}, … replaced by the values. A code of several elements throws that of the first that is not zero. Works
/// in compiled programs, loops and branches; under vmap any lane throws, and the text says how many lanes did
/// and names the first. The text ends in the place of the call.
void error_if_code(const Array& code, std::initializer_list<Message> messages,
                   std::initializer_list<Array> values = {}, Loc loc = Loc::here());

/// The same, for lists of any length. The texts are copied.
void error_if_code(const Array& code, std::span<const Message> messages, std::span<const Array> values,
                   Loc loc = Loc::here());

/// Throws `message` when the program runs if an element of `condition` holds. See error_if_code.
void error_if(const Array& condition, const Message& message, std::initializer_list<Array> values = {},
              Loc loc = Loc::here());
/// The same, with the id `error_if`.
void error_if(const Array& condition, const char* text, std::initializer_list<Array> values = {},
              Loc loc = Loc::here());

}  // namespace apsis
