#pragma once

// Projections: the point of a set that is nearest to a given one. Of trees: all leaves are one vector. With
// `apply_updates`, they make a projected gradient method:
//
//   params = optim::projection_simplex(optim::apply_updates(params, change));

#include "apsis/ops/arithmetic.hpp"
#include "apsis/tree/map.hpp"

namespace apsis::optim {

namespace detail {
using Leaves_ = std::vector<Array>;
Leaves_ project_box(Leaves_ x, const Array& lower, const Array& upper, Loc loc);
Leaves_ project_non_negative(Leaves_ x);
Leaves_ project_simplex(Leaves_ x, const Array& scale, Loc loc);
Leaves_ project_l1(Leaves_ x, const Array& scale, bool ball, Loc loc);
Leaves_ project_l2(Leaves_ x, const Array& scale, bool ball, Loc loc);
Leaves_ project_plane(Leaves_ x, const Leaves_& a, const Array& b, bool half_space);
Leaves_ project_vector(const Leaves_& x, Leaves_ a);
}  // namespace detail

#define APSIS_PROJECTED(...)                \
  const LocScope place(loc);                \
  std::vector<Array> x = tree_leaves(tree); \
  return unflatten_like(tree, __VA_ARGS__, loc)

/// max(x, 0).
template <class P>
P projection_non_negative(const P& tree, Loc loc = Loc::here()) {
  APSIS_PROJECTED(detail::project_non_negative(std::move(x)));
}
/// Each element to [lower, upper], which broadcast to all leaves.
template <class P>
P projection_box(const P& tree, const Array& lower, const Array& upper, Loc loc = Loc::here()) {
  APSIS_PROJECTED(detail::project_box(std::move(x), lower, upper, loc));
}
/// Each element to [lower, upper], trees like the first.
template <class P>
requires(!std::is_same_v<P, Array>) P
    projection_box(const P& tree, const P& lower, const P& upper, Loc loc = Loc::here()) {
  return tree_map(
      [](const Array& v, const Array& low, const Array& high) { return projection_box(v, low, high); }, tree,
      lower, upper, loc);
}
/// Each element to [0, scale].
template <class P>
P projection_hypercube(const P& tree, const Array& scale = 1., Loc loc = Loc::here()) {
  return projection_box(tree, 0, scale, loc);
}
/// No element negative, and a sum of `scale` (Duchi et al., Efficient projections onto the l1-ball, ICML
/// 2008).
template <class P>
P projection_simplex(const P& tree, const Array& scale = 1., Loc loc = Loc::here()) {
  APSIS_PROJECTED(detail::project_simplex(std::move(x), scale, loc));
}
/// The sum of absolute values is `scale`.
template <class P>
P projection_l1_sphere(const P& tree, const Array& scale = 1., Loc loc = Loc::here()) {
  APSIS_PROJECTED(detail::project_l1(std::move(x), scale, false, loc));
}
/// The sum of absolute values is `scale` at most.
template <class P>
P projection_l1_ball(const P& tree, const Array& scale = 1., Loc loc = Loc::here()) {
  APSIS_PROJECTED(detail::project_l1(std::move(x), scale, true, loc));
}
/// The Euclidean length is `scale`. NaN at 0, which is as near to all points of the sphere.
template <class P>
P projection_l2_sphere(const P& tree, const Array& scale = 1., Loc loc = Loc::here()) {
  APSIS_PROJECTED(detail::project_l2(std::move(x), scale, false, loc));
}
/// The Euclidean length is `scale` at most.
template <class P>
P projection_l2_ball(const P& tree, const Array& scale = 1., Loc loc = Loc::here()) {
  APSIS_PROJECTED(detail::project_l2(std::move(x), scale, true, loc));
}
/// Each absolute value is `scale` at most.
template <class P>
P projection_linf_ball(const P& tree, const Array& scale = 1., Loc loc = Loc::here()) {
  return projection_box(tree, -scale, scale, loc);
}
/// The multiples of a.
template <class P>
P projection_vector(const P& tree, const P& a, Loc loc = Loc::here()) {
  APSIS_PROJECTED(detail::project_vector(x, tree_leaves(a)));
}
/// The points whose product with a is b.
template <class P>
P projection_hyperplane(const P& tree, const P& a, const Array& b, Loc loc = Loc::here()) {
  APSIS_PROJECTED(detail::project_plane(std::move(x), tree_leaves(a), b, false));
}
/// The points whose product with a is b at most.
template <class P>
P projection_halfspace(const P& tree, const P& a, const Array& b, Loc loc = Loc::here()) {
  APSIS_PROJECTED(detail::project_plane(std::move(x), tree_leaves(a), b, true));
}
#undef APSIS_PROJECTED

}  // namespace apsis::optim
