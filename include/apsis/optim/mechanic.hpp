#pragma once

#include "apsis/optim/wrap.hpp"

namespace apsis::optim {

/// Options of `mechanize`.
struct MechanicOptions {
  Array weight_decay = 1e-2;   ///< relative to the lengths of gradient and parameters
  Array eps = 1e-8;            ///< above 0
  Array s_init = 1e-6;         ///< above 0: the first scale
  std::int64_t num_betas = 6;  ///< 1 or more: averages of 0.9, 0.99, 0.999, …
};
/// What `Mechanic` keeps between updates.
template <class P, class S>
struct MechanicState {
  Array count;       ///< i64: updates so far
  Array r, m, v, s;  ///< [num_betas]: rewards, greatest and squared products, scales
  S inner;
  P params0;  ///< the parameters of the first update
};

namespace detail {
void mechanic_start(const MechanicOptions& options, const std::vector<Array>& params, Array& r, Array& m,
                    Array& v, Array& s, Loc loc);
std::vector<Array> mechanic_step(const MechanicOptions& options, const std::vector<Array>& gradient,
                                 const std::vector<Array>& step, const std::vector<Array>& params,
                                 const std::vector<Array>& params0, Array& r, Array& m, Array& v, Array& s);
}  // namespace detail

/// What `mechanize` makes.
template <class T>
struct Mechanic {
  T inner;
  MechanicOptions options;

  template <class P>
  using State = MechanicState<P, state_t<T, P>>;
  template <class P>
  State<P> init(const P& params, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    State<P> state{array(std::int64_t{0}), {}, {}, {}, {}, detail::init(inner, params, loc), params};
    detail::mechanic_start(options, tree_leaves(params), state.r, state.m, state.v, state.s, loc);
    return state;
  }
  template <class P>
  std::pair<P, State<P>> update(const P& gradient, const State<P>& state, const P& params,
                                const Extra& extra = {}, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    auto [step, next_inner] = detail::update(inner, gradient, state.inner, params, extra, loc);
    State<P> next = state;
    next.inner = std::move(next_inner);
    next.params0 = detail::choose_tree(state.count == 0, params, state.params0, loc);
    next.count = state.count + 1;
    const std::vector<Array> change =
        detail::mechanic_step(options, tree_leaves(gradient), tree_leaves(step), tree_leaves(params),
                              tree_leaves(next.params0), next.r, next.m, next.v, next.s);
    return {unflatten_like(gradient, change, loc), std::move(next)};
  }
};
/// Finds a factor of the learning rate of `inner` (Cutkosky, Defazio and Mehta, Mechanic: a learning rate
/// tuner, NeurIPS 2023).
template <class T>
Mechanic<T> mechanize(T inner, const MechanicOptions& options = {}) {
  return {std::move(inner), options};
}

}  // namespace apsis::optim
