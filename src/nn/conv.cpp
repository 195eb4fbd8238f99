#include "apsis/nn/conv.hpp"

#include <algorithm>
#include <cmath>

#include "apsis/array/convolution.hpp"
#include "apsis/array/shape.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/random.hpp"
#include "apsis/ops/shape.hpp"
#include "nn/messages.hpp"
#include "nn/support.hpp"

namespace apsis::nn {
namespace {

std::size_t spatial_axes(const Array& weight) { return weight.shape().size() - 2; }

/// The sizes of the spatial axes of x [channels, …] or a kernel [out, in, …].
Dims spatial_sizes(const Array& x, std::size_t first) {
  Dims out;
  for (std::size_t i = first; i < x.shape().size(); ++i) out.push_back(x.shape()[i]);
  return out;
}

/// Windows with the gaps of a dilation.
Dims extent_of(const Dims& window, const Dims& dilation) {
  Dims out = window;
  for (std::size_t i = 0; i < window.size(); ++i) out[i] = (window[i] - 1) * dilation[i] + 1;
  return out;
}

/// Padding of one sample: none of the channels.
Array padded(const Array& x, Dims low, Dims high, PadMode mode) {
  low.insert(0, 0);
  high.insert(0, 0);
  return pad(x, low, high, mode);
}

void check_sample(const char* layer, const Array& x, const Array& weight, std::int64_t groups) {
  Shape any = Dims::filled(spatial_axes(weight) + 1, -1);
  any[0] = weight.dim(1) * groups;
  check_input(layer, x, any);
}

Array with_bias(const Array& y, const Array& bias) { return bias.is_empty() ? y : y + bias; }

/// Numbers before and after each spatial axis.
struct Sides {
  Dims low, high;
};

struct Parameters {
  Array weight, bias;
};
template <class Options>
Parameters drawn(const char* where, int axes, const Options& o, const Array& key, Loc loc) {
  check_size(where, "axes", axes);
  check_size(where, "in", o.in);
  check_size(where, "out", o.out);
  check_size(where, "groups", o.groups);
  check_divides(where, "in", o.in, "groups", o.groups);
  check_divides(where, "out", o.out, "groups", o.groups);
  const auto n = static_cast<std::size_t>(axes);
  const Dims window = o.kernel_size.of(n, where, "kernel_size", 1, loc);
  o.stride.of(n, where, "stride", 1, loc);
  o.dilation.of(n, where, "dilation", 1, loc);
  const std::int64_t in = o.in / o.groups;
  const double bound = 1 / std::sqrt(static_cast<double>(in * window.product()));
  Shape shape{o.out, in};
  for (std::int64_t size : window) shape.push_back(size);
  Shape bias = Dims::filled(n + 1, 1);
  bias[0] = o.out;
  const Array keys = random::split(key, 2);
  auto draw = [&](const std::optional<Initializer>& init, const Array& with, const Shape& s) {
    return init ? (*init)(with, s, o.dtype, {.in = 1, .out = 0}) : uniform_within(bound, with, s, o.dtype);
  };
  return {draw(o.weight_init, keys[0], shape), o.use_bias ? draw(o.bias_init, keys[1], bias) : Array()};
}

}  // namespace

Array Conv::operator()(const Array& x, Loc loc) const {
  const LocScope place(loc);
  check_sample("Conv", x, weight, groups);
  const ConvGeneralDilatedOptions o{
      .window_strides = stride, .padding = padding, .rhs_dilation = dilation, .feature_group_count = groups};
  if (padding_mode == PaddingMode::Zeros)
    return with_bias(squeeze(conv_general_dilated(expand_dims(x, 0), weight, o), 0), bias);
  const std::size_t axes = spatial_axes(weight);
  const Dims strides = stride.of(axes, "Conv", "stride", 1, loc);
  const Dims extent = extent_of(spatial_sizes(weight, 2), dilation.of(axes, "Conv", "dilation", 1, loc));
  const auto [low, high] = padding.of({spatial_sizes(x, 1), extent, strides}, "Conv", loc);
  const PadMode mode = padding_mode == PaddingMode::Reflect     ? PadMode::Reflect
                       : padding_mode == PaddingMode::Replicate ? PadMode::Edge
                                                                : PadMode::Wrap;
  ConvGeneralDilatedOptions unpadded = o;
  unpadded.padding = 0;
  const Array y = conv_general_dilated(expand_dims(padded(x, low, high, mode), 0), weight, unpadded);
  return with_bias(squeeze(y, 0), bias);
}

Conv make_conv(int axes, const ConvOptions& o, const Array& key, Loc loc) {
  const LocScope place(loc);
  const Parameters p = drawn("make_conv", axes, o, key, loc);
  return {p.weight, p.bias, o.stride, o.padding, o.dilation, o.groups, o.padding_mode};
}
Conv make_conv1d(const ConvOptions& o, const Array& key, Loc loc) { return make_conv(1, o, key, loc); }
Conv make_conv2d(const ConvOptions& o, const Array& key, Loc loc) { return make_conv(2, o, key, loc); }
Conv make_conv3d(const ConvOptions& o, const Array& key, Loc loc) { return make_conv(3, o, key, loc); }

namespace {

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) { return (a - ((a % b + b) % b)) / b; }

/// The padding of a convolution with x dilated by the stride: relationship 14 of Dumoulin and Visin.
Sides transposed_padding(const ConvTranspose& layer, const Dims& sizes, Loc loc) {
  constexpr const char* where = "ConvTranspose";
  const std::size_t axes = spatial_axes(layer.weight);
  const Dims window = spatial_sizes(layer.weight, 2);
  const Dims strides = layer.stride.of(axes, where, "stride", 1, loc);
  Dims extra = layer.output_padding.of(axes, where, "output_padding", 0, loc);
  const Dims extent = extent_of(window, layer.dilation.of(axes, where, "dilation", 1, loc));
  Dims low, high;
  if (layer.padding.is_same()) {
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t all = extent[i] - strides[i] + extra[i];
      extra[i] = std::max<std::int64_t>(0, -all);
      const std::int64_t kept = std::max<std::int64_t>(0, all);
      low.push_back((kept + (layer.padding.is_same_lower() ? 1 : 0)) / 2);
      high.push_back(kept - low[i]);
    }
  } else {
    std::tie(low, high) = layer.padding.of({sizes, extent, strides}, where, loc);
  }
  for (std::size_t i = 0; i < axes; ++i) {
    low[i] = extent[i] - 1 - low[i];
    high[i] = extent[i] - 1 - high[i] + extra[i];
  }
  return {low, high};
}

}  // namespace

