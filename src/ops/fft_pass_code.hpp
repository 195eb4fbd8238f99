#pragma once

// The code of the passes, for each radix and width. Included where registers of one size are built for.

#include <immintrin.h>

#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ops/fft_butterflies.hpp"
#include "ops/fft_passes.hpp"

namespace apsis::detail::fft_code {

template <class V, class T>
[[gnu::always_inline]] inline V load(const T* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class V, class T>
[[gnu::always_inline]] inline void store(T* to, const V& v) {
  std::memcpy(to, &v, sizeof v);
}

/// To a line of memory that is not read first, and does not stay in the cache.
template <class V, class T>
[[gnu::always_inline]] inline void stream(T* to, const V& v) {
  if constexpr (sizeof(V) == 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), std::bit_cast<__m256i>(v));
#ifdef __AVX512F__
  else if constexpr (sizeof(V) == 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), std::bit_cast<__m512i>(v));
#endif
  else
    store(to, v);
}

/// Every second element of two registers that follow each other, from the first or the second on.
template <int start, class V, int... i>
[[gnu::always_inline]] inline V every_second(const V& a, const V& b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (2 * i + start)...);
}
/// Elements of a and b in turn: those of the first or the second halves.
template <int half, class V, int... i>
[[gnu::always_inline]] inline V alternating(const V& a, const V& b, std::integer_sequence<int, i...>) {
  constexpr int lanes = sizeof...(i);
  return __builtin_shufflevector(a, b, ((i + half * lanes) / 2 + i % 2 * lanes)...);
}

/// `count` registers of elements that follow each other → register k: elements k, k + count ….
template <int lanes, int count, class V>
[[gnu::always_inline]] inline void deal(V (&v)[count]) {
  if constexpr (count > 1) {
    using Sequence = std::make_integer_sequence<int, lanes>;
    V even[count / 2], odd[count / 2];
#pragma GCC unroll 8
    for (int i = 0; i < count / 2; ++i) {
      even[i] = every_second<0>(v[2 * i], v[2 * i + 1], Sequence());
      odd[i] = every_second<1>(v[2 * i], v[2 * i + 1], Sequence());
    }
    deal<lanes>(even);
    deal<lanes>(odd);
#pragma GCC unroll 8
    for (int i = 0; i < count / 2; ++i) {
      v[2 * i] = even[i];
      v[2 * i + 1] = odd[i];
    }
  }
}

template <class T, int lanes, bool complex>
struct Source {
  using V = Vector<T, lanes>;
  const FftPass<T>& pass;
  [[gnu::always_inline]] Complex<V> at(std::int64_t i) const {
    if constexpr (complex) {
      _mm_prefetch(reinterpret_cast<const char*>(pass.from_complex + 2 * (i + pass.ahead)), _MM_HINT_T1);
      const V a = load<V>(pass.from_complex + 2 * i), b = load<V>(pass.from_complex + 2 * i + lanes);
      using Sequence = std::make_integer_sequence<int, lanes>;
      const V first = every_second<0>(a, b, Sequence()), second = every_second<1>(a, b, Sequence());
      return pass.swapped ? Complex<V>{second, first} : Complex<V>{first, second};
    } else {
      return {load<V>(pass.from.re + i), load<V>(pass.from.im + i)};
    }
  }
};

template <class T, int lanes, bool complex>
[[gnu::always_inline]] inline void put(const FftPass<T>& pass, std::int64_t i,
                                       const Complex<Vector<T, lanes>>& x) {
  using V = Vector<T, lanes>;
  if constexpr (complex) {
    const V scale = pass.scale - V{};
    const V a = (pass.swapped ? x.im : x.re) * scale, b = (pass.swapped ? x.re : x.im) * scale;
    using Sequence = std::make_integer_sequence<int, lanes>;
    const V first = alternating<0>(a, b, Sequence()), second = alternating<1>(a, b, Sequence());
    if (pass.streams) {
      stream(pass.to_complex + 2 * i, first);
      stream(pass.to_complex + 2 * i + lanes, second);
    } else {
      store(pass.to_complex + 2 * i, first);
      store(pass.to_complex + 2 * i + lanes, second);
    }
  } else {
    store(pass.to.re + i, x.re);
    store(pass.to.im + i, x.im);
  }
}

/// Calls step(i) with i = 0, lanes … below `count`; the last register overlaps with the one before it.
template <int lanes, class Step>
[[gnu::always_inline]] inline void each_register(std::int64_t count, const Step& step) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) step(i);
  if (i < count) step(count - lanes);
}

