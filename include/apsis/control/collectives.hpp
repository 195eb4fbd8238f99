#pragma once

// Lanes of a vmap that work together. The axis is named where it is mapped, and used by its name inside.
//
//   auto normalise = vmap([](const Array& x) { return x / psum(x, "i"); }, {.axis_name = "i"});
//   auto spread = vmap(vmap(f, {.axis_name = "column"}), {.axis_name = "row"});   // psum(x, {"row",
//   "column"})
//
// All throw if no vmap around them has named its axis so; the message lists the names in scope. A loop whose
// lanes end at different times runs them in lockstep if they work together in it: lanes that have ended keep
// their last values.

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

namespace apsis {

/// One or several names of mapped axes.
class AxisNames {
 public:
  AxisNames(const char* name) : names_{name} {}
  AxisNames(std::string name) : names_{static_cast<std::string&&>(name)} {}
  AxisNames(std::initializer_list<std::string> names) : names_(names) {}
  const std::vector<std::string>& all() const { return names_; }

 private:
  std::vector<std::string> names_;
};

/// Options of `all_gather` and `psum_scatter`.
struct CollectiveOptions {
  /// The axis of the array that lanes are gathered along, or scattered from.
  int axis = 0;
  /// Joined with that axis instead of making, or using up, an axis of its own.
  bool tiled = false;
};

/// The number of lanes; of several axes, the product.
std::int64_t axis_size(const AxisNames& axes, Loc loc = Loc::here());
/// This lane's number, an i32 scalar; along several axes, row-major.
Array axis_index(const AxisNames& axes, Loc loc = Loc::here());

/// The sum over all lanes, the same in each. Booleans are counted. Differentiable; the cotangents are summed
/// too.
Array psum(const Array& x, const AxisNames& axes, Loc loc = Loc::here());
/// The mean over all lanes; of integers, a float.
Array pmean(const Array& x, const AxisNames& axes, Loc loc = Loc::here());
/// The largest over all lanes. Lanes that tie share the derivative.
Array pmax(const Array& x, const AxisNames& axes, Loc loc = Loc::here());
/// The least over all lanes. Lanes that tie share the derivative.
Array pmin(const Array& x, const AxisNames& axes, Loc loc = Loc::here());

/// The values of all lanes along a new axis of the result (tiled: one after the other along an old one), the
/// same in each.
Array all_gather(const Array& x, const AxisNames& axes, const CollectiveOptions& options = {},
                 Loc loc = Loc::here());
/// The sum over all lanes, of which each keeps the part with its number along the axis, which is as long as
/// there are lanes (tiled: a multiple). Throws for another length.
Array psum_scatter(const Array& x, const AxisNames& axes, const CollectiveOptions& options = {},
                   Loc loc = Loc::here());
/// Lane i sends its j-th part along `split_axis` to lane j, which keeps what it gets along `concat_axis`, in
/// the order of the senders. `split_axis` is as long as there are lanes, and goes (tiled: a multiple, and
/// stays). Throws for another length.
Array all_to_all(const Array& x, const AxisNames& axis, int split_axis, int concat_axis, bool tiled = false,
                 Loc loc = Loc::here());
/// Each pair (source, target) sends the value of one lane to another; lanes that get nothing have zeros.
/// Throws if a number is out of range, or is twice source or twice target.
Array ppermute(const Array& x, const AxisNames& axis, const std::vector<std::pair<int, int>>& pairs,
               Loc loc = Loc::here());
/// Lane i gets the value of lane order[i].
Array pshuffle(const Array& x, const AxisNames& axis, const std::vector<int>& order, Loc loc = Loc::here());
/// Exchanges the mapped axis with axis `axis_of_x` of the array, which is as long.
Array pswapaxes(const Array& x, const AxisNames& axis, int axis_of_x, Loc loc = Loc::here());

namespace detail {
/// A tree that is no Array.
template <class T>
concept ProperTree = !std::is_convertible_v<const T&, Array> && !std::is_convertible_v<const T&, Operand>;

template <class T, class F>
T map_arrays(T tree, F&& f) {
  for_each_leaf(tree, [&](Array& a) {
    if (!a.is_empty()) a = f(a);
  });
  return tree;
}
}  // namespace detail

/// Of every array of a tree.
template <detail::ProperTree T>
T psum(const T& tree, const AxisNames& axes, Loc loc = Loc::here()) {
  return detail::map_arrays(tree, [&](const Array& a) { return psum(a, axes, loc); });
}
template <detail::ProperTree T>
T pmean(const T& tree, const AxisNames& axes, Loc loc = Loc::here()) {
  return detail::map_arrays(tree, [&](const Array& a) { return pmean(a, axes, loc); });
}
template <detail::ProperTree T>
T pmax(const T& tree, const AxisNames& axes, Loc loc = Loc::here()) {
  return detail::map_arrays(tree, [&](const Array& a) { return pmax(a, axes, loc); });
}
template <detail::ProperTree T>
T pmin(const T& tree, const AxisNames& axes, Loc loc = Loc::here()) {
  return detail::map_arrays(tree, [&](const Array& a) { return pmin(a, axes, loc); });
}
template <detail::ProperTree T>
T all_gather(const T& tree, const AxisNames& axes, const CollectiveOptions& options = {},
             Loc loc = Loc::here()) {
  return detail::map_arrays(tree, [&](const Array& a) { return all_gather(a, axes, options, loc); });
}
template <detail::ProperTree T>
T ppermute(const T& tree, const AxisNames& axis, const std::vector<std::pair<int, int>>& pairs,
           Loc loc = Loc::here()) {
  return detail::map_arrays(tree, [&](const Array& a) { return ppermute(a, axis, pairs, loc); });
}

/// Whether any element is true in any lane of every vmap around, named or not: a scalar
/// that is not mapped. (Equinox: unvmap_any, unvmap_all.) Throws unless `x` is boolean.
Array unvmap_any(const Array& x, Loc loc = Loc::here());
/// Whether every element is true in every lane of every vmap around; otherwise as unvmap_any.
Array unvmap_all(const Array& x, Loc loc = Loc::here());
/// The largest element of all lanes. Not differentiable.
Array unvmap_max(const Array& x, Loc loc = Loc::here());

}  // namespace apsis
