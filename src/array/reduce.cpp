#include "apsis/array/reduce.hpp"

#include <cmath>

#include "apsis/control/associative_scan.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis {
using namespace detail::arrays;

Array average(const Array& x, const AverageOptions& options, Loc loc) {
  const LocScope place(loc);
  const ReduceOptions along{options.axis, options.keepdims};
  if (options.weights.is_empty()) return mean(x, along);
  const Array given[] = {x, options.weights};
  std::vector<Array> v = promoted_inexact(given);
  if (v[1].shape() != v[0].shape()) {
    const Dims axes = checked_axes("average", options.axis, x);
    Shape reduced, spread = Dims::filled(x.shape().size(), 1);
    for (std::int64_t axis : axes) {
      const auto at = static_cast<std::size_t>(axis);
      reduced.push_back(x.shape()[at]);
      spread[at] = x.shape()[at];
    }
    if (options.axis.all || v[1].shape() != reduced)
      fail(messages::array_sizes, {"average", to_string(x.aval()), "weights " + to_string(v[1].aval()),
                                   "weights have the shape of the array, or of the axes named"});
    v[1] = broadcast_to(reshape(v[1], spread), x.shape());
  }
  return sum(v[0] * v[1], along) / sum(v[1], along);
}

Array ptp(const Array& x, const ReduceOptions& options, Loc loc) {
  const LocScope place(loc);
  detail::check_options("ptp", x, options, {}, loc);
  return max(x, options) - min(x, options);
}

Array count_nonzero(const Array& x, const ReduceOptions& options, Loc loc) {
  const LocScope place(loc);
  detail::check_options("count_nonzero", x, options, {}, loc);
  return sum(x != 0, options);
}

namespace {

Array without_nan(const Array& x, const Array& filling) {
  return is_floating(x.dtype()) ? where(isnan(x), filling, x) : x;
}

/// The options with `where` false for NaN.
template <class Options>
Options skipping_nan(const Array& x, Options options) {
  if (is_floating(x.dtype()))
    options.where = options.where.is_empty() ? !isnan(x) : options.where && !isnan(x);
  return options;
}

constexpr detail::TakenOptions of_totals{.where = true, .initial = true, .dtype = true},
    of_means{.where = true, .dtype = true, .floating = true},
    of_extrema{.where = true, .initial = true, .needs_initial = true};

ReduceOptions reduction(const VarianceOptions& options) {
  return {.axis = options.axis, .keepdims = options.keepdims, .where = options.where, .dtype = options.dtype};
}

}  // namespace

Array nansum(const Array& x, const ReduceOptions& options, Loc loc) {
  const LocScope place(loc);
  detail::check_options("nansum", x, options, of_totals, loc);
  return sum(x, skipping_nan(x, options));
}

Array nanprod(const Array& x, const ReduceOptions& options, Loc loc) {
  const LocScope place(loc);
  detail::check_options("nanprod", x, options, of_totals, loc);
  return prod(x, skipping_nan(x, options));
}

Array nanmean(const Array& x, const ReduceOptions& options, Loc loc) {
  const LocScope place(loc);
  detail::check_options("nanmean", x, options, of_means, loc);
  return mean(x, skipping_nan(x, options));
}

Array nanvar(const Array& x, const VarianceOptions& options, Loc loc) {
  const LocScope place(loc);
  detail::check_options("nanvar", x, reduction(options), of_means, loc);
  return var(x, skipping_nan(x, options));
}

Array nanstd(const Array& x, const VarianceOptions& options, Loc loc) {
  const LocScope place(loc);
  detail::check_options("nanstd", x, reduction(options), of_means, loc);
  return std_(x, skipping_nan(x, options));
}

namespace {

/// `beyond` is what no element is beyond. With `initial` there is always an element that is no NaN.
template <class Extremum>
Array extremum_without_nan(const Array& x, const Array& beyond, const ReduceOptions& options,
                           const Extremum& extremum) {
  if (!is_floating(x.dtype())) return extremum(x, options);
  const Array found = extremum(without_nan(x, beyond), options);
  if (!options.initial.is_empty()) return found;
  return where(all(isnan(x), options), NAN, found);
}

}  // namespace

Array nanmax(const Array& x, const ReduceOptions& options, Loc loc) {
  const LocScope place(loc);
  detail::check_options("nanmax", x, options, of_extrema, loc);
  return extremum_without_nan(x, least(x.dtype()), options,
                              [](const Array& a, const ReduceOptions& o) { return max(a, o); });
}

Array nanmin(const Array& x, const ReduceOptions& options, Loc loc) {
  const LocScope place(loc);
  detail::check_options("nanmin", x, options, of_extrema, loc);
  return extremum_without_nan(x, greatest(x.dtype()), options,
                              [](const Array& a, const ReduceOptions& o) { return min(a, o); });
}

Array nanargmax(const Array& x, const ReduceOptions& options, Loc loc) {
  const LocScope place(loc);
  detail::check_options("nanargmax", x, options, {}, loc);
  if (!is_floating(x.dtype())) return argmax(x, options);
  return where(all(isnan(x), options), -1, argmax(without_nan(x, least(x.dtype())), options));
}

Array nanargmin(const Array& x, const ReduceOptions& options, Loc loc) {
  const LocScope place(loc);
  detail::check_options("nanargmin", x, options, {}, loc);
  if (!is_floating(x.dtype())) return argmin(x, options);
  return where(all(isnan(x), options), -1, argmin(without_nan(x, greatest(x.dtype())), options));
}

Array nancumsum(const Array& x, const CumulativeOptions& options, Loc loc) {
  const LocScope place(loc);
  return cumsum(without_nan(x, 0), options);
}

Array nancumprod(const Array& x, const CumulativeOptions& options, Loc loc) {
  const LocScope place(loc);
  return cumprod(without_nan(x, 1), options);
}

namespace {

Array with_initial(const Array& running, int axis, double initial, bool wanted) {
  if (!wanted) return running;
  const Shape one = with_size_at(running.shape(), axis, 1);
  return concatenate({full(one, initial, running.dtype()), running}, axis);
}

}  // namespace

Array cumulative_sum(const Array& x, const RunningOptions& options, Loc loc) {
  const LocScope place(loc);
  const int axis = checked_axis("cumulative_sum", options.axis, x);
  return with_initial(cumsum(x, {.axis = axis}), axis, 0, options.include_initial);
}

Array cumulative_prod(const Array& x, const RunningOptions& options, Loc loc) {
  const LocScope place(loc);
  const int axis = checked_axis("cumulative_prod", options.axis, x);
  return with_initial(cumprod(x, {.axis = axis}), axis, 1, options.include_initial);
}

Array cumlogsumexp(const Array& x, const CumulativeOptions& options, Loc loc) {
  const LocScope place(loc);
  const Array values = inexact(options.axis.all ? ravel(x) : x);
  if (!options.axis.all && options.axis.list.size() != 1)
    fail(messages::array_sizes, {"cumlogsumexp", to_string(x.aval()), "axes " + to_string(options.axis.list),
                                 "give one axis, or none for all elements"});
  const int axis = checked_axis("cumlogsumexp", options.axis.all ? 0 : options.axis.list[0], values);
  return associative_scan([](const Array& a, const Array& b) { return logaddexp(a, b); }, values,
                          {.reverse = options.reverse, .axis = axis});
}

}  // namespace apsis
