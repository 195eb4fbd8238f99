// Virtual Brownian trees: the way down to a time, what is remembered of it, and increments.

#include <cmath>
#include <limits>

#include "apsis/array/dtype.hpp"
#include "apsis/array/elementwise.hpp"
#include "apsis/control/while_loop.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/random.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "diffeq/brownian_bridge.hpp"
#include "diffeq/checks.hpp"
#include "diffeq/messages.hpp"

namespace apsis::detail {
namespace {

constexpr int most_levels = 50;

Array real(const Array& x) { return astype(stop_gradient(x), Dtype::F64); }

/// How often [0, 1] is halved: until intervals are no longer than the tolerance.
Array levels_of(const FlatTree& tree) {
  return value_or_later({tree.t0, tree.t1, tree.tol}, [](std::span<const Array> v) {
    std::vector<double> halves;
    for (int level = 0; level < most_levels; ++level) halves.push_back(std::ldexp(1., -level));
    return sum(astype(array(halves) > real(v[2]) / (real(v[1]) - real(v[0])), Dtype::I64));
  });
}
/// The time from 0 to 1.
Array relative(const FlatTree& tree, const Array& t) {
  const Array t0 = real(tree.t0);
  return clip((real(t) - t0) / (real(tree.t1) - t0), 0., 1.);
}
/// The length of intervals of a level.
Array length_of(const Array& level) { return 1. / astype(array(std::int64_t{1}) << level, Dtype::F64); }

struct Grid {
  const FlatTree& tree;
  Array levels = levels_of(tree);
  std::vector<PathLeaf> leaves = {};

