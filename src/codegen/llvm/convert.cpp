// Conversions between dtypes, equal to `convert_elements` bit for bit.

#include <bit>

#include "apsis/base/error.hpp"
#include "codegen/llvm/llvm_builder.hpp"

namespace apsis::detail {

using Value = LlvmBuilder::Value;

namespace {

constexpr double two_to_32 = 0x1p32, two_to_52 = 0x1p52, two_to_63 = 0x1p63, two_to_84 = 0x1p84;

bool is_half(Dtype d) { return d == Dtype::F16 || d == Dtype::BF16; }
bool is_long(Dtype d) { return d == Dtype::I64 || d == Dtype::U64; }
bool is_bits(Dtype d) { return d == Dtype::Bool || is_integer(d); }

}  // namespace

Value LlvmBuilder::float_of_half(Value a) {
  const int n = lanes_of(a);
  LLVMTypeRef f32 = type_of(Dtype::F32, n);
  if (a.dtype == Dtype::F16) {
    LLVMTypeRef half = LLVMHalfTypeInContext(context_);
    LLVMValueRef as_half =
        LLVMBuildBitCast(ir_, ref(a), n == 1 ? half : LLVMVectorType(half, static_cast<unsigned>(n)), "");
    return {LLVMBuildFPExt(ir_, as_half, f32, ""), Dtype::F32};
  }
  LLVMValueRef word = LLVMBuildZExt(ir_, ref(a), type_of(Dtype::U32, n), "");
  word = LLVMBuildShl(ir_, word, ref(constant(Dtype::U32, 16, n)), "");
  return {LLVMBuildBitCast(ir_, word, f32, ""), Dtype::F32};
}

Value LlvmBuilder::half_of_float(Value a, Dtype to) {
  const int n = lanes_of(a);
  LLVMTypeRef bits = type_of(to, n);
  if (to == Dtype::F16) {
    LLVMTypeRef half = LLVMHalfTypeInContext(context_);
    LLVMValueRef as_half =
        LLVMBuildFPTrunc(ir_, ref(a), n == 1 ? half : LLVMVectorType(half, static_cast<unsigned>(n)), "");
    return {LLVMBuildBitCast(ir_, as_half, bits, ""), to};
  }
  // To nearest even by integer arithmetic; NaN would carry into infinity, and is made quiet instead.
  const auto word_constant = [&](std::uint32_t c) { return constant(Dtype::U32, c, n); };
  const Value word = bitcast(a, Dtype::U32);
  const Value high = shift_right(word, word_constant(16));
  const Value bias = add(bit_and(high, word_constant(1)), word_constant(0x7fff));
  const Value rounded = shift_right(add(word, bias), word_constant(16));
  const Value quiet = bit_or(high, word_constant(0x40));
  const Value result = select(compare(Compare::Ne, a, a), quiet, rounded);
  return {LLVMBuildTrunc(ir_, ref(result), bits, ""), to};
}

// AVX2 converts 64-bit integers one by one. Half of such an integer is the lower bits of a double's
// significand, if it is added to 2^52; one with a sign, to 1.5 * 2^52.

/// `a`, an f64 that an integer of this dtype can be, without its fraction.
Value LlvmBuilder::longs_of_doubles(Value a, Dtype to) {
  const int n = lanes_of(a);
  const auto number = [&](double x) { return constant(Dtype::F64, std::bit_cast<std::uint64_t>(x), n); };
  const Value whole = trunc(a), upper = floor(mul(whole, number(1 / two_to_32))),
              lower = fma(upper, number(-two_to_32), whole);
  const Value low =
      bit_xor(bitcast(add(lower, number(two_to_52)), Dtype::U64), bitcast(number(two_to_52), Dtype::U64));
  const Value high =
      shift_left(bitcast(add(upper, number(1.5 * two_to_52)), Dtype::U64), constant(Dtype::U64, 32, n));
  return bitcast(bit_or(low, high), to);
}

/// Each half as a double to which a power of two was added; all are taken off again with one rounding.
Value LlvmBuilder::doubles_of_longs(Value a) {
  const int n = lanes_of(a);
  const bool is_signed = a.dtype == Dtype::I64;
  const auto number = [&](double x) { return constant(Dtype::F64, std::bit_cast<std::uint64_t>(x), n); };
  const auto word = [&](std::uint64_t x) { return constant(Dtype::U64, x, n); };
  const Value bits = bitcast(a, Dtype::U64);
  const std::uint64_t sign = is_signed ? std::uint64_t{1} << 31 : 0;
  const Value high =
                  bit_xor(shift_right(bits, word(32)), word(std::bit_cast<std::uint64_t>(two_to_84) ^ sign)),
              low = bit_or(bit_and(bits, word(0xffffffff)), word(std::bit_cast<std::uint64_t>(two_to_52)));
  const double added = two_to_84 + (is_signed ? two_to_63 : 0) + two_to_52;
  return add(sub(bitcast(high, Dtype::F64), number(added)), bitcast(low, Dtype::F64));
}

Value LlvmBuilder::convert(Value a, Dtype to) {
  const Dtype from = a.dtype;
  const int n = lanes_of(a);
  const bool one_by_one = n > 1 && vector_bytes() == 32;
  if (one_by_one && is_long(to) && from == Dtype::F64) return longs_of_doubles(a, to);
  if (one_by_one && is_long(to) && from == Dtype::F32) return longs_of_doubles(convert(a, Dtype::F64), to);
  if (one_by_one && is_long(from) && to == Dtype::F64) return doubles_of_longs(a);
  if (from == to) return a;
  if (is_half(from)) return convert(float_of_half(a), to);
  if (is_half(to)) return half_of_float(convert(a, Dtype::F32), to);
  if (to == Dtype::Bool) return compare(Compare::Ne, a, zero(from, n));
  LLVMTypeRef type = type_of(to, n);
  const auto as = [&](LLVMValueRef v) { return Value{v, to}; };
  if (is_bits(from) && is_integer(to)) {
    const std::size_t from_width = from == Dtype::Bool ? 0 : item_size(from);
    if (from_width == item_size(to)) return as(ref(a));
    if (from_width > item_size(to)) return as(LLVMBuildTrunc(ir_, ref(a), type, ""));
    return as(is_signed_integer(from) ? LLVMBuildSExt(ir_, ref(a), type, "")
                                      : LLVMBuildZExt(ir_, ref(a), type, ""));
  }
  if (is_bits(from))
    return as(is_signed_integer(from) ? LLVMBuildSIToFP(ir_, ref(a), type, "")
                                      : LLVMBuildUIToFP(ir_, ref(a), type, ""));
  if (is_integer(to))
    return as(is_signed_integer(to) ? LLVMBuildFPToSI(ir_, ref(a), type, "")
                                    : LLVMBuildFPToUI(ir_, ref(a), type, ""));
  return as(to == Dtype::F64 ? LLVMBuildFPExt(ir_, ref(a), type, "")
                             : LLVMBuildFPTrunc(ir_, ref(a), type, ""));
}

}  // namespace apsis::detail
