// Sparse systems as banded ones.

#include <algorithm>
#include <memory>
#include <numeric>

#include "apsis/array/linalg.hpp"
#include "apsis/ops/banded_lu.hpp"
#include "apsis/solve/banded_lu.hpp"
#include "solve/sparse.hpp"
#include "solve/support.hpp"

namespace apsis::detail {
namespace {

using Integers = std::vector<std::int64_t>;

linalg::Bandwidths widths_in(const SparsePattern& p, const Integers& place) {
  linalg::Bandwidths widths;
  const Integers rows = p.row_indices();
  for (std::size_t e = 0; e < rows.size(); ++e) {
    const std::int64_t above =
        place[static_cast<std::size_t>(p.column_indices()[e])] - place[static_cast<std::size_t>(rows[e])];
    widths.upper = std::max(widths.upper, above);
    widths.lower = std::max(widths.lower, -above);
  }
  return widths;
}
Integers inverse_of(const Integers& order) {
  Integers place(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    place[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
  return place;
}

/// Which unknowns an equation of the pattern or of its transpose joins.
std::vector<Integers> neighbours(const SparsePattern& p) {
  std::vector<Integers> of(static_cast<std::size_t>(p.rows()));
  const Integers rows = p.row_indices();
  for (std::size_t e = 0; e < rows.size(); ++e) {
    const std::int64_t i = rows[e], j = p.column_indices()[e];
    if (i == j) continue;
    of[static_cast<std::size_t>(i)].push_back(j);
    of[static_cast<std::size_t>(j)].push_back(i);
  }
  for (Integers& list : of) {
    std::ranges::sort(list);
    list.erase(std::ranges::unique(list).begin(), list.end());
  }
  return of;
}

/// What is reached from `root`, nearest first, of equal distance those with few neighbours first; added to
/// `order`.
void search(const std::vector<Integers>& next_to, std::int64_t root, std::vector<bool>& seen,
            Integers& order) {
  const auto degree = [&](std::int64_t i) { return next_to[static_cast<std::size_t>(i)].size(); };
  std::size_t at = order.size();
  order.push_back(root);
  seen[static_cast<std::size_t>(root)] = true;
  for (; at < order.size(); ++at) {
    const std::size_t first = order.size();
    for (std::int64_t i : next_to[static_cast<std::size_t>(order[at])])
      if (!seen[static_cast<std::size_t>(i)]) {
        seen[static_cast<std::size_t>(i)] = true;
        order.push_back(i);
      }
    std::ranges::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(first), order.end(), {}, degree);
  }
}

Integers cuthill_mckee(const SparsePattern& p) {
  const std::vector<Integers> next_to = neighbours(p);
  Integers order;
  std::vector<bool> seen(next_to.size());
  for (std::size_t i = 0; i < next_to.size(); ++i) {
    if (seen[i]) continue;
    // An end of the piece: what is reached last from what is reached last.
    std::int64_t root = static_cast<std::int64_t>(i);
    for (int round = 0; round < 2; ++round) {
      Integers reached;
      std::vector<bool> tried = seen;
      search(next_to, root, tried, reached);
      root = reached.back();
    }
    search(next_to, root, seen, order);
  }
  std::ranges::reverse(order);
  return order;
}

}  // namespace

namespace {

/// Of each entry its place in the bands, row by row.
Integers places_in_bands(const SparsePattern& p, const BandOrder& order) {
  const Integers place = inverse_of(order.order), rows = p.row_indices();
  Integers found;
  for (std::size_t e = 0; e < rows.size(); ++e) {
    const std::int64_t i = place[static_cast<std::size_t>(rows[e])],
                       j = place[static_cast<std::size_t>(p.column_indices()[e])];
    found.push_back((order.widths.upper + i - j) * p.rows() + j);
  }
  return found;
}
Array numbers(const Integers& values) {
  return array(std::span<const std::int64_t>(values), Shape{static_cast<std::int64_t>(values.size())});
}

}  // namespace

BandOrder band_order(const SparsePattern& pattern) {
  Integers given(static_cast<std::size_t>(pattern.rows()));
  std::iota(given.begin(), given.end(), 0);
  const linalg::Bandwidths as_given = widths_in(pattern, given);
  Integers found = cuthill_mckee(pattern);
  const linalg::Bandwidths widths = widths_in(pattern, inverse_of(found));
  if (widths.lower + widths.upper < as_given.lower + as_given.upper) return {std::move(found), widths};
  return {std::move(given), as_given};
}

Array band_solve(const LinearOperator& a, const BandOrder& order, const Array& b) {
  const SparsePattern& p = a.pattern();
  const std::int64_t n = p.rows(), height = order.widths.lower + 1 + order.widths.upper;
  // Of each place of the bands the entry, or that of a zero behind all.
  Integers from(static_cast<std::size_t>(height * n), p.count());
  const Integers places = places_in_bands(p, order);
  for (std::size_t e = 0; e < places.size(); ++e)
    from[static_cast<std::size_t>(places[e])] = static_cast<std::int64_t>(e);
  const Array bands = reshape(concatenate({a.entries(), zeros({1}, a.dtype())})[numbers(from)], {height, n});
  if (std::ranges::is_sorted(order.order)) return linalg::solve_banded(order.widths, bands, b);
  return linalg::solve_banded(order.widths, bands, b[numbers(order.order)])[numbers(inverse_of(order.order))];
}

std::shared_ptr<const BandedLU> BandedLU::of(const SparsePattern& pattern) {
  constexpr std::size_t most = 8;
  static thread_local std::vector<std::pair<SparsePattern, std::shared_ptr<const BandedLU>>> kept;
  auto at = std::ranges::find_if(kept, [&](const auto& one) { return one.first == pattern; });
  if (at == kept.end()) {
    const TraceScope now(nullptr);
    const std::shared_ptr<const BandedLU> made(new BandedLU(pattern, band_order(pattern)));
    if (kept.size() == most) kept.pop_back();
    at = kept.insert(kept.end(), {pattern, made});
  }
  std::rotate(kept.begin(), at, at + 1);
  return kept.front().second;
}
BandedLU::BandedLU(const SparsePattern& pattern, const BandOrder& order)
    : n_(pattern.rows()),
      widths_(order.widths),
      narrow_(order.is_narrow()),
      order_(numbers(order.order)),
      places_(numbers(places_in_bands(pattern, order))) {}
Array BandedLU::factor(const Array& entries) const {
  return banded_lu(n_, widths_, stop_gradient(entries), places_);
}
Array BandedLU::unmade(Dtype dtype) const { return zeros({banded_lu_size(n_, widths_)}, dtype); }
Array BandedLU::solve(const Array& factors, const Array& right, bool transposed) const {
  return banded_lu_solve(widths_, factors, order_, right, transposed);
}

}  // namespace apsis::detail