  explicit Grid(const FlatTree& t) : tree(t) {
    for (std::size_t i = 0; i < t.leaves.size(); ++i)
      leaves.push_back({t.leaves.shape(i), t.leaves.dtypes[i], areas_of(t.levy_area)});
  }
  std::int64_t room() const { return is_concrete(levels) ? levels.item<std::int64_t>() : most_levels; }
  std::vector<PathNode> roots() const {
    std::vector<PathNode> nodes;
    for (std::size_t i = 0; i < leaves.size(); ++i)
      nodes.push_back(leaves[i].root(tree.keys[static_cast<std::int64_t>(i)]));
    return nodes;
  }
  /// The number of the interval of the last level that ends at r, or has it inside.
  Array cell_of(const Array& r) const {
    const Array cells = astype(array(std::int64_t{1}) << levels, Dtype::F64);
    return astype(maximum(ceil(r * cells) - 1., 0.), Dtype::I64);
  }
  /// Where the interval of a level begins that has this cell.
  Array begin_of(const Array& cell, const Array& level) const {
    return astype(cell >> (levels - level), Dtype::F64) * length_of(level);
  }
  std::vector<PathDraws> draws(const std::vector<PathNode>& nodes) const {
    std::vector<PathDraws> drawn;
    for (std::size_t i = 0; i < leaves.size(); ++i) drawn.push_back(leaves[i].draws(nodes[i]));
    return drawn;
  }
  /// The half of these nodes' interval that has the cell.
  std::vector<PathNode> halves(const std::vector<PathNode>& nodes, const std::vector<PathDraws>& drawn,
                               const Array& cell, const Array& level) const {
    const Array s = begin_of(cell, level), su = length_of(level);
    const Array right = ((cell >> (levels - level - 1)) & std::int64_t{1}) == 1;
    std::vector<PathNode> next;
    for (std::size_t i = 0; i < leaves.size(); ++i)
      next.push_back(leaves[i].half(nodes[i], drawn[i], s, su, right));
    return next;
  }
  std::vector<PathValue> values(const std::vector<PathNode>& nodes, const Array& cell, const Array& r) const {
    const Array s = begin_of(cell, levels), su = length_of(levels);
    std::vector<PathValue> at;
    for (std::size_t i = 0; i < leaves.size(); ++i) at.push_back(leaves[i].at(nodes[i], s, su, r));
    return at;
  }
};

/// Does something to each array of a tree that is there, with that of another tree.
template <class T, class Apply>
T merged(const T& a, const T& b, const Apply& apply) {
  std::vector<Array> left, right;
  collect_leaves(a, left);
  collect_leaves(b, right);
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = apply(left[i], right[i]);
  return with_leaves(a, left);
}

/// The way to a cell, of each leaf a row a level: the key of a node, and all else of it with what is drawn to
/// halve its interval. Numbers that are read and written together are neighbours.
struct Way {
  Array cell;
  std::vector<Array> keys, rows;
};
/// What is remembered: the way to the last cell, and the path at the ends of the last interval.
struct Memory {
  Array first_time, last_time;
  Way way;
  std::vector<PathValue> first, last;
};
Memory empty_memory(const Grid& grid) {
  // No cell has this number: of the way to it, only the root is that to another.
  Memory m{array(std::numeric_limits<double>::quiet_NaN()), {}, {array(std::int64_t{-1}), {}, {}}, {}, {}};
  m.last_time = m.first_time;
  const auto room = [&](const Array& x) {
    Shape shape = x.shape();
    shape.insert(0, grid.room() + 1);
    return zeros(shape, x.dtype()).at(0).set(x);
  };
  for (const PathNode& root : grid.roots()) {
    const PathLeaf& leaf = grid.leaves[m.way.keys.size()];
    m.way.keys.push_back(room(root.key));
    m.way.rows.push_back(room(leaf.packed(root, leaf.draws(root))));
  }
  for (const PathLeaf& leaf : grid.leaves)
    m.first.push_back({.w = leaf.none(),
                       .h = leaf.areas > 0 ? leaf.none() : Array(),
                       .k = leaf.areas > 1 ? leaf.none() : Array()});
  m.last = m.first;
  return m;
}
Memory unpacked(const Grid& grid, std::span<const Array> arrays) {
  std::size_t next = 0;
  const auto take = [&](bool there) { return there ? arrays[next++] : Array(); };
  Memory m{take(true), take(true), {take(true), {}, {}}, {}, {}};
  for (std::vector<Array>* rows : {&m.way.keys, &m.way.rows})
    for (std::size_t i = 0; i < grid.leaves.size(); ++i) rows->push_back(take(true));
  for (std::vector<PathValue>* values : {&m.first, &m.last})
    for (const PathLeaf& leaf : grid.leaves)
      values->push_back({take(true), take(leaf.areas > 0), take(leaf.areas > 1)});
  return m;
}

void set_row(const Grid& grid, Way& way, const Array& at, const std::vector<PathNode>& nodes,
             const std::vector<PathDraws>& drawn) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    way.keys[i] = way.keys[i].at(at).set(nodes[i].key, IndexMode::Clip);
    way.rows[i] = way.rows[i].at(at).set(grid.leaves[i].packed(nodes[i], drawn[i]), IndexMode::Clip);
  }
}

