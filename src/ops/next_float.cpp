// The neighbours of a floating-point number.

#include "apsis/ops/next_float.hpp"

#include "ops/elementwise.hpp"
#include "ops/operands.hpp"

namespace apsis::detail {
extern const Op nextafter_op;
namespace {

struct NextAfter : Unary {
  static constexpr const char* name = "nextafter";
  static constexpr DtypeSet dtypes = dtypes_between(Dtype::F32, Dtype::F64);
  static constexpr bool elementary = true;
  template <class M>
  static auto compute(const M& m, auto x) {
    using Limits = std::numeric_limits<typename M::Scalar>;
    const auto zero = m.constant(0);
    // Bits of one sign are ordered like the numbers, away from zero.
    const auto away = m.select(m.lt(x, zero), m.integer(-1), m.integer(1));
    const auto next = m.from_bits(m.add(m.to_bits(x), away));
    const auto above = m.select(m.eq(x, zero), m.constant(Limits::min()), next);
    return m.select(m.lt(x, m.constant(Limits::infinity())), above, x);  // a NaN is not less
  }
};

void nextafter_jvp(const JvpRule& r) {
  bind(nextafter_op, r.params, r.primals, r.outs);
  r.out_tangents[0] = r.tangents[0];
}

}  // namespace

constinit const Op nextafter_op = elementwise_op<NextAfter, nextafter_op>(nextafter_jvp);

}  // namespace apsis::detail

namespace apsis {

using namespace detail;

Array nextafter(const Array& x, Loc loc) { return bind_floating(nextafter_op, x, loc); }
Array prevbefore(const Array& x, Loc loc) {
  const Array value = floating("prevbefore", x, loc);
  return lax::neg(bind1(nextafter_op, {}, {lax::neg(value)}, loc));
}

}  // namespace apsis
