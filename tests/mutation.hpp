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
#include <vector>

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

  /// A program in text form with one change, after which it often is a program still: another number, two
  /// operands, ops, types or values of attributes exchanged, a line once more or not at all.
  std::string mild(std::string_view original) {
    std::string text(original);
    for (int tries = 0; tries < 20 && text == original; ++tries) change_mildly(text);
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

  using Span = std::pair<std::size_t, std::size_t>;  // where it begins and ends

  /// All that stands between one of `before` and one of `after` and is made of `of`.
  static std::vector<Span> words(std::string_view text, std::string_view before, std::string_view of,
                                 std::string_view after) {
    std::vector<Span> found;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = text.find_first_not_of(of, at);
      if (end == text.npos) end = text.size();
      if (end > at && at > 0 && before.find(text[at - 1]) != before.npos && end < text.size() &&
          after.find(text[end]) != after.npos)
        found.push_back({at, end});
      at = end + 1;
    }
    return found;
  }
  Span one_of(const std::vector<Span>& spans) { return spans[below(spans.size())]; }
  /// Exchanges two of them.
  void exchange(std::string& text, const std::vector<Span>& spans) {
    if (spans.size() < 2) return;
    Span a = one_of(spans), b = one_of(spans);
    if (a.first > b.first) std::swap(a, b);
    if (a == b) return;
    const std::string of_a = text.substr(a.first, a.second - a.first);
    const std::string of_b = text.substr(b.first, b.second - b.first);
    text.replace(b.first, of_b.size(), of_a);
    text.replace(a.first, of_a.size(), of_b);
  }
  /// Puts another of `family` in the place of an op of it.
  void replace_op(std::string& text, const std::vector<std::string_view>& family) {
    std::vector<Span> found;
    for (const Span& s : words(text, " ", letters, "({"))
      for (std::string_view name : family)
        if (std::string_view(text).substr(s.first, s.second - s.first) == name) found.push_back(s);
    if (found.empty()) return;
    const Span s = one_of(found);
    text.replace(s.first, s.second - s.first, family[below(family.size())]);
  }

  void change_mildly(std::string& text) {
    static const std::vector<std::string_view> unary{"neg",  "abs",  "sin",   "cos",   "exp",  "log",
                                                     "sqrt", "tanh", "floor", "rsqrt", "sign", "expm1"};
    static const std::vector<std::string_view> binary{"add", "sub", "mul",   "div", "max",
                                                      "min", "pow", "atan2", "rem"};
    static const std::vector<std::string_view> comparing{"lt", "le", "gt", "ge", "eq", "ne"};
    static const std::vector<std::string_view> gathering{"reduce_sum", "reduce_max", "reduce_min",
                                                         "reduce_prod"};
    switch (below(12)) {
      case 0:  // a digit
        if (const auto found = words(text, "=[ ,-", "0123456789", ",]} "); !found.empty()) {
          const Span s = one_of(found);
          text[s.first + below(s.second - s.first)] = static_cast<char>('0' + below(10));
        }
        break;
      case 1:
        return exchange(text, words(text, "( ", "v0123456789", ",)"));
      case 2:  // types
        return exchange(text, words(text, " ", letters, "["));
      case 3:  // types and shapes
        return exchange(text, words(text, " ", "bfiu0123456789[],", " )"));
      case 4:  // values of attributes
        return exchange(text, words(text, "=", letters, ",}"));
      case 5:
        return exchange(text, words(text, "=", "[]-0123456789, ", ",}"));
      case 6: {  // a line
        const std::size_t begin = text.find('\n', below(text.size())) + 1;
        const std::size_t end = text.find('\n', begin);
        if (begin == 0 || end == text.npos) break;
        if (below(2))
          text.erase(begin, end + 1 - begin);
        else
          text.insert(begin, text.substr(begin, end + 1 - begin));
        break;
      }
      case 7: {
        const std::size_t at = text.find(below(2) ? "true" : "false", below(text.size()));
        if (at != text.npos) text.replace(at, text[at] == 't' ? 4 : 5, text[at] == 't' ? "false" : "true");
        break;
      }
      case 8:
        return replace_op(text, unary);
      case 9:
        return replace_op(text, binary);
      case 10:
        return replace_op(text, below(2) ? comparing : gathering);
      default:  // a constant
        if (const std::size_t at = text.find("bits=", below(text.size())); at != text.npos)
          replace_word(text, at, "-0123456789", std::string(number()));
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
