// Sparse operators: products, sums, transposes, and Jacobians by colours.

#include "solve/sparse.hpp"

#include <algorithm>

#include "apsis/array/segment.hpp"
#include "apsis/transform/vmap.hpp"
#include "solve/support.hpp"
#include "solve/term_entries.hpp"

namespace apsis {

using namespace detail;

namespace {

using Integers = std::vector<std::int64_t>;
Array numbers(std::span<const std::int64_t> values) {
  return array(values, Shape{static_cast<std::int64_t>(values.size())});
}
Array rows_of(const SparsePattern& p) { return numbers(p.row_indices()); }
Array columns_of(const SparsePattern& p) { return numbers(p.column_indices()); }

/// A banded operator as a sparse one.
LinearOperator as_sparse(const LinearOperator& a, Loc loc) {
  if (a.is_sparse()) return a;
  const linalg::Bandwidths& widths = a.bandwidths();
  const std::int64_t n = a.rows();
  Integers starts{0}, columns, places;  // places: in the bands, row by row
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = std::max<std::int64_t>(0, i - widths.lower); j <= std::min(n - 1, i + widths.upper);
         ++j) {
      columns.push_back(j);
      places.push_back((widths.upper + i - j) * n + j);
    }
    starts.push_back(static_cast<std::int64_t>(columns.size()));
  }
  return sparse_operator({n, n, std::move(starts), std::move(columns)}, ravel(a.bands())[numbers(places)],
                         a.tags(), loc);
}

std::int64_t last_color(const Integers& colors) {
  return colors.empty() ? -1 : *std::ranges::max_element(colors);
}

/// Derivatives along sums of unit vectors, one of each colour: the one of column j's colour has at row i the
/// entry (i, j), if the pattern has it.
template <class Derivative>
Array entries_by_color(const SparsePattern& p, const Integers& colors, Dtype dtype,
                       const Derivative& derivative) {
  if (p.count() == 0) return zeros({0}, dtype);
  // The places of the entries in all derivatives, one after the other.
  Integers places = p.row_indices();
  for (std::size_t k = 0; k < places.size(); ++k)
    places[k] += colors[static_cast<std::size_t>(p.column_indices()[k])] * p.rows();
  const Array seeds = astype(expand_dims(arange(last_color(colors) + 1), 1) == numbers(colors), dtype);
  return ravel(vmap(derivative)(seeds)).at(numbers(places)).get(IndexMode::Promise);
}
/// For each entry of the transposed pattern, by its rows, the number of the entry in this one.
Integers transposed_order(const SparsePattern& p) {
  const SparsePattern t = p.transpose();
  Integers next(t.row_starts().begin(), t.row_starts().end()), order(static_cast<std::size_t>(p.count()));
  std::int64_t k = 0;
  for (std::int64_t column : p.column_indices())
    order[static_cast<std::size_t>(next[static_cast<std::size_t>(column)]++)] = k++;
  return order;
}

}  // namespace

LinearOperator sparse_operator(const SparsePattern& pattern, const Array& entries, const LinearTags& tags,
                               Loc loc) {
  const LocScope place(loc);
  if (entries.is_empty() || is_complex(entries.dtype()) || entries.ndim() != 1 ||
      entries.size() != pattern.count())
    fail(messages::operator_entries,
         {entries.is_empty() ? "empty" : to_string(entries.aval()), std::to_string(pattern.count())}, loc);
  const Array floating = is_floating(entries.dtype()) ? entries : astype(entries, f64);
  LinearOperator op(LinearOperator::Kind::Sparse, pattern.rows(), pattern.columns(), floating.dtype(), tags);
  op.at_ = pattern;
  op.arrays_ = {floating};
  return op;
}
Array LinearOperator::entries(Loc loc) const {
  if (kind_ != Kind::Sparse) fail(messages::operator_not_sparse, {}, loc);
  return arrays_[0];
}
Array LinearOperator::apply_sparse(const Array& x, bool transposed) const {
  const Array rows = rows_of(at_), columns = columns_of(at_);
  return transposed ? segment_sum(arrays_[0] * x[rows], columns, {.segments = columns_})
                    : segment_sum(arrays_[0] * x[columns], rows, {.segments = rows_});
}

