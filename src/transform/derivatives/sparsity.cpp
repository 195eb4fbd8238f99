// Sparsity patterns: what they hold, how their columns are coloured, and how those of derivatives are found.

#include "apsis/transform/sparsity.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "apsis/ops/comparison.hpp"
#include "apsis/transform/jvp.hpp"
#include "base/hash.hpp"
#include "passes/analysis/dependence.hpp"
#include "transform/stage/messages.hpp"
#include "transform/stage/stage.hpp"

namespace apsis {

using namespace detail;
using Integers = std::vector<std::int64_t>;

namespace {

struct Pattern {
  std::int64_t rows, columns;
  Integers starts, indices;
  mutable std::mutex mutex;
  mutable std::shared_ptr<const void> kept = {};
};
const StaticObjectType pattern_type{
    "sparse pattern",
    [](const void* a, const void* b) {
      const auto &x = *static_cast<const Pattern*>(a), &y = *static_cast<const Pattern*>(b);
      return x.rows == y.rows && x.columns == y.columns && x.starts == y.starts && x.indices == y.indices;
    },
    [](const void* value) {
      const auto& p = *static_cast<const Pattern*>(value);
      return std::to_string(p.rows) + " × " + std::to_string(p.columns) + " with " +
             std::to_string(p.indices.size()) + " entries";
    },
    [](void* value) { delete static_cast<Pattern*>(value); }};

const Pattern& pattern_in(const StaticObject& shared) {
  if (shared.is_empty()) fail(messages::pattern_empty, {});
  return *static_cast<const Pattern*>(shared.value());
}
StaticObject shared_pattern(std::int64_t rows, std::int64_t columns, Integers starts, Integers indices) {
  std::uint64_t hash = hash_word(static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns));
  for (std::int64_t n : starts) hash = hash_word(hash, static_cast<std::uint64_t>(n));
  for (std::int64_t n : indices) hash = hash_word(hash, static_cast<std::uint64_t>(n));
  return StaticObject::intern(pattern_type, hash,
                              new Pattern{rows, columns, std::move(starts), std::move(indices), {}});
}

/// What is wrong with a pattern; empty: nothing.
std::string fault_of(std::int64_t rows, std::int64_t columns, const Integers& starts,
                     const Integers& indices) {
  const auto count = static_cast<std::int64_t>(indices.size());
  const auto number = [](std::size_t i) { return "[" + std::to_string(i) + "] is "; };
  if (rows < 0 || columns < 0) return "rows and columns must not be negative";
  if (static_cast<std::int64_t>(starts.size()) != rows + 1)
    return "there are " + std::to_string(starts.size()) + " row_starts, and must be rows + 1";
  if (starts[0] != 0) return "row_starts[0] is " + std::to_string(starts[0]) + ", and must be 0";
  if (starts.back() != count)
    return "the last of row_starts is " + std::to_string(starts.back()) + ", and there are " +
           std::to_string(count) + " column_indices";
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    if (starts[i + 1] < starts[i] || starts[i + 1] > count)
      return "row_starts" + number(i + 1) + std::to_string(starts[i + 1]) + ", after " +
             std::to_string(starts[i]);
    for (std::int64_t k = starts[i]; k < starts[i + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const std::int64_t least = k == starts[i] ? 0 : indices[at - 1] + 1;
      if (indices[at] < least || indices[at] >= columns)
        return "column_indices" + number(at) + std::to_string(indices[at]) + ", and must be from " +
               std::to_string(least) + " to " + std::to_string(columns - 1);
    }
  }
  return {};
}

}  // namespace

SparsePattern::SparsePattern(std::int64_t rows, std::int64_t columns, Integers starts, Integers indices,
                             Loc loc) {
  const std::string fault = fault_of(rows, columns, starts, indices);
  if (!fault.empty()) fail(messages::pattern_fault, {fault}, loc);
  shared_ = shared_pattern(rows, columns, std::move(starts), std::move(indices));
}

SparsePattern SparsePattern::of(const Array& matrix, Loc loc) {
  const LocScope place(loc);
  const Array known = matrix.is_empty() ? matrix : concrete_value(matrix);
  if (known.is_empty() || known.ndim() != 2)
    fail(messages::pattern_matrix, {matrix.is_empty() ? "empty" : to_string(matrix.aval())}, loc);
  TraceScope now(nullptr);
  const Array there = known != 0;
  const bool* counts = static_cast<const bool*>(data_of(there));
  Integers starts{0}, indices;
  for (std::int64_t i = 0; i < known.dim(0); ++i) {
    for (std::int64_t j = 0; j < known.dim(1); ++j)
      if (*counts++) indices.push_back(j);
    starts.push_back(static_cast<std::int64_t>(indices.size()));
  }
  return {known.dim(0), known.dim(1), std::move(starts), std::move(indices), loc};
}

