// Each operation of the Emitter, compiled, against plain C++: every dtype, number of lanes, level and
// instruction set, on all combinations of edge values.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "codegen/builder/builder.hpp"
#include "core/convert.hpp"

namespace apsis::detail {
namespace {

using Bits = std::uint64_t;

template <class T>
Bits bits_of(T x) {
  Bits b = 0;
  std::memcpy(&b, &x, sizeof x);
  return b;
}
template <class T>
T of_bits(Bits b) {
  T x;
  std::memcpy(static_cast<void*>(&x), &b, sizeof x);
  return x;
}

// One operation: how it is emitted, and what it must give.
struct Case {
  std::string name;
  std::vector<Dtype> in;
  Dtype out;
  Value (*emit)(Builder&, const Value* in, Dtype out);
  void (*expect)(const Bits* in, Bits& out);
  bool (*defined)(const Bits* in) = nullptr;  // whether the result is
};

template <class T>
std::vector<Bits> edges() {
  std::vector<Bits> list;
  const auto put = [&](T x) { list.push_back(bits_of(x)); };
  if constexpr (std::is_same_v<T, bool>) {
    put(false);
    put(true);
  } else if constexpr (std::is_floating_point_v<T>) {
    using L = std::numeric_limits<T>;
    const T whole = std::ldexp(T(1), L::digits - 1);  // from here on every float is an integer
    for (T x : {T(0),
                T(0.3),
                T(0.5),
                T(1),
                T(1.5),
                T(2.5),
                T(3.1415926),
                L::min(),
                L::denorm_min(),
                L::max(),
                L::infinity(),
                whole - T(0.5),
                whole,
                whole + T(1),
                T(4097.25),
                T(65504),
                T(65520),
                T(1) + L::epsilon(),
                T(1e-7),
                5 * L::denorm_min(),
                L::min() * whole}) {
      put(x);
      put(-x);
    }
    put(L::quiet_NaN());
  } else if constexpr (std::is_integral_v<T>) {
    using L = std::numeric_limits<T>;
    for (auto x : {0ll, 1ll, 2ll, 3ll, 7ll, 63ll, 64ll, 100ll, 127ll, -1ll, -2ll, -17ll, 0x123456789abcdefll})
      put(static_cast<T>(x));
    for (T x : {L::min(), L::max(), static_cast<T>(L::max() - 1), static_cast<T>(L::min() + 1)}) put(x);
  } else {  // a half: every bit pattern that matters
    for (std::uint32_t b = 0; b < 0x10000; b += 0x3f) list.push_back(b);
    for (std::uint32_t b :
         {0x0001, 0x03ff, 0x7bff, 0x7c00, 0x7c01, 0x7e00, 0x7f80, 0x7f81, 0x7fc0, 0x8000, 0xff80, 0xfc00})
      list.push_back(b);
  }
  return list;
}

std::vector<Bits> edges_of(Dtype d) {
  switch (d) {
    case Dtype::Bool:
      return edges<bool>();
    case Dtype::I8:
      return edges<std::int8_t>();
    case Dtype::I16:
      return edges<std::int16_t>();
    case Dtype::I32:
      return edges<std::int32_t>();
    case Dtype::I64:
      return edges<std::int64_t>();
    case Dtype::U8:
      return edges<std::uint8_t>();
    case Dtype::U16:
      return edges<std::uint16_t>();
    case Dtype::U32:
      return edges<std::uint32_t>();
    case Dtype::U64:
      return edges<std::uint64_t>();
    case Dtype::BF16:
      return edges<bfloat16>();
    case Dtype::F16:
      return edges<float16>();
    case Dtype::F32:
      return edges<float>();
    default:
      return edges<double>();
  }
}

bool is_nan(Bits b, Dtype d) {
  if (d == Dtype::F64) return std::isnan(of_bits<double>(b));
  if (d == Dtype::F32) return std::isnan(of_bits<float>(b));
  if (d == Dtype::F16) return std::isnan(static_cast<float>(of_bits<float16>(b)));
  if (d == Dtype::BF16) return std::isnan(static_cast<float>(of_bits<bfloat16>(b)));
  return false;
}

template <class T>
using Unsigned = std::make_unsigned_t<T>;

/// Divisors that are known are multiplied by.
template <class T, class L = std::numeric_limits<T>>
constexpr T divisors[] = {T(3),
                          T(-3),
                          T(10),
                          T(0.1),
                          T(7),
                          T(1.5),
                          T(1e-3),
                          T(-0.9),
                          T(1) + L::epsilon(),
                          T(2),
                          T(-8),
                          T(0.25),
                          L::min(),
                          L::denorm_min(),
                          L::max(),
                          L::infinity(),
                          T(0)};

template <class T, std::size_t... i>
void add_quotients(std::vector<Case>& cases, std::index_sequence<i...>) {
  const Dtype d = dtype_of<T>;
  (cases.push_back({"div.known" + std::to_string(i) + '.' + std::string(name_of(d)),
                    {d},
                    d,
                    [](Builder& b, const Value* v, Dtype) {
                      return b.div(v[0], b.constant(dtype_of<T>, bits_of<T>(divisors<T>[i])));
                    },
                    [](const Bits* in, Bits& out) { out = bits_of<T>(of_bits<T>(in[0]) / divisors<T>[i]); }}),
   ...);
}

template <class T>
void add_float_cases(std::vector<Case>& cases) {
  const Dtype d = dtype_of<T>;
  const auto name = [&](const char* op) { return std::string(op) + "." + std::string(name_of(d)); };
#define APSIS_BINARY(op, expression)                                                   \
  cases.push_back({name(#op),                                                          \
                   {d, d},                                                             \
                   d,                                                                  \
                   [](Builder& b, const Value* v, Dtype) { return b.op(v[0], v[1]); }, \
                   [](const Bits* in, Bits& out) {                                     \
                     const T x = of_bits<T>(in[0]), y = of_bits<T>(in[1]);             \
                     out = bits_of<T>(expression);                                     \
                   }})
#define APSIS_UNARY(op, expression)                                              \
  cases.push_back({name(#op),                                                    \
                   {d},                                                          \
                   d,                                                            \
                   [](Builder& b, const Value* v, Dtype) { return b.op(v[0]); }, \
                   [](const Bits* in, Bits& out) {                               \
                     const T x = of_bits<T>(in[0]);                              \
                     out = bits_of<T>(expression);                               \
                   }})
  APSIS_BINARY(add, x + y);
  APSIS_BINARY(sub, x - y);
  APSIS_BINARY(mul, x * y);
  APSIS_BINARY(div, x / y);
  add_quotients<T>(cases, std::make_index_sequence<std::size(divisors<T>)>());
  APSIS_UNARY(neg, -x);
  APSIS_UNARY(sqrt, std::sqrt(x));
  APSIS_UNARY(abs, std::fabs(x));
  APSIS_UNARY(floor, std::floor(x));
  APSIS_UNARY(ceil, std::ceil(x));
  APSIS_UNARY(trunc, std::trunc(x));
  APSIS_UNARY(rint, std::nearbyint(x));
  cases.push_back({name("fma"),
                   {d, d, d},
                   d,
                   [](Builder& b, const Value* v, Dtype) { return b.fma(v[0], v[1], v[2]); },
                   [](const Bits* in, Bits& out) {
                     out = bits_of<T>(std::fma(of_bits<T>(in[0]), of_bits<T>(in[1]), of_bits<T>(in[2])));
                   }});
}

template <class T>
void add_integer_cases(std::vector<Case>& cases) {
  const Dtype d = dtype_of<T>;
  using U = Unsigned<T>;
  constexpr int width = 8 * sizeof(T);
  const auto name = [&](const char* op) { return std::string(op) + "." + std::string(name_of(d)); };
  APSIS_BINARY(add, static_cast<T>(static_cast<U>(x) + static_cast<U>(y)));
  APSIS_BINARY(sub, static_cast<T>(static_cast<U>(x) - static_cast<U>(y)));
  APSIS_BINARY(mul,
               static_cast<T>(static_cast<U>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y))));
  APSIS_BINARY(bit_and, static_cast<T>(x & y));
  APSIS_BINARY(bit_or, static_cast<T>(x | y));
  APSIS_BINARY(bit_xor, static_cast<T>(x ^ y));
  APSIS_UNARY(bit_not, static_cast<T>(~x));
  APSIS_UNARY(neg, static_cast<T>(U(0) - static_cast<U>(x)));
  APSIS_UNARY(population_count, static_cast<T>(std::popcount(static_cast<U>(x))));
  APSIS_UNARY(leading_zeros, static_cast<T>(std::countl_zero(static_cast<U>(x))));
  APSIS_UNARY(trailing_zeros, static_cast<T>(std::countr_zero(static_cast<U>(x))));
  // The emitter's callers guard the divisor and the shift count; so do these.
#define APSIS_GUARDED(op, expression)                                                               \
  cases.push_back({name(#op),                                                                       \
                   {d, d},                                                                          \
                   d,                                                                               \
                   [](Builder& b, const Value* v, Dtype) {                                          \
                     const Value zero = b.constant(v[1].dtype, 0), one = b.constant(v[1].dtype, 1), \
                                 minus = b.constant(v[1].dtype, ~Bits{0});                          \
                     Value bad = b.compare(Compare::Eq, v[1], zero);                                \
                     if (is_signed_integer(v[1].dtype))                                             \
                       bad = b.bit_or(bad, b.compare(Compare::Eq, v[1], minus));                    \
                     return b.op(v[0], b.select(bad, one, v[1]));                                   \
                   },                                                                               \
                   [](const Bits* in, Bits& out) {                                                  \
                     const T x = of_bits<T>(in[0]);                                                 \
                     T y = of_bits<T>(in[1]);                                                       \
                     if (y == 0 || (std::is_signed_v<T> && y == static_cast<T>(-1))) y = 1;         \
                     out = bits_of<T>(static_cast<T>(expression));                                  \
                   }})
  APSIS_GUARDED(integer_div, x / y);
  APSIS_GUARDED(integer_rem, x % y);
#define APSIS_SHIFT(op, expression)                                                         \
  cases.push_back({name(#op),                                                               \
                   {d, d},                                                                  \
                   d,                                                                       \
                   [](Builder& b, const Value* v, Dtype) {                                  \
                     return b.op(v[0], b.bit_and(v[1], b.constant(v[1].dtype, width - 1))); \
                   },                                                                       \
                   [](const Bits* in, Bits& out) {                                          \
                     const T x = of_bits<T>(in[0]);                                         \
                     const int y = static_cast<int>(of_bits<U>(in[1]) & (width - 1));       \
                     out = bits_of<T>(static_cast<T>(expression));                          \
                   }})
  APSIS_SHIFT(shift_left, static_cast<U>(x) << y);
  APSIS_SHIFT(shift_right, x >> y);
}

template <class T>
void add_common_cases(std::vector<Case>& cases) {
  const Dtype d = dtype_of<T>;
  const std::string suffix = "." + std::string(name_of(d));
#define APSIS_COMPARE(how, op)                                                                            \
  cases.push_back({"compare_" #how + suffix,                                                              \
                   {d, d},                                                                                \
                   Dtype::Bool,                                                                           \
                   [](Builder& b, const Value* v, Dtype) { return b.compare(Compare::how, v[0], v[1]); }, \
                   [](const Bits* in, Bits& out) { out = of_bits<T>(in[0]) op of_bits<T>(in[1]); }})
  APSIS_COMPARE(Eq, ==);
  APSIS_COMPARE(Ne, !=);
  APSIS_COMPARE(Lt, <);
  APSIS_COMPARE(Le, <=);
  APSIS_COMPARE(Gt, >);
  APSIS_COMPARE(Ge, >=);
  cases.push_back({"select" + suffix,
                   {Dtype::Bool, d, d},
                   d,
                   [](Builder& b, const Value* v, Dtype) { return b.select(v[0], v[1], v[2]); },
                   [](const Bits* in, Bits& out) { out = in[0] ? in[1] : in[2]; }});
}

template <class From, class To>
void add_convert(std::vector<Case>& cases) {
  const Dtype from = dtype_of<From>, to = dtype_of<To>;
  Case c{"convert." + std::string(name_of(from)) + "." + std::string(name_of(to)),
         {from},
         to,
         [](Builder& b, const Value* v, Dtype out) { return b.convert(v[0], out); },
         [](const Bits* in, Bits& out) { convert_elements(dtype_of<From>, in, dtype_of<To>, &out, 1); }};
  if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool> && !std::is_integral_v<From>) {
    c.defined = [](const Bits* in) {
      const double x = static_cast<double>(
          static_cast<std::conditional_t<std::is_same_v<From, double>, double, float>>(of_bits<From>(*in)));
      const double low = static_cast<double>(std::numeric_limits<To>::min()),
                   top = std::ldexp(1.0, std::numeric_limits<To>::digits);
      return x > low - 1 && x >= low - (sizeof(To) < 8 ? 0.99 : 0) && x < top;
    };
  }
  cases.push_back(c);
  if constexpr (sizeof(From) == sizeof(To) && std::is_same_v<From, bool> == std::is_same_v<To, bool>)
    cases.push_back({"bitcast." + std::string(name_of(from)) + "." + std::string(name_of(to)),
                     {from},
                     to,
                     [](Builder& b, const Value* v, Dtype out) { return b.bitcast(v[0], out); },
                     [](const Bits* in, Bits& out) { out = *in; }});
}
template <class From, class... To>
void add_converts_from(std::vector<Case>& cases) {
  (add_convert<From, To>(cases), ...);
}
template <class... T>
void add_converts(std::vector<Case>& cases) {
  (add_converts_from<T, T...>(cases), ...);
}
template <class... T>
void add_integers(std::vector<Case>& cases) {
  (add_integer_cases<T>(cases), ...);
}
template <class... T>
void add_commons(std::vector<Case>& cases) {
  (add_common_cases<T>(cases), ...);
}

using S8 = std::int8_t;
using S16 = std::int16_t;
using S32 = std::int32_t;
using S64 = std::int64_t;
using N8 = std::uint8_t;
using N16 = std::uint16_t;
using N32 = std::uint32_t;
using N64 = std::uint64_t;

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  add_float_cases<float>(cases);
  add_float_cases<double>(cases);
  add_integers<S8, S16, S32, S64, N8, N16, N32, N64>(cases);
  add_commons<bool, S8, S16, S32, S64, N8, N16, N32, N64, float, double>(cases);
  add_converts<bool, S8, S16, S32, S64, N8, N16, N32, N64, bfloat16, float16, float, double>(cases);
  using T = bool;
  const Dtype d = Dtype::Bool;
  const auto name = [&](const char* op) { return std::string(op) + ".bool"; };
  APSIS_BINARY(bit_and, x && y);
  APSIS_BINARY(bit_or, x || y);
  APSIS_BINARY(bit_xor, x != y);
  APSIS_UNARY(bit_not, !x);
  return cases;
}

// void name(const void* a, const void* b, const void* c, void* out): one value of `lanes` lanes each.
void emit_case(Builder& b, const Case& c, int lanes) {
  const Type parameters[] = {pointer_type, pointer_type, pointer_type, pointer_type};
  b.begin(b.declare(c.name.c_str(), parameters, {}, true));
  b.set_lanes(lanes);
  Value in[3];
  for (std::size_t i = 0; i < c.in.size(); ++i)
    in[i] = b.load(b.pointer_parameter(static_cast<int>(i)), c.in[i]);
  b.store(b.pointer_parameter(3), c.emit(b, in, c.out));
  b.return_values({});
  b.end();
}

// Every combination of edge values, as columns of elements.
struct Table {
  std::size_t rows;
  std::vector<std::vector<Bits>> columns;
};
Table combinations(const Case& c, std::size_t multiple) {
  std::vector<std::vector<Bits>> values;
  Table t{1, {}};
  for (Dtype d : c.in) {
    values.push_back(edges_of(d));
    if (c.in.size() == 3 && values.back().size() > 15) values.back().resize(15);
    t.rows *= values.back().size();
  }
  t.rows = (t.rows + multiple - 1) / multiple * multiple;
  std::size_t stride = 1;
  for (const auto& v : values) {
    auto& column = t.columns.emplace_back(t.rows);
    for (std::size_t r = 0; r < t.rows; ++r) column[r] = v[r / stride % v.size()];
    stride *= v.size();
  }
  return t;
}

void check_case(const Code& code, const Case& c, std::size_t lanes) {
  using Kernel = void (*)(const void*, const void*, const void*, void*);
  const auto kernel = reinterpret_cast<Kernel>(code.find(c.name.c_str()));
  ASSERT_NE(kernel, nullptr) << c.name;
  const Table t = combinations(c, lanes);
  std::vector<std::vector<std::byte>> packed;
  for (std::size_t k = 0; k < c.in.size(); ++k) {
    const std::size_t size = item_size(c.in[k]);
    auto& bytes = packed.emplace_back(t.rows * size);
    for (std::size_t r = 0; r < t.rows; ++r) std::memcpy(bytes.data() + r * size, &t.columns[k][r], size);
  }
  const std::size_t out_size = item_size(c.out);
  std::vector<std::byte> result(t.rows * out_size);
  for (std::size_t r = 0; r < t.rows; r += lanes) {
    const void* in[3] = {};
    for (std::size_t k = 0; k < c.in.size(); ++k) in[k] = packed[k].data() + r * item_size(c.in[k]);
    kernel(in[0], in[1], in[2], result.data() + r * out_size);
  }
  for (std::size_t r = 0; r < t.rows; ++r) {
    Bits in[3] = {}, expected = 0, got = 0;
    for (std::size_t k = 0; k < c.in.size(); ++k) in[k] = t.columns[k][r];
    if (c.defined && !c.defined(in)) continue;
    c.expect(in, expected);
    std::memcpy(&got, result.data() + r * out_size, out_size);
    if (is_nan(expected, c.out) && is_nan(got, c.out)) continue;
    ASSERT_EQ(got, expected) << c.name << " lanes " << lanes << std::hex << " of " << in[0] << " " << in[1]
                             << " " << in[2];
  }
}

struct Setting {
  int lanes;
  Level level;
  Isa isa;
};

class BuilderOps : public testing::TestWithParam<Setting> {};

TEST_P(BuilderOps, EqualPlainCpp) {
  const auto [lanes, level, isa] = GetParam();
  const std::vector<Case> cases = all_cases();
  auto builder = make_builder({.isa = isa});
  for (const Case& c : cases) emit_case(*builder, c, lanes);
  const auto code = builder->finish({.level = level});
  for (const Case& c : cases) {
    check_case(*code, c, static_cast<std::size_t>(lanes));
    if (HasFatalFailure()) return;
  }
}

std::vector<Setting> settings() {
  std::vector<Setting> list;
  for (Isa isa : {Isa::Avx2, Isa::Native})
    for (int lanes : {1, 4, 8, 16})
      for (Level level : {Level::None, Level::Less}) list.push_back({lanes, level, isa});
  list.push_back({8, Level::Default, Isa::Native});
  list.push_back({8, Level::Aggressive, Isa::Native});
  return list;
}
INSTANTIATE_TEST_SUITE_P(All, BuilderOps, testing::ValuesIn(settings()), [](const auto& info) {
  const Setting& s = info.param;
  return "lanes" + std::to_string(s.lanes) + "_level" + std::to_string(static_cast<int>(s.level)) +
         (s.isa == Isa::Avx2 ? "_avx2" : "_native");
});

}  // namespace
}  // namespace apsis::detail
