#include "apsis/ops/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/ops/sort.hpp"
#include "ops/arguments.hpp"
#include "ops/complex.hpp"
#include "ops/lax.hpp"
#include "ops/messages.hpp"
#include "ops/table.hpp"

namespace apsis::random {
namespace lax = apsis::detail::lax;
using apsis::detail::literal;
namespace {

void check_key(const char* where, const Array& key, Loc loc) {
  if (key.dtype() != u32 || key.shape() != Shape{2})
    fail(messages::random_key, {where, to_string(key.aval())}, loc);
}

void check_dtype(const char* where, bool fits, const char* wanted, Dtype dtype, Loc loc) {
  if (!fits) fail(messages::dtype_not_supported, {where, wanted, std::string(name_of(dtype))}, loc);
}

void check_shape(const char* where, const Shape& shape, Loc loc) {
  if (std::ranges::any_of(shape, [](std::int64_t size) { return size < 0; }))
    fail(messages::negative_count, {where, to_string(shape)}, loc);
}

// The two random words of each element: its counter is its row-major number in 64 bits.
std::array<Array, 2> draw(const Array& key, const Shape& shape) {
  Array word0 = lax::reshape(lax::slice(key, {0}, {1}), {}),
        word1 = lax::reshape(lax::slice(key, {1}, {2}), {});
  Shape flat{shape.product()};
  Array high = lax::full(flat, u32, 0), low;
  if (flat[0] <= std::int64_t{1} << 32) {
    low = lax::iota(u32, flat, 0);
  } else {
    Array number = lax::iota(u64, flat, 0);
    high = lax::convert(number >> lax::full(flat, u64, 32), u32);
    low = lax::convert(number, u32);
  }
  Array operands[] = {lax::broadcast_in_dim(word0, flat, {}), lax::broadcast_in_dim(word1, flat, {}), high,
                      low};
  std::array<Array, 2> words;
  bind(apsis::detail::threefry2x32_op, {}, operands, words);
  for (Array& word : words) word = lax::reshape(word, shape);
  return words;
}

Array word_bits(const Array& key, const Shape& shape, Dtype dtype) {
  auto [first, second] = draw(key, shape);
  if (dtype == u64)
    return (lax::convert(first, u64) << lax::full(shape, u64, 32)) | lax::convert(second, u64);
  return lax::convert(first ^ second, dtype);
}

// The mantissa's bits as a number of steps from 0: what JAX gets by setting the bits of 1 and subtracting 1.
Array unit_uniform(const Array& key, const Shape& shape, Dtype dtype) {
  struct Width {
    Dtype drawn;
    int dropped, kept;
  };
  Width w = dtype == f64   ? Width{u64, 12, 52}
            : dtype == f32 ? Width{u32, 9, 23}
            : dtype == f16 ? Width{u16, 6, 10}
                           : Width{u8, 1, 7};
  Array mantissa = word_bits(key, shape, w.drawn) >> lax::full(shape, w.drawn, w.dropped);
  return lax::mul(lax::convert(mantissa, dtype), lax::full(shape, dtype, std::ldexp(1.0, -w.kept)));
}

Array scalar(double value, Dtype dtype, const Shape& shape) { return lax::full(shape, dtype, value); }

// One rounding, as a multiply-add, so that compiled and eager code agree.
Array scaled_uniform(const Array& key, const Shape& shape, Dtype dtype, const Array& low, const Array& high) {
  Array u = unit_uniform(key, shape, dtype);
  return maximum(low, lax::fma(u, lax::sub(high, low), low));
}

Array to_shape(const char* where, const Array& x, const Shape& shape, Dtype dtype, Loc loc) {
  Shape shapes[] = {x.shape(), shape};
  if (apsis::detail::broadcast_shapes(where, shapes, loc) != shape)
    fail(messages::broadcast_to, {to_string(x.shape()), to_string(shape)}, loc);
  return apsis::detail::broadcast_last(lax::convert(x, dtype), shape);
}

// The neighbour of a bound in the dtype, towards `target`.
double inside(double bound, double target, Dtype dtype) {
  if (dtype == f64) return std::nextafter(bound, target);
  if (dtype == f32) return std::nextafter(static_cast<float>(bound), static_cast<float>(target));
  // Half floats: the bits of neighbours are neighbours, but for the sign.
  double value = Array(bound, dtype).item<double>();
  double step = std::ldexp(1.0, (value == 0 ? -200 : std::ilogb(value)) - (dtype == f16 ? 11 : 8));
  for (double next = value;; step *= 2) {
    next = Array(target > value ? value + step : value - step, dtype).item<double>();
    if (next != value) return next;
  }
}

}  // namespace

Array key(std::int64_t seed, Loc loc) { return key(array(seed), loc); }

Array key(const Array& seed, Loc loc) {
  if (seed.ndim() != 0 || !is_integer(seed.dtype()))
    fail(messages::random_seed, {to_string(seed.aval())}, loc);
  Array wide = lax::convert(seed, u64);
  Array words[] = {lax::expand_axis(lax::convert(wide >> literal(u64, 32), u32), 0),
                   lax::expand_axis(lax::convert(wide, u32), 0)};
  return lax::concatenate(words, 0);
}

Array split(const Array& key, std::int64_t count, Loc loc) {
  check_key("split", key, loc);
  if (count < 0) fail(messages::negative_count, {"split", std::to_string(count)}, loc);
  auto [first, second] = draw(key, {count});
  Array columns[] = {lax::expand_axis(first, 1), lax::expand_axis(second, 1)};
  return lax::concatenate(columns, 1);
}

void detail::split_into(const Array& key, Array* out, std::size_t count, Loc loc) {
  Array keys = split(key, static_cast<std::int64_t>(count), loc);
  for (std::size_t i = 0; i < count; ++i) out[i] = keys[static_cast<std::int64_t>(i)];
}

Array fold_in(const Array& key, const Array& data, Loc loc) {
  check_key("fold_in", key, loc);
  if (data.ndim() != 0 || !is_integer(data.dtype()))
    fail(messages::random_seed, {to_string(data.aval())}, loc);
  Array operands[] = {key[0], key[1], lax::full({}, u32, 0), lax::convert(data, u32)};
  Array words[2];
  bind(apsis::detail::threefry2x32_op, {}, operands, words, loc);
  for (Array& word : words) word = lax::expand_axis(word, 0);
  return lax::concatenate(words, 0);
}

Array bits(const Array& key, const Shape& shape, Dtype dtype, Loc loc) {
  check_key("bits", key, loc);
  check_shape("bits", shape, loc);
  check_dtype("bits", is_unsigned_integer(dtype), "unsigned integers", dtype, loc);
  return word_bits(key, shape, dtype);
}

Array uniform(const Array& key, const Shape& shape, Dtype dtype, Loc loc) {
  check_key("uniform", key, loc);
  check_shape("uniform", shape, loc);
  check_dtype("uniform", is_floating(dtype), "floating dtypes", dtype, loc);
  return unit_uniform(key, shape, dtype);
}

Array uniform(const Array& key, const Shape& shape, Dtype dtype, const Array& low, const Array& high,
              Loc loc) {
  check_key("uniform", key, loc);
  check_shape("uniform", shape, loc);
  check_dtype("uniform", is_floating(dtype), "floating dtypes", dtype, loc);
  return scaled_uniform(key, shape, dtype, to_shape("uniform", low, shape, dtype, loc),
                        to_shape("uniform", high, shape, dtype, loc));
}

Array normal(const Array& key, const Shape& shape, Dtype dtype, Loc loc) {
  check_key("normal", key, loc);
  check_shape("normal", shape, loc);
  check_dtype("normal", is_inexact(dtype), "floating and complex dtypes", dtype, loc);
  if (is_complex(dtype)) {
    const Dtype part = apsis::detail::part_dtype(dtype);
    const auto [of_re, of_im] = split<2>(key, loc);
    const Array root = scalar(std::sqrt(2.0), part, shape);
    return apsis::detail::joined(
        {lax::div(normal(of_re, shape, part, loc), root), lax::div(normal(of_im, shape, part, loc), root)});
  }
  Array u =
      scaled_uniform(key, shape, dtype, scalar(inside(-1, 0, dtype), dtype, shape), scalar(1, dtype, shape));
  return lax::mul(scalar(std::sqrt(2.0), dtype, shape), erf_inv(u, loc));
}

Array truncated_normal(const Array& key, double low, double high, const Shape& shape, Dtype dtype, Loc loc) {
  check_key("truncated_normal", key, loc);
  check_shape("truncated_normal", shape, loc);
  check_dtype("truncated_normal", is_floating(dtype), "floating dtypes", dtype, loc);
  Array root = scalar(std::sqrt(2.0), dtype, shape);
  Array a = erf(lax::div(scalar(low, dtype, shape), root), loc),
        b = erf(lax::div(scalar(high, dtype, shape), root), loc);
  Array x = lax::mul(root, erf_inv(scaled_uniform(key, shape, dtype, a, b), loc));
  return clip(x, scalar(inside(low, high, dtype), dtype, shape),
              scalar(inside(high, low, dtype), dtype, shape), loc);
}

// JAX's rule: two draws, the first weighted by 2^bits modulo the span (computed without overflow as a
// square).
Array randint(const Array& key, const Shape& shape, const Array& low, const Array& high, Dtype dtype,
              Loc loc) {
  check_key("randint", key, loc);
  check_shape("randint", shape, loc);
  check_dtype("randint", is_integer(dtype), "integers", dtype, loc);
  Dtype drawn = item_size(dtype) < 4 ? i32 : dtype;
  Dtype words = item_size(drawn) == 8 ? u64 : u32;
  Array first = to_shape("randint", low, shape, drawn, loc),
        last = to_shape("randint", high, shape, drawn, loc);
  Array one = lax::full(shape, words, 1);
  Array span = where(last <= first, one, lax::convert(lax::sub(last, first), words), loc);
  auto [key_high, key_low] = split<2>(key, loc);
  Array weight = lax::full(shape, words, words == u64 ? 4294967296.0 : 65536.0) % span;
  weight = lax::mul(weight, weight) % span;
  Array offset = lax::mul(word_bits(key_high, shape, words) % span, weight);
  offset = lax::add(offset, word_bits(key_low, shape, words) % span) % span;
  return lax::convert(lax::add(first, lax::convert(offset, drawn)), dtype);
}

Array bernoulli(const Array& key, const Array& p, const Shape& shape, Loc loc) {
  check_key("bernoulli", key, loc);
  check_shape("bernoulli", shape, loc);
  Dtype dtype = is_floating(p.dtype()) ? p.dtype() : f64;
  return lax::lt(unit_uniform(key, shape, dtype), to_shape("bernoulli", p, shape, dtype, loc));
}

Array bernoulli(const Array& key, const Array& p, Loc loc) { return bernoulli(key, p, p.shape(), loc); }

Array exponential(const Array& key, const Shape& shape, Dtype dtype, Loc loc) {
  check_key("exponential", key, loc);
  check_shape("exponential", shape, loc);
  check_dtype("exponential", is_floating(dtype), "floating dtypes", dtype, loc);
  return lax::neg(log1p(lax::neg(unit_uniform(key, shape, dtype)), loc));
}

Array gumbel(const Array& key, const Shape& shape, Dtype dtype, Loc loc) {
  check_key("gumbel", key, loc);
  check_shape("gumbel", shape, loc);
  check_dtype("gumbel", is_floating(dtype), "floating dtypes", dtype, loc);
  int least = dtype == f64 ? -1022 : dtype == f16 ? -14 : -126;
  Array tiny = scalar(std::ldexp(1.0, least), dtype, shape);
  Array u = scaled_uniform(key, shape, dtype, tiny, scalar(1, dtype, shape));
  return lax::neg(log(lax::neg(log(u, loc)), loc));
}

Array categorical(const Array& key, const Array& logits, int axis, Loc loc) {
  Shape shape = logits.shape();
  shape.erase(static_cast<std::size_t>(apsis::detail::checked_axis("categorical", axis, shape, loc)));
  return categorical(key, logits, axis, shape, loc);
}

// The largest of logits + Gumbel noise (Gumbel's maximum trick).
Array categorical(const Array& key, const Array& logits, int axis, const Shape& shape, Loc loc) {
  check_key("categorical", key, loc);
  int along = apsis::detail::checked_axis("categorical", axis, logits.shape(), loc);
  Shape batch = logits.shape(), noise = shape;
  batch.erase(static_cast<std::size_t>(along));
  bool fits = shape.size() >= batch.size();
  std::size_t extra = fits ? shape.size() - batch.size() : 0;
  for (std::size_t i = 0; fits && i < batch.size(); ++i) fits = shape[extra + i] == batch[i];
  if (!fits) fail(messages::categorical_shape, {to_string(shape), to_string(batch)}, loc);
  std::size_t place = extra + static_cast<std::size_t>(along);
  noise.insert(place, logits.dim(along));
  Dtype dtype = is_floating(logits.dtype()) ? logits.dtype() : f64;
  Array scores = lax::add(gumbel(key, noise, dtype, loc),
                          apsis::detail::broadcast_last(lax::convert(logits, dtype), noise));
  return argmax(scores, {.axis = static_cast<int>(place)}, loc);
}

Array permutation(const Array& key, std::int64_t n, Loc loc) {
  if (n < 0) fail(messages::negative_count, {"permutation", std::to_string(n)}, loc);
  return permutation(key, lax::iota(i64, {n}, 0), loc);
}

// Sorted by random 32-bit words, as often as makes ties unlikely to matter.
Array permutation(const Array& key, const Array& x, Loc loc) {
  check_key("permutation", key, loc);
  if (x.ndim() == 0) fail(messages::needs_rank, {"permutation", "1 or more", to_string(x.shape())}, loc);
  if (x.ndim() > 1) return take(x, permutation(key, x.dim(0), loc), 0, loc);
  double size = static_cast<double>(std::max<std::int64_t>(x.size(), 1));
  int rounds = static_cast<int>(std::ceil(3 * std::log(size) / std::log(4294967295.0)));
  Array out = x, next = key;
  for (int round = 0; round < rounds; ++round) {
    auto [rest, words] = split<2>(next, loc);
    Array operands[] = {word_bits(words, x.shape(), u32), out};
    out = sort(operands, 0, 1, loc)[1];
    next = rest;
  }
  return out;
}

Array choice(const Array& key, const Array& x, const Shape& shape, Loc loc) {
  check_key("choice", key, loc);
  check_shape("choice", shape, loc);
  if (x.ndim() != 1 || x.size() == 0) fail(messages::choice_vector, {to_string(x.shape())}, loc);
  return take(x, randint(key, shape, 0, x.size(), i64, loc), 0, loc);
}

Array choice(const Array& key, const Array& x, const Shape& shape, const Array& p, Loc loc) {
  check_key("choice", key, loc);
  check_shape("choice", shape, loc);
  if (x.ndim() != 1 || x.size() == 0) fail(messages::choice_vector, {to_string(x.shape())}, loc);
  if (p.shape() != x.shape())
    fail(messages::choice_probabilities, {to_string(p.shape()), to_string(x.shape())}, loc);
  Array sums = cumsum(p, {}, loc);
  Array rest = lax::sub(lax::full(shape, sums.dtype(), 1), uniform(key, shape, sums.dtype(), loc));
  Array wanted = lax::mul(lax::broadcast_in_dim(sums[-1], shape, {}), rest);
  return take(x, searchsorted(sums, wanted, false, loc), 0, loc);
}

}  // namespace apsis::random
