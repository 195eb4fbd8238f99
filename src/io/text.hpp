#pragma once

#include <string>
#include <string_view>

namespace apsis::detail {

/// The text as valid UTF-8 that any program can show: each byte that is no part of a character, and each
/// control character but line breaks, becomes U+FFFD; tabs become spaces, CR LF and CR become LF.
std::string clean_text(std::string_view text);

/// Foreign text for a message: clean, in one line, cut after `limit` bytes.
std::string shown(std::string_view text, std::size_t limit = 60);

}  // namespace apsis::detail
