#include "core/convert.hpp"

#include <cstring>
#include <limits>
#include <type_traits>

#include "core/halves.hpp"

namespace apsis::detail {
namespace {

template <class T>
constexpr bool is_half = std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>;
template <class T>
constexpr bool is_complex_type = std::is_same_v<T, complex64> || std::is_same_v<T, complex128>;

template <class To, class From>
To convert_one(From x) {
  if constexpr (is_half<From>)
    return convert_one<To>(widened(x));
  else if constexpr (is_complex_type<From>) {
    if constexpr (std::is_same_v<To, bool>)
      return x.real != 0 || x.imag != 0;
    else if constexpr (is_complex_type<To>)
      return To{static_cast<decltype(To::real)>(x.real), static_cast<decltype(To::real)>(x.imag)};
    else
      return convert_one<To>(x.real);
  } else if constexpr (is_complex_type<To>) {
    return To{convert_one<decltype(To::real)>(x), 0};
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (is_half<To>) {
    To half;
    round_to(half, static_cast<float>(x));
    return half;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (x != x) return 0;
    // Both bounds are powers of two (or zero), exact in every float type.
    constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From high = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * From(2);
    if (x <= low) return std::numeric_limits<To>::min();
    if (x >= high) return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class To, class From>
void convert_span(const void* in, void* out, std::size_t count) {
  auto* source = static_cast<const From*>(in);
  auto* target = static_cast<To*>(out);
  for (std::size_t i = 0; i < count; ++i) target[i] = convert_one<To>(source[i]);
}

template <class From>
void convert_from(Dtype to, const void* in, void* out, std::size_t n) {
  switch (to) {
    case Dtype::Bool:
      return convert_span<bool, From>(in, out, n);
    case Dtype::I8:
      return convert_span<std::int8_t, From>(in, out, n);
    case Dtype::I16:
      return convert_span<std::int16_t, From>(in, out, n);
    case Dtype::I32:
      return convert_span<std::int32_t, From>(in, out, n);
    case Dtype::I64:
      return convert_span<std::int64_t, From>(in, out, n);
    case Dtype::U8:
      return convert_span<std::uint8_t, From>(in, out, n);
    case Dtype::U16:
      return convert_span<std::uint16_t, From>(in, out, n);
    case Dtype::U32:
      return convert_span<std::uint32_t, From>(in, out, n);
    case Dtype::U64:
      return convert_span<std::uint64_t, From>(in, out, n);
    case Dtype::BF16:
      return convert_span<bfloat16, From>(in, out, n);
    case Dtype::F16:
      return convert_span<float16, From>(in, out, n);
    case Dtype::F32:
      return convert_span<float, From>(in, out, n);
    case Dtype::F64:
      return convert_span<double, From>(in, out, n);
    case Dtype::C64:
      return convert_span<complex64, From>(in, out, n);
    case Dtype::C128:
      return convert_span<complex128, From>(in, out, n);
  }
}

}  // namespace

void convert_elements(Dtype from, const void* in, Dtype to, void* out, std::size_t n) {
  if (n == 0) return;  // pointers to no elements may be null
  if (from == to) {
    std::memcpy(out, in, n * item_size(from));
    return;
  }
  switch (from) {
    case Dtype::Bool:
      return convert_from<bool>(to, in, out, n);
    case Dtype::I8:
      return convert_from<std::int8_t>(to, in, out, n);
    case Dtype::I16:
      return convert_from<std::int16_t>(to, in, out, n);
    case Dtype::I32:
      return convert_from<std::int32_t>(to, in, out, n);
    case Dtype::I64:
      return convert_from<std::int64_t>(to, in, out, n);
    case Dtype::U8:
      return convert_from<std::uint8_t>(to, in, out, n);
    case Dtype::U16:
      return convert_from<std::uint16_t>(to, in, out, n);
    case Dtype::U32:
      return convert_from<std::uint32_t>(to, in, out, n);
    case Dtype::U64:
      return convert_from<std::uint64_t>(to, in, out, n);
    case Dtype::BF16:
      return convert_from<bfloat16>(to, in, out, n);
    case Dtype::F16:
      return convert_from<float16>(to, in, out, n);
    case Dtype::F32:
      return convert_from<float>(to, in, out, n);
    case Dtype::F64:
      return convert_from<double>(to, in, out, n);
    case Dtype::C64:
      return convert_from<complex64>(to, in, out, n);
    case Dtype::C128:
      return convert_from<complex128>(to, in, out, n);
  }
}

}  // namespace apsis::detail
