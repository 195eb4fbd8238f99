#include "diffeq/matrix_form.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "apsis/core/op.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/transform/vmap.hpp"

namespace apsis::detail {
namespace {

using Integers = std::vector<std::int64_t>;

/// From so many elements on the search for a pattern is worth its while: below, full matrices are small.
constexpr std::int64_t large = 32;

Array numbers(const Integers& values) {
  return array(std::span<const std::int64_t>(values), Shape{static_cast<std::int64_t>(values.size())});
}
std::span<const std::int64_t> row_of(const Pattern& p, std::int64_t i) {
  const auto starts = p.row_starts();
  const auto at = static_cast<std::size_t>(i);
  return p.column_indices().subspan(static_cast<std::size_t>(starts[at]),
                                    static_cast<std::size_t>(starts[at + 1] - starts[at]));
}
Pattern diagonal_pattern(std::int64_t n) {
  Integers starts{0}, columns;
  for (std::int64_t i = 0; i < n; ++i) {
    columns.push_back(i);
    starts.push_back(i + 1);
  }
  return {n, n, std::move(starts), std::move(columns)};
}
Pattern united(const Pattern& a, const Pattern& b) {
  Integers starts{0}, columns;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    std::ranges::set_union(row_of(a, i), row_of(b, i), std::back_inserter(columns));
    starts.push_back(static_cast<std::int64_t>(columns.size()));
  }
  return {a.rows(), a.columns(), std::move(starts), std::move(columns)};
}
/// Of each entry of `all` its number in `part`, or the number of entries of that.
Integers places(const Pattern& part, const Pattern& all) {
  Integers found;
  for (std::int64_t i = 0; i < all.rows(); ++i) {
    std::int64_t next = part.row_starts()[static_cast<std::size_t>(i)];
    const std::int64_t end = part.row_starts()[static_cast<std::size_t>(i) + 1];
    for (std::int64_t j : row_of(all, i)) {
      const bool there = next < end && part.column_indices()[static_cast<std::size_t>(next)] == j;
      found.push_back(there ? next++ : part.count());
    }
  }
  return found;
}

}  // namespace

Pattern pattern_of(const VectorSlope& slope, const Array& t, const Array& y) {
  // A time that is known, as it is where a user steps by hand, must not decide which elements count: stages
  // have others.
  const auto at_any_time = [&](const Array& x) {
    return slope(x.size() == 0 ? t : t + astype(stop_gradient(0. * x[0]), t.dtype()), x);
  };
  return jacobian_sparsity(at_any_time, y);
}

MatrixForm::MatrixForm(const Slopes& slopes, const VectorSlope& slope, const Layout& layout, const Array& t,
                       const Array& y)
    : unit_(slopes.mass().is_empty()) {
  const std::int64_t n = layout.size();
  if (n >= large) take_pattern(slopes, slope, layout, t, y);
  if (pattern_.is_empty()) mass_ = unit_ ? eye(n, -1, 0, layout.dtype()) : slopes.mass();
}

void MatrixForm::take_pattern(const Slopes& slopes, const VectorSlope& slope, const Layout& layout,
                              const Array& t, const Array& y) {
  const std::int64_t n = layout.size();
  own_ = pattern_of(slope, t, y);
  TraceScope now(nullptr);
  const Pattern diagonal = diagonal_pattern(n);
  const Array known = unit_ ? Array() : concrete_value(slopes.mass());
  const Pattern all = united(united(own_, diagonal), unit_ ? diagonal : SparsePattern::of(known));
  if (4 * all.count() > n * n) return;
  pattern_ = all;
  own_at_ = numbers(places(own_, all));
  const Array rows = numbers(all.row_indices()),
              columns = numbers({all.column_indices().begin(), all.column_indices().end()});
  mass_ = unit_ ? astype(rows == columns, layout.dtype()) : known(rows, columns);
}

