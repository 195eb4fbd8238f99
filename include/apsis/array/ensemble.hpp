#pragma once

// Draws for ensembles: a row for each member, which depends on the key and the member's number alone. Parts
// of an ensemble, drawn one after the other, are the whole.
//
//   Array z = random::normal_members(key, 4096, {steps}, {.draws = Draws::Sobol});     // [4096, steps]

#include "apsis/ops/random.hpp"

namespace apsis {

/// How the members of an ensemble are drawn. All have the same distribution, and means over members the same
/// expectation.
enum class Draws : std::uint8_t {
  Independent,
  Antithetic,  ///< member 2k + 1 mirrors member 2k: u and 1 - u, z and -z
  Sobol        ///< scrambled points of Sobol's sequence, of up to 1024 numbers a member
};

}  // namespace apsis

namespace apsis::random {

/// Options of `uniform_members` and `normal_members`.
struct MemberOptions {
  Draws draws = Draws::Independent;
  Array first = std::int64_t{0};  ///< the number of the first member, a scalar integer, 0 or more
  Dtype dtype = f64;
};
/// Numbers of (0, 1) for members first, first + 1, …: [count, shape…]. Throws where count is negative, the
/// dtype not floating, or Sobol's sequence has too few dimensions.
Array uniform_members(const Array& key, std::int64_t count, const Shape& shape = {},
                      const MemberOptions& options = {}, Loc loc = Loc::here());
/// The same, of the standard normal distribution.
Array normal_members(const Array& key, std::int64_t count, const Shape& shape = {},
                     const MemberOptions& options = {}, Loc loc = Loc::here());

/// Options of `sobol`.
struct SobolOptions {
  /// The points are scrambled by Owen's nested permutations: each is uniform in (0, 1), and a mean over 2^k
  /// of them, unbiased, has the variance O(n⁻³ log n) of smooth functions. Left out, they are the sequence
  /// itself, which begins with 0.
  Array key = {};
  Array first = std::int64_t{0};  ///< the number of the first point, a scalar integer from 0 to 2³² - count
  Dtype dtype = f64;
};
/// Points of Sobol's sequence in Gray code's order, [count, dimension], of 32 bits (Sobol 1967; Antonov and
/// Saleev 1979; direction numbers of Joe and Kuo 2008; scrambling: Owen 1995). Take powers of 2 of them.
/// Throws where count is negative, dimension not from 0 to 1024, or the dtype not floating.
Array sobol(std::int64_t count, std::int64_t dimension, const SobolOptions& options = {},
            Loc loc = Loc::here());

}  // namespace apsis::random
