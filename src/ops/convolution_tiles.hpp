#pragma once

// Tiles of convolutions, whose sums fit into registers, as machine code for one width of registers.

#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "ops/math/pack_model.hpp"

namespace apsis::detail {

constexpr int most_window_rows = 14, most_window_lines = 3, most_window_pairs = 4;

/// Windows at places beside one another. What a window holds are pieces of entries that follow one another in
/// memory; each entry meets one row of the kernel, which is as long as the registers of the sums. Where
/// channels are kept apart, an entry is such a row too.
template <class T>
struct Windows {
  const T* const* pieces;
  const std::int64_t* entries;  // of each piece
  std::int64_t count;           // of pieces
  std::int64_t place;           // entries from one window to the next
  const T* kernel;
  T* result;
  std::int64_t stride;  // between places of the result
  bool adds;            // to what the result holds
};

/// Places beside one another, and what their windows meet.
template <class T>
struct ChannelRun {
  const T* input;
  std::int64_t line, tap, place;  ///< strides of the input: rows of the window, their entries, places
  const T* output;
  std::int64_t places;
};
template <class T>
using ChannelRuns = std::array<ChannelRun<T>, 3>;

/// Sums, over the places of all runs, of rows of the output times rows of the input, of channels that are
/// kept apart: one for each entry of some rows of the window.
template <class T>
struct ChannelPairs {
  ChannelRuns<T> runs;
  std::int64_t output_place, registers;  ///< that channels fill: one or two
  T* result;                             ///< what is added to
  std::int64_t result_line, result_tap;
};

template <class T>
struct ConvolutionTiles {
  int height, lanes;  // rows of a tile; of a register
  using OfRows = std::array<void (*)(const Windows<T>&), most_window_rows>;
  OfRows multiply[2], multiply_apart[2];  // one register a row, or two
  using OfTaps = std::array<void (*)(const ChannelPairs<T>&), most_window_pairs>;
  std::array<OfTaps, most_window_lines> add_pairs;
};
template <class T>
ConvolutionTiles<T> avx2_convolution_tiles();
template <>
ConvolutionTiles<float> avx2_convolution_tiles();
template <>
ConvolutionTiles<double> avx2_convolution_tiles();
template <class T>
ConvolutionTiles<T> avx512_convolution_tiles();
template <>
ConvolutionTiles<float> avx512_convolution_tiles();
template <>
ConvolutionTiles<double> avx512_convolution_tiles();

namespace convolution_code {

template <class T, int register_bytes>
struct Registers {
  static constexpr int lanes = register_bytes / static_cast<int>(sizeof(T));
  using Vector = typename math::PackOf<T, lanes>::type;
  static Vector load(const T* from) {
    Vector v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
  }
  static void store(const Vector& v, T* to) { __builtin_memcpy(to, &v, sizeof v); }
};

/// Three rows are found from one address, as in ops/matrix_tiles.hpp.
template <class T, int register_bytes, int columns, int rows, bool apart>
void multiply_windows(const Windows<T>& w) {
  using R = Registers<T, register_bytes>;
  using Vector = typename R::Vector;
  constexpr int lanes = R::lanes, reached = 3, width = columns * lanes;
  Vector sums[rows][columns] = {};
  const std::int64_t place = w.place;
  const T* kernel = w.kernel;
  for (std::int64_t piece = 0; piece < w.count; ++piece) {
    const T* left[(rows + reached - 1) / reached];
    for (int i = 0; i < rows; i += reached) left[i / reached] = w.pieces[piece] + i * place;
    for (std::int64_t entry = w.entries[piece]; entry > 0; --entry, kernel += width) {
      Vector b[columns];
      for (int j = 0; j < columns; ++j) b[j] = R::load(kernel + j * lanes);
      for (int i = 0; i < rows; ++i) {
        const T* from = left[i / reached] + i % reached * place;
        for (int j = 0; j < columns; ++j) {
          Vector a;
          if constexpr (apart)
            a = R::load(from + j * lanes);
          else
            a = *from - Vector{};  // the same in all lanes
          sums[i][j] = math::Register<register_bytes>::fma(a, b[j], sums[i][j]);
        }
      }
      for (const T*& l : left) l += apart ? width : 1;
    }
  }
  // Written out twice, so that the sums need no memory to be chosen from.
  const auto finish = [&](auto adds) {
#pragma GCC unroll 14
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
      for (int j = 0; j < columns; ++j) {
        T* const result = w.result + i * w.stride + j * lanes;
        if constexpr (adds()) sums[i][j] = R::load(result) + sums[i][j];
        R::store(sums[i][j], result);
      }
  };
  w.adds ? finish(std::true_type()) : finish(std::false_type());
}

/// Of `registers` of them, from register `first` on.
template <class T, int register_bytes, int lines, int taps, int registers>
[[gnu::always_inline]] inline void add_channel_registers(const ChannelPairs<T>& p, int first) {
  using R = Registers<T, register_bytes>;
  using Vector = typename R::Vector;
  constexpr int lanes = R::lanes;
  Vector sums[lines][taps][registers] = {};
  for (const ChannelRun<T>& run : p.runs) {
    const T* output = run.output + first * lanes;
    const T* input[lines];
    for (int l = 0; l < lines; ++l) input[l] = run.input + l * run.line + first * lanes;
    const std::int64_t tap = run.tap, place = run.place;
    for (std::int64_t i = run.places; i > 0; --i) {
      for (int j = 0; j < registers; ++j) {
        const Vector b = R::load(output + j * lanes);
        for (int l = 0; l < lines; ++l)
          for (int k = 0; k < taps; ++k)
            sums[l][k][j] = math::Register<register_bytes>::fma(R::load(input[l] + k * tap + j * lanes), b,
                                                                sums[l][k][j]);
      }
      output += p.output_place;
      for (const T*& line : input) line += place;
    }
  }
  for (int l = 0; l < lines; ++l)
    for (int k = 0; k < taps; ++k)
      for (int j = 0; j < registers; ++j) {
        T* const result = p.result + l * p.result_line + k * p.result_tap + (first + j) * lanes;
        R::store(R::load(result) + sums[l][k][j], result);
      }
}

template <class T, int register_bytes, int lines, int taps>
void add_channel_pairs(const ChannelPairs<T>& p) {
  constexpr int sums = register_bytes == 64 ? 28 : 12;  // that fit into registers
  if constexpr (2 * lines * taps <= sums)
    if (p.registers == 2) return add_channel_registers<T, register_bytes, lines, taps, 2>(p, 0);
  for (int first = 0; first < p.registers; ++first)
    add_channel_registers<T, register_bytes, lines, taps, 1>(p, first);
}

template <class T, int register_bytes, int lines>
constexpr auto channel_pairs_of_taps() {
  return []<std::size_t... t>(std::index_sequence<t...>) {
    return typename ConvolutionTiles<T>::OfTaps{
        add_channel_pairs<T, register_bytes, lines, static_cast<int>(t) + 1>...};
  }
  (std::make_index_sequence<most_window_pairs>());
}

template <class T, int register_bytes, int height>
constexpr ConvolutionTiles<T> tiles_of() {
  return []<std::size_t... r, std::size_t... l>(std::index_sequence<r...>, std::index_sequence<l...>) {
    return ConvolutionTiles<T>{height,
                               Registers<T, register_bytes>::lanes,
                               {{multiply_windows<T, register_bytes, 1, static_cast<int>(r) + 1, false>...},
                                {multiply_windows<T, register_bytes, 2, static_cast<int>(r) + 1, false>...}},
                               {{multiply_windows<T, register_bytes, 1, static_cast<int>(r) + 1, true>...},
                                {multiply_windows<T, register_bytes, 2, static_cast<int>(r) + 1, true>...}},
                               {channel_pairs_of_taps<T, register_bytes, static_cast<int>(l) + 1>()...}};
  }
  (std::make_index_sequence<height>(), std::make_index_sequence<most_window_lines>());
}

}  // namespace convolution_code
}  // namespace apsis::detail
