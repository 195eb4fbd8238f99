#pragma once

// Between the half spectrum of a real line and the transform of pairs of its elements. Included where
// registers of one size are built for.

#include "ops/fft_pass_code.hpp"

namespace apsis::detail::fft_code {

/// Elements k … k + lanes - 1, where all but one number are vectors.
template <class T, int lanes>
struct HalfSpectrum {
  using V = Vector<T, lanes>;
  using Sequence = std::make_integer_sequence<int, lanes>;

  /// Those before `end`, the last one first.
  [[gnu::always_inline]] static V backwards(const T* end) {
    return reversed(load<V>(end - lanes), Sequence());
  }
  template <int... i>
  [[gnu::always_inline]] static V reversed(const V& v, std::integer_sequence<int, i...>) {
    if constexpr (lanes == 1)
      return v;
    else
      return __builtin_shufflevector(v, v, (lanes - 1 - i)...);
  }
  [[gnu::always_inline]] static Complex<V> get(const T* from) {
    if constexpr (lanes == 1) {
      return {from[0], from[1]};
    } else {
      const V a = load<V>(from), b = load<V>(from + lanes);
      return {every_second<0>(a, b, Sequence()), every_second<1>(a, b, Sequence())};
    }
  }
  [[gnu::always_inline]] static void put(T* to, const Complex<V>& x) {
    if constexpr (lanes == 1) {
      to[0] = x.re;
      to[1] = x.im;
    } else {
      store(to, alternating<0>(x.re, x.im, Sequence()));
      store(to + lanes, alternating<1>(x.re, x.im, Sequence()));
    }
  }

  /// With E and O, the spectra of the even and the odd elements, Z = E + iO, and the spectrum is E + w^k O.
  [[gnu::always_inline]] static Complex<V> spectrum(const FftHalf<T>& h, const Complex<V>& z,
                                                    const Complex<V>& mirror, const Complex<V>& w) {
    const V e_re = z.re + mirror.re, e_im = z.im - mirror.im, o_re = z.im + mirror.im,
            o_im = mirror.re - z.re;
    return {all<V>(h.factor) * add_product<V>(subtract_product<V>(e_re, o_im, w.im), o_re, w.re),
            all<V>(h.imaginary_factor) * add_product<V>(add_product<V>(e_im, o_im, w.re), o_re, w.im)};
  }
  [[gnu::always_inline]] static Complex<V> pairs(const FftHalf<T>& h, const Complex<V>& y,
                                                 const Complex<V>& mirror, const Complex<V>& w) {
    const V re = all<V>(h.factor), im = all<V>(h.imaginary_factor);
    const V y_re = y.re * re, y_im = y.im * im, m_re = mirror.re * re, m_im = mirror.im * im;
    const V e_re = y_re + m_re, e_im = y_im - m_im, d_re = y_re - m_re, d_im = y_im + m_im;
    return {add_product<V>(subtract_product<V>(e_re, d_im, w.re), d_re, w.im),
            add_product<V>(add_product<V>(e_im, d_re, w.re), d_im, w.im)};
  }

  [[gnu::always_inline]] static Complex<V> at(const Planes<T>& planes, std::int64_t i) {
    return {load<V>(planes.re + i), load<V>(planes.im + i)};
  }
  [[gnu::always_inline]] static void put_at(const Planes<T>& planes, std::int64_t i, const Complex<V>& x) {
    store(planes.re + i, x.re);
    store(planes.im + i, x.im);
  }
  [[gnu::always_inline]] static Complex<V> turns(const FftHalf<T>& h, std::int64_t k) {
    return {load<V>(h.turns_re + k), load<V>(h.turns_im + k)};
  }

  [[gnu::always_inline]] static void store_at(const FftHalf<T>& h, std::int64_t k) {
    const std::int64_t mirror = h.pairs - k + 1;
    const Complex<V> m{backwards(h.z.re + mirror), backwards(h.z.im + mirror)};
    put(h.to + 2 * k, spectrum(h, at(h.z, k), m, turns(h, k)));
  }
  [[gnu::always_inline]] static void load_at(const FftHalf<T>& h, std::int64_t k) {
    const Complex<V> m = get(h.from + 2 * (h.pairs - k + 1 - lanes));
    put_at(
        h.z, k,
        pairs(h, get(h.from + 2 * k), {reversed(m.re, Sequence()), reversed(m.im, Sequence())}, turns(h, k)));
  }

  /// Of lines side by side: element k in the planes at i, its mirror image at j.
  [[gnu::always_inline]] static void store_columns(const FftHalf<T>& h, std::int64_t k, std::int64_t i,
                                                   std::int64_t j) {
    const Complex<V> w{all<V>(h.turns_re[k]), all<V>(h.turns_im[k])};
    put_at(h.planes, i, spectrum(h, at(h.z, i), at(h.z, j), w));
  }
  [[gnu::always_inline]] static void load_columns(const FftHalf<T>& h, std::int64_t k, std::int64_t i,
                                                  std::int64_t j) {
    const Complex<V> w{all<V>(h.turns_re[k]), all<V>(h.turns_im[k])};
    put_at(h.z, i, pairs(h, at(h.planes, i), at(h.planes, j), w));
  }
};

/// For the elements 1 … pairs - 1. The last vector is moved back, so that it ends with them.
template <class T, int lanes, void (*at)(const FftHalf<T>&, std::int64_t), class Narrower>
void each_element(const FftHalf<T>& h, const Narrower& narrower) {
  if (h.pairs - 1 < lanes) return narrower(h);
  std::int64_t k = 1;
  for (; k + lanes <= h.pairs; k += lanes) at(h, k);
  if (k < h.pairs) at(h, h.pairs - lanes);
}

/// Registers that have a multiply-add: of four numbers at least.
template <class T, int lanes>
void store_half(const FftHalf<T>& h) {
  each_element<T, lanes, HalfSpectrum<T, lanes>::store_at>(h, [](const FftHalf<T>& few) {
    if constexpr (lanes > 1) store_half<T, (lanes > 4 ? lanes / 2 : 1)>(few);
  });
}
template <class T, int lanes>
void load_half(const FftHalf<T>& h) {
  each_element<T, lanes, HalfSpectrum<T, lanes>::load_at>(h, [](const FftHalf<T>& few) {
    if constexpr (lanes > 1) load_half<T, (lanes > 4 ? lanes / 2 : 1)>(few);
  });
}

/// For the elements 1 … pairs - 1 of `fft_columns` lines.
template <class T, int lanes, void (*at)(const FftHalf<T>&, std::int64_t, std::int64_t, std::int64_t)>
void each_column(const FftHalf<T>& h) {
  constexpr std::int64_t columns = fft_columns<T>;
  for (std::int64_t k = 1; k < h.pairs; ++k)
    for (std::int64_t c = 0; c < columns; c += lanes) at(h, k, k * columns + c, (h.pairs - k) * columns + c);
}

}  // namespace apsis::detail::fft_code
