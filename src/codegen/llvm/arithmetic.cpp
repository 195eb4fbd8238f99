// Arithmetic of the Emitter: one LLVM operation each, without flags.

#include <bit>
#include <type_traits>

#include "apsis/base/error.hpp"
#include "codegen/builder/known_divisor.hpp"
#include "codegen/llvm/llvm_builder.hpp"
#include "core/undefined_memory.hpp"

namespace apsis::detail {

using Value = LlvmBuilder::Value;

namespace {

bool is_float_value(Dtype d) { return d == Dtype::F32 || d == Dtype::F64; }

}  // namespace

void LlvmBuilder::check_equal(Value a, Value b) {
  APSIS_ASSERT(a.dtype == b.dtype && type_of(a) == type_of(b));
}

LLVMTypeRef LlvmBuilder::type_of(Dtype dtype, int lanes) const {
  LLVMTypeRef scalar = scalars_[static_cast<int>(dtype)];
  APSIS_ASSERT(scalar);
  return lanes == 1 ? scalar : LLVMVectorType(scalar, static_cast<unsigned>(lanes));
}

Value LlvmBuilder::constant(Dtype dtype, std::uint64_t bits, int lanes) {
  LLVMTypeRef scalar = type_of(dtype, 1);
  LLVMValueRef one;
  if (is_float_value(dtype)) {
    LLVMTypeRef integer = dtype == Dtype::F64 ? i64_ : i32_;
    if (dtype == Dtype::F32) bits &= 0xffffffffu;
    one = LLVMConstBitCast(LLVMConstInt(integer, bits, false), scalar);
  } else {
    const unsigned width = LLVMGetIntTypeWidth(scalar);
    one = LLVMConstInt(scalar, width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1), false);
  }
  if (lanes == 1) return {one, dtype};
  LLVMValueRef all[64];
  for (int i = 0; i < lanes; ++i) all[i] = one;
  return {LLVMConstVector(all, static_cast<unsigned>(lanes)), dtype};
}
Value LlvmBuilder::constant(Dtype dtype, std::uint64_t bits) { return constant(dtype, bits, lanes_); }

LLVMValueRef LlvmBuilder::intrinsic(const char* name, std::initializer_list<LLVMTypeRef> overloads,
                                    std::initializer_list<LLVMValueRef> arguments) {
  const unsigned id = LLVMLookupIntrinsicID(name, std::char_traits<char>::length(name));
  APSIS_ASSERT(id != 0);
  auto* types = const_cast<LLVMTypeRef*>(overloads.begin());
  LLVMValueRef f = LLVMGetIntrinsicDeclaration(module_, id, types, overloads.size());
  auto* values = const_cast<LLVMValueRef*>(arguments.begin());
  return LLVMBuildCall2(ir_, LLVMGlobalGetValueType(f), f, values, static_cast<unsigned>(arguments.size()),
                        "");
}
Value LlvmBuilder::unary_intrinsic(const char* name, Value a) {
  return {intrinsic(name, {type_of(a)}, {ref(a)}), a.dtype};
}

Value LlvmBuilder::add(Value a, Value b) {
  check_equal(a, b);
  if (is_place(a)) return {place_sum(ref(a), ref(b)), a.dtype};
  return {is_float_value(a.dtype) ? LLVMBuildFAdd(ir_, ref(a), ref(b), "")
                                  : LLVMBuildAdd(ir_, ref(a), ref(b), ""),
          a.dtype};
}
Value LlvmBuilder::sub(Value a, Value b) {
  check_equal(a, b);
  return {is_float_value(a.dtype) ? LLVMBuildFSub(ir_, ref(a), ref(b), "")
                                  : LLVMBuildSub(ir_, ref(a), ref(b), ""),
          a.dtype};
}
Value LlvmBuilder::mul(Value a, Value b) {
  check_equal(a, b);
  if (is_place(a)) return {place_product(ref(a), ref(b)), a.dtype};
  return {is_float_value(a.dtype) ? LLVMBuildFMul(ir_, ref(a), ref(b), "")
                                  : LLVMBuildMul(ir_, ref(a), ref(b), ""),
          a.dtype};
}
Value LlvmBuilder::div(Value a, Value b) {
  check_equal(a, b);
  APSIS_ASSERT(is_float_value(a.dtype));
  if (const auto y = known_number(b)) {
    const std::optional<Value> result =
        a.dtype == Dtype::F64 ? divided_by(a, *y) : divided_by(a, static_cast<float>(*y));
    if (result) return *result;
  }
  return {LLVMBuildFDiv(ir_, ref(a), ref(b), ""), a.dtype};
}

