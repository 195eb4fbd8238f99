#pragma once

#include <immintrin.h>

#include <bit>

#include "ops/math/model.hpp"

namespace apsis::detail::math {

/// What the language has no operators for, on registers of so many bytes.
template <int bytes>
struct Register;

template <>
struct Register<32> {
  static __m256d fma(__m256d x, __m256d y, __m256d z) { return _mm256_fmadd_pd(x, y, z); }
  static __m256 fma(__m256 x, __m256 y, __m256 z) { return _mm256_fmadd_ps(x, y, z); }
  static __m256d sqrt(__m256d x) { return _mm256_sqrt_pd(x); }
  static __m256 sqrt(__m256 x) { return _mm256_sqrt_ps(x); }
  static __m256d rint(__m256d x) { return _mm256_round_pd(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static __m256 rint(__m256 x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static __m256d floor(__m256d x) { return _mm256_floor_pd(x); }
  static __m256 floor(__m256 x) { return _mm256_floor_ps(x); }
  template <class Mask>
  static bool any(Mask mask) {
    return _mm256_movemask_epi8(std::bit_cast<__m256i>(mask)) != 0;
  }
  /// Its lower and upper half from two places.
  static __m256i load_halves(const void* low, const void* high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(low))),
                                   _mm_loadu_si128(static_cast<const __m128i*>(high)), 1);
  }
};

#ifdef __AVX512F__
template <>
struct Register<64> {
  static __m512d fma(__m512d x, __m512d y, __m512d z) { return _mm512_fmadd_pd(x, y, z); }
  static __m512 fma(__m512 x, __m512 y, __m512 z) { return _mm512_fmadd_ps(x, y, z); }
  // Masked forms: the others start from a register whose contents compilers warn of.
  static __m512d sqrt(__m512d x) { return _mm512_maskz_sqrt_pd(0xff, x); }
  static __m512 sqrt(__m512 x) { return _mm512_maskz_sqrt_ps(0xffff, x); }
  static __m512d rint(__m512d x) { return _mm512_maskz_roundscale_pd(0xff, x, _MM_FROUND_TO_NEAREST_INT); }
  static __m512 rint(__m512 x) { return _mm512_maskz_roundscale_ps(0xffff, x, _MM_FROUND_TO_NEAREST_INT); }
  static __m512d floor(__m512d x) { return _mm512_maskz_roundscale_pd(0xff, x, _MM_FROUND_TO_NEG_INF); }
  static __m512 floor(__m512 x) { return _mm512_maskz_roundscale_ps(0xffff, x, _MM_FROUND_TO_NEG_INF); }
  template <class Mask>
  static bool any(Mask mask) {
    return _mm512_test_epi32_mask(std::bit_cast<__m512i>(mask), std::bit_cast<__m512i>(mask)) != 0;
  }
  static __m512i load_halves(const void* low, const void* high) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(static_cast<const __m256i*>(low))),
                              _mm256_loadu_si256(static_cast<const __m256i*>(high)), 1);
  }
};
#endif

template <class T, int lanes>
struct PackOf {
  typedef T type __attribute__((vector_size(sizeof(T) * lanes)));
};

/// The model that computes with as many floats or doubles as fill a register. It has no `Wide`: functions of
/// f32 that compute in f64 are not for it.
template <class T, int register_bytes>
struct PackModel {
  static constexpr int lanes = register_bytes / static_cast<int>(sizeof(T));
  using Scalar = T;
  using F = typename PackOf<T, lanes>::type;
  using I = typename PackOf<IntegerOf<T>, lanes>::type;
  using B = I;  // all bits of a lane, or none
  using Unsigned = typename PackOf<std::make_unsigned_t<IntegerOf<T>>, lanes>::type;

  F constant(T x) const { return x - F{}; }  // minus, so that -0 stays what it is
  I integer(IntegerOf<T> x) const { return x + I{}; }
  F add(F x, F y) const { return x + y; }
  F sub(F x, F y) const { return x - y; }
  F mul(F x, F y) const { return x * y; }
  F div(F x, F y) const { return x / y; }
  F fma(F x, F y, F z) const { return Register<register_bytes>::fma(x, y, z); }
  F neg(F x) const { return from_bits(to_bits(x) ^ sign); }
  F abs(F x) const { return from_bits(to_bits(x) & ~sign); }
  F sqrt(F x) const { return Register<register_bytes>::sqrt(x); }
  F rint(F x) const { return Register<register_bytes>::rint(x); }
  F floor(F x) const { return Register<register_bytes>::floor(x); }
  B lt(F x, F y) const { return x < y; }
  B le(F x, F y) const { return x <= y; }
  B eq(F x, F y) const { return x == y; }
  B eq(I x, I y) const { return x == y; }
  I and_(I x, I y) const { return x & y; }
  I or_(I x, I y) const { return x | y; }
  I xor_(I x, I y) const { return x ^ y; }
  B not_(B x) const { return ~x; }
  F select(B c, F x, F y) const { return c ? x : y; }
  I select(B c, I x, I y) const { return c ? x : y; }
  I to_bits(F x) const { return std::bit_cast<I>(x); }
  F from_bits(I x) const { return std::bit_cast<F>(x); }
  I add(I x, I y) const { return wrapped(unsigned_of(x) + unsigned_of(y)); }
  I sub(I x, I y) const { return wrapped(unsigned_of(x) - unsigned_of(y)); }
  I shl(I x, int n) const { return wrapped(unsigned_of(x) << n); }
  I lshr(I x, int n) const { return wrapped(unsigned_of(x) >> n); }
  F rare(B mask, RareUnary<T> slow, F x, F fast) const {
    if (Register<register_bytes>::any(mask)) [[unlikely]]
      return recompute(mask, slow, fast, x);
    return fast;
  }
  F rare(B mask, RareBinary<T> slow, F x, F y, F fast) const {
    if (Register<register_bytes>::any(mask)) [[unlikely]]
      return recompute(mask, slow, fast, x, y);
    return fast;
  }

 private:
  static constexpr IntegerOf<T> sign = std::numeric_limits<IntegerOf<T>>::min();
  static Unsigned unsigned_of(I x) { return std::bit_cast<Unsigned>(x); }
  static I wrapped(Unsigned x) { return std::bit_cast<I>(x); }
  [[gnu::noinline, gnu::cold]] static F recompute(B mask, auto slow, F result, auto... x) {
    for (int i = 0; i < lanes; ++i)
      if (mask[i]) result[i] = slow.function(x[i]...);
    return result;
  }
};

}  // namespace apsis::detail::math
