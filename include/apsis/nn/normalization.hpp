#pragma once

// Layers that bring values to mean 0 and variance 1. Statistics are computed in f32 or more; results have the
// dtype of x.

#include <utility>

#include "apsis/control/collectives.hpp"
#include "apsis/tree/static.hpp"

namespace apsis::nn {

/// (x - mean) / sqrt(variance + eps) · weight + bias, over all of x (Ba, Kiros and Hinton 2016).
struct LayerNorm {
  Array weight, bias;               ///< of x's shape; empty: none
  std::vector<std::int64_t> shape;  ///< of x
  Static<double> eps = 1e-5;        ///< added to the variance
  /// Same shape. Throws for another shape of x.
  Array operator()(const Array& x, Loc loc = Loc::here()) const;
};
/// x / sqrt(mean(x²) + eps) · weight + bias (Zhang and Sennrich 2019).
struct RMSNorm {
  Array weight, bias;               ///< of x's shape; empty: none
  std::vector<std::int64_t> shape;  ///< of x
  Static<double> eps = 1e-5;        ///< added to the mean square
  /// Same shape. Throws for another shape of x.
  Array operator()(const Array& x, Loc loc = Loc::here()) const;
};
/// Options of `make_layer_norm` and `make_rms_norm`.
struct NormOptions {
  Shape shape;  ///< of one sample
  double eps = 1e-5;
  bool use_weight = true, use_bias = true;
  Dtype dtype = f64;  ///< of weight and bias
};
/// With weight 1 and bias 0.
LayerNorm make_layer_norm(const NormOptions& options, Loc loc = Loc::here());
/// With weight 1 and bias 0.
RMSNorm make_rms_norm(const NormOptions& options, Loc loc = Loc::here());

/// LayerNorm of each group of channels by itself, with a weight and a bias a channel (Wu and He 2018).
struct GroupNorm {
  Array weight, bias;  ///< [channels]; empty: none
  std::int64_t groups = 1;
  Static<double> eps = 1e-5;  ///< added to the variance
  /// x: [channels, …] → the same shape. Throws for channels that the groups do not divide.
  Array operator()(const Array& x, Loc loc = Loc::here()) const;
};
/// Options of `make_group_norm`.
struct GroupNormOptions {
  std::int64_t groups = 1, channels = 1;
  double eps = 1e-5;
  bool channelwise_affine = true;  ///< with weight and bias
  Dtype dtype = f64;
};
/// With weight 1 and bias 0. Throws unless the groups divide the channels.
GroupNorm make_group_norm(const GroupNormOptions& options, Loc loc = Loc::here());

/// What BatchNorm knows of the batches it has seen.
struct BatchNormState {
  Array mean, variance;  ///< [channels]: running means
  Array count;           ///< i64: how many batches
};
/// What normalises in training: running means and variances (exponential moving averages, which the batch at
/// hand is part of), or those of the batch, as Ioffe and Szegedy have it.
enum class BatchNormMode : std::uint8_t { Ema, Batch };

/// Each channel normalised over the lanes of a `vmap` whose axis is named (Ioffe and Szegedy 2015). The
/// statistics go in and come out:
///
///   auto [ys, state] = vmap(norm, {.in_axes = {0, {}}, .out_axes = …, .axis_name = "batch"})(xs, state);
///
/// In inference (`inference_mode(model)`) the running statistics normalise, and stay.
struct BatchNorm {
  using State = BatchNormState;
  Array weight, bias;  ///< [channels]; empty: none
  std::int64_t channels = 1;
  std::vector<std::string> axis_name = {"batch"};  ///< one, or several
  Static<double> eps = 1e-5;
  Static<double> momentum = 0.99;  ///< what stays of the running statistics with each batch
  BatchNormMode mode = BatchNormMode::Batch;
  bool inference = false;
  Dtype dtype = f64;  ///< of the statistics

  /// Of no batches. (The key is not needed; other layers need one.)
  BatchNormState init_state(const Array& key = {}) const;
  /// x: [channels, …] → the same shape, and the next state. Throws in training if no vmap around has named
  /// its axis so.
  std::pair<Array, BatchNormState> operator()(const Array& x, const BatchNormState& state,
                                              Loc loc = Loc::here()) const;
};
/// Options of `make_batch_norm`.
struct BatchNormOptions {
  std::int64_t channels = 1;
  AxisNames axis_name = "batch";
  double eps = 1e-5, momentum = 0.99;
  bool channelwise_affine = true;  ///< with weight and bias
  BatchNormMode mode = BatchNormMode::Batch;
  Dtype dtype = f64;
};
/// With weight 1 and bias 0. Throws if the channels are not positive.
BatchNorm make_batch_norm(const BatchNormOptions& options, Loc loc = Loc::here());

}  // namespace apsis::nn
