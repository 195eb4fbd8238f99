#pragma once

// For code that defines ops; not part of apsis.hpp.
//
// What ops see of code generation: typed lane values and primitive operations on them. Each operation has
// bitwise-defined results, equal to those of the evaluator. The number of lanes is the emitter's business.
// LLVM is not visible here.

#include <cstdint>
#include <span>

#include "apsis/core/dtype.hpp"

namespace apsis {

namespace detail {

/// One value for all lanes. Bool is one bit; f16 and bf16 exist only as storage: arithmetic is on f32.
struct Value {
  void* handle = nullptr;
  Dtype dtype = Dtype::F64;
};

enum class Compare : std::uint8_t { Eq, Ne, Lt, Le, Gt, Ge };  // floats: ordered, but Ne is true for NaN

}  // namespace detail

/// Writes the machine code of an op that works element by element: what an op's `emit` function is given.
/// Each method writes one instruction, or a few, and returns its result.
class Emitter {
 public:
  using Value = detail::Value;
  virtual ~Emitter() = default;

  /// All lanes equal. `bits` is the element's bit pattern in its low bytes.
  virtual Value constant(Dtype dtype, std::uint64_t bits) = 0;

  // Floats (F32, F64) and integers (wrapping).
  virtual Value add(Value a, Value b) = 0;
  virtual Value sub(Value a, Value b) = 0;
  virtual Value mul(Value a, Value b) = 0;
  // Floats.
  virtual Value div(Value a, Value b) = 0;
  virtual Value fma(Value a, Value b, Value c) = 0;
  virtual Value neg(Value a) = 0;  ///< flips the sign bit; integers: 0 - a
  virtual Value sqrt(Value a) = 0;
  virtual Value abs(Value a) = 0;  ///< clears the sign bit
  virtual Value floor(Value a) = 0;
  virtual Value ceil(Value a) = 0;
  virtual Value trunc(Value a) = 0;
  virtual Value rint(Value a) = 0;  ///< to nearest, ties to even
  // Integers; the divisor must not be zero nor the quotient overflow: callers guard with select, in dead
  // lanes too.
  virtual Value integer_div(Value a, Value b) = 0;
  virtual Value integer_rem(Value a, Value b) = 0;
  // Integers and Bool.
  virtual Value bit_and(Value a, Value b) = 0;
  virtual Value bit_or(Value a, Value b) = 0;
  virtual Value bit_xor(Value a, Value b) = 0;
  virtual Value bit_not(Value a) = 0;
  /// Shift counts must be below the width: callers guard.
  virtual Value shift_left(Value a, Value count) = 0;
  virtual Value shift_right(Value a, Value count) = 0;  ///< arithmetic for signed, logical for unsigned
  virtual Value population_count(Value a) = 0;
  virtual Value leading_zeros(Value a) = 0;

  virtual Value compare(detail::Compare how, Value a, Value b) = 0;
  virtual Value select(Value condition, Value if_true, Value if_false) = 0;
  /// Same width, other type: F32 ↔ I32/U32, F64 ↔ I64/U64, signed ↔ unsigned, F16/BF16 ↔ I16/U16.
  virtual Value bitcast(Value a, Dtype to) = 0;
  /// Integer ↔ integer (wraps or extends), integer → float, Bool → anything, F32 ↔ F64, F16/BF16 ↔ F32
  /// (nearest even), float → integer for in-range values only (callers clamp).
  virtual Value convert(Value a, Dtype to) = 0;

  /// Emits `body` as an internal function called from each use, or inline, as the emitter finds better.
  /// `name` with the argument dtypes identifies it.
  using FunctionBody = void (*)(Emitter& e, const void* context, std::span<const Value> in,
                                std::span<Value> out);
  virtual void function(const char* name, FunctionBody body, const void* context, std::span<const Value> in,
                        std::span<Value> out) = 0;
  /// Lanes where `mask` holds are replaced by scalar(in[lane]…), a C function named `symbol`, called out of
  /// line; the common case, no lane set, costs one test. All of one float dtype. `scalar` is
  /// double(*)(double[,double]) or float likewise.
  virtual Value rare(Value mask, const char* symbol, std::span<const Value> in, Value fast) = 0;
};

}  // namespace apsis
