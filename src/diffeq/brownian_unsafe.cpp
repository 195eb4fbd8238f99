// Increments without a path.

#include <cmath>

#include "apsis/array/dtype.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/bits.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/random.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "diffeq/brownian.hpp"
#include "diffeq/messages.hpp"

namespace apsis::detail {
namespace {

Array with_bits(Array key, const Array& number) {
  key = random::fold_in(key, number & std::int64_t{0xffffffff});
  return random::fold_in(key, number >> std::int64_t{32});
}
/// A key for a number that seldom has more than 32 bits: those beyond are taken by the first word of the key,
/// so that there is one block to compute.
Array with_count(const Array& key, const Array& number) {
  const Array high = astype(number >> std::int64_t{32}, Dtype::U32);
  return random::fold_in(key ^ stack({high, zeros_like(high)}), number & std::int64_t{0xffffffff});
}
/// A key for a time, by all bits of it.
Array with_time(const Array& key, const Array& t) {
  return with_bits(key, bitcast_convert_type(astype(stop_gradient(t), Dtype::F64), Dtype::I64));
}

/// Whether the bits of a key are enough for all that is drawn.
bool is_one_number(const PathLeaves& leaves, std::size_t draws) {
  return draws == 1 && leaves.size() == 1 && leaves.shape(0).product() == 1 &&
         (leaves.dtypes[0] == Dtype::F64 || leaves.dtypes[0] == Dtype::F32);
}
/// A standard normal number from the 64 bits of a key: the quantile in the middle of one of 2^n equal parts,
/// n the bits of the mantissa.
Array normal_of(const Array& key, Dtype dtype) {
  const Array bits = astype(key[0], Dtype::U64) << 32 | astype(key[1], Dtype::U64);
  const int digits = finfo(dtype).nmant;
  const Array part = astype(bits >> (64 - digits), dtype) + astype(0.5, dtype);
  return astype(std::sqrt(2.), dtype) * erf_inv(part * std::ldexp(1., 1 - digits) - 1.);
}

}  // namespace

PathLeaves path_leaves(std::span<const Array> like, const char* owner, Loc loc) {
  PathLeaves leaves;
  for (const Array& a : like) {
    if (!is_floating(a.dtype()))
      fail(messages::brownian_dtype, {owner, std::to_string(leaves.size()), to_string(a.aval())}, loc);
    const Shape& shape = a.shape();
    leaves.shapes.emplace_back(shape.begin(), shape.end());
    leaves.dtypes.push_back(a.dtype());
  }
  if (leaves.size() == 0) fail(messages::brownian_empty, {owner}, loc);
  return leaves;
}
PathLeaves path_leaves(const Shape& shape, Dtype dtype, const char* owner, Loc loc) {
  const Array like = abstract_array(shape, dtype);
  return path_leaves({&like, 1}, owner, loc);
}

FlatUnsafe make_unsafe(const Array& key, const PathLeaves& leaves, LevyArea levy_area, Loc loc) {
  const LocScope place(loc);
  random::fold_in(key, 0, loc);  // throws where it is no key
  return {key, leaves, levy_area};
}

PathTraits unsafe_traits(const FlatUnsafe& path) {
  return {.brownian = true, .fixed_steps = true, .levy_area = path.levy_area, .name = "UnsafeBrownianPath"};
}

FlatIncrement unsafe_increment(const FlatUnsafe& path, const Array& t0, const Array& t1,
                               std::vector<Array>& memory) {
  Array key = path.key;
  if (memory.empty()) {
    key = with_time(with_time(key, t0), t1);
  } else {
    key = with_count(key, memory[0]);
    memory[0] = memory[0] + 1;
  }
  // Run back, W and K have the other sign.
  const Array d = stop_gradient(t1 - t0), root = sqrt(abs(d)), back = where(d < 0, -root, root);
  const std::size_t draws = static_cast<std::size_t>(areas_of(path.levy_area)) + 1,
                    all_draws = path.leaves.size() * draws;
  if (is_one_number(path.leaves, all_draws)) {
    const Dtype dtype = path.leaves.dtypes[0];
    return {{astype(back, dtype) * broadcast_to(normal_of(key, dtype), path.leaves.shape(0))}, {}, {}};
  }
  const Array keys =
      all_draws == 1 ? expand_dims(key, 0) : random::split(key, static_cast<std::int64_t>(all_draws));
  FlatIncrement out;
  std::int64_t next = 0;
  std::vector<Array>* const parts[] = {&out.w, &out.h, &out.k};
  const double deviations[] = {1., 1. / std::sqrt(12.), 1. / std::sqrt(720.)};
  for (std::size_t i = 0; i < path.leaves.size(); ++i)
    for (std::size_t j = 0; j < draws; ++j) {
      const Dtype dtype = path.leaves.dtypes[i];
      const Array z = random::normal(keys[next++], path.leaves.shape(i), dtype);
      parts[j]->push_back(astype((j == 1 ? root : back) * deviations[j], dtype) * z);
    }
  return out;
}

}  // namespace apsis::detail
