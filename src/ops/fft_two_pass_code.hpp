#pragma once

// Short lines by two passes without memory between them but a few registers' worth: the operations of the
// passes, in their order, of a line or of as many lines as fill a register. Included where registers of one
// size are built for.

#include <algorithm>

#include "ops/fft_pass_code.hpp"

namespace apsis::detail::fft_code {

/// Blocks of `side` lanes: element j of register i becomes element i of register j. Lanes whose numbers
/// differ in one bit, one bit after the other.
template <int side, int step, class V, int... lane>
[[gnu::always_inline]] inline void exchange_lanes(V (&v)[side],
                                                  std::integer_sequence<int, lane...> sequence) {
  if constexpr (step < side) {
    constexpr int lanes = sizeof...(lane);
#pragma GCC unroll 16
    for (int i = 0; i < side; ++i)
      if ((i & step) == 0) {
        const V a = v[i], b = v[i + step];
        v[i] = __builtin_shufflevector(a, b, ((lane & step) != 0 ? lanes + lane - step : lane)...);
        v[i + step] = __builtin_shufflevector(a, b, ((lane & step) != 0 ? lanes + lane : lane + step)...);
      }
    exchange_lanes<side, 2 * step>(v, sequence);
  }
}

/// What lines are at the ends: complex numbers, but for the planes of one end.
enum class LineEnd { Complex, ToPlanes, FromPlanes };

/// Lines of `first` · `second` numbers. The numbers of a line, or of the lines side by side, in order, are
/// `chunks` registers in either pass.
template <class T, int first, int second, int widest, bool swapped, bool streams,
          LineEnd end = LineEnd::Complex>
struct TwoPasses {
  static constexpr int length = first * second;
  /// A register has numbers of two lines at most: each is half of what goes to memory.
  static constexpr int lanes = std::min(widest, 2 * std::min(first, second));
  static constexpr int lines = std::max(1, lanes / std::min(first, second));
  /// What one pass leaves in registers is what the other wants, but for the lanes.
  static constexpr bool square = first == second && lines * first == lanes;
  using V = Vector<T, lanes>;
  using Sequence = std::make_integer_sequence<int, lanes>;

  /// The turns of the second pass for each of its chunks.
  struct Turns {
    static constexpr int chunks = lines * first / lanes;
    V re[chunks][second], im[chunks][second];
    explicit Turns(const FftTurns<T>& turns) {
      for (int chunk = 0; chunk < chunks; ++chunk)
        for (int k = 1; k < second; ++k)
          for (int i = 0; i < lanes; ++i) {
            const T* const turn = turns.at(0, (chunk * lanes + i) % first) + (2 * k - 2) * turns.part;
            re[chunk][k][i] = turn[0];
            im[chunk][k][i] = turn[turns.part];
          }
    }
  };

  /// Where chunk `chunk` of rows of `row` numbers begins, and its second half.
  static constexpr int begin(int chunk, int row) {
    return chunk * lanes / row * length + chunk * lanes % row;
  }
  static constexpr int middle(int chunk, int row) {
    const int at = chunk * lanes + lanes / 2;
    return at / row * length + at % row;
  }

  template <int chunk>
  [[gnu::always_inline]] static void load_chunk(const T* from, const T* from_imaginary,
                                                Complex<V> (&x)[first]) {
#pragma GCC unroll 16
    for (int k = 0; k < first; ++k) {
      if constexpr (end == LineEnd::FromPlanes) {
        x[k] = {get_halves<chunk>(from + second * k), get_halves<chunk>(from_imaginary + second * k)};
        continue;
      }
      const V a = load<V>(from + 2 * (begin(chunk, second) + second * k)),
              b = load<V>(from + 2 * (middle(chunk, second) + second * k));
      const V even = every_second<0>(a, b, Sequence()), odd = every_second<1>(a, b, Sequence());
      x[k] = swapped ? Complex<V>{odd, even} : Complex<V>{even, odd};
    }
  }

  template <int chunk>
  [[gnu::always_inline]] static void second_pass(V (&re)[second], V (&im)[second], const Turns& turns,
                                                 V scale, T* to, T* to_imaginary) {
    Complex<V> x[second];
    x[0] = {re[0], im[0]};
#pragma GCC unroll 16
    for (int k = 1; k < second; ++k) x[k] = turned<V>({re[k], im[k]}, turns.re[chunk][k], turns.im[chunk][k]);
    Butterfly<second, V>::run(x);
#pragma GCC unroll 16
    for (int j = 0; j < second; ++j) {
      if constexpr (end == LineEnd::ToPlanes) {
        put_halves<chunk, first>(to + first * j, x[j].re * scale);
        put_halves<chunk, first>(to_imaginary + first * j, x[j].im * scale);
        continue;
      }
      const V a = (swapped ? x[j].im : x[j].re) * scale, b = (swapped ? x[j].re : x[j].im) * scale;
      put_half(to + 2 * (begin(chunk, first) + first * j), alternating<0>(a, b, Sequence()));
      put_half(to + 2 * (middle(chunk, first) + first * j), alternating<1>(a, b, Sequence()));
    }
  }
  [[gnu::always_inline]] static void put_half(T* to, const V& v) {
    if constexpr (streams)
      stream(to, v);
    else
      store(to, v);
  }