/// A way, and what is found at its end.
struct Visit {
  Way way;
  std::vector<PathValue> values;
};
/// The path at r, from where the way that is remembered leaves that to r. There it turns to the other half of
/// an interval, whose draws are known.
Visit visit(const Grid& grid, const Way& known, const Array& r) {
  struct Descent {
    Array level;
    std::vector<PathNode> now;
    Way way;
  };
  const Array cell = grid.cell_of(r), differ = 64 - count_leading_zeros(cell ^ known.cell),
              from = maximum(grid.levels - differ, std::int64_t{0}), turns = from < grid.levels,
              begin = minimum(from + 1, grid.levels);
  std::vector<PathNode> last;
  std::vector<PathDraws> drawn;
  for (std::size_t i = 0; i < grid.leaves.size(); ++i) {
    auto [node, draws] = grid.leaves[i].unpacked(known.keys[i][from], known.rows[i][from]);
    last.push_back(std::move(node));
    drawn.push_back(std::move(draws));
  }
  const std::vector<PathNode> turned = grid.halves(last, drawn, cell, from),
                              start = merged(turned, last, [&](const Array&x, const Array&y) {
                                return where(turns, x, y);
                              });
  Descent end = while_loop([&](const Descent& v) { return v.level < grid.levels; },
                           [&](const Descent& v) {
                             const std::vector<PathDraws> draws = grid.draws(v.now);
                             Way way = v.way;
                             set_row(grid, way, v.level, v.now, draws);
                             return Descent{v.level + 1, grid.halves(v.now, draws, cell, v.level), way};
                           },
                           Descent{begin, start, {cell, known.keys, known.rows}});
  set_row(grid, end.way, grid.levels, end.now, drawn);
  return {end.way, grid.values(end.now, cell, r)};
}

/// From the root down, without memory.
std::vector<PathValue> found(const Grid& grid, const Array& r) {
  struct Descent {
    Array level;
    std::vector<PathNode> now;
  };
  const Array cell = grid.cell_of(r);
  const Descent end = while_loop([&](const Descent& v) { return v.level < grid.levels; },
                                 [&](const Descent& v) {
                                   const std::vector<PathDraws> drawn = grid.draws(v.now);
                                   return Descent{v.level + 1, grid.halves(v.now, drawn, cell, v.level)};
                                 },
                                 Descent{array(std::int64_t{0}), grid.roots()});
  return grid.values(end.now, cell, r);
}

/// The power of two at or above a positive number.
Array power_above(const Array& x) {
  return value_or_later({x}, [](std::span<const Array> v) {
    const auto [m, e] = frexp(v[0]);
    return ldexp(ones_like(v[0]), where(m == 0.5, e - 1, e));
  });
}

/// The increment between two times: that of W on the grid of its dtype, and the Lévy areas by Chen's
/// relation.
FlatIncrement between(const Grid& grid, const Array& r0, const Array& r1, const std::vector<PathValue>& from,
                      const std::vector<PathValue>& to) {
  const Array root = sqrt(real(grid.tree.t1) - real(grid.tree.t0)), power = power_above(root);
  const Array d = r1 - r0, none = abs(d) < finfo(Dtype::F64).eps,
              inverse = where(none, 0., 1. / where(none, 1., d));
  FlatIncrement out;
  for (std::size_t i = 0; i < grid.leaves.size(); ++i) {
    const PathLeaf& leaf = grid.leaves[i];
    const PathValue &a = from[i], &b = to[i];
    // Multiples of q, of which the dtype holds those up to 8 standard deviations exactly.
    const int digits = finfo(leaf.dtype).nmant + 1;
    const Array q = leaf.of(power * std::ldexp(8., -digits)),
                inverse_q = leaf.of(std::ldexp(1., digits - 3) / power);
    const auto on_grid = [&](const Array& w) { return round(leaf.of(root) * w * inverse_q) * q; };
    const auto give = [&](const Array& x) { return astype(x, leaf.dtype); };
    out.w.push_back(give(on_grid(b.w) - on_grid(a.w)));
    if (leaf.areas == 0) continue;
    const Array bridge = leaf.of(r1) * a.w - leaf.of(r0) * b.w, h = b.h - a.h - 0.5 * bridge;
    out.h.push_back(give(leaf.of(root * inverse) * h));
    if (leaf.areas == 1) continue;
    const Array k =
        b.k - a.k - leaf.of(d / 2.) * a.h + leaf.of(r0 / 2.) * h - leaf.of((r1 - 2. * r0) / 12.) * bridge;
    out.k.push_back(give(leaf.of(root * inverse * inverse) * k));
  }
  return out;
}

}  // namespace

