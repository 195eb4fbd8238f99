#include "ops/sort_lines.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <type_traits>
#include <utility>

#include "ops/dtype_set.hpp"
#include "ops/sort_words.hpp"

namespace apsis::detail {
namespace {

/// The element that has a word, which is not that of NaN.
template <class T>
T element_of(WordOf<T> word) {
  using Word = WordOf<T>;
  if constexpr (is_small_float<T>)
    return T(element_of<float>(word));
  else if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<T>(word & top_bit<Word> ? word ^ top_bit<Word> : ~word);
  else if constexpr (std::is_signed_v<T>)
    return static_cast<T>(word ^ top_bit<Word>);
  else
    return static_cast<T>(word);
}

/// Whether another element may have the same word.
template <class T>
bool is_shared(T x) {
  if constexpr (is_small_float<T>)
    return is_shared(static_cast<float>(x));
  else if constexpr (std::is_floating_point_v<T>)
    return x != x || (x == 0 && std::signbit(x));
  else
    return false;
}

/// Words and numbers of the elements in the order `number(i)`, sorted stably by one key; in one half of the
/// memory, which grows as needed.
template <class T, class Number>
const Numbered<WordOf<T>, Number>* ordered(const SortKey& key, std::size_t count, const auto& number,
                                           std::vector<std::uint64_t>& memory) {
  using Entry = Numbered<WordOf<T>, Number>;
  memory.resize((2 * count * sizeof(Entry) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
  auto* entries = reinterpret_cast<Entry*>(memory.data());
  const auto* elements = static_cast<const T*>(key.first);
  for (std::size_t i = 0; i < count; ++i) {
    const Number n = number(i);
    entries[i] = {word_of(elements[static_cast<std::int64_t>(n) * key.stride]), n};
  }
  if (static_cast<std::int64_t>(count) > short_line)
    return sort_by_digits(entries, entries + count, count, [](const Entry& e) { return e.word; });
  std::stable_sort(entries, entries + count, [](const Entry& a, const Entry& b) { return a.word < b.word; });
  return entries;
}

template <class T>
bool sort_line(const SortKey& line, std::int64_t count, void* to) {
  using Word = WordOf<T>;
  const auto n = static_cast<std::size_t>(count);
  std::vector<Word> words(2 * n);
  const auto* elements = static_cast<const T*>(line.first);
  for (std::size_t i = 0; i < n; ++i) {
    const T x = elements[static_cast<std::int64_t>(i) * line.stride];
    if (is_shared(x)) return false;
    words[i] = word_of(x);
  }
  Word* sorted = words.data();
  if (count <= short_line)
    std::sort(sorted, sorted + n);
  else
    sorted = sort_by_digits(sorted, sorted + n, n, [](Word w) { return w; });
  auto* results = static_cast<T*>(to);
  for (std::size_t i = 0; i < n; ++i)
    results[static_cast<std::int64_t>(i) * line.stride] = element_of<T>(sorted[i]);
  return true;
}

}  // namespace

template <class Number>
void LineSorter<Number>::sort_by(const SortKey& key, std::int64_t count) {
  const auto n = static_cast<std::size_t>(count);
  order_.clear();
  for (std::int64_t place = 0; numbers_ && place < count; ++place)
    order_.push_back(static_cast<Number>((*this)[place]));
  const auto keep = [&](const auto* entries) {
    numbers_ = reinterpret_cast<const char*>(entries) + sizeof(entries->word);
    step_ = sizeof(*entries);
  };
  visit_dtype<real_dtypes>(key.dtype, [&]<class T>(std::type_identity<T>) {
    if (order_.empty())
      keep(ordered<T, Number>(
          key, n, [](std::size_t i) { return static_cast<Number>(i); }, memory_));
    else
      keep(ordered<T, Number>(
          key, n, [this](std::size_t i) { return order_[i]; }, memory_));
  });
}

template <class Number>
void LineSorter<Number>::sort(const std::vector<SortKey>& keys, std::int64_t count) {
  numbers_ = nullptr;
  // The last key first: each order keeps what those before it made, among equals.
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    if (!is_complex(key->dtype)) {
      sort_by(*key, count);
      continue;
    }
    const Dtype part = key->dtype == Dtype::C64 ? Dtype::F32 : Dtype::F64;
    const auto* real = static_cast<const char*>(key->first);
    sort_by({real + item_size(part), 2 * key->stride, part}, count);
    sort_by({real, 2 * key->stride, part}, count);
  }
}
template class LineSorter<std::uint32_t>;
template class LineSorter<std::int64_t>;

bool sort_values(const SortKey& line, std::int64_t count, void* to) {
  if (is_complex(line.dtype)) return false;
  bool sorted = false;
  visit_dtype<real_dtypes>(line.dtype,
                           [&]<class T>(std::type_identity<T>) { sorted = sort_line<T>(line, count, to); });
  return sorted;
}

}  // namespace apsis::detail
