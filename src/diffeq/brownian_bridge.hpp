#pragma once

// Brownian motion in an interval: at its middle, and at any time within, given what is known of its ends.
// Times run from 0 to 1, in f64 whatever the dtype of the path. `w` is W, `h` is t H and `k` is t² K of
// [0, t], and with a d in front those of an interval.

#include <utility>

#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/random.hpp"
#include "diffeq/brownian.hpp"

namespace apsis::detail {

/// The path at both ends of an interval: w, h and k where it begins, what is added to them up to its end, and
/// the key of what is inside.
struct PathNode {
  Array key, w = {}, dw = {}, h = {}, dh = {}, k = {}, dk = {};
};
/// What is drawn to halve an interval, as many as there are of W and Lévy areas.
struct PathDraws {
  Array z, x1 = {}, x2 = {};
};
/// The path from 0 to a time.
struct PathValue {
  Array w = {}, h = {}, k = {};
};
/// What is computed for one leaf of the path.
struct PathLeaf {
  Shape shape;
  Dtype dtype;
  int areas;

  Array draw(const Array& key) const {
    return astype(random::normal(key, shape, dtype), working_dtype(dtype));
  }
  /// A coefficient, of the dtype that is computed in.
  Array of(const Array& scalar) const { return astype(scalar, working_dtype(dtype)); }
  Array none() const { return zeros(shape, working_dtype(dtype)); }

  PathNode root(const Array& key) const;
  PathDraws draws(const PathNode& n) const;
  /// All but the key of a node and of what is drawn in its interval as one array, and back.
  Array packed(const PathNode& n, const PathDraws& drawn) const;
  std::pair<PathNode, PathDraws> unpacked(const Array& key, const Array& row) const;
  PathNode half(const PathNode& n, const PathDraws& drawn, const Array& s, const Array& su,
                const Array& right) const;
  PathValue at(const PathNode& n, const Array& s, const Array& su, const Array& r) const;
};

}  // namespace apsis::detail
