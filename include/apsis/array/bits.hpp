#pragma once

// Booleans as the bits of bytes, and the upper halves of products. As in jax.numpy and jax.lax.

#include <optional>

#include "apsis/core/array.hpp"

namespace apsis {

/// Which bit of a byte is the first.
enum class BitOrder : std::uint8_t { Big, Little };
/// Options of `packbits`.
struct PackbitsOptions {
  std::optional<int> axis = {};  ///< without, all elements in row-major order are one axis
  BitOrder bitorder = BitOrder::Big;
};
/// Options of `unpackbits`.
struct UnpackbitsOptions {
  std::optional<int> axis = {};            ///< without, all elements in row-major order are one axis
  std::optional<std::int64_t> count = {};  ///< how many bits; negative: without so many; beyond the last, 0
  BitOrder bitorder = BitOrder::Big;
};
/// u8: each eight elements along an axis as the bits of a byte, those that are not 0 as 1; the last byte is
/// filled up with zeros. Throws for floating-point numbers.
Array packbits(const Array& x, const PackbitsOptions& options = {}, Loc loc = Loc::here());
/// u8: the bits of bytes, 0 or 1, eight in the place of each. Throws for another dtype than u8.
Array unpackbits(const Array& x, const UnpackbitsOptions& options = {}, Loc loc = Loc::here());

/// The upper half of the bits of the product of two integers of one dtype, broadcast. Throws for other
/// dtypes.
Array mulhi(const Array& a, const Array& b, Loc loc = Loc::here());

}  // namespace apsis
