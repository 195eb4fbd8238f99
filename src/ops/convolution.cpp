// convolution: with its two transposes, which are convolutions too. Channels are last.

#include "apsis/ops/convolution.hpp"

#include "core/messages.hpp"
#include "ops/arguments.hpp"
#include "ops/convolution_kernel.hpp"
#include "ops/index_rules.hpp"
#include "ops/jet_rules.hpp"
#include "ops/messages.hpp"
#include "ops/view_rules.hpp"

namespace apsis::detail {
namespace {

using enum ConvolutionArray;

/// The two arrays that the result is computed from.
std::array<ConvolutionArray, 2> operands_of(ConvolutionArray result) {
  if (result == Output) return {Input, Kernel};
  if (result == Input) return {Kernel, Output};
  return {Input, Output};
}

/// Where an array has the axis of images (i), channels (c), groups (g) or features (f); -1: nowhere. Its
/// spatial axes begin at 2, those of the kernel at 1.
int axis_of(char letter, ConvolutionArray array, std::size_t spatial) {
  const int last = static_cast<int>(spatial) + 3;
  if (array == Kernel) return letter == 'i' ? -1 : letter == 'c' ? last - 2 : letter == 'g' ? last - 1 : last;
  if (letter == 'i') return 1;
  if (letter == 'g') return last - 1;
  return (letter == 'c') == (array == Input) ? last : -1;
}

std::int64_t entry(const Shape& shape, int axis) { return shape[static_cast<std::size_t>(axis)]; }

/// The sizes of all three arrays, after a check that the operands fit.
ConvolutionSizes sizes_of(const ConvolutionParams& p, const Shape& first, const Shape& second) {
  const std::size_t spatial = p.sizes.size();
  APSIS_ASSERT(spatial <= most_convolution_axes && p.strides.size() == spatial &&
               p.dilation.size() == spatial && p.low.size() == spatial);
  APSIS_ASSERT(first.size() == spatial + 4 && second.size() == spatial + 4);
  const auto operands = operands_of(p.result);
  const auto size = [&](char letter) {
    const int a = axis_of(letter, operands[0], spatial), b = axis_of(letter, operands[1], spatial);
    APSIS_ASSERT(a < 0 || b < 0 || entry(first, a) == entry(second, b));
    return a >= 0 ? entry(first, a) : entry(second, b);
  };
  APSIS_ASSERT(first[0] == second[0]);
  ConvolutionSizes sizes{first[0], size('i'), size('g'), size('c'), size('f'), {}};
  for (std::size_t i = 0; i < spatial; ++i) {
    const auto along = [&](ConvolutionArray array) {
      if (array == p.result) return p.sizes[i];
      const Shape& shape = array == operands[0] ? first : second;
      return shape[array == Kernel ? 1 + i : 2 + i];
    };
    APSIS_ASSERT(p.strides[i] > 0 && p.dilation[i] > 0 && p.sizes[i] >= 0);
    sizes.axes[3 - spatial + i] = {along(Input), along(Kernel), along(Output),
                                   p.strides[i], p.dilation[i], p.low[i]};
  }
  return sizes;
}

void convolution_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 2 && in[0].dtype() == in[1].dtype());
  APSIS_ASSERT(in[0].dtype() == Dtype::F32 || in[0].dtype() == Dtype::F64);
  const auto& p = params.as<ConvolutionParams>();
  const ConvolutionSizes s = sizes_of(p, in[0].shape(), in[1].shape());
  Shape shape{s.batch};
  if (p.result != Kernel) shape.push_back(s.images);
  for (std::int64_t size : p.sizes) shape.push_back(size);
  if (p.result == Kernel) shape.push_back(s.channels);
  shape.push_back(s.groups);
  shape.push_back(p.result == Input ? s.channels : s.features);
  out.push_back(Aval(in[0].dtype(), shape, in[0].weak() && in[1].weak()));
}

void convolution_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto& p = params.as<ConvolutionParams>();
  const ConvolutionSizes sizes = sizes_of(p, in[0].shape(), in[1].shape());
  const auto run = [&]<class T>(T* to) {
    convolve<T>(sizes, p.result, static_cast<const T*>(data_of(in[0])), static_cast<const T*>(data_of(in[1])),
                to);
  };
  if (in[0].dtype() == Dtype::F64)
    run(mutable_data<double>(out[0]));
  else
    run(mutable_data<float>(out[0]));
}

void convolution_jvp(const JvpRule& r) {
  jvp_of_product(r, [&](const Array& a, const Array& b) { return bind1(convolution_op, r.params, {a, b}); });
}

