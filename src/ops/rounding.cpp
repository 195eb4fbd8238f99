// Rounding to integers. Slopes are zero.

#include "apsis/ops/math.hpp"
#include "ops/elementwise.hpp"
#include "ops/operands.hpp"

namespace apsis::detail {
namespace {

struct Floor : Unary {
  static constexpr const char* name = "floor";
  static constexpr DtypeSet dtypes = float_dtypes;
  static auto compute(const auto& m, auto x) { return m.floor(x); }
};
struct Ceil : Unary {
  static constexpr const char* name = "ceil";
  static constexpr DtypeSet dtypes = float_dtypes;
  static auto compute(const auto& m, auto x) { return m.ceil(x); }
};
struct Trunc : Unary {
  static constexpr const char* name = "trunc";
  static constexpr DtypeSet dtypes = float_dtypes;
  static auto compute(const auto& m, auto x) { return m.trunc(x); }
};
// Ties to even, as NumPy.
struct Round : Unary {
  static constexpr const char* name = "round";
  static constexpr DtypeSet dtypes = float_dtypes;
  static auto compute(const auto& m, auto x) { return m.rint(x); }
};

}  // namespace

constinit const Op floor_op = elementwise_op<Floor, floor_op>(zero_jvp<floor_op>);
constinit const Op ceil_op = elementwise_op<Ceil, ceil_op>(zero_jvp<ceil_op>);
constinit const Op trunc_op = elementwise_op<Trunc, trunc_op>(zero_jvp<trunc_op>);
constinit const Op round_op = elementwise_op<Round, round_op>(zero_jvp<round_op>);

}  // namespace apsis::detail

namespace apsis {

using namespace detail;

namespace {

Array rounded(const Op& op, const Array& x, Loc loc) {
  return is_integer(x.dtype()) || x.dtype() == Dtype::Bool ? x : bind_floating(op, x, loc);
}

}  // namespace

Array floor(const Array& x, Loc loc) { return rounded(floor_op, x, loc); }
Array ceil(const Array& x, Loc loc) { return rounded(ceil_op, x, loc); }
Array round(const Array& x, Loc loc) { return rounded(round_op, x, loc); }
Array trunc(const Array& x, Loc loc) { return rounded(trunc_op, x, loc); }

}  // namespace apsis
