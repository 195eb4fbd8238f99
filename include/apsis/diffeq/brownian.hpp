#pragma once

// Brownian motion from a key: the same key gives the same path.
//
//   VirtualBrownianTree path(0., 1., 1e-3, {3}, random::key(7));           // of shape [3]
//   Array w = path.evaluate(0.2, 0.5);                                     // W(0.5) - W(0.2)
//   auto step = path.increment(0.2, 0.5);                                  // its length, W, H, K

#include <concepts>
#include <utility>

#include "apsis/diffeq/path.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/transform/function.hpp"

namespace apsis {

/// What may be chosen of a Brownian path.
struct BrownianOptions {
  LevyArea levy_area = LevyArea::None;  ///< what increments tell besides W; each gives another path
  Dtype dtype = f64;                    ///< of a path that is given by its shape
};

namespace detail {

/// Shapes and dtypes of the leaves of a path, part of the program.
struct PathLeaves {
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<Dtype> dtypes;
  std::size_t size() const { return shapes.size(); }
  Shape shape(std::size_t i) const { return Shape(std::span<const std::int64_t>(shapes[i])); }
};
/// Throws unless all are floating.
PathLeaves path_leaves(std::span<const Array> like, const char* owner, Loc loc);
PathLeaves path_leaves(const Shape& shape, Dtype dtype, const char* owner, Loc loc);

template <class W>
PathLeaves path_leaves_of(const W& like, const char* owner, Loc loc) {
  std::vector<Array> leaves;
  collect_leaves(like, leaves);
  return path_leaves(leaves, owner, loc);
}
template <class W>
W without_leaves(const W& like) {
  W out = like;
  clear_leaves(out);
  return out;
}
/// A tree like `like` with these leaves, or empty ones where there are none.
template <class W>
W with_all_leaves(const W& like, std::span<const Array> leaves) {
  W out = like;
  std::size_t next = 0;
  for_each_leaf(out, [&](Array& a) { a = next < leaves.size() ? leaves[next++] : Array(); });
  return out;
}
template <class W>
BrownianIncrement<W> increment_like(const W& like, const Array& dt, const FlatIncrement& f) {
  return {dt, with_all_leaves(like, f.w), with_all_leaves(like, f.h), with_all_leaves(like, f.k)};
}

/// A path without the type of its values.
struct FlatTree {
  Array t0, t1, tol, keys;
  PathLeaves leaves;
  LevyArea levy_area = LevyArea::None;
};
FlatTree make_tree(const Array& t0, const Array& t1, const Array& tol, const Array& key,
                   const PathLeaves& leaves, LevyArea levy_area, Loc loc);
PathTraits tree_traits(const FlatTree& tree);
std::vector<Array> tree_memory(const FlatTree& tree);
FlatIncrement tree_increment(const FlatTree& tree, const Array& t0, const Array& t1,
                             std::vector<Array>& memory);
/// From the root; checks the times.
FlatIncrement tree_evaluate(const FlatTree& tree, const Array& t0, const Array& t1, Loc loc);

struct FlatUnsafe {
  Array key;
  PathLeaves leaves;
  LevyArea levy_area = LevyArea::None;
};
FlatUnsafe make_unsafe(const Array& key, const PathLeaves& leaves, LevyArea levy_area, Loc loc);
PathTraits unsafe_traits(const FlatUnsafe& path);
/// By the number of increments before, which is the memory; without one by the times.
FlatIncrement unsafe_increment(const FlatUnsafe& path, const Array& t0, const Array& t1,
                               std::vector<Array>& memory);

}  // namespace detail

/// Brownian motion on [t0, t1] whose value at each time is found from the key, in memory that does not grow:
/// steps may be tried again, refined and run back.
///
/// [t0, t1] is halved until intervals are no longer than `tol`, at most 50 times. Within one of these each
/// time has a bridge of its own: `tol` should be below the shortest step. Solves remember the way down to the
/// last time, and go on from where the way to the next one leaves it; the values are the same. W is rounded
/// to multiples of 2⁻⁵⁰ (f32: 2⁻²¹) times a power of two near √(t1 - t0): increments over the parts of an
/// interval add up to that over the whole, bit for bit, whatever the parts are. For derivatives paths are
/// constants.
///
/// (Li, Wong, Chen, Duvenaud, Scalable gradients for stochastic differential equations, AISTATS 2020;
/// Jelinčič, Foster, Kidger, Single-seed generation of Brownian paths and integrals for adaptive and high
/// order SDE solvers, arXiv:2405.06464. Values are Diffrax's, but those with LevyArea::SpaceTimeTime at times
/// that halving does not reach: there the covariance has another factor.)
template <class W = Array>
class VirtualBrownianTree {
 public:
  /// A path of one array. Throws unless t0 < t1, and tol is above 0; where they are known when a program
  /// runs, then.
  VirtualBrownianTree(const Array& t0, const Array& t1, const Array& tol, const Shape& shape,
                      const Array& key, const BrownianOptions& options = {},
                      Loc loc = Loc::here()) requires std::same_as<W, Array>
      : tree_(detail::make_tree(t0, t1, tol, key,
                                detail::path_leaves(shape, options.dtype, "VirtualBrownianTree", loc),
                                options.levy_area, loc)) {}
  /// A path of trees like `like`, of which only shapes and dtypes count. Throws unless these are floating.
  template <std::same_as<W> Y>
  VirtualBrownianTree(const Array& t0, const Array& t1, const Array& tol, const Y& like, const Array& key,
                      const BrownianOptions& options = {}, Loc loc = Loc::here())
      : tree_(detail::make_tree(t0, t1, tol, key, detail::path_leaves_of(like, "VirtualBrownianTree", loc),
                                options.levy_area, loc)),
        like_(detail::without_leaves(like)) {}