void convolution_transpose(const TransposeRule& r) {
  if (r.cotangents[0].is_empty()) return;
  if (r.out[0].is_linear() && r.out[1].is_linear()) fail(messages::not_linear, {"convolution"});
  ConvolutionParams p = r.params.as<ConvolutionParams>();
  const std::size_t which = r.out[0].is_linear() ? 0 : 1;
  const auto operands = operands_of(p.result);
  const ConvolutionArray known = operands[1 - which], given = p.result;
  p.result = operands[which];
  const Shape& shape = r.out[which].aval().shape();
  for (std::size_t i = 0; i < p.sizes.size(); ++i) p.sizes[i] = shape[p.result == Kernel ? 1 + i : 2 + i];
  const bool in_order = given < known;
  const Array &first = in_order ? r.cotangents[0] : r.operands[1 - which],
              &second = in_order ? r.operands[1 - which] : r.cotangents[0];
  r.out[which].add(bind1(convolution_op, make_params(p), {first, second}));
}

/// The array with its axis `from`, of lanes, in front of axis `to` of a lane, as one axis with it.
Array joined_axes(const Array& x, int from, int to) {
  const Array moved = lax::move_axis(x, from, to);
  const auto at = static_cast<std::size_t>(to);
  Shape shape = moved.shape();
  shape[at + 1] *= shape[at];
  shape.erase(at);
  return lax::reshape(moved, shape);
}
/// The inverse: an axis as lanes of `each` entries.
Array parted_axis(const Array& x, int axis, std::int64_t lanes, std::int64_t each) {
  const auto at = static_cast<std::size_t>(axis);
  Shape shape = x.shape();
  shape[at] = each;
  shape.insert(at, lanes);
  return lax::reshape(x, shape);
}

/// Where one operand alone is mapped, lanes are further images, channels or features; else further batches.
void convolution_batch(const BatchRule& r) {
  const auto& p = r.params.as<ConvolutionParams>();
  const std::size_t spatial = p.sizes.size();
  const auto operands = operands_of(p.result);
  Array in[] = {r.operands[0], r.operands[1]};
  const auto lane_entry = [&](std::size_t k, int axis) {
    return entry(in[k].shape(), axis + (r.axes[k] >= 0 && r.axes[k] <= axis ? 1 : 0));
  };
  int axis = 0;
  std::int64_t each = 0;
  if (r.axes[0] < 0 || r.axes[1] < 0) {
    const std::size_t mapped = r.axes[0] >= 0 ? 0 : 1;
    char own = 'i';
    for (char letter : {'i', 'c', 'f'})
      if (axis_of(letter, operands[1 - mapped], spatial) < 0) own = letter;
    axis = axis_of(own, p.result, spatial);
    const int place = axis_of(own, operands[mapped], spatial);
    each = lane_entry(mapped, place);
    in[mapped] = joined_axes(in[mapped], r.axes[mapped], place);
  } else {
    each = lane_entry(0, 0);
    for (std::size_t k : {0u, 1u}) in[k] = joined_axes(in[k], r.axes[k], 0);
  }
  r.outs.push_back(parted_axis(bind1(convolution_op, r.params, {in[0], in[1]}), axis, r.size, each));
  r.out_axes.push_back(axis);
}

void convolution_jet(const JetRule& r) {
  jet_of_product(r, [&](const Array& a, const Array& b) { return bind1(convolution_op, r.params, {a, b}); });
}

}  // namespace

const Op convolution_op = {
    .name = "convolution",
    .kind = OpKind::Index,
    .shape = convolution_shape,
    .evaluate = convolution_evaluate,
    .jvp = convolution_jvp,
    .transpose = convolution_transpose,
    .batch = convolution_batch,
    .jet = convolution_jet,
    .parse = parse_params<ConvolutionParams>,
};

namespace {
Params with_result(ConvolutionArray result, const ConvolutionSteps& steps) {
  return make_params(ConvolutionParams{result, steps.sizes, steps.strides, steps.dilation, steps.low});
}
}  // namespace

Array convolution(const Array& x, const Array& kernel, const ConvolutionSteps& steps, Loc loc) {
  return bind1(convolution_op, with_result(Output, steps), {x, kernel}, loc);
}
Array transposed_convolution(const Array& kernel, const Array& y, const ConvolutionSteps& steps, Loc loc) {
  return bind1(convolution_op, with_result(Input, steps), {kernel, y}, loc);
}

}  // namespace apsis::detail