std::int64_t SparsePattern::rows() const { return pattern_in(shared_).rows; }
std::int64_t SparsePattern::columns() const { return pattern_in(shared_).columns; }
std::int64_t SparsePattern::count() const {
  return static_cast<std::int64_t>(pattern_in(shared_).indices.size());
}
std::span<const std::int64_t> SparsePattern::row_starts() const { return pattern_in(shared_).starts; }
std::span<const std::int64_t> SparsePattern::column_indices() const { return pattern_in(shared_).indices; }
Integers SparsePattern::row_indices() const {
  const Pattern& p = pattern_in(shared_);
  Integers rows;
  rows.reserve(p.indices.size());
  for (std::size_t i = 0; i + 1 < p.starts.size(); ++i)
    rows.insert(rows.end(), static_cast<std::size_t>(p.starts[i + 1] - p.starts[i]),
                static_cast<std::int64_t>(i));
  return rows;
}

SparsePattern SparsePattern::transpose() const {
  const Pattern& p = pattern_in(shared_);
  Integers starts(static_cast<std::size_t>(p.columns) + 1), indices(p.indices.size());
  for (std::int64_t column : p.indices) ++starts[static_cast<std::size_t>(column) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  Integers next(starts.begin(), starts.end() - 1);
  const Integers rows = row_indices();
  for (std::size_t k = 0; k < rows.size(); ++k)
    indices[static_cast<std::size_t>(next[static_cast<std::size_t>(p.indices[k])]++)] = rows[k];
  SparsePattern out;
  out.shared_ = shared_pattern(p.columns, p.rows, std::move(starts), std::move(indices));
  return out;
}

Integers SparsePattern::column_colors() const {
  const Pattern& p = pattern_in(shared_);
  const SparsePattern by_column = transpose();
  const std::span<const std::int64_t> starts = by_column.row_starts(), rows = by_column.column_indices();
  const auto entries = [&](std::size_t j) { return starts[j + 1] - starts[j]; };
  std::vector<std::size_t> order(static_cast<std::size_t>(p.columns));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return entries(a) > entries(b); });
  Integers colors(order.size(), -1), taken_by;  // taken_by[color]: the column whose neighbours have it
  for (std::size_t j : order) {
    for (std::int64_t k = starts[j]; k < starts[j + 1]; ++k) {
      const auto i = static_cast<std::size_t>(rows[static_cast<std::size_t>(k)]);
      for (std::int64_t other = p.starts[i]; other < p.starts[i + 1]; ++other) {
        const std::int64_t color =
            colors[static_cast<std::size_t>(p.indices[static_cast<std::size_t>(other)])];
        if (color >= 0) taken_by[static_cast<std::size_t>(color)] = static_cast<std::int64_t>(j);
      }
    }
    std::size_t color = 0;
    while (color < taken_by.size() && taken_by[color] == static_cast<std::int64_t>(j)) ++color;
    if (color == taken_by.size()) taken_by.push_back(-1);
    colors[j] = static_cast<std::int64_t>(color);
  }
  return colors;
}

std::shared_ptr<const void> SparsePattern::kept(
    std::shared_ptr<const void> (*make)(const SparsePattern&)) const {
  const Pattern& p = pattern_in(shared_);
  const std::scoped_lock lock(p.mutex);
  if (!p.kept) p.kept = make(*this);
  return p.kept;
}

std::string to_string(const SparsePattern& pattern) {
  if (pattern.is_empty()) return "sparse pattern, none";
  return "sparse pattern, " + std::to_string(pattern.rows()) + " × " + std::to_string(pattern.columns()) +
         " with " + std::to_string(pattern.count()) + " entries";
}

SparsePattern detail::jacobian_sparsity_call(const Callee& f, const Array& like, Loc loc) {
  const LocScope place(loc);
  if (like.is_empty() || !is_floating(like.dtype()))
    fail(messages::sparsity_argument, {like.is_empty() ? "empty" : to_string(like.aval())}, loc);
  // The tangent of the result, as a program of argument and tangent: it is linear in that.
  std::vector<Aval> avals(2, Aval(like.dtype(), like.shape()));
  const Staged staged = stage_with(
      [&](std::span<const Array> in) {
        const JvpCall call = jvp_call(f, in.first(1), in.subspan(1), loc);
        if (call.outs.size() != 1 || !is_floating(call.outs[0].dtype()))
          fail(messages::sparsity_result, {call.outs.empty() ? "nothing" : to_string(call.outs[0].aval())},
               loc);
        return call.tangents;
      },
      avals, "jacobian_sparsity", loc);
  NumberSets sets;
  std::vector<Dependence> inputs(2);
  for (std::int64_t j = 0; j < like.size(); ++j)
    inputs[1].elements.push_back(sets.single(static_cast<std::uint32_t>(j)));
  for (const Array& a : staged.captures) inputs.push_back({{}, concrete_value(a)});
  const Dependence found = dependences(*staged.graph, std::move(inputs), sets)[0];
  const std::int64_t rows = staged.graph->aval(staged.graph->outputs()[0]).shape().product();
  Integers starts{0}, indices;
  for (std::int64_t i = 0; i < rows; ++i) {
    if (!found.elements.empty())
      for (std::uint32_t j : sets.numbers(found.elements[static_cast<std::size_t>(i)])) indices.push_back(j);
    starts.push_back(static_cast<std::int64_t>(indices.size()));
  }
  return {rows, like.size(), std::move(starts), std::move(indices), loc};
}

}  // namespace apsis
