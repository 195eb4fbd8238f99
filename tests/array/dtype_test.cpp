// Facts about dtypes: the formats' definitions, and NumPy's table of safe conversions.

#include "apsis/array/dtype.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace apsis {
namespace {

template <class T>
void expect_limits(Dtype dtype) {
  using L = std::numeric_limits<T>;
  const FloatInfo info = finfo(dtype);
  EXPECT_EQ(info.bits, static_cast<int>(8 * sizeof(T)));
  EXPECT_EQ(info.nmant, L::digits - 1);
  EXPECT_EQ(info.maxexp, L::max_exponent);
  EXPECT_EQ(info.minexp, L::min_exponent - 1);
  EXPECT_EQ(info.eps, double(L::epsilon()));
  EXPECT_EQ(info.epsneg, double(L::epsilon()) / 2);
  EXPECT_EQ(info.max, double(L::max()));
  EXPECT_EQ(info.min, double(L::lowest()));
  EXPECT_EQ(info.tiny, double(L::min()));
  EXPECT_EQ(info.smallest_subnormal, double(L::denorm_min()));
  EXPECT_EQ(info.precision, L::digits10);
}

template <class T>
void expect_integers(Dtype dtype) {
  const IntegerInfo info = iinfo(dtype);
  EXPECT_EQ(info.bits, static_cast<int>(8 * sizeof(T)));
  EXPECT_EQ(info.min, static_cast<std::int64_t>(std::numeric_limits<T>::min()));
  EXPECT_EQ(info.max, static_cast<std::uint64_t>(std::numeric_limits<T>::max()));
}

// numpy.can_cast(row, column): bool i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 c64 c128.
constexpr Dtype order[] = {boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, c64, c128};
constexpr const char* safe[] = {
    "11111111111111",  // bool
    "01111000011111",  // i8
    "00111000001111",  // i16
    "00011000000101",  // i32
    "00001000000101",  // i64
    "00111111111111",  // u8
    "00011011101111",  // u16
    "00001001100101",  // u32
    "00000000100101",  // u64
    "00000000011111",  // f16
    "00000000001111",  // f32
    "00000000000101",  // f64
    "00000000000011",  // c64
    "00000000000001",  // c128
};

TEST(ArrayRoom, Dtypes) {
  expect_limits<double>(f64);
  expect_limits<float>(f32);
  EXPECT_EQ(finfo(c64).bits, 32);
  EXPECT_EQ(finfo(f16).max, 65504);
  EXPECT_EQ(finfo(f16).smallest_subnormal, 0x1p-24);
  EXPECT_EQ(finfo(bf16).eps, 0x1p-7);
  EXPECT_EQ(finfo(bf16).max, 0x1.fep127);
  expect_integers<std::int8_t>(i8);
  expect_integers<std::int64_t>(i64);
  expect_integers<std::uint16_t>(u16);
  expect_integers<std::uint64_t>(u64);

  for (std::size_t from = 0; from < std::size(order); ++from)
    for (std::size_t to = 0; to < std::size(order); ++to)
      EXPECT_EQ(can_cast(order[from], order[to]), safe[from][to] == '1')
          << to_string(order[from]) << " to " << to_string(order[to]);
  EXPECT_TRUE(can_cast(f64, f32, Casting::SameKind));
  EXPECT_FALSE(can_cast(f64, i32, Casting::SameKind));
  EXPECT_TRUE(can_cast(f64, i32, Casting::Unsafe));
  EXPECT_FALSE(can_cast(f32, f64, Casting::No));
  EXPECT_TRUE(can_cast(bf16, f32));
  EXPECT_FALSE(can_cast(bf16, f16));

  EXPECT_EQ(promote_types(i32, f32), f32);
  EXPECT_EQ(result_type({array({1.f}), 2.}), f32);
  EXPECT_EQ(result_type({array({1}), array({1.f})}), f32);
  EXPECT_TRUE(issubdtype(u8, DtypeClass::Integer));
  EXPECT_TRUE(issubdtype(u8, DtypeClass::UnsignedInteger));
  EXPECT_FALSE(issubdtype(u8, DtypeClass::SignedInteger));
  EXPECT_TRUE(issubdtype(c64, DtypeClass::Inexact));
  EXPECT_FALSE(issubdtype(boolean, DtypeClass::Number));
}

}  // namespace
}  // namespace apsis
