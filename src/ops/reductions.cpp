// The public reductions: axes checked, dtypes widened, then one op or a few.

#include "apsis/ops/reduce.hpp"

#include <algorithm>

#include "ops/operands.hpp"
#include "ops/reduce_params.hpp"

namespace apsis {

using namespace detail;

namespace {

Array apply(const Op& op, const Array& x) { return bind1(op, {}, {x}); }

Dims reduced_axes(const char* name, const Array& x, const Axes& axes, Loc loc) {
  return axes.all ? Dims::counting(x.shape().size()) : checked_axes(name, axes.list, x.shape(), loc);
}

std::int64_t count_along(const Array& x, const Dims& axes) {
  std::int64_t count = 1;
  for (std::int64_t axis : axes) count *= x.shape()[static_cast<std::size_t>(axis)];
  return count;
}

// Puts the axes that were reduced back, with size 1.
Array keep_axes(const Array& reduced, const Shape& shape, const Dims& axes, bool keep) {
  if (!keep) return reduced;
  Shape kept = shape;
  for (std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = 1;
  return lax::reshape(reduced, kept);
}

Array reduce(const Op& op, const Array& x, Dims axes, bool keepdims, Loc loc) {
  std::sort(axes.begin(), axes.end());
  Array reduced = axes.empty() ? x : bind1(op, make_params(ReduceParams{axes}), {x}, loc);
  return keep_axes(reduced, x.shape(), axes, keepdims);
}

// Integers are added up in 64 bits.
Array widened(const char* name, const Array& x, Loc loc) {
  check_dtype(name, real_dtypes, x.aval(), loc);
  const Dtype dtype = is_floating(x.dtype())           ? x.dtype()
                      : is_unsigned_integer(x.dtype()) ? Dtype::U64
                                                       : Dtype::I64;
  return as_dtype(x, {dtype, false});
}

Array extremum(const Op& op, const char* name, const Array& x, const ReduceOptions& options, Loc loc) {
  check_dtype(name, real_dtypes, x.aval(), loc);
  const Dims axes = reduced_axes(name, x, options.axis, loc);
  if (count_along(x, axes) == 0)
    fail(messages::empty_reduction, {name, to_string(x.aval()), to_string(axes)}, loc);
  return reduce(op, x, axes, options.keepdims, loc);
}

// One axis, or all elements in a line.
Array one_axis(const char* name, const Array& x, const Axes& axes, std::int64_t& axis, Loc loc) {
  axis = 0;
  if (axes.all) return lax::reshape(x, {x.size()});
  if (axes.list.size() != 1) fail(messages::needs_one_axis, {name, to_string(axes.list)}, loc);
  axis = checked_axis(name, axes.list[0], x.shape(), loc);
  return x;
}

Array arg_extremum(const Op& op, const Array& x, const ReduceOptions& options, Loc loc) {
  check_dtype(op.name, real_dtypes, x.aval(), loc);
  std::int64_t axis;
  const Array line = one_axis(op.name, x, options.axis, axis, loc);
  if (line.shape()[static_cast<std::size_t>(axis)] == 0)
    fail(messages::empty_reduction, {op.name, to_string(x.aval()), to_string(Dims{axis})}, loc);
  const Array place = bind1(op, make_params(ArgReduceParams{axis}), {line}, loc);
  return keep_axes(place, x.shape(), options.axis.all ? Dims::counting(x.shape().size()) : Dims{axis},
                   options.keepdims);
}

Array cumulative(const Op& op, const Array& x, const CumulativeOptions& options, Loc loc) {
  check_dtype(op.name, real_dtypes, x.aval(), loc);
  std::int64_t axis;
  const Array line = one_axis(op.name, x.dtype() == Dtype::Bool ? as_dtype(x, {Dtype::I64, false}) : x,
                              options.axis, axis, loc);
  return bind1(op, make_params(CumulativeParams{axis, options.reverse}), {line}, loc);
}

// exp of infinities: they are left to the sum itself.
Array finite_or_zero(const Array& x) { return lax::select(apply(is_finite_op, x), x, constant_like(x, 0)); }

// Averages of halves are computed in f32: their sum may be out of range.
Array averaged(const char* name, const Array& x, Dtype& result, Loc loc) {
  result = floating(name, x, loc).dtype();
  const bool half = result == Dtype::F16 || result == Dtype::BF16;
  return as_dtype(x, {half ? Dtype::F32 : result, false});
}

}  // namespace

Array sum(const Array& x, const ReduceOptions& options, Loc loc) {
  const Array wide = widened("sum", x, loc);
  return reduce(reduce_sum_op, wide, reduced_axes("sum", x, options.axis, loc), options.keepdims, loc);
}

Array prod(const Array& x, const ReduceOptions& options, Loc loc) {
  const Array wide = widened("prod", x, loc);
  return reduce(reduce_prod_op, wide, reduced_axes("prod", x, options.axis, loc), options.keepdims, loc);
}

Array mean(const Array& x, const ReduceOptions& options, Loc loc) {
  Dtype dtype;
  const Array value = averaged("mean", x, dtype, loc);
  const Dims axes = reduced_axes("mean", x, options.axis, loc);
  const Array total = reduce(reduce_sum_op, value, axes, options.keepdims, loc);
  const Array result = lax::div(total, constant_like(total, static_cast<double>(count_along(x, axes))));
  return as_dtype(result, {dtype, false});
}

Array var(const Array& x, const VarianceOptions& options, Loc loc) {
  Dtype dtype;
  const Array value = averaged("var", x, dtype, loc);
  const Dims axes = reduced_axes("var", x, options.axis, loc);
  const Array center = mean(value, {.axis = axes, .keepdims = true}, loc);
  const Array deviation = lax::sub(value, broadcast_operand(center, value.shape()));
  const Array total = reduce(reduce_sum_op, lax::mul(deviation, deviation), axes, options.keepdims, loc);
  const double count = static_cast<double>(count_along(x, axes)) - options.ddof;
  return as_dtype(lax::div(total, constant_like(total, count)), {dtype, false});
}

Array std_(const Array& x, const VarianceOptions& options, Loc loc) {
  return bind_floating(sqrt_op, var(x, options, loc), loc);
}

Array max(const Array& x, const ReduceOptions& options, Loc loc) {
  return extremum(reduce_max_op, "max", x, options, loc);
}
Array min(const Array& x, const ReduceOptions& options, Loc loc) {
  return extremum(reduce_min_op, "min", x, options, loc);
}

Array all(const Array& x, const ReduceOptions& options, Loc loc) {
  return reduce(reduce_and_op, truth(x), reduced_axes("all", x, options.axis, loc), options.keepdims, loc);
}

Array any(const Array& x, const ReduceOptions& options, Loc loc) {
  return reduce(reduce_or_op, truth(x), reduced_axes("any", x, options.axis, loc), options.keepdims, loc);
}

Array argmax(const Array& x, const ReduceOptions& options, Loc loc) {
  return arg_extremum(argmax_op, x, options, loc);
}
Array argmin(const Array& x, const ReduceOptions& options, Loc loc) {
  return arg_extremum(argmin_op, x, options, loc);
}

Array norm(const Array& x, const ReduceOptions& options, Loc loc) {
  const Array value = floating("norm", x, loc);
  const Array total = reduce(reduce_sum_op, lax::mul(value, value),
                             reduced_axes("norm", x, options.axis, loc), options.keepdims, loc);
  return bind_floating(sqrt_op, total, loc);
}

Array logsumexp(const Array& x, const ReduceOptions& options, Loc loc) {
  const Array value = floating("logsumexp", x, loc);
  const Dims axes = reduced_axes("logsumexp", x, options.axis, loc);
  // The shift cancels: its derivative is left out.
  const Array largest =
      bind1(stop_gradient_op, {}, {finite_or_zero(max(value, {.axis = axes, .keepdims = true}, loc))});
  const Array scaled = apply(exp_op, lax::sub(value, broadcast_operand(largest, value.shape())));
  const Array total = reduce(reduce_sum_op, scaled, axes, options.keepdims, loc);
  return lax::add(apply(log_op, total), lax::reshape(largest, total.shape()));
}

Array cumsum(const Array& x, const CumulativeOptions& options, Loc loc) {
  return cumulative(cumsum_op, x, options, loc);
}
Array cumprod(const Array& x, const CumulativeOptions& options, Loc loc) {
  return cumulative(cumprod_op, x, options, loc);
}
Array cummax(const Array& x, const CumulativeOptions& options, Loc loc) {
  return cumulative(cummax_op, x, options, loc);
}
Array cummin(const Array& x, const CumulativeOptions& options, Loc loc) {
  return cumulative(cummin_op, x, options, loc);
}

}  // namespace apsis
