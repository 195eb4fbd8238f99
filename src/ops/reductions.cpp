// The public reductions: axes checked, dtypes widened, then one op or a few.

#include "apsis/ops/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/complex.hpp"
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

// The shape of a reduced array.
Shape shape_without(const Shape& shape, const Dims& axes, bool keep) {
  Shape out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool gone = axes.contains(static_cast<std::int64_t>(i));
    if (!gone || keep) out.push_back(gone ? 1 : shape[i]);
  }
  return out;
}

// Puts the axes that were reduced back, with size 1.
Array keep_axes(const Array& reduced, const Shape& shape, const Dims& axes, bool keep) {
  return keep ? lax::reshape(reduced, shape_without(shape, axes, true)) : reduced;
}

Array reduce(const Op& op, const Array& x, Dims axes, bool keepdims, Loc loc) {
  std::sort(axes.begin(), axes.end());
  Array reduced = axes.empty() ? x : bind1(op, make_params(ReduceParams{axes}), {x}, loc);
  return keep_axes(reduced, x.shape(), axes, keepdims);
}

// What all reductions do with their options.
struct Reduction {
  const char* name;
  const Op& op;
  Array (*combine)(const Array&, const Array&);
  double nothing;           // what leaves the result as it is
  bool has_nothing = true;  // otherwise it has no value over an empty axis
};

Array largest_of(const Array& a, const Array& b) { return bind1(maximum_op, {}, {a, b}); }
Array least_of(const Array& a, const Array& b) { return bind1(minimum_op, {}, {a, b}); }

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr Reduction sums{"sum", reduce_sum_op, lax::add, 0}, products{"prod", reduce_prod_op, lax::mul, 1},
    maxima{"max", reduce_max_op, largest_of, -infinity, false},
    minima{"min", reduce_min_op, least_of, infinity, false},
    everything{"all", reduce_and_op, lax::logical_and, 1}, anything{"any", reduce_or_op, lax::logical_or, 0};

Reduction named(const char* name, Reduction r) {
  r.name = name;
  return r;
}

// x where it counts, what changes nothing elsewhere.
Array counting(const Array& x, const Array& where, const Array& nothing) {
  if (where.is_empty()) return x;
  return lax::select(broadcast_operand(where, x.shape()), x, broadcast_operand(nothing, x.shape()));
}

// x is of the dtype to compute in; the options have been checked.
Array reduced(const Reduction& r, const Array& x, const ReduceOptions& options, Loc loc) {
  const Dims axes = reduced_axes(r.name, x, options.axis, loc);
  Array initial;
  if (!options.initial.is_empty()) initial = as_dtype(options.initial, {x.dtype(), false});
  // No number is beyond all integers. They have no derivatives, so the initial value may be there twice.
  const auto nothing = [&] {
    const bool known = r.has_nothing || is_inexact(x.dtype());
    return known ? literal(x.dtype(), r.nothing) : initial;
  };
  if (!r.has_nothing && count_along(x, axes) == 0) {
    if (initial.is_empty())
      fail(messages::empty_reduction, {r.name, to_string(x.aval()), to_string(axes)}, loc);
    return broadcast_operand(initial, shape_without(x.shape(), axes, options.keepdims));
  }
  const Array counted = options.where.is_empty() ? x : counting(x, options.where, nothing());
  const Array result = reduce(r.op, counted, axes, options.keepdims, loc);
  return initial.is_empty() ? result : r.combine(broadcast_operand(initial, result.shape()), result);
}

// Integers are added up in 64 bits.
Array widened(const Reduction& r, const Array& x, std::optional<Dtype> wanted, Loc loc) {
  check_operand(r.op, real_dtypes, x, loc);
  const Dtype dtype = wanted                           ? *wanted
                      : is_inexact(x.dtype())          ? x.dtype()
                      : is_unsigned_integer(x.dtype()) ? Dtype::U64
                                                       : Dtype::I64;
  return as_dtype(x, {dtype, false});
}

Array total(const Reduction& numbers, const Reduction& booleans, const Array& x, const ReduceOptions& options,
            Loc loc) {
  check_options(numbers.name, x, options, {.where = true, .initial = true, .dtype = true}, loc);
  const Array value = widened(numbers, x, options.dtype, loc);
  return reduced(named(numbers.name, value.dtype() == Dtype::Bool ? booleans : numbers), value, options, loc);
}

