#include "apsis/nn/normalization.hpp"

#include <algorithm>

#include "apsis/array/dtype.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "nn/messages.hpp"
#include "nn/support.hpp"

namespace apsis::nn {
namespace {

/// At least single precision: sums of many terms in half precision lose their digits.
Array widened(const Array& x) { return astype(x, promote_types(x.dtype(), f32)); }

/// To mean 0 and variance 1 along all axes from `first` on.
Array normalised(const Array& x, int first, double eps) {
  Dims axes;
  for (int axis = first; axis < x.ndim(); ++axis) axes.push_back(axis);
  const Array deviation = x - mean(x, {.axis = axes, .keepdims = true});
  return deviation * rsqrt(mean(square(deviation), {.axis = axes, .keepdims = true}) + eps);
}

Array scaled(Array x, const Array& weight, const Array& bias) {
  if (!weight.is_empty()) x = astype(weight, x.dtype()) * x;
  if (!bias.is_empty()) x = x + astype(bias, x.dtype());
  return x;
}

/// A value a channel, with axes of size 1 for the others of x.
Array a_channel(const Array& value, const Array& x) {
  if (value.is_empty()) return value;
  Shape shape = Dims::filled(x.shape().size(), 1);
  shape[0] = value.size();
  return reshape(value, shape);
}

template <class Norm>
Norm make_norm(const NormOptions& o) {
  return {o.use_weight ? ones(o.shape, o.dtype) : Array(), o.use_bias ? zeros(o.shape, o.dtype) : Array(),
          listed(o.shape), o.eps};
}

/// The mean over all but the first axis, and over the lanes.
Array mean_of_batch(const Array& x, const std::vector<std::string>& axes) {
  Array m = mean(reshape(x, {x.dim(0), x.size() / x.dim(0)}), {.axis = 1});
  for (const std::string& axis : axes) {
    try {
      m = pmean(m, axis);
    } catch (const Error& error) {
      if (std::string_view(error.id()) != "unknown_axis") throw;
      fail(messages::batch_norm_axis, {axis});
    }
  }
  return m;
}

}  // namespace

Array LayerNorm::operator()(const Array& x, Loc loc) const {
  const LocScope place(loc);
  check_input("LayerNorm", x, as_dims(shape));
  return astype(scaled(normalised(widened(x), 0, eps), weight, bias), x.dtype());
}
LayerNorm make_layer_norm(const NormOptions& options, Loc loc) {
  const LocScope place(loc);
  return make_norm<LayerNorm>(options);
}

Array RMSNorm::operator()(const Array& x, Loc loc) const {
  const LocScope place(loc);
  check_input("RMSNorm", x, as_dims(shape));
  const Array wide = widened(x);
  return astype(scaled(rsqrt(mean(square(wide)) + eps.value) * wide, weight, bias), x.dtype());
}
RMSNorm make_rms_norm(const NormOptions& options, Loc loc) {
  const LocScope place(loc);
  return make_norm<RMSNorm>(options);
}

Array GroupNorm::operator()(const Array& x, Loc loc) const {
  const LocScope place(loc);
  Shape any = Dims::filled(std::max<std::size_t>(x.shape().size(), 1), -1);
  if (!weight.is_empty()) any[0] = weight.size();
  check_input("GroupNorm", x, any);
  check_divides("GroupNorm", "channels", x.dim(0), "groups", groups);
  const Array wide = widened(x);
  Shape grouped{groups, x.dim(0) / groups};
  for (int axis = 1; axis < x.ndim(); ++axis) grouped.push_back(x.dim(axis));
  const Array y = reshape(normalised(reshape(wide, grouped), 1, eps), x.shape());
  return astype(scaled(y, a_channel(weight, x), a_channel(bias, x)), x.dtype());
}
GroupNorm make_group_norm(const GroupNormOptions& o, Loc loc) {
  const LocScope place(loc);
  check_size("make_group_norm", "groups", o.groups);
  check_size("make_group_norm", "channels", o.channels);
  check_divides("make_group_norm", "channels", o.channels, "groups", o.groups);
  GroupNorm norm{{}, {}, o.groups, o.eps};
  if (o.channelwise_affine) {
    norm.weight = ones({o.channels}, o.dtype);
    norm.bias = zeros({o.channels}, o.dtype);
  }
  return norm;
}

BatchNormState BatchNorm::init_state(const Array&) const {
  return {zeros({channels}, dtype), ones({channels}, dtype), zeros({}, i64)};
}

// As Equinox: in mode Batch the running statistics begin with 0 and 1, and are divided by the weight that
// batches have had in them so far.
std::pair<Array, BatchNormState> BatchNorm::operator()(const Array& x, const BatchNormState& state,
                                                       Loc loc) const {
  const LocScope place(loc);
  Shape any = Dims::filled(std::max<std::size_t>(x.shape().size(), 1), -1);
  any[0] = channels;
  check_input("BatchNorm", x, any);
  const double kept = momentum;
  BatchNormState next = state;
  Array centre = state.mean, spread = state.variance;
  if (!inference) {
    centre = mean_of_batch(x, axis_name);
    spread = mean_of_batch(square(x - a_channel(centre, x)), axis_name);
    const Array running = (1 - kept) * centre + kept * state.mean;
    const Array running_spread = (1 - kept) * spread + kept * state.variance;
    next.count = state.count + 1;
    if (mode == BatchNormMode::Ema) {
      centre = where(state.count == 0, centre, running);
      spread = where(state.count == 0, spread, running_spread);
      next.mean = centre;
      next.variance = spread;
    } else {
      next.mean = running;
      next.variance = running_spread;
    }
  } else if (mode == BatchNormMode::Batch) {
    const Array counted = 1 - pow(kept, astype(state.count, f64));
    const Array share = astype(where(state.count == 0, 1, counted), centre.dtype());
    centre = centre / share;
    spread = spread / share;
  }
  const Array y = (x - a_channel(centre, x)) / sqrt(a_channel(spread, x) + eps.value);
  if (weight.is_empty()) return {y, next};
  return {y * a_channel(weight, x) + a_channel(bias, x), next};
}
BatchNorm make_batch_norm(const BatchNormOptions& o, Loc loc) {
  const LocScope place(loc);
  check_size("make_batch_norm", "channels", o.channels);
  BatchNorm norm{.channels = o.channels,
                 .axis_name = o.axis_name.all(),
                 .eps = o.eps,
                 .momentum = o.momentum,
                 .mode = o.mode,
                 .dtype = o.dtype};
  if (o.channelwise_affine) {
    norm.weight = ones({o.channels}, o.dtype);
    norm.bias = zeros({o.channels}, o.dtype);
  }
  return norm;
}

}  // namespace apsis::nn
