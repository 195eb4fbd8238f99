#include "io/text.hpp"

namespace apsis::detail {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";

/// The length of the UTF-8 character that `text` begins with; 0 if it begins with none. Unicode 15, table
/// 3-7.
std::size_t character_length(std::string_view text) {
  auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  auto follows = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned a = byte(0), b = byte(1);
  if (a < 0x80) return 1;
  if (a >= 0xc2 && a <= 0xdf) return follows(1) ? 2 : 0;
  if (a >= 0xe0 && a <= 0xef) {
    const bool overlong = a == 0xe0 && b < 0xa0, surrogate = a == 0xed && b > 0x9f;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (a >= 0xf0 && a <= 0xf4) {
    const bool overlong = a == 0xf0 && b < 0x90, beyond = a == 0xf4 && b > 0x8f;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

/// Code points of two bytes that are control characters (U+0080 to U+009F), which XML and terminals take ill,
/// and those of three bytes that are no characters (U+FFFE, U+FFFF).
bool shows_nothing(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7f;
  if (character.size() == 2) return byte(0) == 0xc2 && byte(1) < 0xa0;
  return character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf";
}

}  // namespace

std::string clean_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t length = character_length(text);
    const std::string_view character = text.substr(0, length ? length : 1);
    if (text.starts_with("\r\n")) {
      length = 2;
      out += '\n';
    } else if (character == "\n" || character == "\r") {
      out += '\n';
    } else if (character == "\t") {
      out += ' ';
    } else if (length == 0 || shows_nothing(character)) {
      out += replacement;
    } else {
      out += character;
    }
    text.remove_prefix(length ? length : 1);
  }
  return out;
}

std::string shown(std::string_view text, std::size_t limit) {
  const bool cut = text.size() > limit;
  if (cut) {
    // Not in the middle of a character.
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0u) == 0x80u) --limit;
    text = text.substr(0, limit);
  }
  std::string out = clean_text(text);
  for (char& c : out)
    if (c == '\n') c = ' ';
  return cut ? out + "…" : out;
}

}  // namespace apsis::detail
