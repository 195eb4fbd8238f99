#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace apsis::detail {

/// Mixes one word into a running 64-bit hash (the multiply-xorshift finaliser of splitmix64).
inline std::uint64_t hash_mix(std::uint64_t seed, std::uint64_t word) {
  std::uint64_t x = (seed ^ word) + 0x9e3779b97f4a7c15u + (seed << 6);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline std::uint64_t hash_bytes(std::uint64_t seed, const void* data, std::size_t size) {
  const char* p = static_cast<const char*>(data);
  std::uint64_t hash = hash_mix(seed, size);
  for (; size >= 8; size -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    hash = hash_mix(hash, word);
  }
  std::uint64_t tail = 0;
  std::memcpy(&tail, p, size);
  return hash_mix(hash, tail);
}

inline std::uint64_t hash_text(std::uint64_t seed, std::string_view text) {
  return hash_bytes(seed, text.data(), text.size());
}

}  // namespace apsis::detail
