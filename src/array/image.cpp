// As jax.image: an axis is resampled by a product with a matrix of weights, one column an entry of the
// result.

#include "apsis/array/image.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis::image {
using namespace apsis::detail::arrays;
namespace {

Array lanczos(double radius, const Array& x) {
  constexpr double pi = std::numbers::pi;
  const Array y = radius * sin(pi * x) * sin(pi * x / radius);
  const Array inside = where(x > 1e-3, y / where(x != 0, pi * pi * square(x), 1.), 1.);
  return where(x > radius, 0., inside);
}

/// Keys, "Cubic convolution interpolation", 1981: a = -½.
Array keys_cubic(const Array& x) {
  Array y = ((1.5 * x - 2.5) * x) * x + 1.;
  y = where(x >= 1., ((-0.5 * x + 2.5) * x - 4.) * x + 2., y);
  return where(x >= 2., 0., y);
}

/// The same with a = -¾.
Array pytorch_cubic(const Array& x) {
  constexpr double a = -0.75;
  Array y = ((a + 2.) * x - (a + 3.)) * x * x + 1.;
  y = where(x >= 1., ((a * x - 5. * a) * x + 8. * a) * x - 4. * a, y);
  return where(x >= 2., 0., y);
}

Array kernel(ResizeMethod method, const Array& x) {
  switch (method) {
    case ResizeMethod::Cubic:
      return keys_cubic(x);
    case ResizeMethod::CubicPytorch:
      return pytorch_cubic(x);
    case ResizeMethod::Lanczos3:
      return lanczos(3, x);
    case ResizeMethod::Lanczos5:
      return lanczos(5, x);
    default:
      return maximum(1. - abs(x), 0.);
  }
}

/// One axis of an image: its sizes, and the scalars that say where its entries come from.
struct Axis {
  std::int64_t from, to;
  Array scale, translation;
  ResizeMethod method;
  bool antialias;
};

Array counted(std::int64_t n, Dtype dtype, std::int64_t first = 0) {
  return astype(arange(first, first + n), dtype);
}

/// [from, to]: how much of each entry an entry of the result covers.
Array areas(const Axis& axis, const Array& inverse) {
  const Dtype dtype = inverse.dtype();
  const Array left = counted(axis.to, dtype) * inverse - axis.translation * inverse, right = left + inverse;
  const Array low = expand_dims(counted(axis.from, dtype), 1), high = low + 1.;
  return maximum(minimum(right, high) - maximum(left, low), 0.);
}

/// The weights of entries beyond the edges added to those of the edges.
Array with_edges_repeated(const Array& weights, std::int64_t beyond, std::int64_t n) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = -beyond; i < n + beyond; ++i) rows.push_back(std::clamp<std::int64_t>(i, 0, n - 1));
  return zeros({n, weights.dim(1)}, weights.dtype()).at(numbers(rows)).add(weights);
}

/// [from, to]: what each entry of the result takes of each of the axis.
Array weights_of(const Axis& axis) {
  const Array inverse = 1. / axis.scale;
  const Dtype dtype = inverse.dtype();
  const Array places = (counted(axis.to, dtype) + 0.5) * inverse - axis.translation * inverse - 0.5;
  const bool repeats_edges = axis.method == ResizeMethod::CubicPytorch;
  constexpr std::int64_t radius = 2;  // of the one kernel that repeats them
  Array weights;
  if (axis.method == ResizeMethod::Area) {
    weights = areas(axis, inverse);
  } else {
    const std::int64_t beyond = repeats_edges ? radius : 0;
    const Array entries = expand_dims(counted(axis.from + 2 * beyond, dtype, -beyond), 1);
    Array distances = abs(places - entries);
    if (axis.antialias) distances = distances / maximum(inverse, 1.);
    weights = kernel(axis.method, distances);
    if (repeats_edges) weights = with_edges_repeated(weights, beyond, axis.from);
  }
  const Array total = sum(weights, {.axis = 0, .keepdims = true});
  constexpr double negligible = 1000 * 0x1p-23;
  weights = where(abs(total) > negligible, weights / where(total != 0, total, 1.), 0.);
  if (repeats_edges) return weights;
  return where(places >= -0.5 && places <= static_cast<double>(axis.from) - 0.5, weights, 0.);
}

Array resampled(const Array& x, int along, const Axis& axis) {
  const Array weights = astype(weights_of(axis), x.dtype());
  return moveaxis(tensordot(x, weights, {along}, {0}), -1, along);
}

