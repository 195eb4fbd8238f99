#include "apsis/array/quantile.hpp"

#include <cmath>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/ops/sort.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis {
using namespace detail::arrays;
namespace {

/// Between the two neighbours of a position among sorted elements, along the last axis.
Array between(const Array& sorted, const Array& position, QuantileMethod method) {
  const Array below = floor(position), above = ceil(position), weight = position - below;
  auto element = [&](const Array& at) { return take_along_axis(sorted, astype(at, i64), -1); };
  switch (method) {
    case QuantileMethod::Lower:
      return element(below);
    case QuantileMethod::Higher:
      return element(above);
    case QuantileMethod::Midpoint:
      return (element(below) + element(above)) * 0.5;
    case QuantileMethod::Nearest:
      return element(round(position));
    case QuantileMethod::Linear:
      break;
  }
  const Array low = element(below), high = element(above);
  // Infinite neighbours that do not count must not meet a weight of 0.
  return where(weight == 0, low, low * (1 - weight) + high * weight);
}

Array quantile_of(const char* where, const Array& x, const Array& q, const QuantileOptions& options,
                  bool skip_nan) {
  check_rank(where, q.ndim() <= 1, "at most one axis as q", q);
  const Array v = inexact(x);
  check_dtype(where, is_floating(v.dtype()), "real numbers", x);
  const Dtype dtype = v.dtype();
  const Dims axes = checked_axes(where, options.axis, x);
  const Array lines = joined_last(v, axes);
  const std::int64_t n = lines.dim(-1);
  if (n == 0) fail(messages::array_few, {where, "1 entry", "the reduced axes", to_string(x.aval())});
  const Array sorted = sort(lines);  // NaN comes last
  const Array wanted = astype(ravel(q), dtype);
  // [.., q]: where each quantile is among the sorted elements of its line.
  Shape positions_shape = lines.shape();
  positions_shape[static_cast<std::size_t>(lines.ndim() - 1)] = wanted.size();
  const Array nans = sum(isnan(stop_gradient(lines)), {.axis = -1, .keepdims = true});
  const Array last = astype(skip_nan ? maximum(n - 1 - nans, 0) : full_like(nans, n - 1), dtype);
  const Array positions = broadcast_to(clip(stop_gradient(wanted), 0, 1) * last, positions_shape);
  const Array outside = !(wanted >= 0 && wanted <= 1);
  const Array invalid = outside || (skip_nan ? nans == n : nans > 0);
  const Array value = apsis::where(invalid, NAN, between(sorted, positions, options.method));
  const Array first = moveaxis(value, -1, 0);
  Shape shape = options.keepdims ? with_ones(x.shape(), axes)
                                 : Shape(std::span(first.shape().begin() + 1, first.shape().end()));
  if (q.ndim() == 1) shape.insert(0, q.size());
  return reshape(first, shape);
}

}  // namespace

Array quantile(const Array& x, const Array& q, const QuantileOptions& options, Loc loc) {
  const LocScope place(loc);
  return quantile_of("quantile", x, q, options, false);
}

Array percentile(const Array& x, const Array& q, const QuantileOptions& options, Loc loc) {
  const LocScope place(loc);
  return quantile_of("percentile", x, q / 100., options, false);
}

Array median(const Array& x, const ReduceOptions& options, Loc loc) {
  const LocScope place(loc);
  detail::check_options("median", x, options, {}, loc);
  return quantile_of("median", x, 0.5, {.axis = options.axis, .keepdims = options.keepdims}, false);
}

Array nanquantile(const Array& x, const Array& q, const QuantileOptions& options, Loc loc) {
  const LocScope place(loc);
  return quantile_of("nanquantile", x, q, options, true);
}

Array nanpercentile(const Array& x, const Array& q, const QuantileOptions& options, Loc loc) {
  const LocScope place(loc);
  return quantile_of("nanpercentile", x, q / 100., options, true);
}

Array nanmedian(const Array& x, const ReduceOptions& options, Loc loc) {
  const LocScope place(loc);
  detail::check_options("nanmedian", x, options, {}, loc);
  return quantile_of("nanmedian", x, 0.5, {.axis = options.axis, .keepdims = options.keepdims}, true);
}

}  // namespace apsis
