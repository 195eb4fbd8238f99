#pragma once

// What drives an equation beside time: paths, of which solvers take increments over their steps.
//
//   struct Ramp {                                               // x(t) = rate · t
//     Array rate;
//     Array evaluate(const Array& t0, const Array& t1) const { return rate * (t1 - t0); }
//   };
//
// Brownian motion is in apsis/diffeq/brownian.hpp.

#include <concepts>
#include <cstdint>
#include <vector>

#include "apsis/core/array.hpp"

namespace apsis {

/// What Brownian motion tells of an interval from s to t of length h, besides its increment W. With the
/// bridge B(r) = W(r) - W(s) - (r - s) / h · (W(t) - W(s)), H = ∫ B dr / h and K = ∫ B · ((s + t) / 2 - r) dr
/// / h². Given h they are independent normal numbers of variances h, h / 12 and h / 720. (Foster, Lyons,
/// Oberhauser, An optimal polynomial approximation of Brownian motion, SIAM J. Numer. Anal. 58, 2020.)
enum class LevyArea : std::uint8_t {
  None,           ///< W alone
  SpaceTime,      ///< W and H
  SpaceTimeTime,  ///< W, H and K
};

/// What an integral with respect to Brownian motion means, and so what a solver converges to.
enum class Calculus : std::uint8_t {
  Any,  ///< not said
  Ito,
  Stratonovich,
};

/// What Brownian motion does between two times.
template <class W>
struct BrownianIncrement {
  Array dt;  ///< how long the interval is
  W w;       ///< the increment
  W h, k;    ///< the Lévy areas; their leaves are empty where they are not asked for
};

/// A path by which an equation may be driven: `evaluate(t0, t1)` is its increment from t0 to t1, a tree of
/// floating arrays.
template <class P>
concept ControlPath = requires(const P& p, const Array& t) {
  p.evaluate(t, t);
};

namespace detail {

/// The increment of a path on leaves; of Brownian motion with what it tells besides.
struct FlatIncrement {
  std::vector<Array> w, h, k;
};
/// What checks ask of a path.
struct PathTraits {
  bool brownian = false;
  bool fixed_steps = false;  // increments of the same interval differ: no step may be tried again
  LevyArea levy_area = LevyArea::None;
  Array t0 = {}, t1 = {};  // where it is there; empty: everywhere
  Array tol = {};  // steps that are shorter do not see Brownian motion; empty: there is no such length
  const char* name = "path";
};
/// Brownian paths have these members, and give increments faster when asked one after the other: what they
/// remember is `memory`, which changes none of their values.
template <class P>
concept BrownianPath = ControlPath<P> && requires(const P& p, const Array& t, std::vector<Array>& memory) {
  { p.path_traits() } -> std::same_as<PathTraits>;
  { p.start_memory() } -> std::same_as<std::vector<Array>>;
  { p.flat_increment(t, t, memory) } -> std::same_as<FlatIncrement>;
};

}  // namespace detail
}  // namespace apsis