/// Registers along the span, between planes but for one end.
template <class T, int radix, int lanes, bool has_turns, bool from_complex = false, bool to_complex = false>
void pass_along_span(const FftPass<T>& pass) {
  using V = Vector<T, lanes>;
  const Source<T, lanes, from_complex> source{pass};
  const std::int64_t part = pass.turns.part, from_step = pass.from_steps.element,
                     to_step = pass.to_steps.element;
  for (std::int64_t block = 0; block < pass.blocks; ++block)
    for (std::int64_t p = 0; p < pass.groups; ++p) {
      const T* const turns = pass.turns.at(block, pass.first_group + p);
      const std::int64_t from = pass.from_steps.block * block + pass.from_steps.group * p,
                         to = pass.to_steps.block * block + pass.to_steps.group * p;
      each_register<lanes>(
          pass.span, [&](std::int64_t t) __attribute__((always_inline)) {
            Complex<V> x[radix];
#pragma GCC unroll 16
            for (int k = 0; k < radix; ++k) x[k] = source.at(from + from_step * k + t);
            if constexpr (has_turns) {
#pragma GCC unroll 16
              for (int k = 1; k < radix; ++k)
                x[k] = turned<V>(x[k], all<V>(turns[(2 * k - 2) * part]), all<V>(turns[(2 * k - 1) * part]));
            }
            Butterfly<radix, V>::run(x);
#pragma GCC unroll 16
            for (int j = 0; j < radix; ++j) put<T, lanes, to_complex>(pass, to + to_step * j + t, x[j]);
          });
    }
}

/// The elements k, k + radix … of a line, for each k.
template <class T, int radix, int lanes>
[[gnu::always_inline]] inline void load_dealt(const T* from, Vector<T, lanes> (&v)[radix]) {
  using V = Vector<T, lanes>;
  if constexpr ((radix & (radix - 1)) == 0) {
#pragma GCC unroll 16
    for (int k = 0; k < radix; ++k) v[k] = load<V>(from + k * lanes);
    deal<lanes>(v);
  } else {
#pragma GCC unroll 16
    for (int k = 0; k < radix; ++k)
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) v[k][i] = from[k + radix * i];
  }
}

/// Registers along the groups, where the span is 1.
template <class T, int radix, int lanes, bool to_complex>
void pass_along_groups(const FftPass<T>& pass) {
  using V = Vector<T, lanes>;
  const std::int64_t part = pass.turns.part, to_step = pass.to_steps.element;
  for (std::int64_t block = 0; block < pass.blocks; ++block) {
    const std::int64_t from = pass.from_steps.block * block, to = pass.to_steps.block * block;
    each_register<lanes>(
        pass.groups, [&](std::int64_t p) __attribute__((always_inline)) {
          V re[radix], im[radix];
          load_dealt<T, radix, lanes>(pass.from.re + from + radix * p, re);
          load_dealt<T, radix, lanes>(pass.from.im + from + radix * p, im);
          const T* const turns = pass.turns.at(block, pass.first_group + p);
          Complex<V> x[radix];
          x[0] = {re[0], im[0]};
#pragma GCC unroll 16
          for (int k = 1; k < radix; ++k) {
            const T* const turn = turns + (2 * k - 2) * part;
            x[k] = turned<V>({re[k], im[k]}, load<V>(turn), load<V>(turn + part));
          }
          Butterfly<radix, V>::run(x);
#pragma GCC unroll 16
          for (int j = 0; j < radix; ++j) put<T, lanes, to_complex>(pass, to + to_step * j + p, x[j]);
        });
  }
}

template <class T, int radix, int lanes>
constexpr void add_width(FftCode<T>& code, std::size_t width) {
  code.first[width] = pass_along_span<T, radix, lanes, false>;
  code.middle[width] = pass_along_span<T, radix, lanes, true>;
  if constexpr (lanes > 1) {
    code.first_from_complex[width] = pass_along_span<T, radix, lanes, false, true>;
    if constexpr (radix <= 16)
      code.middle_to_complex[width] = pass_along_span<T, radix, lanes, true, false, true>;
    code.last[width] = pass_along_groups<T, radix, lanes, false>;
    code.last_to_complex[width] = pass_along_groups<T, radix, lanes, true>;
  }
}

}  // namespace apsis::detail::fft_code