Array ConvTranspose::operator()(const Array& x, Loc loc) const {
  const LocScope place(loc);
  check_sample("ConvTranspose", x, weight, groups);
  const std::size_t axes = spatial_axes(weight);
  Sides sides = transposed_padding(*this, spatial_sizes(x, 1), loc);
  Array around = x;
  if (padding_mode == PaddingMode::Circular) {
    const Dims strides = stride.of(axes, "ConvTranspose", "stride", 1, loc);
    Sides wrapped = sides;
    for (std::size_t i = 0; i < axes; ++i) {
      wrapped.low[i] = floor_quotient(sides.low[i], strides[i]);
      wrapped.high[i] = floor_quotient(sides.high[i], strides[i]);
      sides.low[i] -= wrapped.low[i] * strides[i];
      sides.high[i] -= wrapped.high[i] * strides[i];
    }
    around = padded(x, wrapped.low, wrapped.high, PadMode::Wrap);
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::size_t i = 0; i < axes; ++i) pairs.emplace_back(sides.low[i], sides.high[i]);
  const Array y = conv_general_dilated(expand_dims(around, 0), weight,
                                       {.padding = Padding(pairs),
                                        .lhs_dilation = stride,
                                        .rhs_dilation = dilation,
                                        .feature_group_count = groups});
  return with_bias(squeeze(y, 0), bias);
}

ConvTranspose make_conv_transpose(int axes, const ConvTransposeOptions& o, const Array& key, Loc loc) {
  const LocScope place(loc);
  constexpr const char* where = "make_conv_transpose";
  const Parameters p = drawn(where, axes, o, key, loc);
  const auto n = static_cast<std::size_t>(axes);
  const Dims strides = o.stride.of(n, where, "stride", 1, loc);
  const Dims extra = o.output_padding.of(n, where, "output_padding", 0, loc);
  for (std::size_t i = 0; i < n; ++i)
    if (extra[i] >= strides[i]) fail(messages::output_padding, {to_string(extra), to_string(strides)}, loc);
  const bool circular = o.padding_mode == PaddingMode::Circular;
  if (o.padding_mode != PaddingMode::Zeros && !circular) fail(messages::transpose_mode, {}, loc);
  if (circular && (!o.padding.is_same() || extra != Dims::filled(n, 0)))
    fail(messages::transpose_mode, {}, loc);
  return {p.weight, p.bias, o.stride, o.padding, o.output_padding, o.dilation, o.groups, o.padding_mode};
}
ConvTranspose make_conv_transpose1d(const ConvTransposeOptions& o, const Array& key, Loc loc) {
  return make_conv_transpose(1, o, key, loc);
}
ConvTranspose make_conv_transpose2d(const ConvTransposeOptions& o, const Array& key, Loc loc) {
  return make_conv_transpose(2, o, key, loc);
}
ConvTranspose make_conv_transpose3d(const ConvTransposeOptions& o, const Array& key, Loc loc) {
  return make_conv_transpose(3, o, key, loc);
}

}  // namespace apsis::nn