  template <int... chunk>
  [[gnu::always_inline]] static void first_passes(const T* from, const T* from_imaginary, T* re, T* im,
                                                  std::integer_sequence<int, chunk...>) {
    (first_pass<chunk>(from, from_imaginary, re, im), ...);
  }
  /// To planes, line after line: element t of group j at second · j + t.
  template <int chunk>
  [[gnu::always_inline]] static void first_pass(const T* from, const T* from_imaginary, T* re, T* im) {
    Complex<V> x[first];
    load_chunk<chunk>(from, from_imaginary, x);
    Butterfly<first, V>::run(x);
#pragma GCC unroll 16
    for (int j = 0; j < first; ++j) {
      put_halves<chunk, second>(re + second * j, x[j].re);
      put_halves<chunk, second>(im + second * j, x[j].im);
    }
  }
  template <int chunk, int row>
  [[gnu::always_inline]] static void put_halves(T* to, const V& v) {
    if constexpr (middle(chunk, row) == begin(chunk, row) + lanes / 2) {
      store(to + begin(chunk, row), v);
    } else {
      std::memcpy(to + begin(chunk, row), &v, sizeof v / 2);
      std::memcpy(to + middle(chunk, row), reinterpret_cast<const char*>(&v) + sizeof v / 2, sizeof v / 2);
    }
  }
  template <int chunk>
  [[gnu::always_inline]] static V get_halves(const T* from) {
    if constexpr (middle(chunk, second) == begin(chunk, second) + lanes / 2)
      return load<V>(from + begin(chunk, second));
    V v;
    std::memcpy(&v, from + begin(chunk, second), sizeof v / 2);
    std::memcpy(reinterpret_cast<char*>(&v) + sizeof v / 2, from + middle(chunk, second), sizeof v / 2);
    return v;
  }
  template <int... chunk>
  [[gnu::always_inline]] static void second_passes(const T* re, const T* im, const Turns& turns, V scale,
                                                   T* to, T* to_imaginary,
                                                   std::integer_sequence<int, chunk...>) {
    const auto one = [&]<int i>(std::integral_constant<int, i>) __attribute__((always_inline)) {
      V x_re[second], x_im[second];
      load_dealt<T, second, lanes>(re + second * lanes * i, x_re);
      load_dealt<T, second, lanes>(im + second * lanes * i, x_im);
      second_pass<i>(x_re, x_im, turns, scale, to, to_imaginary);
    };
    (one(std::integral_constant<int, chunk>()), ...);
  }

  static void run(const FftLines<T>& call) {
    const Turns turns(call.turns);
    const V scale = call.scale - V{};
    const T *from = call.from, *from_imaginary = call.from_imaginary;
    T *to = call.to, *to_imaginary = call.to_imaginary;
    for (std::int64_t line = 0; line < call.count; line += lines) {
      if constexpr (square) {
        Complex<V> x[first];
        load_chunk<0>(from, from_imaginary, x);
        Butterfly<first, V>::run(x);
        V re[first], im[first];
#pragma GCC unroll 16
        for (int j = 0; j < first; ++j) {
          re[j] = x[j].re;
          im[j] = x[j].im;
        }
        exchange_lanes<first, 1>(re, Sequence());
        exchange_lanes<first, 1>(im, Sequence());
        second_pass<0>(re, im, turns, scale, to, to_imaginary);
      } else {
        alignas(64) T re[lines * length], im[lines * length];
        first_passes(from, from_imaginary, re, im, std::make_integer_sequence<int, lines * second / lanes>());
        second_passes(re, im, turns, scale, to, to_imaginary,
                      std::make_integer_sequence<int, lines * first / lanes>());
      }
      from += (end == LineEnd::FromPlanes ? 1 : 2) * lines * length;
      to += (end == LineEnd::ToPlanes ? 1 : 2) * lines * length;
      if constexpr (end == LineEnd::FromPlanes) from_imaginary += lines * length;
      if constexpr (end == LineEnd::ToPlanes) to_imaginary += lines * length;
    }
  }
};

template <class T, int first, int second, int widest>
constexpr FftTwoPasses<T> two_passes_of() {
  return {first,
          second,
          TwoPasses<T, first, second, widest, false, false>::lines,
          {{TwoPasses<T, first, second, widest, false, false>::run,
            TwoPasses<T, first, second, widest, false, true>::run},
           {TwoPasses<T, first, second, widest, true, false>::run,
            TwoPasses<T, first, second, widest, true, true>::run}},
          TwoPasses<T, first, second, widest, false, false, LineEnd::ToPlanes>::run,
          TwoPasses<T, first, second, widest, true, false, LineEnd::FromPlanes>::run};
}

}  // namespace apsis::detail::fft_code