/// The constant that all lanes hold, or null.
LLVMValueRef LlvmBuilder::known_constant(Value v) {
  LLVMValueRef one = ref(v);
  if (!LLVMIsConstant(one)) return nullptr;
  for (int lane = 0, lanes = lanes_of(v); lanes > 1 && lane < lanes; ++lane) {
    const LLVMValueRef of_lane = LLVMGetAggregateElement(ref(v), static_cast<unsigned>(lane));
    if (lane > 0 && of_lane != one) return nullptr;
    one = of_lane;
  }
  return one;
}
std::optional<double> LlvmBuilder::known_number(Value v) {
  const LLVMValueRef one = known_constant(v);
  if (!one || !LLVMIsAConstantFP(one)) return {};
  LLVMBool rounded;
  return LLVMConstRealGetDouble(one, &rounded);
}

/// x / y without the divider, if there is a way: the inverse may be exact. Else by two products, and by the
/// divider where x is too small for them.
template <class T>
std::optional<Value> LlvmBuilder::divided_by(Value x, T y) {
  const int lanes = lanes_of(x);
  const Dtype bits_dtype = x.dtype == Dtype::F64 ? Dtype::U64 : Dtype::U32;
  const auto number = [&](T c) {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    return constant(x.dtype, std::bit_cast<Bits>(c), lanes);
  };
  if (has_exact_inverse(y)) return mul(x, number(1 / y));
  // Lanes at rest, which have any values, must not decide anything where memory is marked.
  if (lanes == 1 || marks_memory) return {};
  const auto d = known_divisor(y);
  if (!d) return {};
  const Value fast = fma(x, number(d->high), mul(x, number(d->low)));
  // Without the sign; 0 becomes the greatest number.
  const Value one = constant(bits_dtype, 1, lanes), twice = shift_left(bitcast(x, bits_dtype), one);
  const Value least = shift_left(bitcast(number(d->least), bits_dtype), one);
  const Value small = compare(Compare::Lt, sub(twice, one), sub(least, one));
  return where_rare(small, fast, [&] {
    return Value{LLVMBuildFDiv(ir_, ref(x), ref(number(y)), ""), x.dtype};
  });
}
Value LlvmBuilder::fma(Value a, Value b, Value c) {
  check_equal(a, b);
  check_equal(a, c);
  APSIS_ASSERT(is_float_value(a.dtype));
  return {intrinsic("llvm.fma", {type_of(a)}, {ref(a), ref(b), ref(c)}), a.dtype};
}
Value LlvmBuilder::neg(Value a) {
  return {is_float_value(a.dtype) ? LLVMBuildFNeg(ir_, ref(a), "") : LLVMBuildNeg(ir_, ref(a), ""), a.dtype};
}
Value LlvmBuilder::sqrt(Value a) { return unary_intrinsic("llvm.sqrt", a); }
Value LlvmBuilder::abs(Value a) { return unary_intrinsic("llvm.fabs", a); }
Value LlvmBuilder::floor(Value a) { return unary_intrinsic("llvm.floor", a); }
Value LlvmBuilder::ceil(Value a) { return unary_intrinsic("llvm.ceil", a); }
Value LlvmBuilder::trunc(Value a) { return unary_intrinsic("llvm.trunc", a); }
Value LlvmBuilder::rint(Value a) { return unary_intrinsic("llvm.roundeven", a); }

/// The upper halves of the products of numbers of 64 bits and one that is known: of the products of their
/// halves, the only ones that vectors have.
Value LlvmBuilder::upper_product(Value x, std::uint64_t factor) {
  const int lanes = lanes_of(x);
  const auto number = [&](std::uint64_t n) { return constant(Dtype::U64, n, lanes); };
  const Value half = number(32), lower = number(0xffffffffu);
  const auto low = [&](Value v) { return bit_and(v, lower); };
  const auto high = [&](Value v) { return shift_right(v, half); };
  const Value a = low(x), b = high(x), c = number(factor & 0xffffffffu), d = number(factor >> 32);
  const Value first = add(mul(b, c), high(mul(a, c))), second = add(mul(a, d), low(first));
  return add(add(mul(b, d), high(first)), high(second));
}

/// Vectors of 64 bits by a known number: processors have no such division, and the compiler divides lane by
/// lane.
std::optional<Value> LlvmBuilder::whole_quotient(Value x, Value y) {
  const int lanes = lanes_of(x);
  const LLVMValueRef known = lanes > 1 && item_size(x.dtype) == 8 ? known_constant(y) : nullptr;
  if (!known || !LLVMIsAConstantInt(known)) return {};
  const auto bits = static_cast<std::uint64_t>(LLVMConstIntGetZExtValue(known));
  const bool is_signed = is_signed_integer(x.dtype), negative = is_signed && (bits >> 63) != 0;
  const std::uint64_t d = negative ? 0 - bits : bits;
  if ((d & (d - 1)) == 0) return {};
  const auto number = [&](std::uint64_t n) { return constant(Dtype::U64, n, lanes); };
  const Value given = bitcast(x, Dtype::U64);
  Value all_if_negative;  // -1 where x < 0, else 0
  if (is_signed) all_if_negative = bitcast(shift_right(x, constant(Dtype::I64, 63, lanes)), Dtype::U64);
  const auto turned = [&](Value v) { return sub(bit_xor(v, all_if_negative), all_if_negative); };
  const Value whole = is_signed ? turned(given) : given;
  const KnownWholeDivisor by = known_whole_divisor(d, is_signed);
  Value q = upper_product(whole, by.factor);
  if (by.adds) q = add(shift_right(sub(whole, q), number(1)), q);
  q = shift_right(q, number(static_cast<std::uint64_t>(by.shift)));
  if (is_signed) q = turned(q);
  if (negative) q = sub(number(0), q);
  return bitcast(q, x.dtype);
}

