#include "apsis/array/convolution.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "apsis/ops/convolution.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/shape.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"
#include "array/windows.hpp"

namespace apsis {
using namespace detail::arrays;
using detail::convolution, detail::transposed_convolution;

namespace {

/// Where the letters of `wanted` stand in `given`.
Dims permutation(const std::string& given, const std::string& wanted) {
  Dims out;
  for (char letter : wanted) out.push_back(static_cast<std::int64_t>(given.find(letter)));
  return out;
}

/// The letters of the spatial axes, in the order of the kernel; the default where none are given.
struct Letters {
  std::string lhs = "NC", rhs = "OI", out = "NC", spatial;
  bool given = false;
};
Letters letters_of(const ConvDimensions& d, std::size_t axes, Loc loc) {
  Letters letters;
  letters.given = !d.lhs.empty() || !d.rhs.empty() || !d.out.empty();
  if (!letters.given) return letters;
  for (char letter : d.rhs)
    if (letter != 'O' && letter != 'I') letters.spatial += letter;
  auto names = [](std::string letters) {
    std::ranges::sort(letters);
    return letters;
  };
  for (std::string* text : {&letters.lhs, &letters.rhs, &letters.out}) *text += letters.spatial;
  const std::string sorted = names(letters.lhs);
  if (letters.spatial.size() != axes || std::ranges::adjacent_find(sorted) != sorted.end() ||
      names(d.lhs) != sorted || names(d.out) != sorted || names(d.rhs) != names(letters.rhs))
    fail(messages::conv_dimensions, {d.lhs, d.rhs, d.out, std::to_string(axes)}, loc);
  return letters;
}

/// The same with d - 1 zeros between the entries of an axis.
Array dilated(const Array& x, int axis, std::int64_t dilation) {
  const std::int64_t size = x.dim(axis);
  if (dilation == 1 || size == 0) return x;
  Dims low = Dims::filled(x.shape().size() + 1, 0), high = low;
  high[static_cast<std::size_t>(axis) + 1] = dilation - 1;
  Shape shape = x.shape();
  shape[static_cast<std::size_t>(axis)] = size * dilation;
  return part(reshape(pad(expand_dims(x, axis + 1), low, high), shape), axis, 0, (size - 1) * dilation + 1);
}

/// [N, C, window…, spatial…]: what the kernel meets at each place.
Array patches(Array x, const Dims& window, const Dims& strides, const Dims& dilation, Dims& count) {
  for (std::size_t i = 0; i < window.size(); ++i) {
    const int axis = static_cast<int>(2 + 2 * i), place = static_cast<int>(2 + i);
    count[i] = window_count(x.dim(axis), (window[i] - 1) * dilation[i] + 1, strides[i]);
    x = stack(window_entries(x, axis, window[i], strides[i], dilation[i], count[i]), place);
  }
  return x;
}

/// [rows…] of a shape, its first and last sizes given.
Shape joined(std::initializer_list<std::int64_t> first, const Dims& last) {
  Shape out(first);
  for (std::int64_t size : last) out.push_back(size);
  return out;
}

/// lhs and rhs: batch or outputs, then channels; left and right: as the caller has them.
void check_channels(const Array& lhs, const Array& rhs, const Array& left, const Array& right,
                    const ConvGeneralDilatedOptions& o, Loc loc) {
  const std::int64_t features = o.feature_group_count, batches = o.batch_group_count;
  const bool fits = features >= 1 && batches >= 1 && (features == 1 || batches == 1) &&
                    lhs.dim(1) == rhs.dim(1) * features && rhs.dim(0) % (features * batches) == 0 &&
                    lhs.dim(0) % batches == 0;
  if (!fits)
    fail(messages::conv_channels,
         {to_string(left.aval()), std::to_string(lhs.dim(1)), to_string(right.aval()),
          std::to_string(rhs.dim(1)), std::to_string(rhs.dim(0)), std::to_string(features),
          std::to_string(batches)},
         loc);
}

/// Padding that crops no more than there is, to the same end: zeros are cropped at one side that are added at
/// the other. If it crops all, nothing is left, and no window.
std::pair<std::int64_t, std::int64_t> within_array(std::int64_t size, std::int64_t low, std::int64_t high) {
  const std::int64_t left = size + low + high;
  if (left <= 0) return {0, -size};
  if (low < -size) return {-size, left};
  if (high < -size) return {left, -size};
  return {low, high};
}

/// How windows are laid over lhs [N, C, spatial…], by spatial axis.
struct Laid {
  Dims window, strides, lhs_dilation, dilation, low, high;
  /// The number of windows along an axis of `size` entries.
  std::int64_t count(std::size_t i, std::int64_t size) const {
    return window_count((size - 1) * lhs_dilation[i] + 1 + low[i] + high[i],
                        (window[i] - 1) * dilation[i] + 1, strides[i]);
  }
};
Laid laid(const char* where, const Array& lhs, const Dims& window, const ConvGeneralDilatedOptions& o,
          Loc loc) {
  const std::size_t axes = window.size();
  Laid l{window,
         o.window_strides.of(axes, where, "window_strides", 1, loc),
         o.lhs_dilation.of(axes, where, "lhs_dilation", 1, loc),
         o.rhs_dilation.of(axes, where, "rhs_dilation", 1, loc),
         {},
         {}};
  Dims extent, sizes;
  for (std::size_t i = 0; i < axes; ++i) {
    extent.push_back(dilated_size(where, "rhs_dilation", window[i], l.dilation[i], loc));
    sizes.push_back(lhs.shape()[2 + i]);
  }
  std::tie(l.low, l.high) = o.padding.of({sizes, extent, l.strides}, where, loc);
  return l;
}

/// lhs [N, C, spatial…], dilated and, where padding is negative, cut off; and how windows are laid over it,
/// with the zeros before and after it that are not there yet.
struct Prepared {
  Array lhs;
  Dims window, strides, dilation, low, high;
  /// The number of windows along a spatial axis.
  std::int64_t count(std::size_t i) const {
    return window_count(lhs.shape()[2 + i] + low[i] + high[i], (window[i] - 1) * dilation[i] + 1, strides[i]);
  }
};
Prepared prepared(Array lhs, Laid l) {
  Dims cut_low = Dims::filled(lhs.shape().size(), 0), cut_high = cut_low;
  for (std::size_t i = 0; i < l.window.size(); ++i) {
    lhs = dilated(lhs, static_cast<int>(2 + i), l.lhs_dilation[i]);
    std::tie(l.low[i], l.high[i]) = within_array(lhs.shape()[2 + i], l.low[i], l.high[i]);
    cut_low[2 + i] = std::min<std::int64_t>(l.low[i], 0);
    cut_high[2 + i] = std::min<std::int64_t>(l.high[i], 0);
    l.low[i] -= cut_low[2 + i];
    l.high[i] -= cut_high[2 + i];
  }
  if (std::ranges::any_of(cut_low, [](auto n) { return n < 0; }) ||
      std::ranges::any_of(cut_high, [](auto n) { return n < 0; }))
    lhs = pad(lhs, cut_low, cut_high);
  return {lhs, l.window, l.strides, l.dilation, l.low, l.high};
}

/// The same of [N, C, spatial…], with zeros around.
Prepared padded(Prepared p) {
  Dims low{0, 0}, high{0, 0};
  for (std::size_t i = 0; i < p.window.size(); ++i) {
    low.push_back(std::exchange(p.low[i], 0));
    high.push_back(std::exchange(p.high[i], 0));
  }
  if (low != Dims::filled(low.size(), 0) || high != low) p.lhs = pad(p.lhs, low, high);
  return p;
}

/// By one product of the kernel [O, I, window…], as a matrix, and the patches of all windows. Patches are
/// made along one axis after the other: as many slices as the sum of the window's sizes, not as their
/// product.
Array product_with_patches(const Prepared& p, const Array& rhs, const ConvGeneralDilatedOptions& o) {
  const std::int64_t n = p.lhs.dim(0), c = rhs.dim(1), k = rhs.dim(0), each = c * p.window.product();
  Dims count = Dims::filled(p.window.size(), 0);
  const Array met = patches(p.lhs, p.window, p.strides, p.dilation, count);
  const std::int64_t places = count.product(), f = o.feature_group_count, b = o.batch_group_count;
  Array y;
  if (f == 1 && b == 1)
    y = einsum("ok,nkp->nop", {reshape(rhs, {k, each}), reshape(met, {n, each, places})});
  else if (b == 1)
    y = einsum("gok,ngkp->ngop", {reshape(rhs, {f, k / f, each}), reshape(met, {n, f, each, places})});
  else
    y = einsum("gok,gnkp->ngop", {reshape(rhs, {b, k / b, each}), reshape(met, {b, n / b, each, places})});
  return reshape(y, joined({n / b, k}, count));
}

/// The shape of first sizes, spatial ones, last sizes.
Shape around(std::initializer_list<std::int64_t> first, const Dims& spatial,
             std::initializer_list<std::int64_t> last) {
  Shape out = joined(first, spatial);
  for (std::int64_t size : last) out.push_back(size);
  return out;
}

/// By the op, whose channels are last: transposes to it and from it become one with those to and from the
/// letters that are given.
Array by_kernel(const Prepared& p, const Array& rhs, const ConvGeneralDilatedOptions& o) {
  Dims spatial, count, last{0}, kernel;
  for (std::size_t i = 0; i < p.window.size(); ++i) {
    spatial.push_back(p.lhs.shape()[2 + i]);
    count.push_back(p.count(i));
    last.push_back(static_cast<std::int64_t>(2 + i));
    kernel.push_back(static_cast<std::int64_t>(2 + i));
  }
  last.push_back(1);
  kernel.push_back(1);
  kernel.push_back(0);
  const std::int64_t n = p.lhs.dim(0), c = rhs.dim(1), k = rhs.dim(0), f = o.feature_group_count,
                     b = o.batch_group_count;
  const Array x = reshape(transpose(p.lhs, last), around({b, n / b}, spatial, {f, c}));
  Array w = transpose(rhs, kernel);
  if (b == 1)
    w = reshape(w, around({1}, p.window, {c, f, k / f}));
  else
    w = moveaxis(reshape(w, around({}, p.window, {c, 1, b, k / b})), -2, 0);
  Array y = convolution(x, w, {count, p.strides, p.dilation, p.low});
  if (b > 1) y = moveaxis(y, 0, -2);
  return moveaxis(reshape(y, around({n / b}, count, {k})), -1, 1);
}

/// Whether the op computes so many windows: small ones are better composed of what compiled code writes out.
bool has_kernel(const Array& lhs, const Array& rhs, const Dims& count, const ConvGeneralDilatedOptions& o) {
  constexpr std::int64_t written_out = 4096;  // multiply-adds
  const bool fits = lhs.dtype() == rhs.dtype() && (lhs.dtype() == Dtype::F32 || lhs.dtype() == Dtype::F64) &&
                    !count.empty() && count.size() <= detail::most_convolution_axes;
  return fits && lhs.dim(0) / o.batch_group_count * count.product() * rhs.shape().product() > written_out;
}

/// A dilated lhs by the transpose of the op: what each of its entries gives goes to the windows that meet it,
/// and the zeros between entries are nowhere. Empty where that is not possible.
Array by_transposed_kernel(const Array& lhs, const Array& rhs, const Laid& l,
                           const ConvGeneralDilatedOptions& o) {
  const auto is_one = [](std::int64_t n) { return n == 1; };
  if (std::ranges::all_of(l.lhs_dilation, is_one) || !std::ranges::all_of(l.strides, is_one) ||
      o.batch_group_count > 1 || lhs.size() == 0)
    return {};
  Dims spatial, count, low, last{0}, flipped, kernel;
  for (std::size_t i = 0; i < l.window.size(); ++i) {
    spatial.push_back(lhs.shape()[2 + i]);
    count.push_back(l.count(i, spatial[i]));
    low.push_back((l.window[i] - 1) * l.dilation[i] - l.low[i]);
    last.push_back(static_cast<std::int64_t>(2 + i));
    flipped.push_back(static_cast<std::int64_t>(2 + i));
    kernel.push_back(static_cast<std::int64_t>(3 + i));
    if (count[i] == 0 || low[i] < 0) return {};
  }
  if (!has_kernel(lhs, rhs, count, o)) return {};
  last.push_back(1);
  for (std::int64_t axis : {1, 0, 2}) kernel.push_back(axis);
  const std::int64_t n = lhs.dim(0), c = rhs.dim(1), k = rhs.dim(0), f = o.feature_group_count;
  const Array x = reshape(transpose(lhs, last), around({1, n}, spatial, {f, c}));
  const Array w = transpose(reshape(flip(rhs, flipped), joined({f, k / f, c}, l.window)), kernel);
  const Array y = transposed_convolution(expand_dims(w, 0), x, {count, l.lhs_dilation, l.dilation, low});
  return moveaxis(reshape(y, around({n}, count, {k})), -1, 1);
}

}  // namespace

Array conv_general_dilated(const Array& left, const Array& right, const ConvGeneralDilatedOptions& o,
                           Loc loc) {
  const LocScope place(loc);
  if (left.ndim() < 2 || left.ndim() != right.ndim())
    fail(messages::conv_ranks, {to_string(left.aval()), to_string(right.aval())}, loc);
  const std::size_t axes = left.shape().size() - 2;
  const Letters letters = letters_of(o.dimensions, axes, loc);
  const Array lhs = letters.given ? transpose(left, permutation(o.dimensions.lhs, letters.lhs)) : left;
  const Array rhs = letters.given ? transpose(right, permutation(o.dimensions.rhs, letters.rhs)) : right;
  check_channels(lhs, rhs, left, right, o, loc);

  Dims window;
  for (std::size_t i = 0; i < axes; ++i) {
    window.push_back(rhs.shape()[2 + i]);
    if (window[i] == 0) fail(messages::conv_ranks, {to_string(left.aval()), to_string(right.aval())}, loc);
  }
  const Laid l = laid("conv_general_dilated", lhs, window, o, loc);
  Array y = by_transposed_kernel(lhs, rhs, l, o);
  if (y.is_empty()) {
    const Prepared p = prepared(lhs, l);
    Dims count;
    for (std::size_t i = 0; i < axes; ++i) count.push_back(p.count(i));
    y = has_kernel(lhs, rhs, count, o) ? by_kernel(p, rhs, o) : product_with_patches(padded(p), rhs, o);
  }
  return letters.given ? transpose(y, permutation(letters.out, o.dimensions.out)) : y;
}

Array conv_general_dilated_patches(const Array& left, const Dims& window, const ConvGeneralDilatedOptions& o,
                                   Loc loc) {
  const LocScope place(loc);
  constexpr const char* where = "conv_general_dilated_patches";
  const bool fits = left.shape().size() == window.size() + 2 && o.feature_group_count == 1 &&
                    o.batch_group_count == 1 &&
                    std::ranges::all_of(window, [](auto size) { return size > 0; });
  if (!fits)
    fail(messages::array_sizes,
         {where, to_string(left.aval()), "windows of " + to_string(window),
          "give a size above 0 for each axis behind batch and channels, and no groups"},
         loc);
  const Letters letters = letters_of(o.dimensions, window.size(), loc);
  const Array lhs = letters.given ? transpose(left, permutation(o.dimensions.lhs, letters.lhs)) : left;
  const Prepared p = padded(prepared(lhs, laid(where, lhs, window, o, loc)));
  Dims count = Dims::filled(window.size(), 0);
  const Array met = patches(p.lhs, window, p.strides, p.dilation, count);
  const Array y = reshape(met, joined({lhs.dim(0), lhs.dim(1) * window.product()}, count));
  return letters.given ? transpose(y, permutation(letters.out, o.dimensions.out)) : y;
}

namespace {

/// What stands before and after an axis, of a kernel of `size` entries.
std::pair<std::int64_t, std::int64_t> transposed_padding(bool same, std::int64_t size, std::int64_t stride) {
  const std::int64_t all = size + stride - 2 + (same ? 0 : std::max<std::int64_t>(size - stride, 0));
  const std::int64_t before = !same || stride > size - 1 ? size - 1 : (all + 1) / 2;
  return {before, all - before};
}

}  // namespace

Array conv_transpose(const Array& lhs, const Array& rhs, const TransposedConvolutionOptions& o, Loc loc) {
  const LocScope place(loc);
  constexpr const char* where = "conv_transpose";
  if (lhs.ndim() < 2 || lhs.ndim() != rhs.ndim())
    fail(messages::conv_ranks, {to_string(lhs.aval()), to_string(rhs.aval())}, loc);
  const std::size_t axes = lhs.shape().size() - 2;
  const Letters letters = letters_of(o.dimensions, axes, loc);
  ConvGeneralDilatedOptions options{.padding = o.padding,
                                    .lhs_dilation = o.strides,
                                    .rhs_dilation = o.rhs_dilation,
                                    .dimensions = o.dimensions};
  // Axes of the kernel by what they are: O, I, and the spatial ones in order.
  const Dims own = letters.given ? permutation(o.dimensions.rhs, letters.rhs) : Dims::counting(axes + 2);
  if (o.padding.is_same() || o.padding.is_valid()) {
    const Dims strides = o.strides.of(axes, where, "strides", 1, loc),
               dilation = o.rhs_dilation.of(axes, where, "rhs_dilation", 1, loc);
    std::vector<std::pair<std::int64_t, std::int64_t>> sides;
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t size =
          dilated_size(where, "rhs_dilation", rhs.dim(static_cast<int>(own[2 + i])), dilation[i], loc);
      sides.push_back(transposed_padding(o.padding.is_same(), size, strides[i]));
    }
    options.padding = Padding(sides);
  }
  if (!o.transpose_kernel) return conv_general_dilated(lhs, rhs, options, loc);
  Dims spatial;
  for (std::size_t i = 0; i < axes; ++i) spatial.push_back(own[2 + i]);
  const Array turned = axes == 0 ? rhs : flip(rhs, spatial);
  return conv_general_dilated(lhs, swapaxes(turned, static_cast<int>(own[0]), static_cast<int>(own[1])),
                              options, loc);
}

}  // namespace apsis