Array extremum(const Reduction& r, const Array& x, const ReduceOptions& options, Loc loc) {
  check_dtype(r.name, real_dtypes, x.aval(), loc);
  check_options(r.name, x, options, {.where = true, .initial = true, .needs_initial = true}, loc);
  return reduced(r, x, options, loc);
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
  check_options(op.name, x, options, {}, loc);
  std::int64_t axis;
  const Array line = one_axis(op.name, x, options.axis, axis, loc);
  if (line.shape()[static_cast<std::size_t>(axis)] == 0)
    fail(messages::empty_reduction, {op.name, to_string(x.aval()), to_string(Dims{axis})}, loc);
  const Array place = bind1(op, make_params(ArgReduceParams{axis}), {line}, loc);
  return keep_axes(place, x.shape(), options.axis.all ? Dims::counting(x.shape().size()) : Dims{axis},
                   options.keepdims);
}

Array cumulative(const Op& op, const Array& x, const CumulativeOptions& options, Loc loc) {
  check_operand(op, real_dtypes, x, loc);
  std::int64_t axis;
  const Array line = one_axis(op.name, x.dtype() == Dtype::Bool ? as_dtype(x, {Dtype::I64, false}) : x,
                              options.axis, axis, loc);
  return bind1(op, make_params(CumulativeParams{axis, options.reverse}), {line}, loc);
}

// |x|².
Array squared_size(const Array& x) {
  if (!is_complex(x.dtype())) return lax::mul(x, x);
  const Parts z = parts_of(x);
  return lax::add(lax::mul(z.re, z.re), lax::mul(z.im, z.im));
}

// exp of infinities: they are left to the sum itself.
Array finite_or_zero(const Array& x) { return lax::select(apply(is_finite_op, x), x, constant_like(x, 0)); }

// Averages of halves are computed in f32: their sum may be out of range.
Array averaged(const char* name, const Array& x, std::optional<Dtype> wanted, Dtype& result, Loc loc) {
  result = is_complex(x.dtype()) ? x.dtype() : floating(name, x, loc).dtype();
  if (wanted) result = *wanted;
  const bool half = result == Dtype::F16 || result == Dtype::BF16;
  return as_dtype(x, {half ? Dtype::F32 : result, false});
}

// Sums over what counts, each divided by how many elements those are, less `ddof`. What has no value because
// of `ddof` is NaN and has no derivative.
Array divided(const Array& total, const Array& x, const Dims& axes, const ReduceOptions& options, double ddof,
              Loc loc) {
  if (is_complex(total.dtype())) {
    const Parts sums = parts_of(total);
    return joined(
        {divided(sums.re, x, axes, options, ddof, loc), divided(sums.im, x, axes, options, ddof, loc)});
  }
  if (options.where.is_empty()) {
    const double divisor = static_cast<double>(count_along(x, axes)) - ddof;
    return ddof == 0 || divisor > 0 ? lax::div(total, constant_like(total, divisor))
                                    : constant_like(total, NAN);
  }
  const Array counts = as_dtype(broadcast_operand(options.where, x.shape()), {Dtype::I64, false});
  const Array count =
      as_dtype(reduce(reduce_sum_op, counts, axes, options.keepdims, loc), {total.dtype(), false});
  if (ddof == 0) return lax::div(total, count);
  const Array divisor = lax::sub(count, constant_like(count, ddof));
  const Array positive = lax::gt(divisor, constant_like(count, 0));
  return lax::div(lax::select(positive, total, constant_like(total, NAN)),
                  lax::select(positive, divisor, constant_like(count, 1)));
}

Array average(const char* name, const Array& x, const ReduceOptions& options, Loc loc) {
  const Array total = reduced(named(name, sums), x, options, loc);
  return divided(total, x, reduced_axes(name, x, options.axis, loc), options, 0, loc);
}

Array variance(const char* name, const Array& x, const VarianceOptions& given, Loc loc) {
  ReduceOptions options{.axis = given.axis, .keepdims = true, .where = given.where, .dtype = given.dtype};
  check_options(name, x, options, {.where = true, .dtype = true, .floating = true}, loc);
  Dtype dtype;
  const Array value = averaged(name, x, given.dtype, dtype, loc);
  const Array center = average(name, value, options, loc);
  // Left out before it is squared: neither an infinity nor a NaN that does not count has a derivative.
  const Array deviation = counting(lax::sub(value, broadcast_operand(center, value.shape())), given.where,
                                   literal(value.dtype(), 0));
  options.keepdims = given.keepdims;
  const Dims axes = reduced_axes(name, x, given.axis, loc);
  const Array total = reduce(reduce_sum_op, squared_size(deviation), axes, given.keepdims, loc);
  return as_dtype(divided(total, value, axes, options, given.ddof, loc), {part_dtype(dtype), false});
}

}  // namespace