namespace detail {

LinearOperator sum_of_sparse(const LinearOperator& a, const LinearOperator& b, const LinearTags& tags,
                             Loc loc) {
  const LinearOperator left = as_sparse(a, loc), right = as_sparse(b, loc);
  const SparsePattern &p = left.pattern(), &q = right.pattern();
  if (p == q) return sparse_operator(p, left.entries() + right.entries(), tags, loc);
  // Of each entry of the sum its number in both, or that of a zero behind all.
  Integers starts{0}, columns, in_left, in_right;
  for (std::size_t i = 0; i < static_cast<std::size_t>(p.rows()); ++i) {
    std::int64_t k = p.row_starts()[i], l = q.row_starts()[i];
    const std::int64_t k_end = p.row_starts()[i + 1], l_end = q.row_starts()[i + 1];
    while (k < k_end || l < l_end) {
      const std::int64_t at_k = k < k_end ? p.column_indices()[static_cast<std::size_t>(k)] : p.columns(),
                         at_l = l < l_end ? q.column_indices()[static_cast<std::size_t>(l)] : p.columns();
      columns.push_back(std::min(at_k, at_l));
      in_left.push_back(at_k <= at_l ? k++ : p.count());
      in_right.push_back(at_l <= at_k ? l++ : q.count());
    }
    starts.push_back(static_cast<std::int64_t>(columns.size()));
  }
  const auto spread = [&](const LinearOperator& from, const Integers& places) {
    return concatenate({from.entries(), zeros({1}, from.dtype())})[numbers(places)];
  };
  return sparse_operator({p.rows(), p.columns(), std::move(starts), std::move(columns)},
                         spread(left, in_left) + spread(right, in_right), tags, loc);
}

LinearOperator transpose_of_sparse(const LinearOperator& a, const LinearTags& tags) {
  return sparse_operator(a.pattern().transpose(), a.entries()[numbers(transposed_order(a.pattern()))], tags,
                         Loc::here());
}

Array matrix_of_sparse(const LinearOperator& a) {
  return zeros({a.rows(), a.columns()}, a.dtype())
      .at(rows_of(a.pattern()), columns_of(a.pattern()))
      .set(a.entries());
}

LinearOperator sparse_jacobian_of(const Callee& f, const Array& x, const SparsePattern& given,
                                  const LinearTags& tags, Loc loc) {
  const LocScope place(loc);
  const LinearOperator jacobian = operator_of_function(f, x, true, tags, loc);
  const SparsePattern pattern = given.is_empty() ? jacobian_sparsity_call(f, x, loc) : given;
  if (pattern.rows() != jacobian.rows() || pattern.columns() != jacobian.columns())
    fail(messages::jacobian_pattern,
         {std::to_string(pattern.rows()) + " × " + std::to_string(pattern.columns()), size_of(jacobian)},
         loc);
  const Array written_out = entries_of_terms(pattern, linear_terms_call(f, x, loc), x.dtype());
  if (!written_out.is_empty()) return sparse_operator(pattern, written_out, tags, loc);
  const Integers columns = pattern.column_colors();
  if (last_color(columns) > 1) {
    const SparsePattern by_column = pattern.transpose();
    const Integers rows = by_column.column_colors();
    if (2 * (last_color(rows) + 1) < last_color(columns) + 1) {
      const LinearOperator transposed = jacobian.transpose();
      const Array found = entries_by_color(by_column, rows, x.dtype(),
                                           [&](const Array& seed) { return transposed.mv(seed); });
      return sparse_operator(pattern, found[numbers(transposed_order(by_column))], tags, loc);
    }
  }
  return sparse_operator(
      pattern,
      entries_by_color(pattern, columns, x.dtype(), [&](const Array& seed) { return jacobian.mv(seed); }),
      tags, loc);
}

}  // namespace detail
}  // namespace apsis
