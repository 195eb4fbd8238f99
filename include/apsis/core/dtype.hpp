#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace apsis {

/// The element types. The order is fixed: it is the index of every table by dtype.
enum class Dtype : std::uint8_t {
  Bool,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  BF16,
  F16,
  F32,
  F64,
  C64,
  C128
};
/// How many dtypes there are.
inline constexpr int dtype_count = 15;

inline constexpr Dtype boolean = Dtype::Bool;  ///< One byte, 0 or 1.
inline constexpr Dtype i8 = Dtype::I8;         ///< Signed integers of 8 bits.
inline constexpr Dtype i16 = Dtype::I16;       ///< Signed integers of 16 bits.
inline constexpr Dtype i32 = Dtype::I32;       ///< Signed integers of 32 bits.
inline constexpr Dtype i64 = Dtype::I64;       ///< Signed integers of 64 bits.
inline constexpr Dtype u8 = Dtype::U8;         ///< Unsigned integers of 8 bits.
inline constexpr Dtype u16 = Dtype::U16;       ///< Unsigned integers of 16 bits.
inline constexpr Dtype u32 = Dtype::U32;       ///< Unsigned integers of 32 bits.
inline constexpr Dtype u64 = Dtype::U64;       ///< Unsigned integers of 64 bits.
inline constexpr Dtype bf16 = Dtype::BF16;     ///< Floats with the range of f32 and 8 bits of precision.
inline constexpr Dtype f16 = Dtype::F16;       ///< IEEE 754 binary16.
inline constexpr Dtype f32 = Dtype::F32;       ///< IEEE 754 binary32, C++'s float.
inline constexpr Dtype f64 = Dtype::F64;       ///< IEEE 754 binary64, C++'s double.
inline constexpr Dtype c64 = Dtype::C64;       ///< Complex numbers of two f32.
inline constexpr Dtype c128 = Dtype::C128;     ///< Complex numbers of two f64.

/// Storage type of bf16: bits only; arithmetic is done in f32 and rounded to nearest even.
struct bfloat16 {
  std::uint16_t bits = 0;
  bfloat16() = default;
  explicit bfloat16(float value);
  explicit operator float() const;
  friend bool operator==(const bfloat16&, const bfloat16&) = default;
};
/// Storage type of f16, as bfloat16 of bf16.
struct float16 {
  std::uint16_t bits = 0;
  float16() = default;
  explicit float16(float value);
  explicit operator float() const;
  friend bool operator==(const float16&, const float16&) = default;
};
/// Storage type of c64, laid out as std::complex<float>.
struct complex64 {
  float real = 0, imag = 0;
  friend bool operator==(const complex64&, const complex64&) = default;
};
/// Storage type of c128, laid out as std::complex<double>.
struct complex128 {
  double real = 0, imag = 0;
  friend bool operator==(const complex128&, const complex128&) = default;
};

/// The C++ type that stores one element; `bool` is one byte, 0 or 1.
template <class T>
struct dtype_of_type;
template <>
struct dtype_of_type<bool> {
  static constexpr Dtype value = Dtype::Bool;
};
template <>
struct dtype_of_type<std::int8_t> {
  static constexpr Dtype value = Dtype::I8;
};
template <>
struct dtype_of_type<std::int16_t> {
  static constexpr Dtype value = Dtype::I16;
};
template <>
struct dtype_of_type<std::int32_t> {
  static constexpr Dtype value = Dtype::I32;
};
template <>
struct dtype_of_type<std::uint8_t> {
  static constexpr Dtype value = Dtype::U8;
};
template <>
struct dtype_of_type<std::uint16_t> {
  static constexpr Dtype value = Dtype::U16;
};
template <>
struct dtype_of_type<std::uint32_t> {
  static constexpr Dtype value = Dtype::U32;
};
template <>
struct dtype_of_type<long> {
  static constexpr Dtype value = Dtype::I64;
};
template <>
struct dtype_of_type<long long> {
  static constexpr Dtype value = Dtype::I64;
};
template <>
struct dtype_of_type<unsigned long> {
  static constexpr Dtype value = Dtype::U64;
};
template <>
struct dtype_of_type<unsigned long long> {
  static constexpr Dtype value = Dtype::U64;
};
template <>
struct dtype_of_type<bfloat16> {
  static constexpr Dtype value = Dtype::BF16;
};
template <>
struct dtype_of_type<float16> {
  static constexpr Dtype value = Dtype::F16;
};
template <>
struct dtype_of_type<float> {
  static constexpr Dtype value = Dtype::F32;
};
template <>
struct dtype_of_type<double> {
  static constexpr Dtype value = Dtype::F64;
};
template <>
struct dtype_of_type<complex64> {
  static constexpr Dtype value = Dtype::C64;
};
template <>
struct dtype_of_type<complex128> {
  static constexpr Dtype value = Dtype::C128;
};
/// std::complex<float> and std::complex<double>, whose header is not included.
template <class T>
concept ComplexScalar = requires(const T& z) {
  typename T::value_type;
  z.real();
  z.imag();
}
&&(std::is_same_v<typename T::value_type, float> ||
   std::is_same_v<typename T::value_type, double>)&&sizeof(T) == 2 * sizeof(typename T::value_type);
template <ComplexScalar T>
struct dtype_of_type<T> {
  static constexpr Dtype value = std::is_same_v<typename T::value_type, float> ? Dtype::C64 : Dtype::C128;
};
/// The dtype whose elements are stored as `T`.
template <class T>
inline constexpr Dtype dtype_of = dtype_of_type<std::remove_cv_t<T>>::value;

/// A C++ type that an Array can hold.
template <class T>
concept Element = requires {
  dtype_of_type<std::remove_cv_t<T>>::value;
};

namespace detail {
inline constexpr std::uint8_t item_sizes[dtype_count] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
}  // namespace detail

/// Bytes of one element.
constexpr std::size_t item_size(Dtype dtype) { return detail::item_sizes[static_cast<int>(dtype)]; }
/// i8 … i64.
constexpr bool is_signed_integer(Dtype d) { return d >= Dtype::I8 && d <= Dtype::I64; }
/// u8 … u64.
constexpr bool is_unsigned_integer(Dtype d) { return d >= Dtype::U8 && d <= Dtype::U64; }
/// Signed or unsigned integers; not booleans.
constexpr bool is_integer(Dtype d) { return d >= Dtype::I8 && d <= Dtype::U64; }
/// bf16, f16, f32, f64.
constexpr bool is_floating(Dtype d) { return d >= Dtype::BF16 && d <= Dtype::F64; }
/// c64, c128.
constexpr bool is_complex(Dtype d) { return d >= Dtype::C64; }
/// Floating or complex: the dtypes that have tangents.
constexpr bool is_inexact(Dtype d) { return d >= Dtype::BF16; }
/// `bool i8 … f64 c128`.
std::string_view name_of(Dtype dtype);
/// The same as a string.
inline std::string to_string(Dtype dtype) { return std::string(name_of(dtype)); }

/// A dtype that is weak when it came from C++ scalars alone: it decides only where nothing else does.
struct WeakDtype {
  Dtype dtype;
  bool weak;
  friend bool operator==(const WeakDtype&, const WeakDtype&) = default;
};
/// JAX's promotion lattice with 64-bit types enabled: the least upper bound of two dtypes.
WeakDtype promote(WeakDtype a, WeakDtype b);

}  // namespace apsis