void detail::check_options(const char* name, const Array& x, const ReduceOptions& options, TakenOptions taken,
                           Loc loc) {
  const Array &where = options.where, &initial = options.initial;
  const auto refuse = [&](bool given, bool takes, const char* option, const char* instead) {
    if (given && !takes) fail(messages::reduction_option, {name, option, instead}, loc);
  };
  refuse(!where.is_empty(), taken.where, "where",
         "choose what counts before, with where(condition, x, value)");
  refuse(!initial.is_empty(), taken.initial, "initial", "combine the result with it");
  refuse(options.dtype.has_value(), taken.dtype, "dtype", "convert the array, or the result, with astype");
  if (!where.is_empty()) {
    const Shape &small = where.shape(), &whole = x.shape();
    bool fits = where.dtype() == Dtype::Bool && small.size() <= whole.size();
    for (std::size_t i = 0; fits && i < small.size(); ++i)
      fits = small[i] == 1 || small[i] == whole[whole.size() - small.size() + i];
    if (!fits) fail(messages::reduction_where, {name, to_string(x.aval()), to_string(where.aval())}, loc);
    if (taken.needs_initial && initial.is_empty()) fail(messages::reduction_where_nothing, {name}, loc);
  }
  if (options.dtype) {
    const Dtype dtype = *options.dtype;
    if (is_complex(dtype) != is_complex(x.dtype()) || (taken.floating && !is_inexact(dtype)))
      fail(messages::reduction_dtype,
           {name, taken.floating ? "floating numbers" : "real numbers", to_string(dtype)}, loc);
  }
  if (!initial.is_empty()) {
    const Dtype dtype = options.dtype.value_or(x.dtype());
    if (!initial.shape().empty() || (is_complex(initial.dtype()) && !is_complex(dtype)) ||
        (is_floating(initial.dtype()) && !is_inexact(dtype)))
      fail(messages::reduction_initial, {name, to_string(dtype), to_string(initial.aval())}, loc);
  }
}

Array sum(const Array& x, const ReduceOptions& options, Loc loc) {
  return total(sums, anything, x, options, loc);
}

Array prod(const Array& x, const ReduceOptions& options, Loc loc) {
  return total(products, everything, x, options, loc);
}

Array mean(const Array& x, const ReduceOptions& options, Loc loc) {
  check_options("mean", x, options, {.where = true, .dtype = true, .floating = true}, loc);
  Dtype dtype;
  const Array value = averaged("mean", x, options.dtype, dtype, loc);
  return as_dtype(average("mean", value, options, loc), {dtype, false});
}

Array var(const Array& x, const VarianceOptions& options, Loc loc) {
  return variance("var", x, options, loc);
}

Array std_(const Array& x, const VarianceOptions& options, Loc loc) {
  return bind_floating(sqrt_op, variance("std_", x, options, loc), loc);
}

Array max(const Array& x, const ReduceOptions& options, Loc loc) { return extremum(maxima, x, options, loc); }
Array min(const Array& x, const ReduceOptions& options, Loc loc) { return extremum(minima, x, options, loc); }

Array all(const Array& x, const ReduceOptions& options, Loc loc) {
  check_options("all", x, options, {.where = true}, loc);
  return reduced(everything, truth(x), options, loc);
}

Array any(const Array& x, const ReduceOptions& options, Loc loc) {
  check_options("any", x, options, {.where = true}, loc);
  return reduced(anything, truth(x), options, loc);
}

Array argmax(const Array& x, const ReduceOptions& options, Loc loc) {
  return arg_extremum(argmax_op, x, options, loc);
}
Array argmin(const Array& x, const ReduceOptions& options, Loc loc) {
  return arg_extremum(argmin_op, x, options, loc);
}

Array norm(const Array& x, const ReduceOptions& options, Loc loc) {
  check_options("norm", x, options, {}, loc);
  const Array value = is_complex(x.dtype(loc)) ? x : floating("norm", x, loc);
  const Array total = reduce(reduce_sum_op, squared_size(value), reduced_axes("norm", x, options.axis, loc),
                             options.keepdims, loc);
  return bind_floating(sqrt_op, total, loc);
}

Array logsumexp(const Array& x, const ReduceOptions& options, Loc loc) {
  check_options("logsumexp", x, options, {.where = true}, loc);
  const Array given = floating("logsumexp", x, loc);
  const Array value = counting(given, options.where, literal(given.dtype(), -infinity));
  const Dims axes = reduced_axes("logsumexp", x, options.axis, loc);
  // Of nothing there is no largest one.
  if (value.size() == 0)
    return apply(log_op, reduce(reduce_sum_op, apply(exp_op, value), axes, options.keepdims, loc));
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
