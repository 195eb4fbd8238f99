#include "ops/top_lines.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "ops/dtype_set.hpp"
#include "ops/kept_scratch.hpp"
#include "ops/sort_lines.hpp"
#include "ops/sort_words.hpp"

namespace apsis::detail {
namespace {

/// Elements that are compared at once.
constexpr std::int64_t block = 32;
/// So few are kept in order: each new one moves those that are less.
constexpr std::int64_t few = 32;

/// What elements are compared with: they are to be greater than an element, in the order of words.
template <class T>
class Bar {
 public:
  explicit Bar(T element) : element_(element), word_(word_of(element)) {}
  /// Whether no element can be.
  bool is_highest() const { return word_ == ~WordOf<T>{0}; }
  /// As all bits of a word, or none.
  WordOf<T> below(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return x <= element_ ? 0 : ~WordOf<T>{0};  // the bar is a number, and NaN is above it
    else if constexpr (is_small_float<T>)
      return word_of(x) > word_ ? ~WordOf<T>{0} : 0;
    else
      return x > element_ ? ~WordOf<T>{0} : 0;
  }
  /// Whether any of a block is.
  bool below_any(const T* x) const {
    WordOf<T> any = 0;
    for (std::int64_t i = 0; i < block; ++i) any |= below(x[i]);
    return any != 0;
  }

