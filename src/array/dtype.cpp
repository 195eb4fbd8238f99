#include "apsis/array/dtype.hpp"

#include <cmath>

#include "array/messages.hpp"

namespace apsis {

FloatInfo finfo(Dtype dtype, Loc loc) {
  if (!is_inexact(dtype))
    fail(messages::array_dtype, {"finfo", "floating dtypes", std::string(name_of(dtype))}, loc);
  if (dtype == c64) dtype = f32;
  if (dtype == c128) dtype = f64;
  struct Format {
    int bits, fraction, greatest;
  };
  const Format f = dtype == f64   ? Format{64, 52, 1024}
                   : dtype == f32 ? Format{32, 23, 128}
                   : dtype == f16 ? Format{16, 10, 16}
                                  : Format{16, 7, 128};
  const int least = 2 - f.greatest;
  const double max = std::ldexp(2 - std::ldexp(1, -f.fraction), f.greatest - 1);
  return {.bits = f.bits,
          .nmant = f.fraction,
          .maxexp = f.greatest,
          .minexp = least,
          .eps = std::ldexp(1, -f.fraction),
          .epsneg = std::ldexp(1, -f.fraction - 1),
          .max = max,
          .min = -max,
          .tiny = std::ldexp(1, least),
          .smallest_subnormal = std::ldexp(1, least - f.fraction),
          .precision = static_cast<int>(f.fraction * std::log10(2.0))};
}

IntegerInfo iinfo(Dtype dtype, Loc loc) {
  if (!is_integer(dtype))
    fail(messages::array_dtype, {"iinfo", "integers", std::string(name_of(dtype))}, loc);
  const int bits = static_cast<int>(item_size(dtype)) * 8;
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - bits);
  if (is_unsigned_integer(dtype)) return {bits, 0, all};
  return {bits, -static_cast<std::int64_t>(all >> 1) - 1, all >> 1};
}

Dtype result_type(std::span<const Array> arrays, Loc loc) {
  if (arrays.empty()) fail(messages::array_empty, {"result_type"}, loc);
  WeakDtype common{arrays[0].dtype(loc), arrays[0].weak()};
  for (const Array& a : arrays.subspan(1)) common = promote(common, {a.dtype(loc), a.weak()});
  return common.dtype;
}
Dtype result_type(std::initializer_list<Array> arrays, Loc loc) {
  return result_type(std::span<const Array>(arrays.begin(), arrays.size()), loc);
}

namespace {

/// 0 bool, 1 unsigned, 2 signed, 3 floating, 4 complex: conversions of one kind do not go down.
int kind_of(Dtype d) {
  return d == boolean ? 0 : is_unsigned_integer(d) ? 1 : is_signed_integer(d) ? 2 : is_floating(d) ? 3 : 4;
}

/// Whether every integer of the dtype is a number of the floating one.
bool holds_integers(Dtype integer, Dtype floating) {
  if (floating == bf16) return item_size(integer) == 1;
  if (floating == f16) return item_size(integer) == 1;
  // 64-bit integers count as kept in f64: NumPy's rule.
  return floating == f64 || item_size(integer) <= 2;
}

bool keeps_values(Dtype from, Dtype to) {
  if (from == to || from == boolean) return true;
  if (to == boolean) return false;
  if (is_complex(to))
    to = to == c128 ? f64 : f32;
  else if (is_complex(from))
    return false;
  if (is_complex(from)) from = from == c128 ? f64 : f32;
  if (is_floating(from)) {
    if (!is_floating(to)) return false;
    const FloatInfo a = finfo(from), b = finfo(to);
    return a.nmant <= b.nmant && a.maxexp <= b.maxexp;
  }
  if (is_floating(to)) return holds_integers(from, to);
  if (is_unsigned_integer(from) == is_unsigned_integer(to)) return item_size(from) <= item_size(to);
  return is_unsigned_integer(from) && item_size(from) < item_size(to);
}

}  // namespace

bool can_cast(Dtype from, Dtype to, Casting casting) {
  switch (casting) {
    case Casting::No:
      return from == to;
    case Casting::Safe:
      return keeps_values(from, to);
    case Casting::SameKind:
      return keeps_values(from, to) || kind_of(from) <= kind_of(to);
    case Casting::Unsafe:
      break;
  }
  return true;
}

bool issubdtype(Dtype dtype, DtypeClass group) {
  switch (group) {
    case DtypeClass::Bool:
      return dtype == boolean;
    case DtypeClass::SignedInteger:
      return is_signed_integer(dtype);
    case DtypeClass::UnsignedInteger:
      return is_unsigned_integer(dtype);
    case DtypeClass::Integer:
      return is_integer(dtype);
    case DtypeClass::Floating:
      return is_floating(dtype);
    case DtypeClass::Complex:
      return is_complex(dtype);
    case DtypeClass::Inexact:
      return is_inexact(dtype);
    case DtypeClass::Number:
      break;
  }
  return dtype != boolean;
}

}  // namespace apsis
