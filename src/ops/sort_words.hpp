#pragma once

// Elements as words, unsigned integers in the order of the elements, and sorting by the digits of words.

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "apsis/core/dtype.hpp"

namespace apsis::detail {

/// Lines up to here are sorted by comparison: counting digits costs more.
constexpr std::int64_t short_line = 256;

template <class T>
constexpr bool is_small_float = std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>;

/// The word type of an element type.
template <class T>
using WordOf = std::conditional_t<(sizeof(T) > 4), std::uint64_t, std::uint32_t>;

template <class Word>
constexpr Word top_bit = Word{1} << (sizeof(Word) * 8 - 1);

/// The word that an element is sorted by.
template <class T>
WordOf<T> word_of(T x) {
  using Word = WordOf<T>;
  if constexpr (is_small_float<T>) {
    return word_of(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<T>) {
    if (x != x) return ~Word{0};
    const Word bits = std::bit_cast<Word>(x + T{0});  // -0 + 0 is 0
    return bits & top_bit<Word> ? ~bits : bits | top_bit<Word>;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Word>(static_cast<std::make_signed_t<Word>>(x)) ^ top_bit<Word>;
  } else {
    return static_cast<Word>(x);
  }
}

/// Sorts entries by the words `word(entry)`, stably. Returns where they are: in `from` or in `to`.
template <class Entry, class WordOfEntry>
Entry* sort_by_digits(Entry* from, Entry* to, std::size_t count, WordOfEntry&& word) {
  using Word = decltype(word(*from));
  constexpr std::size_t digits = sizeof(Word), values = 256;
  std::array<std::array<std::size_t, values>, digits> counts{};
  const auto digit_of = [&](const Entry& e, std::size_t d) { return (word(e) >> (8 * d)) & (values - 1); };
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t d = 0; d < digits; ++d) ++counts[d][digit_of(from[i], d)];
  for (std::size_t d = 0; d < digits; ++d) {
    auto& places = counts[d];
    if (places[digit_of(from[0], d)] == count) continue;  // all have it
    std::size_t next = 0;
    for (std::size_t& place : places) place = std::exchange(next, next + place);
    for (std::size_t i = 0; i < count; ++i) to[places[digit_of(from[i], d)]++] = from[i];
    std::swap(from, to);
  }
  return from;
}

/// A word and the number of its element, without room between them.
#pragma pack(push, 4)
template <class Word, class Number = std::int64_t>
struct Numbered {
  Word word;
  Number number;
};
#pragma pack(pop)

}  // namespace apsis::detail
