// Programs that call the library's elementary functions give the evaluator's bits, like those that hold their
// own copy.

#include "ops/math/library.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "codegen/compiled_equal.hpp"
#include "ops/math/functions.hpp"
#include "ops/table.hpp"

namespace apsis::detail {
namespace {

enum class Code { none, own, wide };
struct Function {
  const char* name;
  std::size_t arity;
  Code code;
};
constexpr Function functions[] = {
#define APSIS_ROW(name, arity, f32, f64, code) {#name, arity, Code::code},
    APSIS_MATH_FUNCTIONS(APSIS_ROW)
#undef APSIS_ROW
};

/// Special values, numbers of moderate size, and any bits, which has the lanes that are computed one by one.
template <class T>
Array sample(std::uint64_t seed) {
  using L = std::numeric_limits<T>;
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  std::vector<T> values = {T(0),          -T(0),          T(1),           T(-1),    T(0.5),
                           T(2),          T(1e30),        T(-1e6),        L::max(), L::lowest(),
                           L::infinity(), -L::infinity(), L::quiet_NaN(), L::min(), L::denorm_min()};
  std::mt19937_64 random(seed);
  std::shuffle(values.begin(), values.end(), random);
  while (values.size() < 1003) {
    const auto bits = random();
    values.push_back(bits % 4 == 0 ? std::bit_cast<T>(static_cast<Bits>(bits >> 3))
                                   : static_cast<T>((static_cast<double>(bits) * 0x1p-64 - 0.5) * 20));
  }
  return array(values);
}

/// NaNs may differ in what they carry.
template <class T>
bool same(const Array& a, const Array& b) {
  const auto x = a.span<T>(), y = b.span<T>();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::memcmp(&x[i], &y[i], sizeof(T)) != 0 && !(std::isnan(x[i]) && std::isnan(y[i]))) return false;
  return true;
}

template <class T>
void check(const Function& function, Isa isa, int lanes, bool in_library) {
  GraphBuilder builder;
  std::vector<Array> inputs;
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < function.arity; ++i) {
    inputs.push_back(sample<T>(17 + i));
    operands.push_back(builder.input(inputs.back().aval()));
  }
  ValueId result;
  const Op* op = find_op(function.name);
  ASSERT_TRUE(op) << function.name;
  builder.append(*op, {}, operands, {&result, 1});
  const GraphRef graph = builder.finish({&result, 1});
  const CodegenOptions options{.lanes = lanes, .level = 0, .isa = isa};
  const std::string symbol = std::string("apsis_") + function.name + (sizeof(T) == 4 ? "_f32" : "_f64") +
                             (lanes > 1 ? "x" + std::to_string(lanes) : "") + '(';
  EXPECT_EQ(code_text(*graph, options).find(symbol) != std::string::npos, in_library) << symbol;
  const Array got = run(*compile(*graph, options), inputs)[0];
  EXPECT_TRUE(same<T>(got, interpret(*graph, inputs)[0])) << symbol;
}

TEST(Library, FunctionsGiveTheEvaluatorsBits) {
  std::vector<Isa> all = {Isa::Avx2};
  if (make_builder()->vector_bytes() == 64) all.push_back(Isa::Avx512);
  for (Isa isa : all) {
    const int bytes = isa == Isa::Avx512 ? 64 : 32;
    for (const Function& f : functions) {
      if (f.code == Code::none) continue;
      check<double>(f, isa, bytes / 8, true);
      check<float>(f, isa, bytes / 4, f.code == Code::own);
    }
  }
  for (const Function& f : functions) {
    if (f.code == Code::none) continue;
    check<double>(f, Isa::Avx2, 1, true);
    check<float>(f, Isa::Avx2, 1, true);
    check<double>(f, Isa::Avx2, 2, false);  // half a register
  }
}

TEST(Library, OnlyWhatFitsARegisterHasASymbol) {
  EXPECT_EQ(math::library_symbol("apsis_sin", 8, 8, 64), "apsis_sin_f64x8");
  EXPECT_EQ(math::library_symbol("apsis_sin", 8, 8, 32), "");
  EXPECT_EQ(math::library_symbol("apsis_sin", 8, 4, 32), "apsis_sin_f64x4");
  EXPECT_EQ(math::library_symbol("apsis_sin", 4, 1, 32), "apsis_sin_f32");
  EXPECT_EQ(math::library_symbol("apsis_pow", 4, 8, 32), "");
  EXPECT_EQ(math::library_symbol("sin", 8, 4, 32), "");
}

}  // namespace
}  // namespace apsis::detail
