#include "apsis/optim/schedule_free.hpp"

#include "optim/support.hpp"

namespace apsis::optim {
namespace {

ScalarOrSchedule warmed_up(const Array& rate, std::int64_t steps) {
  if (steps == 0) return rate;
  return WarmupConstant{.peak_value = rate, .warmup_steps = steps};
}

}  // namespace

namespace detail {

std::vector<Array> schedule_free_start(const ScheduleFreeOptions& options, const std::vector<Array>& params,
                                       Loc loc) {
  const Start s(params, {}, {nullptr, nullptr}, loc);
  s.check("schedule_free", "learning_rate", options.learning_rate, OptionRange::Rate);
  s.check("schedule_free", "b1", options.b1, OptionRange::Positive);
  s.check("schedule_free", "b1", options.b1, OptionRange::Fraction);
  s.check("schedule_free", "state_dtype", options.state_dtype);
  s.check("schedule_free", "weight_lr_power", options.weight_lr_power, OptionRange::Finite);
  const Dtype dtype = least_dtype(params);
  return {astype(options.b1, dtype), zeros({}, dtype), array(std::int64_t{1}), zeros({}, dtype)};
}

ScheduleFreeWeights schedule_free_weights(const ScheduleFreeOptions& options, const Array& step_count,
                                          const Array& max_lr, const Array& weight_sum) {
  const Array rate = astype(options.learning_rate(step_count), max_lr.dtype());
  const Array most = maximum(max_lr, rate), weight = pow(most, like(options.weight_lr_power, most));
  const Array total = weight_sum + weight, nothing = total == 0;
  return {most, total, where(nothing, 0, weight / where(nothing, 1, total))};
}

Array schedule_free_first(const Array& p, const ScheduleFreeOptions& options) {
  return Start::is_trained(p) ? astype(p, options.state_dtype.value_or(p.dtype())) : p;
}

Array schedule_free_z(const Array& z, const Array& update) {
  return update.is_empty() ? z : astype(z + update, z.dtype());
}

Array schedule_free_average(const Array& y, const Array& z, const Array& b1) {
  if (!Start::is_trained(y)) return y;
  return (y - like(1. - b1, z) * z) / like(b1, y);
}

Array schedule_free_change(const Array& update, const Array& y, const Array& z_before, const Array& z,
                           const Array& ck, const Array& b1) {
  const Array x = like(1. - ck, y) * schedule_free_average(y, z_before, b1) + like(ck, z) * z;
  return astype(like(b1, x) * x + like(1. - b1, z) * z - y, update.dtype());
}

}  // namespace detail

ScheduleFree<Chain<AddDecayedWeights, Sgd>> schedule_free_sgd(const ScheduleFreeSgdOptions& o) {
  const ScalarOrSchedule rate = warmed_up(o.learning_rate, o.warmup_steps);
  return schedule_free(chain(AddDecayedWeights{o.weight_decay}, Sgd{.learning_rate = rate}),
                       {.learning_rate = rate,
                        .b1 = o.b1,
                        .weight_lr_power = o.weight_lr_power,
                        .state_dtype = o.state_dtype});
}

ScheduleFree<Chain<ScaleByRms, AddDecayedWeights, ScaleByLearningRate>> schedule_free_adamw(
    const ScheduleFreeAdamWOptions& o) {
  const ScalarOrSchedule rate = warmed_up(o.learning_rate, o.warmup_steps);
  return schedule_free(
      chain(ScaleByRms{.decay = o.b2, .eps = o.eps, .eps_in_sqrt = false, .bias_correction = true},
            AddDecayedWeights{o.weight_decay}, ScaleByLearningRate{rate}),
      {.learning_rate = rate,
       .b1 = o.b1,
       .weight_lr_power = o.weight_lr_power,
       .state_dtype = o.state_dtype});
}

}  // namespace apsis::optim
