#pragma once

#include <initializer_list>

#include "apsis/core/array.hpp"

namespace apsis {

/// Throws, when the program runs, if the code is not zero: code k (an i64 scalar, clamped) throws messages[k
/// - 1]. Works in compiled programs; under vmap any lane throws, and the text says how many lanes did and
/// names the first.
void error_if_code(const Array& code, std::initializer_list<Message> messages);

/// Throws `message` when the program runs if `condition`, a boolean scalar, holds. See error_if_code.
void error_if(const Array& condition, const Message& message);

}  // namespace apsis
