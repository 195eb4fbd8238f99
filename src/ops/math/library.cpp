// Functions of one element, and of registers of the processors that all of the library is built for.

#include "ops/math/library.hpp"

#include <algorithm>

#include "ops/math/pack_functions.hpp"

namespace apsis::detail::math {
namespace {

template <class T>
using One = Real<ScalarModel<T>>;

enum class Code { none, own, wide };
struct Known {
  std::string_view name;
  Code code;
};
constexpr Known known[] = {
#define APSIS_KNOWN(name, arity, f32, f64, code) {"apsis_" #name, Code::code},
    APSIS_MATH_FUNCTIONS(APSIS_KNOWN)
#undef APSIS_KNOWN
};

}  // namespace

std::string library_symbol(std::string_view name, int element_bytes, int lanes, int register_bytes) {
  const auto* function = std::ranges::find(known, name, &Known::name);
  if (function == std::end(known) || function->code == Code::none) return {};
  const int bytes = lanes * element_bytes;
  const bool packed = (bytes == 32 || bytes == 64) && bytes <= register_bytes;
  if (lanes != 1 && (!packed || (element_bytes == 4 && function->code == Code::wide))) return {};
  std::string symbol(name);
  symbol += element_bytes == 4 ? "_f32" : "_f64";
  if (lanes > 1) (symbol += 'x') += std::to_string(lanes);
  return symbol;
}

}  // namespace apsis::detail::math

using namespace apsis::detail::math;

extern "C" {

#define APSIS_FUNCTION_1(name, T, suffix) \
  [[gnu::flatten]] T apsis_##name##_##suffix(T x) { return name(One<T>{{}, x}).v; }
#define APSIS_FUNCTION_2(name, T, suffix) \
  [[gnu::flatten]] T apsis_##name##_##suffix(T x, T y) { return name(One<T>{{}, x}, One<T>{{}, y}).v; }
#define APSIS_ONE_none(name, arity)
#define APSIS_ONE_own(name, arity) \
  APSIS_FUNCTION_##arity(name, float, f32) APSIS_FUNCTION_##arity(name, double, f64)
#define APSIS_ONE_wide(name, arity) APSIS_ONE_own(name, arity)
#define APSIS_FUNCTIONS(name, arity, f32, f64, code) \
  APSIS_ONE_##code(name, arity) APSIS_PACK_FUNCTIONS(name, arity, code, 32, f32x8, f64x4)

APSIS_MATH_FUNCTIONS(APSIS_FUNCTIONS)
}
