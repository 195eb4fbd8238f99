#pragma once

// Sets of dtypes, and from a dtype at run time to a C++ type.

#include <type_traits>

#include "apsis/base/error.hpp"
#include "apsis/core/dtype.hpp"

namespace apsis::detail {

using DtypeSet = std::uint32_t;

constexpr DtypeSet only(Dtype d) { return DtypeSet{1} << static_cast<int>(d); }
constexpr DtypeSet dtypes_between(Dtype first, Dtype last) { return (only(last) << 1) - only(first); }

inline constexpr DtypeSet bool_dtypes = only(Dtype::Bool);
inline constexpr DtypeSet signed_dtypes = dtypes_between(Dtype::I8, Dtype::I64);
inline constexpr DtypeSet unsigned_dtypes = dtypes_between(Dtype::U8, Dtype::U64);
inline constexpr DtypeSet integer_dtypes = signed_dtypes | unsigned_dtypes;
inline constexpr DtypeSet float_dtypes = dtypes_between(Dtype::BF16, Dtype::F64);
inline constexpr DtypeSet complex_dtypes = dtypes_between(Dtype::C64, Dtype::C128);
inline constexpr DtypeSet bit_dtypes = bool_dtypes | integer_dtypes;
inline constexpr DtypeSet number_dtypes = integer_dtypes | float_dtypes;
inline constexpr DtypeSet real_dtypes = bool_dtypes | number_dtypes;
inline constexpr DtypeSet all_dtypes = real_dtypes | complex_dtypes;

constexpr bool contains(DtypeSet set, Dtype d) { return (set & only(d)) != 0; }

/// Half-width floats are stored only: arithmetic on them is f32 arithmetic, rounded once an op.
template <class T>
using ComputeOf = std::conditional_t<std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>, float, T>;
constexpr Dtype compute_dtype(Dtype d) { return d == Dtype::F16 || d == Dtype::BF16 ? Dtype::F32 : d; }

/// Calls visit(std::type_identity<T>) with the storage type of a dtype of the set.
template <DtypeSet allowed, class Visit>
void visit_dtype(Dtype dtype, const Visit& visit) {
#define APSIS_CASE(dtype_, type)                                                              \
  case Dtype::dtype_:                                                                         \
    if constexpr (contains(allowed, Dtype::dtype_)) return visit(std::type_identity<type>{}); \
    break;
  switch (dtype) {
    APSIS_CASE(Bool, bool)
    APSIS_CASE(I8, std::int8_t)
    APSIS_CASE(I16, std::int16_t)
    APSIS_CASE(I32, std::int32_t)
    APSIS_CASE(I64, std::int64_t)
    APSIS_CASE(U8, std::uint8_t)
    APSIS_CASE(U16, std::uint16_t)
    APSIS_CASE(U32, std::uint32_t)
    APSIS_CASE(U64, std::uint64_t)
    APSIS_CASE(BF16, bfloat16)
    APSIS_CASE(F16, float16)
    APSIS_CASE(F32, float)
    APSIS_CASE(F64, double)
    APSIS_CASE(C64, complex64)
    APSIS_CASE(C128, complex128)
  }
#undef APSIS_CASE
  APSIS_ASSERT(!"a dtype that the op's shape rule should have refused");
}

}  // namespace apsis::detail
