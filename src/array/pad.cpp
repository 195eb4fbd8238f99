// pad with the modes of NumPy.

#include <algorithm>

#include "apsis/array/creation.hpp"
#include "apsis/array/quantile.hpp"
#include "apsis/array/shape.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/math.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis {
using namespace detail::arrays;
namespace {

/// Which entry of an axis stands at place i, left and right of it too.
std::int64_t source(PadMode mode, std::int64_t i, std::int64_t n) {
  auto modulo = [](std::int64_t a, std::int64_t b) { return ((a % b) + b) % b; };
  switch (mode) {
    case PadMode::Wrap:
      return modulo(i, n);
    case PadMode::Reflect: {
      if (n == 1) return 0;
      const std::int64_t at = modulo(i, 2 * n - 2);
      return std::min(at, 2 * n - 2 - at);
    }
    case PadMode::Symmetric: {
      const std::int64_t at = modulo(i, 2 * n);
      return std::min(at, 2 * n - 1 - at);
    }
    default:
      return std::clamp<std::int64_t>(i, 0, n - 1);
  }
}

/// The entries of an axis at these places: of few runs, upwards, downwards or of one entry, they are put
/// together of slices, whose derivatives are slices again.
Array entries(const Array& x, int axis, const std::vector<std::int64_t>& from) {
  constexpr std::size_t few = 8;
  std::vector<Array> runs;
  for (std::size_t first = 0, next; first < from.size() && runs.size() < few; first = next) {
    const auto step = [&](std::size_t i) { return i + 1 < from.size() ? from[i + 1] - from[i] : 2; };
    const std::int64_t each = std::abs(step(first)) <= 1 ? step(first) : 1;
    for (next = first + 1; step(next - 1) == each; ++next) {
    }
    const auto [low, high] = std::minmax(from[first], from[next - 1]);
    const Array run = part(x, axis, low, high + 1);
    const auto count = static_cast<std::int64_t>(next - first);
    runs.push_back(each == 1    ? run
                   : each == -1 ? flip(run, axis)
                                : broadcast_to(run, with_size_at(x.shape(), axis, count)));
    if (next == from.size()) return concatenate(runs, axis);
  }
  return take(x, numbers(from), axis);
}

Array statistic(PadMode mode, const Array& x, int axis) {
  const ReduceOptions along{.axis = axis, .keepdims = true};
  if (mode == PadMode::Maximum) return max(x, along);
  if (mode == PadMode::Minimum) return min(x, along);
  const Array value = mode == PadMode::Mean ? mean(x, along) : median(x, along);
  return astype(is_inexact(x.dtype()) ? value : round(value), x.dtype());
}

/// What stands before (after) the entries of an axis where that is no entry.
Array margin(const Array& x, int axis, std::int64_t count, bool before, PadMode mode,
             const PadOptions& options) {
  const std::int64_t n = x.dim(axis);
  if (mode == PadMode::LinearRamp) {
    const Array edge = entry(x, axis, before ? 0 : -1);
    const Array end = broadcast_to(astype(options.end_value, x.dtype()), edge.shape());
    const Array ramp = astype(linspace(end, edge, count, {.endpoint = false, .axis = axis}), x.dtype());
    return before ? ramp : flip(ramp, axis);
  }
  const std::int64_t length = options.stat_length > 0 ? std::min(options.stat_length, n) : n;
  const Array value = statistic(mode, before ? part(x, axis, 0, length) : part(x, axis, n - length, n), axis);
  return broadcast_to(value, with_size_at(x.shape(), axis, count));
}

}  // namespace

Array pad(const Array& x, const Dims& low, const Dims& high, PadMode mode, const PadOptions& options,
          Loc loc) {
  const LocScope place(loc);
  if (low.rank() != x.ndim() || high.rank() != x.ndim())
    fail(messages::array_sizes,
         {"pad", to_string(low) + " and " + to_string(high), to_string(x.aval()), "give one number an axis"});
  check_count("pad", options.stat_length);
  Array padded = x;
  for (int axis = 0; axis < x.ndim(); ++axis) {
    const std::int64_t before = low[static_cast<std::size_t>(axis)],
                       after = high[static_cast<std::size_t>(axis)], n = x.dim(axis);
    check_count("pad", std::min(before, after));
    if (before + after == 0) continue;
    if (n == 0)
      fail(messages::array_few, {"pad", "1 entry", "axis " + std::to_string(axis), to_string(x.aval())});
    if (mode <= PadMode::Wrap) {
      std::vector<std::int64_t> from;
      for (std::int64_t i = -before; i < n + after; ++i) from.push_back(source(mode, i, n));
      padded = entries(padded, axis, from);
    } else {
      padded = concatenate({margin(padded, axis, before, true, mode, options), padded,
                            margin(padded, axis, after, false, mode, options)},
                           axis);
    }
  }
  return padded;
}

}  // namespace apsis
