#pragma once

// Gradients of single examples, clipped and with noise.

#include "apsis/ops/arithmetic.hpp"
#include "apsis/optim/chain.hpp"
#include "apsis/optim/momentum.hpp"

namespace apsis::optim {

namespace detail {
/// What is left of leaves whose first axis counts examples: sums over it of examples that were clipped.
struct ClippedSums {
  std::vector<Array> sums;
  std::vector<Array> clipped;  ///< i64: how many examples, of the whole gradient or of each leaf
};
ClippedSums clip_examples(const std::vector<Array>& gradients, const Array& l2_norm_clip, bool by_layer,
                          const char* where, Loc loc);
std::vector<Array> private_mean(const std::vector<Array>& gradients, const Array& l2_norm_clip,
                                const Array& noise, Array& key, Loc loc);
void check_private(const Array& l2_norm_clip, const Array& noise_multiplier, const Array& key, Loc loc);
}  // namespace detail

/// The sum over examples of gradients, each of length l2_norm_clip at most, and how many were longer. The
/// first axis of each leaf counts examples: `vmap(grad(loss))`. Throws where these do not agree. (Abadi et
/// al., Deep learning with differential privacy, CCS 2016.)
template <class P>
std::pair<P, Array> per_example_global_norm_clip(const P& gradients, const Array& l2_norm_clip,
                                                 Loc loc = Loc::here()) {
  const LocScope place(loc);
  auto found =
      detail::clip_examples(tree_leaves(gradients), l2_norm_clip, false, "per_example_global_norm_clip", loc);
  return {unflatten_like(gradients, found.sums, loc), found.clipped[0]};
}
/// The same leaf by leaf, each leaf of length l2_norm_clip over the root of their number at most, with the
/// number of examples that were clipped for each leaf (McMahan et al., Learning differentially private
/// recurrent language models, ICLR 2018).
template <class P>
std::pair<P, P> per_example_layer_norm_clip(const P& gradients, const Array& l2_norm_clip,
                                            Loc loc = Loc::here()) {
  const LocScope place(loc);
  auto found =
      detail::clip_examples(tree_leaves(gradients), l2_norm_clip, true, "per_example_layer_norm_clip", loc);
  return {unflatten_like(gradients, found.sums, loc), unflatten_like(gradients, found.clipped, loc)};
}

/// What `DifferentiallyPrivateAggregate` keeps between updates.
struct PrivateState {
  Array key;
};
/// The mean of clipped gradients of examples, with normal noise of deviation l2_norm_clip · noise_multiplier
/// in their sum (Abadi et al. 2016). Unlike other transformations it takes gradients with an axis of examples
/// before the parameters' axes: `vmap(grad(loss))`. The first one in a chain.
struct DifferentiallyPrivateAggregate {
  Array l2_norm_clip = 1.;      ///< above 0
  Array noise_multiplier = 1.;  ///< at least 0
  Array key = {};               ///< of the module `random`; it must be given

  template <class P>
  PrivateState init(const P&, Loc loc = Loc::here()) const {
    detail::check_private(l2_norm_clip, noise_multiplier, key, loc);
    return {key};
  }
  template <class P>
  std::pair<P, PrivateState> update(const P& gradients, const PrivateState& state, const P&,
                                    const Extra& = {}, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    Array next = state.key;
    const std::vector<Array> mean = detail::private_mean(tree_leaves(gradients), l2_norm_clip,
                                                         l2_norm_clip * noise_multiplier, next, loc);
    return {unflatten_like(gradients, mean, loc), {next}};
  }
};

/// Options of `dpsgd`.
struct DpSgdOptions {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  Array l2_norm_clip = 1.;                ///< above 0
  Array noise_multiplier = 1.;            ///< at least 0
  Array key = {};                         ///< of the module `random`; it must be given
  Array momentum = {};                    ///< at least 0, less than 1; empty: none
  bool nesterov = false;
};
/// Stochastic gradient descent of `DifferentiallyPrivateAggregate`: takes gradients of single examples.
Chain<DifferentiallyPrivateAggregate, Sgd> dpsgd(const DpSgdOptions& options);

}  // namespace apsis::optim