  /// W(t1) - W(t0). Throws for times outside of the path's.
  W evaluate(const Array& t0, const Array& t1, Loc loc = Loc::here()) const {
    return increment(t0, t1, loc).w;
  }
  /// W(t), which is 0 where the path begins.
  W evaluate(const Array& t, Loc loc = Loc::here()) const { return increment(tree_.t0, t, loc).w; }
  /// W(t1) - W(t0) and the Lévy areas of the interval, as many as the path has. If t1 is before t0 they are
  /// those of the path run back.
  BrownianIncrement<W> increment(const Array& t0, const Array& t1, Loc loc = Loc::here()) const {
    return detail::increment_like(like_, t1 - t0, detail::tree_evaluate(tree_, t0, t1, loc));
  }

  detail::PathTraits path_traits() const { return detail::tree_traits(tree_); }
  std::vector<Array> start_memory() const { return detail::tree_memory(tree_); }
  detail::FlatIncrement flat_increment(const Array& t0, const Array& t1, std::vector<Array>& memory) const {
    return detail::tree_increment(tree_, t0, t1, memory);
  }

 private:
  detail::FlatTree tree_;
  W like_;
  APSIS_FIELDS(VirtualBrownianTree, tree_, like_)
};
template <class Y>
requires(!std::same_as<Y, Shape>)
    VirtualBrownianTree(const Array&, const Array&, const Array&, const Y&, const Array&)
->VirtualBrownianTree<Y>;
template <class Y>
requires(!std::same_as<Y, Shape>) VirtualBrownianTree(const Array&, const Array&, const Array&, const Y&,
                                                      const Array&, const BrownianOptions&)
->VirtualBrownianTree<Y>;

/// Independent normal increments, one after the other, without a path: fast, for steps of fixed lengths that
/// are made once. In a solve each increment is keyed by how many were drawn before; outside by all bits of
/// both times. A controller that rejects steps is refused.
template <class W = Array>
class UnsafeBrownianPath {
 public:
  /// Increments of one array.
  UnsafeBrownianPath(const Shape& shape, const Array& key, const BrownianOptions& options = {},
                     Loc loc = Loc::here()) requires std::same_as<W, Array>
      : path_(detail::make_unsafe(key, detail::path_leaves(shape, options.dtype, "UnsafeBrownianPath", loc),
                                  options.levy_area, loc)) {}
  /// Increments of trees like `like`, of which only shapes and dtypes count. Throws unless these are
  /// floating.
  template <std::same_as<W> Y>
  UnsafeBrownianPath(const Y& like, const Array& key, const BrownianOptions& options = {},
                     Loc loc = Loc::here())
      : path_(detail::make_unsafe(key, detail::path_leaves_of(like, "UnsafeBrownianPath", loc),
                                  options.levy_area, loc)),
        like_(detail::without_leaves(like)) {}

  /// A normal increment of variance t1 - t0 in each element, the same for the same two times.
  W evaluate(const Array& t0, const Array& t1, Loc loc = Loc::here()) const {
    return increment(t0, t1, loc).w;
  }
  /// With the Lévy areas of the interval, as many as the path has.
  BrownianIncrement<W> increment(const Array& t0, const Array& t1, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    std::vector<Array> none;
    return detail::increment_like(like_, t1 - t0, detail::unsafe_increment(path_, t0, t1, none));
  }

  detail::PathTraits path_traits() const { return detail::unsafe_traits(path_); }
  std::vector<Array> start_memory() const { return {array(std::int64_t{0})}; }
  detail::FlatIncrement flat_increment(const Array& t0, const Array& t1, std::vector<Array>& memory) const {
    return detail::unsafe_increment(path_, t0, t1, memory);
  }

 private:
  detail::FlatUnsafe path_;
  W like_;
  APSIS_FIELDS(UnsafeBrownianPath, path_, like_)
};
template <class Y>
requires(!std::same_as<Y, Shape>) UnsafeBrownianPath(const Y&, const Array&)
->UnsafeBrownianPath<Y>;
template <class Y>
requires(!std::same_as<Y, Shape>) UnsafeBrownianPath(const Y&, const Array&, const BrownianOptions&)
->UnsafeBrownianPath<Y>;

}  // namespace apsis
