#pragma once

// The first elements of a register, from and to memory: none of the others is read or written.

#include <immintrin.h>

#include <bit>
#include <cstdint>
#include <type_traits>

#include "ops/math/pack_model.hpp"

namespace apsis::detail {

/// So many of them, on registers of so many bytes.
template <class T, int register_bytes>
class FirstLanes;

template <class T>
class FirstLanes<T, 32> {
 public:
  static constexpr int lanes = 32 / static_cast<int>(sizeof(T));
  using Vector = typename math::PackOf<T, lanes>::type;

  explicit FirstLanes(std::int64_t count) : count_(count) {
    for (int i = 0; i < lanes; ++i) mask_[i] = i < count ? -1 : 0;
  }
  Vector load(const T* from) const {
    const auto mask = std::bit_cast<__m256i>(mask_);
    if constexpr (sizeof(T) == 8) {
      return std::bit_cast<Vector>(_mm256_maskload_epi64(reinterpret_cast<const long long*>(from), mask));
    } else if constexpr (sizeof(T) == 4) {
      return std::bit_cast<Vector>(_mm256_maskload_epi32(reinterpret_cast<const int*>(from), mask));
    } else {
      Vector v{};
      for (int i = 0; i < count_; ++i) v[i] = from[i];
      return v;
    }
  }
  void store(T* to, const Vector& v) const {
    const auto mask = std::bit_cast<__m256i>(mask_), bits = std::bit_cast<__m256i>(v);
    if constexpr (sizeof(T) == 8)
      _mm256_maskstore_epi64(reinterpret_cast<long long*>(to), mask, bits);
    else if constexpr (sizeof(T) == 4)
      _mm256_maskstore_epi32(reinterpret_cast<int*>(to), mask, bits);
    else
      for (int i = 0; i < count_; ++i) to[i] = v[i];
  }

 private:
  using Wide = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  using Mask = std::conditional_t<sizeof(T) == 2, std::int16_t, Wide>;
  std::int64_t count_;
  typename math::PackOf<Mask, lanes>::type mask_;
};

#ifdef __AVX512F__
template <class T>
class FirstLanes<T, 64> {
 public:
  static constexpr int lanes = 64 / static_cast<int>(sizeof(T));
  using Vector = typename math::PackOf<T, lanes>::type;

  explicit FirstLanes(std::int64_t count) : mask_((std::uint64_t{2} << (count - 1)) - 1) {}
  Vector load(const T* from) const {
    if constexpr (sizeof(T) == 8)
      return std::bit_cast<Vector>(_mm512_maskz_loadu_epi64(static_cast<__mmask8>(mask_), from));
    else if constexpr (sizeof(T) == 4)
      return std::bit_cast<Vector>(_mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask_), from));
    else
      return std::bit_cast<Vector>(_mm512_maskz_loadu_epi16(static_cast<__mmask32>(mask_), from));
  }
  void store(T* to, const Vector& v) const {
    const auto bits = std::bit_cast<__m512i>(v);
    if constexpr (sizeof(T) == 8)
      _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(mask_), bits);
    else if constexpr (sizeof(T) == 4)
      _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(mask_), bits);
    else
      _mm512_mask_storeu_epi16(to, static_cast<__mmask32>(mask_), bits);
  }

 private:
  std::uint64_t mask_;
};
#endif

}  // namespace apsis::detail