Array MatrixForm::jacobian(const VectorSlope& slope, const Array& t, const Array& y) const {
  if (pattern_.is_empty()) return slope.jacobian(t, y);
  const Array entries =
      sparse_jacobian([&](const Array& x) { return slope(t, x); }, y, {.pattern = own_}).entries();
  return concatenate({entries, zeros({1}, entries.dtype())})[own_at_];
}

Array MatrixForm::times_mass(const Array& vector) const {
  if (unit_) return vector;
  return pattern_.is_empty() ? matmul(mass_, vector) : sparse_operator(pattern_, mass_).mv(vector);
}

Blocks MatrixForm::blocks(std::int64_t k) const {
  if (pattern_.is_empty()) return {};
  const std::int64_t n = pattern_.rows(), count = pattern_.count();
  const std::vector<double> mass = concrete_value(mass_).to_vector<double>();
  Integers starts{0}, columns, from;
  for (std::int64_t row = 0; row < k * n; ++row) {
    const std::int64_t block = row / n, i = row % n;
    for (std::int64_t other = 0; other < k; ++other)
      for (std::int64_t e = pattern_.row_starts()[static_cast<std::size_t>(i)];
           e < pattern_.row_starts()[static_cast<std::size_t>(i) + 1]; ++e) {
        if (other != block && mass[static_cast<std::size_t>(e)] == 0) continue;
        columns.push_back(other * n + pattern_.column_indices()[static_cast<std::size_t>(e)]);
        from.push_back((block * k + other) * count + e);
      }
    starts.push_back(static_cast<std::int64_t>(columns.size()));
  }
  return {Pattern(k * n, k * n, std::move(starts), std::move(columns)), numbers(from)};
}

Array Blocks::values(const std::vector<Array>& of_blocks) const {
  if (!pattern.is_empty()) return concatenate(of_blocks)[from];
  std::vector<Array> rows;
  const auto k = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(of_blocks.size()))));
  for (std::size_t i = 0; i < k; ++i)
    rows.push_back(concatenate({of_blocks.begin() + static_cast<std::ptrdiff_t>(i * k),
                                of_blocks.begin() + static_cast<std::ptrdiff_t>((i + 1) * k)},
                               1));
  return concatenate(rows, 0);
}

MatrixFactors MatrixFactors::of(const Pattern& pattern, const Array& values) {
  if (pattern.is_empty()) return {pattern, linalg::lu_factor(values)};
  return {pattern, {}, values};
}
void MatrixFactors::append_to(std::vector<Array>& state) const {
  if (pattern.is_empty())
    state.insert(state.end(), {full.lu, full.pivots, full.permutation});
  else
    state.push_back(entries);
}
MatrixFactors MatrixFactors::from(const Pattern& pattern, std::span<const Array> state) {
  if (pattern.is_empty()) return {{}, {state[0], state[1], state[2]}};
  return {pattern, {}, state[0]};
}
MatrixFactors MatrixFactors::unmade(const Pattern& pattern, const Array& values) {
  const Array none = zeros_like(values);
  if (!pattern.is_empty()) return {pattern, {}, none};
  const Array rows = zeros({none.dim(0)}, i32);
  return {{}, {none, rows, rows}};
}
Array MatrixFactors::solve(const Array& right) const {
  if (pattern.is_empty()) return linalg::lu_solve(full, right);
  return linear_solve(sparse_operator(pattern, entries), right, linear::Auto{}, {.throw_ = false}).value;
}

Array solve_by_columns(const LinearMap<Array>& map, const Array& right, const Pattern& pattern) {
  if (pattern.is_empty()) {
    const Array columns =
        vmap([&](const Array& x) { return map(x); })(eye(right.size(), -1, 0, right.dtype()));
    return linalg::solve(linalg::matrix_transpose(columns), right);
  }
  const Pattern own = map.transposed ? pattern.transpose() : pattern;
  const LinearOperator matrix =
      sparse_jacobian([&](const Array& x) { return map(x); }, zeros_like(right), {.pattern = own});
  return linear_solve(matrix, right, linear::Auto{}, {.throw_ = false}).value;
}

}  // namespace apsis::detail
