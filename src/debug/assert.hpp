#pragma once

// What the assertions share.

#include <string>
#include <string_view>

#include "apsis/debug/assert_array.hpp"
#include "debug/messages.hpp"

namespace apsis::detail {

/// Throws the failure of an assertion: `what` went wrong after the caller's own words.
[[noreturn]] void fail_assertion(const char* assertion, std::string_view message, const std::string& what,
                                 Loc loc);

/// `2, 3 or 4`.
std::string listed(const std::vector<std::string>& items);

}  // namespace apsis::detail
