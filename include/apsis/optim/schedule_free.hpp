#pragma once

#include "apsis/optim/adaptive.hpp"
#include "apsis/optim/chain.hpp"
#include "apsis/optim/momentum.hpp"

namespace apsis::optim {

/// Options of `schedule_free`.
struct ScheduleFreeOptions {
  ScalarOrSchedule learning_rate = 1.;  ///< that of the inner transformation
  Array b1 = 0.9;                       ///< above 0, less than 1: how near gradients are taken to the average
  Array weight_lr_power = 2.;           ///< steps count as the greatest learning rate so far to this power
  std::optional<Dtype> state_dtype = {};  ///< that of z; empty: the parameter's
};
/// What `ScheduleFree` keeps between updates.
template <class P, class S>
struct ScheduleFreeState {
  Array b1, weight_sum, step_count, max_lr;
  S inner;
  P z;  ///< what `inner` has made of the parameters
};

namespace detail {
/// What an update needs of learning rates, and the leaves' rules.
struct ScheduleFreeWeights {
  Array max_lr, weight_sum, ck;
};
std::vector<Array> schedule_free_start(const ScheduleFreeOptions& options, const std::vector<Array>& params,
                                       Loc loc);
ScheduleFreeWeights schedule_free_weights(const ScheduleFreeOptions& options, const Array& step_count,
                                          const Array& max_lr, const Array& weight_sum);
Array schedule_free_first(const Array& p, const ScheduleFreeOptions& options);
Array schedule_free_z(const Array& z, const Array& update);
Array schedule_free_average(const Array& y, const Array& z, const Array& b1);
Array schedule_free_change(const Array& update, const Array& y, const Array& z_before, const Array& z,
                           const Array& ck, const Array& b1);
}  // namespace detail

/// What `schedule_free` makes.
template <class T>
struct ScheduleFree {
  T inner;
  ScheduleFreeOptions options;

  template <class P>
  using State = ScheduleFreeState<P, state_t<T, P>>;
  template <class P>
  State<P> init(const P& params, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    const std::vector<Array> s = detail::schedule_free_start(options, tree_leaves(params), loc);
    const P z = tree_map([&](const Array& p) { return detail::schedule_free_first(p, options); }, params);
    return {s[0], s[1], s[2], s[3], detail::init(inner, params, loc), z};
  }
  template <class P>
  std::pair<P, State<P>> update(const P& gradient, const State<P>& state, const P& params,
                                const Extra& extra = {}, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    const detail::ScheduleFreeWeights w =
        detail::schedule_free_weights(options, state.step_count, state.max_lr, state.weight_sum);
    auto [updates, next] = detail::update(inner, gradient, state.inner, params, extra, loc);
    const P z = tree_map(detail::schedule_free_z, state.z, updates, loc);
    const P change = tree_map(
        [&](const Array& u, const Array& y, const Array& before, const Array& after) {
          return detail::schedule_free_change(u, y, before, after, w.ck, options.b1);
        },
        updates, params, state.z, z, loc);
    return {change, {state.b1, w.weight_sum, state.step_count + 1, w.max_lr, std::move(next), z}};
  }
};
/// Steps of `inner` for a sequence whose weighted average takes the place of a schedule: gradients are taken
/// between the two (Defazio et al., The road less scheduled, NeurIPS 2024). `schedule_free_eval_params` gives
/// the average, which is what the training is for.
template <class T>
ScheduleFree<T> schedule_free(T inner, const ScheduleFreeOptions& options) {
  return {std::move(inner), options};
}
/// The parameters to evaluate with, of those where gradients are taken.
template <class P, class S>
P schedule_free_eval_params(const ScheduleFreeState<P, S>& state, const P& params, Loc loc = Loc::here()) {
  const LocScope place(loc);
  return tree_map(
      [&](const Array& y, const Array& z) { return detail::schedule_free_average(y, z, state.b1); }, params,
      state.z, loc);
}

/// Options of `schedule_free_sgd`.
struct ScheduleFreeSgdOptions {
  Array learning_rate = 1.;
  std::int64_t warmup_steps = 0;  ///< 0: none
  Array b1 = 0.9;                 ///< above 0, less than 1
  Array weight_decay = 0.;
  Array weight_lr_power = 2.;
  std::optional<Dtype> state_dtype = {};  ///< that of z; empty: the parameter's
};
/// `Sgd` without a schedule.
ScheduleFree<Chain<AddDecayedWeights, Sgd>> schedule_free_sgd(const ScheduleFreeSgdOptions& options = {});
/// Options of `schedule_free_adamw`.
struct ScheduleFreeAdamWOptions {
  Array learning_rate = 0.0025;
  std::int64_t warmup_steps = 0;  ///< 0: none
  Array b1 = 0.9, b2 = 0.999;     ///< b1 above 0; less than 1
  Array eps = 1e-8;               ///< at least 0
  Array weight_decay = 0.;        ///< times the learning rate
  Array weight_lr_power = 2.;
  std::optional<Dtype> state_dtype = {};  ///< that of z; empty: the parameter's
};
/// `AdamW` without a schedule; the average takes the place of its momentum.
ScheduleFree<Chain<ScaleByRms, AddDecayedWeights, ScaleByLearningRate>> schedule_free_adamw(
    const ScheduleFreeAdamWOptions& options = {});

}  // namespace apsis::optim
