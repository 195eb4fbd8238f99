#include <charconv>

#include "apsis/core/make_params.hpp"
#include "base/hash.hpp"

namespace apsis {
namespace detail {

std::uint64_t hash_word(std::uint64_t seed, std::uint64_t word) { return hash_mix(seed, word); }

std::uint64_t hash_field(std::uint64_t seed, const Dims& value) {
  return hash_bytes(seed, value.data(), value.size() * sizeof(std::int64_t));
}
std::uint64_t hash_field(std::uint64_t seed, const std::string& value) { return hash_text(seed, value); }

void print_field(std::string& out, bool value) { out += value ? "true" : "false"; }
void print_field(std::string& out, double value) {
  // Hexadecimal, so that the text form reads back to the same bits.
  char text[40];
  auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::hex).ptr;
  out.append(text, end);
}
void print_field(std::string& out, Dtype value) { out += name_of(value); }
void print_field(std::string& out, const Dims& value) { out += to_string(value); }
void print_field(std::string& out, const std::string& value) {
  out += '"';
  for (char c : value) {
    if (c == '\n') {
      out += "\\n";  // regions are indented line by line
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

}  // namespace detail

std::string to_string(const Params& params) {
  std::string out;
  if (params) {
    out += '{';
    params.node()->table->print(*params.node(), out);
    out += '}';
  }
  return out;
}

}  // namespace apsis
