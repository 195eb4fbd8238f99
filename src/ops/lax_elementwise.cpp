// The elementwise ops and reductions as plain functions.

#include <algorithm>

#include "ops/complex.hpp"
#include "ops/convert_params.hpp"
#include "ops/lax.hpp"
#include "ops/reduce_params.hpp"
#include "ops/table.hpp"

namespace apsis::detail::lax {
namespace {

Array reduce(const Op& op, const Array& a, Dims axes) {
  if (axes.empty()) return a;
  std::sort(axes.begin(), axes.end());
  return bind1(op, make_params(ReduceParams{axes}), {a});
}

}  // namespace

Array add(const Array& a, const Array& b) { return bind1(add_op, {}, {a, b}); }
Array sub(const Array& a, const Array& b) { return bind1(sub_op, {}, {a, b}); }
Array mul(const Array& a, const Array& b) { return bind1(mul_op, {}, {a, b}); }
Array div(const Array& a, const Array& b) { return bind1(div_op, {}, {a, b}); }
Array neg(const Array& a) { return bind1(neg_op, {}, {a}); }
Array fma(const Array& a, const Array& b, const Array& c) { return bind1(fma_op, {}, {a, b, c}); }
Array select(const Array& condition, const Array& if_true, const Array& if_false) {
  return bind1(select_op, {}, {condition, if_true, if_false});
}
Array convert(const Array& a, Dtype dtype, bool weak) {
  if (a.dtype() == dtype && a.weak() == weak) return a;
  if (is_complex(dtype) && !is_complex(a.dtype())) {
    const Array part = convert(a, part_dtype(dtype), weak);
    return joined({part, full_like(part.aval(), 0)});
  }
  return bind1(convert_op, make_params(ConvertParams{dtype, weak}), {a});
}
Array eq(const Array& a, const Array& b) { return bind1(eq_op, {}, {a, b}); }
Array ne(const Array& a, const Array& b) { return bind1(ne_op, {}, {a, b}); }
Array lt(const Array& a, const Array& b) { return bind1(lt_op, {}, {a, b}); }
Array le(const Array& a, const Array& b) { return bind1(le_op, {}, {a, b}); }
Array gt(const Array& a, const Array& b) { return bind1(gt_op, {}, {a, b}); }
Array ge(const Array& a, const Array& b) { return bind1(ge_op, {}, {a, b}); }
Array logical_and(const Array& a, const Array& b) { return bind1(bit_and_op, {}, {a, b}); }
Array logical_or(const Array& a, const Array& b) { return bind1(bit_or_op, {}, {a, b}); }
Array logical_not(const Array& a) { return bind1(bit_not_op, {}, {a}); }
Array stop_gradient(const Array& a) { return bind1(stop_gradient_op, {}, {a}); }

Array reduce_sum(const Array& a, const Dims& axes) { return reduce(reduce_sum_op, a, axes); }
Array reduce_max(const Array& a, const Dims& axes) { return reduce(reduce_max_op, a, axes); }
Array reduce_min(const Array& a, const Dims& axes) { return reduce(reduce_min_op, a, axes); }
Array reduce_and(const Array& a, const Dims& axes) { return reduce(reduce_and_op, a, axes); }
Array reduce_or(const Array& a, const Dims& axes) { return reduce(reduce_or_op, a, axes); }

}  // namespace apsis::detail::lax
