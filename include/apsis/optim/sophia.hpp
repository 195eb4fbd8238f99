#pragma once

#include "apsis/control/cond.hpp"
#include "apsis/optim/scale.hpp"
#include "apsis/optim/wrap.hpp"
#include "apsis/transform/grad.hpp"
#include "apsis/transform/jvp.hpp"

namespace apsis::optim {

/// What `Sophia` keeps between updates.
template <class P>
struct SophiaState {
  Array count;  ///< i64: updates so far
  P mu, nu;     ///< the moving averages of the gradients and of the Hessian's diagonal
  Array key;    ///< of the next estimate
};

namespace detail {
/// Rows of signs like the parameters, and the key after them.
std::vector<Array> random_signs(Array& key, const std::vector<Array>& params);
std::vector<Array> products(const std::vector<Array>& a, const std::vector<Array>& b);
}  // namespace detail

/// Second-order clipped steps: momentum over an estimate of the Hessian's diagonal, by Hutchinson's method
/// (Liu et al., Sophia: a scalable stochastic second-order optimizer for language model pre-training, ICLR
/// 2024). `update` takes the loss itself: `update(gradient, state, params, loss)` with a function of the
/// parameters.
struct Sophia {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array b1 = 0.965, b2 = 0.99;            ///< at least 0, less than 1
  Array eps = 1e-8;                       ///< above 0: the least divisor
  ScalarOrSchedule weight_decay = 1e-4;   ///< times the learning rate
  Mask mask = {};                         ///< the leaves that decay
  Array gamma = 0.01;                     ///< above 0: a factor of the Hessian's diagonal
  Array clip_threshold = 1.;              ///< of each element; above 0; empty: none
  std::int64_t update_interval = 10;      ///< 1 or more: updates from one estimate to the next
  Array key = {};                         ///< of the module `random`; it must be given
  std::optional<Dtype> mu_dtype = {};     ///< that of mu; empty: the parameter's

  template <class P>
  SophiaState<P> init(const P& params, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    const SophiaState<P> state{{}, params, params, {}};
    detail::Start s(tree_leaves(params), tree_leaves(state), tree_ref(params), loc);
    start(s);
    return unflatten_like(state, s.state, loc);
  }
  template <class P, class F>
  std::pair<P, SophiaState<P>> update(const P& gradient, const SophiaState<P>& state, const P& params,
                                      const F& loss, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    // The estimate of now is of use from the next update on.
    auto estimated = [&](const SophiaState<P>& s, const P& p) {
      SophiaState<P> next = s;
      const P signs = unflatten_like(p, detail::random_signs(next.key, tree_leaves(p)), loc);
      const P curved = jvp(grad(loss), p, signs).second;
      next.nu = unflatten_like(
          p, averaged(detail::products(tree_leaves(curved), tree_leaves(signs)), tree_leaves(s.nu)), loc);
      return next;
    };
    const SophiaState<P> after = cond(
        state.count % update_interval == 0, estimated, [](const SophiaState<P>& s, const P&) { return s; },
        state, params);
    detail::Step s(tree_leaves(gradient), tree_leaves(params), tree_leaves(state), tree_ref(params), {}, loc);
    step(s);
    SophiaState<P> next = unflatten_like(state, s.state, loc);
    next.nu = after.nu;
    next.key = after.key;
    return {unflatten_like(gradient, s.updates, loc), std::move(next)};
  }
  void start(detail::Start& s) const;
  void step(detail::Step& s) const;

 private:
  std::vector<Array> averaged(std::vector<Array> diagonal, const std::vector<Array>& nu) const;
};

}  // namespace apsis::optim