FlatTree make_tree(const Array& t0, const Array& t1, const Array& tol, const Array& key,
                   const PathLeaves& leaves, LevyArea levy_area, Loc loc) {
  const LocScope place(loc);
  const std::pair<const char*, const Array&> scalars[] = {{"t0", t0}, {"t1", t1}, {"tol", tol}};
  for (const auto& [name, x] : scalars)
    if (x.is_empty() || x.ndim() != 0 || is_complex(x.dtype()))
      fail(messages::brownian_scalar, {name, x.is_empty() ? "empty" : to_string(x.aval())}, loc);
  InputChecks checks(true, loc);
  const auto look = [](std::span<const Array> v) {
    return Finding{where(!(isfinite(v[0]) && isfinite(v[1]) && v[0] < v[1]), 1, where(v[2] > 0., 0, 2)),
                   {v[0], v[1], v[2]}};
  };
  checks.refuse({t0, t1, tol}, look, [] {
    return std::vector{Text(messages::brownian_times, {"{0}", "{1}"}),
                       Text(messages::brownian_tolerance, {"{2}"})};
  });
  return {t0, t1, tol, random::split(key, static_cast<std::int64_t>(leaves.size()), loc), leaves, levy_area};
}

PathTraits tree_traits(const FlatTree& tree) {
  return {.brownian = true,
          .levy_area = tree.levy_area,
          .t0 = tree.t0,
          .t1 = tree.t1,
          .tol = tree.tol,
          .name = "VirtualBrownianTree"};
}

std::vector<Array> tree_memory(const FlatTree& tree) {
  std::vector<Array> arrays;
  collect_leaves(empty_memory(Grid(tree)), arrays);
  return arrays;
}

FlatIncrement tree_increment(const FlatTree& tree, const Array& t0, const Array& t1,
                             std::vector<Array>& memory) {
  const Grid grid(tree);
  const Array r0 = relative(tree, t0), r1 = relative(tree, t1);
  if (memory.empty()) return between(grid, r0, r1, found(grid, r0), found(grid, r1));
  Memory m = unpacked(grid, memory);
  const Array is_last = r0 == m.last_time, is_first = r0 == m.first_time;
  const std::vector<PathValue> known = merged(
      m.last, m.first, [&](const Array& last, const Array& first) { return where(is_last, last, first); });
  // Where a solve goes on the value is known: a loop of one iteration or none, so that no lane waits.
  struct Start {
    Array going;
    Visit at;
  };
  const Start start = while_loop([](const Start& v) { return v.going; },
                                 [&](const Start& v) {
                                   return Start{array(false), visit(grid, v.at.way, r0)};
                                 },
                                 Start{!(is_last || is_first), {m.way, known}});
  const Visit end = visit(grid, start.at.way, r1);
  m.way = end.way;
  m.first = start.at.values;
  m.last = end.values;
  m.first_time = r0;
  m.last_time = r1;
  memory.clear();
  collect_leaves(m, memory);
  return between(grid, r0, r1, m.first, m.last);
}

FlatIncrement tree_evaluate(const FlatTree& tree, const Array& t0, const Array& t1, Loc loc) {
  const LocScope place(loc);
  InputChecks checks(true, loc);
  for (const Array& t : {t0, t1}) {
    if (t.is_empty() || t.ndim() != 0 || is_complex(t.dtype()))
      fail(messages::brownian_scalar, {"a time", t.is_empty() ? "empty" : to_string(t.aval())}, loc);
    const auto look = [](std::span<const Array> v) {
      return Finding{where(v[1] <= v[0] && v[0] <= v[2], 0, 1), {v[0], v[1], v[2]}};
    };
    checks.refuse({t, tree.t0, tree.t1}, look, [] {
      return std::vector{Text(messages::brownian_outside, {"{0}", "{1}", "{2}"})};
    });
  }
  std::vector<Array> none;
  return tree_increment(tree, t0, t1, none);
}

}  // namespace apsis::detail
