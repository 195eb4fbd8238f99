#pragma once

// Discrete Fourier transforms of a few elements in registers, exp(-2πi / radix), results in natural order.

#include <immintrin.h>

#include <cmath>

#include "ops/math/pack_model.hpp"

namespace apsis::detail::fft_code {

/// As many numbers as fill a register, or one.
template <class T, int lanes>
struct VectorOf {
  using type = typename math::PackOf<T, lanes>::type;
};
template <class T>
struct VectorOf<T, 1> {
  using type = T;
};
template <class T, int lanes>
using Vector = typename VectorOf<T, lanes>::type;

/// z + x·y and z - x·y, rounded once.
template <class V>
[[gnu::always_inline]] inline V add_product(V z, V x, V y) {
  if constexpr (std::is_floating_point_v<V>)
    return std::fma(x, y, z);
  else if constexpr (sizeof(V) == 16)
    return _mm_fmadd_ps(x, y, z);
  else
    return math::Register<sizeof(V)>::fma(x, y, z);
}
template <class V>
[[gnu::always_inline]] inline V subtract_product(V z, V x, V y) {
  return add_product<V>(z, -x, y);
}

/// The same number in all lanes.
template <class V>
[[gnu::always_inline]] inline V all(double x) {
  if constexpr (std::is_floating_point_v<V>)
    return static_cast<V>(x);
  else
    return static_cast<std::remove_cvref_t<decltype(V{}[0])>>(x) - V{};
}

template <class V>
struct Complex {
  V re, im;
};
template <class V>
[[gnu::always_inline]] inline Complex<V> operator+(const Complex<V>& a, const Complex<V>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
[[gnu::always_inline]] inline Complex<V> operator-(const Complex<V>& a, const Complex<V>& b) {
  return {a.re - b.re, a.im - b.im};
}
/// a·w.
template <class V>
[[gnu::always_inline]] inline Complex<V> turned(const Complex<V>& a, V w_re, V w_im) {
  return {subtract_product<V>(a.re * w_re, a.im, w_im), add_product<V>(a.re * w_im, a.im, w_re)};
}
/// -i·a.
template <class V>
[[gnu::always_inline]] inline Complex<V> quarter(const Complex<V>& a) {
  return {a.im, -a.re};
}

/// cos(2πk / radix) and sin(2πk / radix) for k = 1 … (radix - 1) / 2.
template <int radix>
struct Roots;
template <>
struct Roots<3> {
  static constexpr double cos[] = {-0x1.0000000000000p-1};
  static constexpr double sin[] = {0x1.bb67ae8584caap-1};
};
template <>
struct Roots<5> {
  static constexpr double cos[] = {0x1.3c6ef372fe950p-2, -0x1.9e3779b97f4a8p-1};
  static constexpr double sin[] = {0x1.e6f0e134454ffp-1, 0x1.2cf2304755a5ep-1};
};
template <>
struct Roots<7> {
  static constexpr double cos[] = {0x1.3f3a0e28bedd1p-1, -0x1.c7b90e3024582p-3, -0x1.cd4bca9cb5c71p-1};
  static constexpr double sin[] = {0x1.904c37505de4bp-1, 0x1.f329c0558e969p-1, 0x1.bc4c04d71abc1p-2};
};
template <>
struct Roots<11> {
  static constexpr double cos[] = {0x1.aeb8c8764f0bap-1, 0x1.a9628d9c712b6p-2, -0x1.2375f640f44dbp-3,
                                   -0x1.4f49e7f775887p-1, -0x1.eb42a9bcd5057p-1};
  static constexpr double sin[] = {0x1.14cedf8bb580bp-1, 0x1.d1bb48eee2c13p-1, 0x1.fac9e043842efp-1,
                                   0x1.82f19bb3a28a1p-1, 0x1.207e7fd768dbfp-2};
};
template <>
struct Roots<13> {
  static constexpr double cos[] = {0x1.c55a7e00740e9p-1,  0x1.22d961ea71119p-1,  0x1.edb7debaa3ed8p-4,
                                   -0x1.6b1d8b2365da1p-2, -0x1.7f3ccd0032e0cp-1, -0x1.f11f493053d00p-1};
  static constexpr double sin[] = {0x1.dbe064267c47cp-2, 0x1.a55e242a4c3d2p-1, 0x1.fc44566966769p-1,
                                   0x1.deba72ef20147p-1, 0x1.5384d024c2f84p-1, 0x1.ea1e54bc48dbfp-3};
};

// Odd radices: sums and differences of the pairs k and radix - k meet the cosines and the sines.
template <int radix, class V>
struct Butterfly {
  [[gnu::always_inline]] static void run(Complex<V> (&x)[radix]) {
    constexpr int half = (radix - 1) / 2;
    Complex<V> sum[half], difference[half], all_of = x[0];
#pragma GCC unroll 8
    for (int k = 0; k < half; ++k) {
      sum[k] = x[k + 1] + x[radix - 1 - k];
      difference[k] = x[k + 1] - x[radix - 1 - k];
      all_of = all_of + sum[k];
    }
#pragma GCC unroll 8
    for (int j = 1; j <= half; ++j) {
      Complex<V> even = x[0], odd;
#pragma GCC unroll 8
      for (int k = 1; k <= half; ++k) {
        const int turn = j * k % radix, index = (turn > half ? radix - turn : turn) - 1;
        const V c = all<V>(Roots<radix>::cos[index]);
        const V s = all<V>(turn > half ? -Roots<radix>::sin[index] : Roots<radix>::sin[index]);
        even.re = add_product<V>(even.re, sum[k - 1].re, c);
        even.im = add_product<V>(even.im, sum[k - 1].im, c);
        odd.re = k == 1 ? difference[0].re * s : add_product<V>(odd.re, difference[k - 1].re, s);
        odd.im = k == 1 ? difference[0].im * s : add_product<V>(odd.im, difference[k - 1].im, s);
      }
      x[j] = even + quarter(odd);
      x[radix - j] = even - quarter(odd);
    }
    x[0] = all_of;
  }
};

template <class V>
struct Butterfly<2, V> {
  [[gnu::always_inline]] static void run(Complex<V> (&x)[2]) {
    const Complex<V> difference = x[0] - x[1];
    x[0] = x[0] + x[1];
    x[1] = difference;
  }
};

template <class V>
struct Butterfly<4, V> {
  [[gnu::always_inline]] static void run(Complex<V> (&x)[4]) {
    const Complex<V> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = quarter(x[1] - x[3]);
    x[0] = a + c;
    x[1] = b + d;
    x[2] = a - c;
    x[3] = b - d;
  }
};

/// a · exp(-2πi k / 16).
template <int k, class V>
[[gnu::always_inline]] inline Complex<V> sixteenth(const Complex<V>& a) {
  if constexpr (k >= 4) {
    return sixteenth<k - 4>(quarter(a));
  } else if constexpr (k == 0) {
    return a;
  } else if constexpr (k == 2) {
    const V c = all<V>(0x1.6a09e667f3bcdp-1);
    return {(a.re + a.im) * c, (a.im - a.re) * c};
  } else {
    constexpr double long_side = 0x1.d906bcf328d46p-1, short_side = 0x1.87de2a6aea963p-2;
    return turned<V>(a, all<V>(k == 1 ? long_side : short_side), all<V>(k == 1 ? -short_side : -long_side));
  }
}

template <class V>
struct Butterfly<8, V> {
  [[gnu::always_inline]] static void run(Complex<V> (&x)[8]) {
    Complex<V> even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
    Butterfly<4, V>::run(even);
    Butterfly<4, V>::run(odd);
    odd[1] = sixteenth<2>(odd[1]);
    odd[2] = sixteenth<4>(odd[2]);
    odd[3] = sixteenth<6>(odd[3]);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      x[i] = even[i] + odd[i];
      x[i + 4] = even[i] - odd[i];
    }
  }
};

template <class V>
struct Butterfly<16, V> {
  template <int column>
  [[gnu::always_inline]] static void run_column(Complex<V> (&x)[16], Complex<V> (&rows)[4][4]) {
    Complex<V> y[4] = {x[column], x[column + 4], x[column + 8], x[column + 12]};
    Butterfly<4, V>::run(y);
    rows[0][column] = y[0];
    rows[1][column] = sixteenth<column>(y[1]);
    rows[2][column] = sixteenth<2 * column>(y[2]);
    rows[3][column] = sixteenth<3 * column>(y[3]);
  }
  [[gnu::always_inline]] static void run(Complex<V> (&x)[16]) {
    Complex<V> rows[4][4];
    run_column<0>(x, rows);
    run_column<1>(x, rows);
    run_column<2>(x, rows);
    run_column<3>(x, rows);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      Butterfly<4, V>::run(rows[i]);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) x[i + 4 * j] = rows[i][j];
    }
  }
};

}  // namespace apsis::detail::fft_code
