#pragma once

#include "apsis/optim/adam.hpp"
#include "apsis/optim/matrix_axes.hpp"
#include "apsis/optim/scale.hpp"
#include "apsis/optim/wrap.hpp"

namespace apsis::optim {

/// Options of `scale_by_galore`.
struct GaloreOptions {
  std::int64_t rank = 128;             ///< 1 or more
  std::int64_t update_proj_gap = 200;  ///< 1 or more: steps between two decompositions
  Array scale = 1.;                    ///< of the change
  /// Which axes of a leaf are rows and columns. Empty: of matrices the first and the second; others are not
  /// projected.
  MatrixAxesOf matrix_axes = {};
};
/// What `ScaleByGalore` keeps between updates.
template <class P, class S>
struct GaloreState {
  Array count;  ///< i64: updates so far
  S inner;      ///< over the gradients in their subspaces
  P projector;  ///< the subspaces: [m, rank] or [n, rank]; empty for leaves that are not projected
};

namespace detail {
void check_galore(const GaloreOptions& options, Loc loc);
/// A projector of zeros, and the leaf that the inner transformation sees.
std::pair<Array, Array> galore_start(const GaloreOptions& options, const Array& leaf, const std::string& path,
                                     Loc loc);
Array galore_projector(const GaloreOptions& options, const Array& gradient, const Array& projector,
                       const Array& renew, const std::string& path, Loc loc);
Array galore_project(const GaloreOptions& options, const Array& gradient, const Array& projector,
                     const std::string& path, Loc loc);
Array galore_back(const GaloreOptions& options, const Array& change, const Array& gradient,
                  const Array& projector, const std::string& path, Loc loc);
}  // namespace detail

/// What `scale_by_galore` makes.
template <class T>
struct ScaleByGalore {
  T inner;
  GaloreOptions options;

  template <class P>
  using State = GaloreState<P, state_t<T, P>>;
  template <class P>
  State<P> init(const P& params, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    detail::check_galore(options, loc);
    const std::vector<std::string> paths = detail::leaf_paths(tree_ref(params), {});
    std::vector<Array> projectors = tree_leaves(params), seen = projectors;
    for (std::size_t i = 0; i < seen.size(); ++i)
      std::tie(projectors[i], seen[i]) = detail::galore_start(options, seen[i], paths[i], loc);
    return {array(std::int64_t{0}), detail::init(inner, unflatten_like(params, seen, loc), loc),
            unflatten_like(params, projectors, loc)};
  }
  template <class P>
  std::pair<P, State<P>> update(const P& gradient, const State<P>& state, const P& params,
                                const Extra& extra = {}, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    const std::vector<std::string> paths = detail::leaf_paths(tree_ref(params), {});
    const Array renew = state.count % options.update_proj_gap == 0;
    const std::vector<Array> g = tree_leaves(gradient);
    std::vector<Array> projectors = tree_leaves(state.projector), low = g;
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (g[i].is_empty() || projectors[i].is_empty()) continue;
      projectors[i] = detail::galore_projector(options, g[i], projectors[i], renew, paths[i], loc);
      low[i] = detail::galore_project(options, g[i], projectors[i], paths[i], loc);
    }
    // (The inner transformation has no parameters to look at in the subspaces.)
    const P seen = unflatten_like(gradient, low, loc);
    auto [change, next] = detail::update(
        inner, seen, state.inner, tree_map([](const Array& x) { return zeros_like(x); }, seen), extra, loc);
    std::vector<Array> full = tree_leaves(change);
    for (std::size_t i = 0; i < g.size(); ++i)
      if (!g[i].is_empty() && !projectors[i].is_empty())
        full[i] = detail::galore_back(options, full[i], g[i], projectors[i], paths[i], loc);
    return {unflatten_like(gradient, full, loc),
            {state.count + 1, std::move(next), unflatten_like(state.projector, projectors, loc)}};
  }
};
/// Transforms gradients of matrices within the subspace of their greatest singular values, so that the state
/// of `inner` has rank columns or rows (Zhao et al., GaLore: memory-efficient LLM training by gradient
/// low-rank projection, ICML 2024).
template <class T = ScaleByAdam>
ScaleByGalore<T> scale_by_galore(const GaloreOptions& options = {}, T inner = {}) {
  return {std::move(inner), options};
}

/// Options of `galore`.
struct GaloreDescent {
  ScalarOrSchedule learning_rate = 1e-3;  ///< finite, at least 0
  GaloreOptions projection = {};
  ScalarOrSchedule weight_decay = 0.;  ///< times the learning rate
  Mask mask = {};                      ///< the leaves that decay
};
/// `AdamW` by `scale_by_galore`.
Chain<ScaleByGalore<ScaleByAdam>, AddDecayedWeights, ScaleByLearningRate> galore(
    const GaloreDescent& options = {});

}  // namespace apsis::optim
