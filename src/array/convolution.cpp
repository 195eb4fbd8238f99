#include "apsis/array/convolution.hpp"

#include <algorithm>

#include "apsis/ops/index.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/shape.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"
#include "array/windows.hpp"

namespace apsis {
using namespace detail::arrays;

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

void check_channels(const Array& lhs, const Array& rhs, const ConvGeneralDilatedOptions& o, Loc loc) {
  const std::int64_t features = o.feature_group_count, batches = o.batch_group_count;
  const bool fits = features >= 1 && batches >= 1 && (features == 1 || batches == 1) &&
                    lhs.dim(1) == rhs.dim(1) * features && rhs.dim(0) % (features * batches) == 0 &&
                    lhs.dim(0) % batches == 0;
  if (!fits)
    fail(messages::conv_channels,
         {to_string(lhs.aval()), to_string(rhs.aval()), std::to_string(features), std::to_string(batches)},
         loc);
}

/// lhs [N, C, spatial…], dilated and padded, and how windows are laid over it.
struct Prepared {
  Array lhs;
  Dims window, strides, dilation;
};
Prepared prepared(const char* where, Array lhs, const Dims& window, const ConvGeneralDilatedOptions& o,
                  Loc loc) {
  const std::size_t axes = window.size();
  const Dims strides = o.window_strides.of(axes, where, "window_strides", 1, loc);
  const Dims lhs_dilation = o.lhs_dilation.of(axes, where, "lhs_dilation", 1, loc);
  const Dims rhs_dilation = o.rhs_dilation.of(axes, where, "rhs_dilation", 1, loc);
  Dims extent, sizes, low{0, 0}, high{0, 0};
  for (std::size_t i = 0; i < axes; ++i) {
    extent.push_back((window[i] - 1) * rhs_dilation[i] + 1);
    sizes.push_back(lhs.shape()[2 + i]);
  }
  const auto [before, after] = o.padding.of({sizes, extent, strides}, where, loc);
  for (std::size_t i = 0; i < axes; ++i) {
    lhs = dilated(lhs, static_cast<int>(2 + i), lhs_dilation[i]);
    // Cropping by more than there is leaves nothing, and no window.
    low.push_back(std::max(before[i], -lhs.shape()[2 + i]));
    high.push_back(std::max(after[i], -(lhs.shape()[2 + i] + low.back())));
  }
  if (low != Dims::filled(low.size(), 0) || high != low) lhs = pad(lhs, low, high);
  return {lhs, window, strides, rhs_dilation};
}

}  // namespace

// One product of the kernel, as a matrix, and the patches of all windows. Patches are made along one axis
// after the other: as many slices as the sum of the window's sizes, not as their product.
Array conv_general_dilated(const Array& left, const Array& right, const ConvGeneralDilatedOptions& o,
                           Loc loc) {
  const LocScope place(loc);
  if (left.ndim() < 2 || left.ndim() != right.ndim())
    fail(messages::conv_ranks, {to_string(left.aval()), to_string(right.aval())}, loc);
  const std::size_t axes = left.shape().size() - 2;
  const Letters letters = letters_of(o.dimensions, axes, loc);
  Array lhs = letters.given ? transpose(left, permutation(o.dimensions.lhs, letters.lhs)) : left;
  const Array rhs = letters.given ? transpose(right, permutation(o.dimensions.rhs, letters.rhs)) : right;
  check_channels(lhs, rhs, o, loc);

  Dims window;
  for (std::size_t i = 0; i < axes; ++i) {
    window.push_back(rhs.shape()[2 + i]);
    if (window[i] == 0) fail(messages::conv_ranks, {to_string(left.aval()), to_string(right.aval())}, loc);
  }
  const Prepared p = prepared("conv_general_dilated", lhs, window, o, loc);
  const std::int64_t n = lhs.dim(0), c = rhs.dim(1), k = rhs.dim(0), each = c * window.product();
  Dims count = Dims::filled(axes, 0);
  const Array met = patches(p.lhs, window, p.strides, p.dilation, count);
  const std::int64_t places = count.product(), f = o.feature_group_count, b = o.batch_group_count;
  Array y;
  if (f == 1 && b == 1)
    y = einsum("ok,nkp->nop", {reshape(rhs, {k, each}), reshape(met, {n, each, places})});
  else if (b == 1)
    y = einsum("gok,ngkp->ngop", {reshape(rhs, {f, k / f, each}), reshape(met, {n, f, each, places})});
  else
    y = einsum("gok,gnkp->ngop", {reshape(rhs, {b, k / b, each}), reshape(met, {b, n / b, each, places})});
  y = reshape(y, joined({n / b, k}, count));
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
  const Prepared p = prepared(where, lhs, window, o, loc);
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
      const std::int64_t size = (rhs.dim(static_cast<int>(own[2 + i])) - 1) * dilation[i] + 1;
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
