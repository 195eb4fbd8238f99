#pragma once

// Random numbers from explicit keys: bits, integers and uniforms bit for bit those of jax.random
// (threefry2x32, 64-bit types), normals and the like functions of these (docs/design/numbers.md). A key is a
// u32[2] array like any other. The same key gives the same numbers; use each once, to draw or to split.
//
//   auto [noise, start] = random::split<2>(random::key(42));
//   Array x = random::normal(noise, {3, 4});
//
// All functions throw when the key is no u32[2] array.

#include <array>

#include "apsis/core/array.hpp"

/// Random numbers from keys: the same key gives the same numbers on every machine.
namespace apsis::random {

/// The key of a seed.
Array key(std::int64_t seed, Loc loc = Loc::here());
/// Of a seed known at run time: a scalar integer.
Array key(const Array& seed, Loc loc = Loc::here());
/// `count` new keys: u32[count, 2].
Array split(const Array& key, std::int64_t count = 2, Loc loc = Loc::here());
/// A new key for each number: `fold_in(key, i) == split(key, n)[i]`. `data` is a scalar integer, cut to 32
/// bits.
Array fold_in(const Array& key, const Array& data, Loc loc = Loc::here());

/// Uniform bits of an unsigned dtype. Throws for other dtypes.
Array bits(const Array& key, const Shape& shape = {}, Dtype dtype = u32, Loc loc = Loc::here());
/// Uniform in [0, 1), floating dtype.
Array uniform(const Array& key, const Shape& shape = {}, Dtype dtype = f64, Loc loc = Loc::here());
/// Uniform in [low, high), which broadcast to the shape.
Array uniform(const Array& key, const Shape& shape, Dtype dtype, const Array& low, const Array& high,
              Loc loc = Loc::here());
/// Standard normal: √2 · erf⁻¹(u), u uniform in (-1, 1). Complex numbers have two independent normal parts of
/// variance 1/2.
Array normal(const Array& key, const Shape& shape = {}, Dtype dtype = f64, Loc loc = Loc::here());
/// Standard normal, given that it lies between two bounds.
Array truncated_normal(const Array& key, double low, double high, const Shape& shape = {}, Dtype dtype = f64,
                       Loc loc = Loc::here());
/// Integers in [low, high), of which 1 in 2^bits too many are small; low where the range is empty.
Array randint(const Array& key, const Shape& shape, const Array& low, const Array& high, Dtype dtype = i64,
              Loc loc = Loc::here());
/// True with probability p, which broadcasts to the shape.
Array bernoulli(const Array& key, const Array& p, const Shape& shape, Loc loc = Loc::here());
Array bernoulli(const Array& key, const Array& p = 0.5, Loc loc = Loc::here());
/// -log(1 - u).
Array exponential(const Array& key, const Shape& shape = {}, Dtype dtype = f64, Loc loc = Loc::here());
/// -log(-log(u)).
Array gumbel(const Array& key, const Shape& shape = {}, Dtype dtype = f64, Loc loc = Loc::here());
/// Indices along an axis with probabilities proportional to exp(logits). With a shape, that many draws: it
/// ends in the shape of the logits without the axis.
Array categorical(const Array& key, const Array& logits, int axis = -1, Loc loc = Loc::here());
Array categorical(const Array& key, const Array& logits, int axis, const Shape& shape, Loc loc = Loc::here());
/// 0 … n-1 in random order.
Array permutation(const Array& key, std::int64_t n, Loc loc = Loc::here());
/// The entries of the first axis in random order.
Array permutation(const Array& key, const Array& x, Loc loc = Loc::here());
/// Entries of a vector, drawn with replacement; `p`: their probabilities, up to a factor.
Array choice(const Array& key, const Array& x, const Shape& shape, Loc loc = Loc::here());
Array choice(const Array& key, const Array& x, const Shape& shape, const Array& p, Loc loc = Loc::here());

/// `auto [a, b] = split<2>(key)`.
template <std::size_t N>
std::array<Array, N> split(const Array& key, Loc loc = Loc::here());

namespace detail {
void split_into(const Array& key, Array* out, std::size_t count, Loc loc);
}

template <std::size_t N>
std::array<Array, N> split(const Array& key, Loc loc) {
  std::array<Array, N> out;
  detail::split_into(key, out.data(), N, loc);
  return out;
}

}  // namespace apsis::random