 private:
  T element_;
  WordOf<T> word_;
};

/// Calls meet(i) for elements from `first` on which the bar is below, and for others of their blocks; the bar
/// may rise meanwhile. Stops where it is the highest.
template <class T, class Meet>
void scan(const T* x, std::int64_t first, std::int64_t count, const Bar<T>& bar, Meet&& meet) {
  std::int64_t i = first;
  for (; i + block <= count; i += block) {
    if (bar.is_highest()) return;
    if (!bar.below_any(x + i)) continue;
    for (std::int64_t k = 0; k < block; ++k) meet(i + k);
  }
  for (; i < count; ++i) meet(i);
}

/// Few: those kept are in order all the time.
template <class T>
void top_few(const T* x, std::int64_t count, std::int64_t wanted, std::int64_t* places) {
  std::array<WordOf<T>, few> words;
  const auto put = [&](std::int64_t i, std::int64_t last) {
    const WordOf<T> word = word_of(x[i]);
    std::int64_t at = last;
    for (; at > 0 && words[static_cast<std::size_t>(at - 1)] < word; --at) {
      words[static_cast<std::size_t>(at)] = words[static_cast<std::size_t>(at - 1)];
      places[at] = places[at - 1];
    }
    words[static_cast<std::size_t>(at)] = word;
    places[at] = i;
  };
  for (std::int64_t i = 0; i < wanted; ++i) put(i, i);
  Bar<T> bar(x[places[wanted - 1]]);
  scan(x, wanted, count, bar, [&](std::int64_t i) {
    if (bar.is_highest() || !bar.below(x[i])) return;
    put(i, wanted - 1);
    bar = Bar<T>(x[places[wanted - 1]]);
  });
}

struct TopScratch;

/// Many: candidates are collected, and reduced to the wanted ones whenever there are four times as many.
template <class T>
void top_many(const T* x, std::int64_t count, std::int64_t wanted, std::int64_t* places) {
  using Word = WordOf<T>;
  using Entry = Numbered<Word>;
  const std::int64_t most = std::min(count, 4 * wanted), room = most + block;
  const KeptScratch<TopScratch> scratch(2 * static_cast<std::size_t>(room) * sizeof(Entry));
  auto *entries = static_cast<Entry*>(scratch.data()), *other = entries + room;
  for (std::int64_t i = 0; i < most; ++i) entries[i] = {word_of(x[i]), i};
  if (count > most) {
    std::int64_t held = most;
    Bar<T> bar(x[0]);
    // The order of numbers stays, so that of equal words the first are kept.
    const auto reduce = [&] {
      auto* words = reinterpret_cast<Word*>(other);
      for (std::int64_t i = 0; i < held; ++i) words[i] = entries[i].word;
      std::nth_element(words, words + wanted - 1, words + held, std::greater<Word>());
      const Word least = words[wanted - 1];
      std::int64_t equal = wanted;
      for (std::int64_t i = 0; i < held; ++i) equal -= entries[i].word > least;
      std::int64_t kept = 0, of_least = 0;
      for (std::int64_t i = 0; i < held; ++i) {
        const Entry e = entries[i];
        entries[kept] = e;
        const bool is_least = e.word == least && equal > 0;
        equal -= is_least;
        if (is_least) of_least = e.number;
        kept += e.word > least || is_least;
      }
      held = wanted;
      bar = Bar<T>(x[of_least]);
    };
    reduce();
    scan(x, most, count, bar, [&](std::int64_t i) {
      entries[held] = {word_of(x[i]), i};
      held += !bar.is_highest() && bar.below(x[i]);
      if (held == most) reduce();
    });
    if (held > wanted) reduce();
    for (std::int64_t i = 0; i < wanted; ++i) entries[i].word = ~entries[i].word;
  } else {
    for (std::int64_t i = 0; i < most; ++i) entries[i].word = ~entries[i].word;
  }
  const std::int64_t held = count > most ? wanted : most;
  if (held <= short_line)
    std::sort(entries, entries + held, [](const Entry& a, const Entry& b) {
      return a.word != b.word ? a.word < b.word : a.number < b.number;
    });
  else
    entries =
        sort_by_digits(entries, other, static_cast<std::size_t>(held), [](const Entry& e) { return e.word; });
  for (std::int64_t i = 0; i < wanted; ++i) places[i] = entries[i].number;
}

/// Each element goes down the kept ones of its line as far as these are less, all lines at once.
template <class T>
void top_beside(const T* x, const ShortLines& all, std::int64_t* places) {
  using Word = WordOf<T>;
  using Signed = std::make_signed_t<Word>;  // what registers compare
  typedef Signed Row __attribute__((vector_size(32)));
  constexpr std::size_t width = 32 / sizeof(Word), registers = most_short_tops / width;
  Row words[registers][8], numbers[registers][8];  // std::array would lose the attribute
  const auto lines = static_cast<std::size_t>(all.lines), wanted = static_cast<std::size_t>(all.wanted);
  std::array<Signed, most_short_tops> read{};
  for (std::int64_t i = 0; i < all.count; ++i) {
    const T* element = x + i * all.stride;
    for (std::size_t k = 0; k < lines; ++k)
      read[k] =
          static_cast<Signed>(word_of(element[static_cast<std::int64_t>(k) * all.step]) ^ top_bit<Word>);
    const std::size_t kept = std::min(static_cast<std::size_t>(i), wanted);
    for (std::size_t r = 0; r < registers; ++r) {
      Row word, number = Row{} + static_cast<Signed>(i);
      std::memcpy(&word, read.data() + r * width, sizeof(Row));
      Row goes = Row{};  // from where an element found its place on all go down by one
      for (std::size_t j = 0; j < kept; ++j) {
        const Row w = words[r][j], n = numbers[r][j];
        goes |= word > w;
        words[r][j] = goes ? word : w;
        numbers[r][j] = goes ? number : n;
        word = goes ? w : word;
        number = goes ? n : number;
      }
      if (kept < wanted) {
        words[r][kept] = word;
        numbers[r][kept] = number;
      }
    }
  }
  for (std::size_t k = 0; k < lines; ++k)
    for (std::size_t j = 0; j < wanted; ++j) places[k * wanted + j] = numbers[k / width][j][k % width];
}

/// The last of the opposite order of the line that is read backwards, in which equal ones change places.
void top_complex(const void* line, std::int64_t count, std::int64_t wanted, Dtype dtype,
                 std::int64_t* places) {
  LineSorter<std::int64_t> order;
  const auto* last = static_cast<const char*>(line) + static_cast<std::size_t>(count - 1) * item_size(dtype);
  order.sort({{last, -1, dtype}}, count);
  for (std::int64_t i = 0; i < wanted; ++i) places[i] = count - 1 - order[count - 1 - i];
}

}  // namespace

void top_of_short_lines(const void* first, const ShortLines& all, Dtype dtype, std::int64_t* places) {
  visit_dtype<real_dtypes>(
      dtype, [&]<class T>(std::type_identity<T>) { top_beside(static_cast<const T*>(first), all, places); });
}

void top_of_line(const void* line, std::int64_t count, std::int64_t wanted, Dtype dtype,
                 std::int64_t* places) {
  if (wanted == 0) return;
  if (is_complex(dtype)) return top_complex(line, count, wanted, dtype, places);
  visit_dtype<real_dtypes>(dtype, [&]<class T>(std::type_identity<T>) {
    const auto* x = static_cast<const T*>(line);
    if (wanted <= few)
      top_few(x, count, wanted, places);
    else
      top_many(x, count, wanted, places);
  });
}

}  // namespace apsis::detail
