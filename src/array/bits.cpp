#include "apsis/array/bits.hpp"

#include <algorithm>

#include "apsis/array/dtype.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/shape.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis {
using namespace detail::arrays;
namespace {

/// u8[8]: how far each bit of a byte is from the lowest.
Array distances(BitOrder order) {
  const Array counted = iota({8}, 0, u8);
  return order == BitOrder::Little ? counted : Array(7, u8) - counted;
}

}  // namespace

Array packbits(const Array& x, const PackbitsOptions& options, Loc loc) {
  const LocScope place(loc);
  check_dtype("packbits", !is_inexact(x.dtype()), "booleans or integers", x);
  const Array bits = options.axis ? x : ravel(x);
  const int axis = checked_axis("packbits", options.axis.value_or(0), bits);
  const Array ones = moveaxis(astype(bits != 0, u8), axis, -1);
  const std::int64_t bytes = (bits.dim(axis) + 7) / 8;
  const Dims none = Dims::filled(bits.shape().size(), 0);
  const Dims high = with_size_at(none, bits.ndim() - 1, 8 * bytes - bits.dim(axis));
  Shape split = with_size_at(ones.shape(), bits.ndim() - 1, bytes);
  split.push_back(8);
  const Array apart = reshape(pad(ones, none, high), split) << distances(options.bitorder);
  return moveaxis(sum(apart, {.axis = -1, .dtype = u8}), -1, axis);
}

Array unpackbits(const Array& x, const UnpackbitsOptions& options, Loc loc) {
  const LocScope place(loc);
  check_dtype("unpackbits", x.dtype() == u8, "u8", x);
  const Array bytes = options.axis ? x : ravel(x);
  const int axis = checked_axis("unpackbits", options.axis.value_or(0), bytes);
  const Array last = moveaxis(bytes, axis, -1);
  const std::int64_t all = bytes.dim(axis) * 8;
  const Shape shape = with_size_at(last.shape(), bytes.ndim() - 1, all);
  const Array bits = reshape((expand_dims(last, -1) >> distances(options.bitorder)) & Array(1, u8), shape);
  const std::int64_t count = options.count.value_or(all), kept = count < 0 ? all + count : count;
  check_count("unpackbits", kept);
  const Dims none = Dims::filled(shape.size(), 0);
  return moveaxis(pad(bits, none, with_size_at(none, bytes.ndim() - 1, kept - all)), -1, axis);
}

namespace {

/// Of numbers of 64 bits without a sign, by halves of 32: none of the sums overflows.
Array upper_half(const Array& a, const Array& b) {
  const Array mask(0xffffffffu, u64), width(32, u64);
  const Array low_a = a & mask, high_a = a >> width, low_b = b & mask, high_b = b >> width;
  const Array middle = high_a * low_b + (low_a * low_b >> width);
  const Array other = low_a * high_b + (middle & mask);
  return high_a * high_b + (middle >> width) + (other >> width);
}

}  // namespace

Array mulhi(const Array& a, const Array& b, Loc loc) {
  const LocScope place(loc);
  const Array both[] = {a, b};
  const std::vector<Array> x = promoted(both);
  const Dtype dtype = x[0].dtype();
  check_dtype("mulhi", is_integer(dtype), "integers", is_integer(a.dtype()) ? b : a);
  const auto width = static_cast<int>(item_size(dtype)) * 8;
  const bool is_signed = !is_unsigned_integer(dtype);
  const Dtype wide = is_signed ? i64 : u64;
  const Array left = astype(x[0], wide), right = astype(x[1], wide);
  if (width < 64) return astype((left * right) >> Array(width, wide), dtype);
  if (!is_signed) return upper_half(left, right);
  // A negative number is one without sign less 2^64.
  const Array high = astype(upper_half(astype(left, u64), astype(right, u64)), i64), sign(63, i64);
  return high - ((left >> sign) & right) - ((right >> sign) & left);
}

}  // namespace apsis
