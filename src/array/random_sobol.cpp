// Sobol's sequence and its scrambling, on 32-bit words.

#include <bit>
#include <cmath>

#include "apsis/array/dtype.hpp"
#include "apsis/array/ensemble.hpp"
#include "apsis/control/scan.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/select.hpp"
#include "array/random_support.hpp"

namespace apsis::random {
using namespace detail;
namespace {

constexpr int bits_of_points = 32;
constexpr std::int64_t dimensions = 1024;
constexpr std::uint16_t joe_kuo[] = {
#include "array/sobol_directions.inc"
};

/// The direction numbers of each dimension, u32[32, dimension]: row k is what bit k of a point's number
/// flips.
Array direction_numbers(std::int64_t dimension) {
  std::vector<std::uint32_t> v(static_cast<std::size_t>(bits_of_points * dimension));
  const std::uint16_t* next = joe_kuo;
  for (std::int64_t d = 0; d < dimension; ++d) {
    const auto at = [&](int k) -> std::uint32_t& { return v[static_cast<std::size_t>(k * dimension + d)]; };
    const unsigned polynomial = *next++;
    const int degree = std::bit_width(polynomial) - 1, given = std::max(degree, 1);
    for (int k = 0; k < given; ++k) at(k) = std::uint32_t{*next++} << (bits_of_points - 1 - k);
    for (int k = given; k < bits_of_points; ++k) {
      if (degree == 0) {  // the first dimension: van der Corput's sequence
        at(k) = 1u << (bits_of_points - 1 - k);
        continue;
      }
      // Bratley and Fox 1988, equation 2.
      at(k) = at(k - degree) ^ (at(k - degree) >> degree);
      for (int j = 1; j < degree; ++j)
        if ((polynomial >> (degree - j)) & 1) at(k) ^= at(k - j);
    }
  }
  return array(std::span<const std::uint32_t>(v), Shape{bits_of_points, dimension});
}

Array word(std::uint32_t w) { return array(w); }

/// A 32-bit word whose bits look independent of its argument's (C. Wellons, "Prospecting for hash functions",
/// 2018, with the constants found later by TheIronBorn).
Array mixed(Array x) {
  x = (x ^ (x >> word(16))) * word(0x21f0aaad);
  x = (x ^ (x >> word(15))) * word(0xd35a2d97);
  return x ^ (x >> word(15));
}

/// Owen's scrambling: each bit is flipped, or not, by a coin for the bits above it. Coins are hashes under
/// random words, one for each bit and dimension.
Array scrambled(const Array& x, const Array& seeds) {
  return fori_loop(
      0, bits_of_points,
      [&](const Array& k, const Array& y) {
        const Array bit = astype(k, u32);
        // A shift by all 32 bits leaves nothing.
        const Array above = (x >> bit) >> word(1);
        return y ^ ((mixed(above ^ seeds[k]) >> word(31)) << bit);
      },
      x);
}

/// The points as words.
Array sobol_words(const Array& numbers, std::int64_t dimension) {
  const Array gray = expand_dims(numbers ^ (numbers >> word(1)), 1),
              directions = direction_numbers(dimension);
  return fori_loop(
      0, bits_of_points,
      [&](const Array& k, const Array& x) {
        const Array flips = ((gray >> astype(k, u32)) & word(1)) != word(0);
        return x ^ where(flips, directions[k], word(0));
      },
      zeros({numbers.size(), dimension}, u32));
}

}  // namespace

Array sobol(std::int64_t count, std::int64_t dimension, const SobolOptions& options, Loc loc) {
  const LocScope place(loc);
  check_floating("sobol", options.dtype);
  check_count("sobol", count);
  if (dimension < 0 || dimension > dimensions)
    fail(messages::sobol_dimensions, {"sobol", std::to_string(dimension), std::to_string(dimensions)}, loc);
  check_first("sobol", options.first);
  if (count == 0 || dimension == 0) return zeros({count, dimension}, options.dtype);
  const Array words = sobol_words(astype(options.first + arange(count), u32), dimension);
  if (options.key.is_empty()) {
    // As many of the bits as the dtype holds.
    const int digits = std::min(finfo(options.dtype).nmant + 1, bits_of_points);
    return astype(words >> word(bits_of_points - digits), options.dtype) * std::ldexp(1., -digits);
  }
  const Array seeds = bits(options.key, {bits_of_points + 1, dimension}, u32, loc);
  return open_uniform(scrambled(words, seeds), mixed(mixed(words) ^ seeds[bits_of_points]), options.dtype);
}

}  // namespace apsis::random
