#pragma once

#include "apsis/core/op.hpp"

namespace apsis::detail {

/// What is left of an array that was moved into a compiled call: shape and dtype, for the error at its next
/// use. An AbstractNode, told apart by its tag.
Array given_up_array(const Aval& aval);
/// Throws what an array of shape and dtype only has to say about a use of its value.
[[noreturn]] void fail_abstract(const Array& a, const char* where, Loc loc);

}  // namespace apsis::detail