Value LlvmBuilder::integer_div(Value a, Value b) {
  check_equal(a, b);
  if (const auto quotient = whole_quotient(a, b)) return *quotient;
  return {is_signed_integer(a.dtype) ? LLVMBuildSDiv(ir_, ref(a), ref(b), "")
                                     : LLVMBuildUDiv(ir_, ref(a), ref(b), ""),
          a.dtype};
}
Value LlvmBuilder::integer_rem(Value a, Value b) {
  check_equal(a, b);
  if (const auto quotient = whole_quotient(a, b)) return sub(a, mul(*quotient, b));
  return {is_signed_integer(a.dtype) ? LLVMBuildSRem(ir_, ref(a), ref(b), "")
                                     : LLVMBuildURem(ir_, ref(a), ref(b), ""),
          a.dtype};
}
Value LlvmBuilder::bit_and(Value a, Value b) {
  check_equal(a, b);
  return {LLVMBuildAnd(ir_, ref(a), ref(b), ""), a.dtype};
}
Value LlvmBuilder::bit_or(Value a, Value b) {
  check_equal(a, b);
  return {LLVMBuildOr(ir_, ref(a), ref(b), ""), a.dtype};
}
Value LlvmBuilder::bit_xor(Value a, Value b) {
  check_equal(a, b);
  return {LLVMBuildXor(ir_, ref(a), ref(b), ""), a.dtype};
}
Value LlvmBuilder::bit_not(Value a) { return {LLVMBuildNot(ir_, ref(a), ""), a.dtype}; }
Value LlvmBuilder::shift_left(Value a, Value count) {
  check_equal(a, count);
  return {LLVMBuildShl(ir_, ref(a), ref(count), ""), a.dtype};
}
Value LlvmBuilder::shift_right(Value a, Value count) {
  check_equal(a, count);
  return {is_signed_integer(a.dtype) ? LLVMBuildAShr(ir_, ref(a), ref(count), "")
                                     : LLVMBuildLShr(ir_, ref(a), ref(count), ""),
          a.dtype};
}
Value LlvmBuilder::population_count(Value a) { return unary_intrinsic("llvm.ctpop", a); }
Value LlvmBuilder::leading_zeros(Value a) {
  return {intrinsic("llvm.ctlz", {type_of(a)}, {ref(a), LLVMConstInt(i1_, 0, false)}), a.dtype};
}
Value LlvmBuilder::trailing_zeros(Value a) {
  return {intrinsic("llvm.cttz", {type_of(a)}, {ref(a), LLVMConstInt(i1_, 0, false)}), a.dtype};
}

Value LlvmBuilder::compare(Compare how, Value a, Value b) {
  check_equal(a, b);
  if (is_float_value(a.dtype)) {
    constexpr LLVMRealPredicate ordered[] = {LLVMRealOEQ, LLVMRealUNE, LLVMRealOLT,
                                             LLVMRealOLE, LLVMRealOGT, LLVMRealOGE};
    return {LLVMBuildFCmp(ir_, ordered[static_cast<int>(how)], ref(a), ref(b), ""), Dtype::Bool};
  }
  constexpr LLVMIntPredicate of_signed[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntSLT,
                                            LLVMIntSLE, LLVMIntSGT, LLVMIntSGE};
  constexpr LLVMIntPredicate of_unsigned[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntULT,
                                              LLVMIntULE, LLVMIntUGT, LLVMIntUGE};
  const auto* predicates = is_signed_integer(a.dtype) ? of_signed : of_unsigned;
  return {LLVMBuildICmp(ir_, predicates[static_cast<int>(how)], ref(a), ref(b), ""), Dtype::Bool};
}

Value LlvmBuilder::select(Value condition, Value if_true, Value if_false) {
  check_equal(if_true, if_false);
  return {LLVMBuildSelect(ir_, ref(condition), ref(if_true), ref(if_false), ""), if_true.dtype};
}

Value LlvmBuilder::bitcast(Value a, Dtype to) {
  APSIS_ASSERT(item_size(a.dtype) == item_size(to) && (a.dtype == Dtype::Bool) == (to == Dtype::Bool));
  return {LLVMBuildBitCast(ir_, ref(a), type_of(to, lanes_of(a)), ""), to};
}

}  // namespace apsis::detail
