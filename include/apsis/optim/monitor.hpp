#pragma once

// What one wants to know of the updates within a chain.

#include "apsis/array/creation.hpp"
#include "apsis/optim/chain.hpp"
#include "apsis/optim/scale.hpp"

namespace apsis::optim {

/// The state of `snapshot`.
template <class M>
struct SnapshotState {
  M measurement;  ///< of the last updates; of the parameters before the first
};
/// What `snapshot` makes.
template <class F>
struct Snapshot {
  F measure;
  template <class P>
  using Measurement = std::decay_t<std::invoke_result_t<const F&, const P&>>;

  template <class P>
  SnapshotState<Measurement<P>> init(const P& params) const {
    return {measure(params)};
  }
  template <class P>
  std::pair<P, SnapshotState<Measurement<P>>> update(const P& gradient, const SnapshotState<Measurement<P>>&,
                                                     const P&) const {
    return {gradient, {measure(gradient)}};
  }
};
/// Keeps `measure(updates)`, any tree, in its state, and leaves the updates as they are.
template <class F>
Snapshot<F> snapshot(F measure) {
  return {std::move(measure)};
}

/// The state of `measure_with_ema`.
template <class M>
struct AverageState {
  M measurement;  ///< the moving average, without the bias of its zeros where that was asked for
  TraceState<M> average;
};
/// What `measure_with_ema` makes.
template <class F>
struct MeasureWithEma {
  F measure;
  Ema ema;
  template <class P>
  using Measurement = std::decay_t<std::invoke_result_t<const F&, const P&>>;

  template <class P>
  AverageState<Measurement<P>> init(const P& params, Loc loc = Loc::here()) const {
    const Measurement<P> first = measure(params);
    return {tree_map([](const Array& x) { return zeros_like(x); }, first), ema.init(first, loc)};
  }
  template <class P>
  std::pair<P, AverageState<Measurement<P>>> update(const P& gradient,
                                                    const AverageState<Measurement<P>>& state, const P&,
                                                    const Extra& = {}, Loc loc = Loc::here()) const {
    const Measurement<P> now = measure(gradient);
    auto [average, next] = ema.update(now, state.average, now, {}, loc);
    return {gradient, {std::move(average), std::move(next)}};
  }
};
/// As `snapshot`, of the moving average of what is measured.
template <class F>
MeasureWithEma<F> measure_with_ema(F measure, const Ema& ema = {}) {
  return {std::move(measure), ema};
}

}  // namespace apsis::optim
