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
template <>
struct Roots<17> {
  static constexpr double cos[] = {0x1.dd6d000370991p-1,  0x1.7a5f6075d4884p-1,  0x1.c86fa2b2883cdp-2,
                                   0x1.79ee63259b75ep-4,  -0x1.183b1c61f0d01p-2, -0x1.348c86ed5f1bbp-1,
                                   -0x1.b34fa910ea3b9p-1, -0x1.f7484007faef3p-1};
  static constexpr double sin[] = {0x1.71e955d8e7cdcp-2, 0x1.58eea2a9d6da3p-1, 0x1.ca52d7c9e640bp-1,
                                   0x1.fdd0deb564b22p-1, 0x1.ec746923c349fp-1, 0x1.9895b6c9a05f6p-1,
                                   0x1.0d8884363dd80p-1, 0x1.7851aacd6c6b4p-3};
};
template <>
struct Roots<19> {
  static constexpr double cos[] = {0x1.e442285231be1p-1,  0x1.940a398f9cd23p-1,  0x1.180996c77c8cap-1,
                                   0x1.f6c118574c83ep-3,  -0x1.523eb8420f5f5p-4, -0x1.9b560b9f596eap-2,
                                   -0x1.5ac4a670a1cffp-1, -0x1.c24a622e3e9f9p-1, -0x1.f90459484f2b2p-1};
  static constexpr double sin[] = {0x1.4c7e04850cfaap-2, 0x1.3a7a16b394423p-1, 0x1.aca115aae3de4p-1,
                                   0x1.f0553b4de2e18p-1, 0x1.fe40529a542aap-1, 0x1.d4e03dd110b08p-1,
                                   0x1.78b0cdee73e0fp-1, 0x1.e75ec0ded7beep-2, 0x1.5116f7f2d58c5p-3};
};
template <>
struct Roots<23> {
  static constexpr double cos[] = {0x1.ed037ea3d2dbbp-1,  0x1.b57675cf309eep-1,  0x1.5d779b07cfef7p-1,
                                   0x1.d71b4a0c5a6c8p-2,  0x1.a0ad8bd1e2882p-3,  -0x1.17855b599f3b9p-4,
                                   -0x1.56eaae597c776p-2, -0x1.2742a4a775cfbp-1, -0x1.8d2a07c16d46fp-1,
                                   -0x1.d59cb83ef99bcp-1, -0x1.fb3b3035aa6cdp-1};
  static constexpr double sin[] = {0x1.14459ad2be466p-2, 0x1.0a06e851db7cap-1, 0x1.763021aaa15dap-1,
                                   0x1.c698e42f47b09p-1, 0x1.f54a827142577p-1, 0x1.fece70dfd3efbp-1,
                                   0x1.e270060999288p-1, 0x1.a249e0b897ca9p-1, 0x1.431df5838f7efp-1,
                                   0x1.97f6748e524b2p-2, 0x1.16de8a4564f0ap-3};
};

// Odd radices: sums and differences of the pairs k and radix - k meet the cosines and the sines.
template <int radix, class V>
struct Butterfly {
  [[gnu::always_inline]] static void run(Complex<V> (&x)[radix]) {
    constexpr int half = (radix - 1) / 2;
    Complex<V> sum[half], difference[half], all_of = x[0];
#pragma GCC unroll 12
    for (int k = 0; k < half; ++k) {
      sum[k] = x[k + 1] + x[radix - 1 - k];
      difference[k] = x[k + 1] - x[radix - 1 - k];
      all_of = all_of + sum[k];
    }
#pragma GCC unroll 12
    for (int j = 1; j <= half; ++j) {
      Complex<V> even = x[0], odd;
#pragma GCC unroll 12
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