Array nearest(const Array& x, int axis, std::int64_t to) {
  const auto from = static_cast<float>(x.dim(axis));
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < to; ++i)
    places.push_back(static_cast<std::int64_t>(
        std::floor((static_cast<float>(i) + 0.5f) * from / static_cast<float>(to))));
  const std::int64_t n = x.dim(axis), times = n > 0 ? to / n : 0, step = to > 0 ? n / to : 0;
  const auto are = [&](auto&& place) {
    for (std::int64_t i = 0; i < to; ++i)
      if (places[static_cast<std::size_t>(i)] != place(i)) return false;
    return to > 0;
  };
  // Whole multiples are repeated, and their parts every few: code without places.
  if (times > 0 && times * n == to && are([&](std::int64_t i) { return i / times; }))
    return repeat(x, times, axis);
  if (step > 0 && step * to == n && are([&](std::int64_t i) { return places[0] + i * step; }))
    return part(x, axis, places[0], n, step);
  return take(x, numbers(places), axis);
}

ResizeMethod with_antialias(ResizeMethod method, bool antialias) {
  return method == ResizeMethod::CubicPytorch && antialias ? ResizeMethod::Cubic : method;
}

void check_shape(const char* where, const Array& image, const Shape& shape) {
  if (shape.rank() != image.ndim())
    fail(messages::array_sizes,
         {where, to_string(image.aval()), "shape " + to_string(shape), "give one size an axis"});
  for (int i = 0; i < image.ndim(); ++i) {
    const std::int64_t size = shape[static_cast<std::size_t>(i)];
    check_count(where, size);
    if (image.dim(i) == 0 && size != 0)
      fail(messages::array_few, {where, "1 entry", "axis " + std::to_string(i), to_string(image.aval())});
  }
}

}  // namespace

Array resize(const Array& image, const Shape& shape, ResizeMethod method, const ResizeOptions& options,
             Loc loc) {
  const LocScope place(loc);
  check_shape("resize", image, shape);
  Array x = method == ResizeMethod::Nearest ? image : inexact(image);
  for (int i = 0; i < image.ndim(); ++i) {
    const std::int64_t from = image.dim(i), to = shape[static_cast<std::size_t>(i)];
    if (from == to) continue;
    if (method == ResizeMethod::Nearest) {
      x = nearest(x, i, to);
      continue;
    }
    const double scale = to == 0 ? 1. : static_cast<double>(to) / static_cast<double>(from);
    x = resampled(
        x, i,
        {from, to, array(scale), array(0.), with_antialias(method, options.antialias), options.antialias});
  }
  return x;
}

Array scale_and_translate(const Array& image, const Shape& shape, const Dims& axes, const Array& scale,
                          const Array& translation, ResizeMethod method, const ResizeOptions& options,
                          Loc loc) {
  const LocScope place(loc);
  constexpr const char* where = "scale_and_translate";
  check_shape(where, image, shape);
  if (method == ResizeMethod::Nearest) fail(messages::nearest_scaled, {});
  const Shape one_each{static_cast<std::int64_t>(axes.size())};
  if (scale.shape() != one_each || translation.shape() != one_each)
    fail(messages::array_sizes,
         {where, "scale " + to_string(scale.aval()) + " and translation " + to_string(translation.aval()),
          "axes " + to_string(axes), "give one number of each an axis"});
  Dims left = Dims::counting(image.shape().size());
  Array x = inexact(image);
  const Array both[] = {scale, translation};
  const std::vector<Array> numbers = promoted_inexact(both);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const int along = checked_axis(where, axes[k], image);
    const auto at = static_cast<std::size_t>(along);
    if (left[at] < 0) fail(messages::axis_twice, {where, std::to_string(along)});
    left[at] = -1;
    const auto i = static_cast<std::int64_t>(k);
    x = resampled(x, along,
                  {image.dim(along), shape[at], numbers[0][i], numbers[1][i],
                   with_antialias(method, options.antialias), options.antialias});
  }
  for (std::size_t i = 0; i < left.size(); ++i)
    if (left[i] >= 0 && shape[i] != image.shape()[i])
      fail(messages::array_sizes, {where, to_string(image.aval()), "shape " + to_string(shape),
                                   "sizes change along the scaled axes alone"});
  return x;
}

}  // namespace apsis::image
