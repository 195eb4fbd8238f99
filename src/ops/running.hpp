#pragma once

// How ops that run along one axis go through an array: entry by entry, with all lines that are neighbours in
// memory side by side, so that memory is read in its own order, and by several threads. And running sums with
// factors, which are rules of cumsum.

#include <algorithm>

#include "apsis/core/op.hpp"
#include "ops/each_matrix.hpp"

namespace apsis::detail {

/// Where the lines along an axis lie: those of one of `outer` groups are `inner` neighbours.
struct Lines {
  std::int64_t outer = 1, length = 1, inner = 1;
  Lines(const Shape& shape, std::int64_t axis) {
    for (std::size_t d = 0; d < shape.size(); ++d)
      (static_cast<std::int64_t>(d) < axis   ? outer
       : static_cast<std::int64_t>(d) > axis ? inner
                                             : length) *= shape[d];
  }
};

/// Lines at a time: what is kept of them stays in the first cache.
inline constexpr std::int64_t most_lines = 256;

/// Runs: up to `most` lines that are neighbours.
template <std::int64_t most>
std::int64_t runs_of_group(const Lines& lines) {
  return (lines.inner + most - 1) / most;
}

/// Goes along the lines of the runs [first, end), and calls `visit(place, i, count)` for step i of each: the
/// entries of `count` lines are at `place` and the places that follow.
template <std::int64_t most, class Visit>
void visit_lines(const Lines& lines, bool reverse, std::int64_t first, std::int64_t end, const Visit& visit) {
  const std::int64_t runs = runs_of_group<most>(lines);
  for (std::int64_t run = first; run < end; ++run) {
    const std::int64_t o = run / runs, side = run % runs * most,
                       count = most == 1 ? 1 : std::min(most, lines.inner - side);
    for (std::int64_t i = 0; i < lines.length; ++i)
      visit((o * lines.length + (reverse ? lines.length - 1 - i : i)) * lines.inner + side, i, count);
  }
}
/// Along all lines, one by one.
template <class Visit>
void visit_each_line(const Lines& lines, bool reverse, const Visit& visit) {
  visit_lines<1>(lines, reverse, 0, lines.outer * lines.inner, visit);
}

/// Calls `body(first, end)` for ranges of runs, with a constant: how many lines are side by side at most.
template <class Body>
void with_lines(const Lines& lines, const Body& body) {
  constexpr double operations = 20;  // of an entry, about
  const auto share = [&]<std::int64_t most>() {
    each_range(lines.outer * runs_of_group<most>(lines), 1,
               operations * static_cast<double>(lines.length * std::min(most, lines.inner)),
               [&](std::int64_t first, std::int64_t end) { body.template operator()<most>(first, end); });
  };
  lines.inner == 1 ? share.template operator()<1>() : share.template operator()<most_lines>();
}

/// The entries [start, limit) along the axis, counted in the order of the run.
Array run_entries(const Array& x, std::int64_t axis, bool reverse, std::int64_t start, std::int64_t limit);
/// `first`, then `rest`, in the order of the run.
Array run_of(const Array& first, const Array& rest, std::int64_t axis, bool reverse);

/// r[0] = x[0], r[i] = x[i] + f r[i-1] with the factor f of the step, of which there is one less than
/// entries.
Array cumsum_with_factors(const Array& x, const Array& factors, std::int64_t axis, bool reverse);

void factors_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out);
void factors_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out);
void factors_emit(Emitter& e, const Params& params, std::span<const Aval> in_avals, std::span<const Value> in,
                  std::span<Value> out);
void factors_jvp(const JvpRule& r);

}  // namespace apsis::detail
