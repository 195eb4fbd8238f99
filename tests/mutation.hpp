#pragma once

// Damages text and files as bad disks, bad editors and bad intentions do: what a fuzz test feeds its reader.
// The same seed makes the same damage everywhere, so a failure is found again by the number that the test
// prints.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace apsis::testing {

class Mutation {
 public:
  explicit Mutation(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du) { next(); }

  /// `original` with one to four changes. `other` is another valid input, of which pieces are put in; it may
  /// be the same one.
  std::string operator()(std::string_view original, std::string_view other) {
    std::string text(original);
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) change(text, other);
    return text;
  }

  /// A number below `count`, which is not 0.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }

 private:
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  void change(std::string& text, std::string_view other) {
    const std::size_t at = below(text.size() + 1), rest = text.size() - at;
    const std::size_t length = std::min(rest, 1 + below(below(4) ? 12 : text.size() + 1));
    switch (below(10)) {
      case 0:  // a bit
        if (rest) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:  // a byte
        if (rest) text[at] = static_cast<char>(below(256));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:  // twice
        text.insert(at, text.substr(at, length));
        break;
      case 4:
        text.resize(at);
        break;
      case 5:
        text.insert(at, piece(other));
        break;
      case 6:
        text.replace(at, length, piece(other));
        break;
      case 7:
      case 8:
        replace_word(text, at, "-0123456789", std::string(number()));
        break;
      default:  // a word of the same input in place of another
        replace_word(text, at, letters, word_of(other));
        break;
    }
  }

  static constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

  std::string piece(std::string_view other) {
    const std::size_t at = below(other.size() + 1);
    return std::string(other.substr(at, 1 + below(24)));
  }

  std::string_view number() {
    static constexpr std::string_view numbers[] = {"0",
                                                   "1",
                                                   "-1",
                                                   "2",
                                                   "3",
                                                   "7",
                                                   "64",
                                                   "100",
                                                   "255",
                                                   "-128",
                                                   "65536",
                                                   "2147483647",
                                                   "-2147483648",
                                                   "4294967296",
                                                   "1099511627776",
                                                   "4611686018427387904",
                                                   "9223372036854775807",
                                                   "-9223372036854775808",
                                                   "18446744073709551615",
                                                   "99999999999999999999999999"};
    return numbers[below(std::size(numbers))];
  }

  /// The first run of `of` from `from` on, from the start if there is none: its place and length.
  static std::pair<std::size_t, std::size_t> run_of(std::string_view text, std::size_t from,
                                                    std::string_view of) {
    std::size_t begin = text.find_first_of(of, from);
    if (begin == text.npos) begin = text.find_first_of(of);
    if (begin == text.npos) return {text.size(), 0};
    return {begin, std::min(text.find_first_not_of(of, begin), text.size()) - begin};
  }

  static void replace_word(std::string& text, std::size_t from, std::string_view of,
                           const std::string& with) {
    const auto [begin, length] = run_of(text, from, of);
    text.replace(begin, length, with);
  }

  std::string word_of(std::string_view other) {
    const auto [begin, length] = run_of(other, below(other.size() + 1), letters);
    return std::string(other.substr(begin, length));
  }

  std::uint64_t state_;
};

/// How many mutations a fuzz test makes: `usual`, or what APSIS_MUTATIONS says.
inline std::size_t mutation_count(std::size_t usual) {
  const char* given = std::getenv("APSIS_MUTATIONS");
  return given ? static_cast<std::size_t>(std::strtoull(given, nullptr, 10)) : usual;
}
/// The first seed: 1, or what APSIS_MUTATION_SEED says.
inline std::uint64_t mutation_seed() {
  const char* given = std::getenv("APSIS_MUTATION_SEED");
  return given ? std::strtoull(given, nullptr, 10) : 1;
}

}  // namespace apsis::testing
