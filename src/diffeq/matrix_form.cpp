#include "diffeq/matrix_form.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "apsis/control/cond.hpp"
#include "apsis/core/op.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/solve/banded_lu.hpp"
#include "apsis/transform/vmap.hpp"
#include "diffeq/straight_lu.hpp"

namespace apsis::detail {
namespace {

using Integers = std::vector<std::int64_t>;

/// Up to so many elements factors of full matrices are in registers, and no pattern makes them better.
constexpr std::int64_t tiny = 3;
/// From so many elements on sparse matrices are solved with, and not in straight line.
constexpr std::int64_t large = 32;
/// Factors in straight line have at most so many multiplications: above, the program is longer than it is
/// fast.
constexpr std::int64_t most_straight_work = 1500, most_straight_side = 62;

/// Whether a matrix of this pattern has factors in straight line.
bool is_straight(const Pattern& p) {
  return p.rows() <= most_straight_side && StraightLU(p).work() <= most_straight_work;
}

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
/// How a matrix of this pattern is solved with where its factors are not in straight line.
MatrixStructure banded_or_sparse(const Pattern& p, Dtype dtype) {
  const bool has_factors = dtype == Dtype::F64 || dtype == Dtype::F32;
  return {p, false, has_factors && BandedLU::of(p)->is_narrow()};
}
/// The matrix with these entries, written out.
Array full_matrix(const Pattern& p, const Array& entries) {
  const std::int64_t n = p.rows();
  Integers from(static_cast<std::size_t>(n * n), p.count());  // of each place its entry, or a zero behind all
  const Integers rows = p.row_indices();
  for (std::size_t e = 0; e < rows.size(); ++e)
    from[static_cast<std::size_t>(rows[e] * n + p.column_indices()[e])] = static_cast<std::int64_t>(e);
  return reshape(concatenate({entries, zeros({1}, entries.dtype())})[numbers(from)], {n, n});
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
  // The diagonal of a mass matrix may have zeros, and factors in straight line have pivots there.
  if (n >= large || (n > tiny && unit_)) take_pattern(slopes, slope, layout, t, y);
  if (structure_.is_full()) mass_ = unit_ ? eye(n, -1, 0, layout.dtype()) : slopes.mass();
}

void MatrixForm::take_pattern(const Slopes& slopes, const VectorSlope& slope, const Layout& layout,
                              const Array& t, const Array& y) {
  const std::int64_t n = layout.size();
  own_ = pattern_of(slope, t, y);
  TraceScope now(nullptr);
  const Pattern diagonal = diagonal_pattern(n);
  const Array known = unit_ ? Array() : concrete_value(slopes.mass());
  const Pattern all = united(united(own_, diagonal), unit_ ? diagonal : SparsePattern::of(known));
  const bool straight = n < large && is_straight(all) && 6 * StraightLU(all).work() <= n * n * n;
  if (!straight && (n < large || 4 * all.count() > n * n)) return;
  structure_ = straight ? MatrixStructure{all, true} : banded_or_sparse(all, layout.dtype());
  own_at_ = numbers(places(own_, all));
  const Array rows = numbers(all.row_indices()),
              columns = numbers({all.column_indices().begin(), all.column_indices().end()});
  mass_ = unit_ ? astype(rows == columns, layout.dtype()) : known(rows, columns);
}

Array MatrixForm::jacobian(const VectorSlope& slope, const Array& t, const Array& y) const {
  if (structure_.is_full()) return slope.jacobian(t, y);
  const Array entries =
      sparse_jacobian([&](const Array& x) { return slope(t, x); }, y, {.pattern = own_}).entries();
  if (own_ == structure_.pattern) return entries;
  return concatenate({entries, zeros({1}, entries.dtype())})[own_at_];
}

Array MatrixForm::times_mass(const Array& vector) const {
  if (unit_) return vector;
  return structure_.is_full() ? matmul(mass_, vector) : sparse_operator(structure_.pattern, mass_).mv(vector);
}

MatrixBlocks MatrixForm::blocks(std::int64_t k) const {
  if (structure_.is_full()) return {};
  const Pattern& own = structure_.pattern;
  const std::int64_t n = own.rows(), count = own.count();
  const std::vector<double> mass = concrete_value(mass_).to_vector<double>();
  Integers starts{0}, columns, from;
  for (std::int64_t row = 0; row < k * n; ++row) {
    const std::int64_t block = row / n, i = row % n;
    for (std::int64_t other = 0; other < k; ++other)
      for (std::int64_t e = own.row_starts()[static_cast<std::size_t>(i)];
           e < own.row_starts()[static_cast<std::size_t>(i) + 1]; ++e) {
        if (other != block && mass[static_cast<std::size_t>(e)] == 0) continue;
        columns.push_back(other * n + own.column_indices()[static_cast<std::size_t>(e)]);
        from.push_back((block * k + other) * count + e);
      }
    starts.push_back(static_cast<std::int64_t>(columns.size()));
  }
  const Pattern all(k * n, k * n, std::move(starts), std::move(columns));
  if (structure_.straight && is_straight(all)) return {{all, true}, numbers(from)};
  return {banded_or_sparse(all, mass_.dtype()), numbers(from)};
}

Array MatrixBlocks::values(const std::vector<Array>& of_blocks) const {
  if (!structure.is_full()) return concatenate(of_blocks)[from];
  std::vector<Array> rows;
  const auto k = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(of_blocks.size()))));
  for (std::size_t i = 0; i < k; ++i)
    rows.push_back(concatenate({of_blocks.begin() + static_cast<std::ptrdiff_t>(i * k),
                                of_blocks.begin() + static_cast<std::ptrdiff_t>((i + 1) * k)},
                               1));
  return concatenate(rows, 0);
}

MatrixFactors MatrixFactors::of(const MatrixStructure& structure, const Array& values) {
  if (structure.is_full()) return {structure, linalg::lu_factor(values)};
  MatrixFactors out{structure, {}, values};
  if (structure.straight) out.made = StraightLU(structure.pattern).factor(stop_gradient(values));
  if (structure.banded) out.made = BandedLU::of(structure.pattern)->factor(values);
  return out;
}
void MatrixFactors::append_to(std::vector<Array>& state) const {
  if (structure.is_full()) {
    state.insert(state.end(), {full.lu, full.pivots, full.permutation});
    return;
  }
  state.push_back(entries);
  if (structure.makes_factors()) state.push_back(made);
}
std::size_t MatrixFactors::arrays(const MatrixStructure& structure) {
  return structure.is_full() ? 3 : structure.makes_factors() ? 2 : 1;
}
MatrixFactors MatrixFactors::from(const MatrixStructure& structure, std::span<const Array> state) {
  if (structure.is_full()) return {structure, {state[0], state[1], state[2]}};
  return {structure, {}, state[0], structure.makes_factors() ? state[1] : Array()};
}
MatrixFactors MatrixFactors::unmade(const MatrixStructure& structure, const Array& values) {
  const Array none = zeros_like(values);
  if (structure.is_full()) {
    const Array rows = zeros({none.dim(0)}, i32);
    return {structure, {none, rows, rows}};
  }
  MatrixFactors out{structure, {}, none};
  if (structure.straight) out.made = StraightLU(structure.pattern).unmade(values.dtype());
  if (structure.banded) out.made = BandedLU::of(structure.pattern)->unmade(values.dtype());
  return out;
}
Array MatrixFactors::solve(const Array& right) const {
  if (structure.is_full()) return linalg::lu_solve(full, right);
  const LinearOperator matrix = sparse_operator(structure.pattern, entries);
  if (!structure.makes_factors()) return linear_solve(matrix, right, linear::Auto{}, {.throw_ = false}).value;
  const auto by = [&](bool transposed) {
    return [this, transposed](const auto&, const Array& b) { return solve_by_made(b, transposed); };
  };
  return custom_linear_solve([&](const Array& x) { return matrix.mv(x); }, right, by(false), by(true));
}
Array MatrixFactors::solve_by_made(const Array& right, bool transposed) const {
  if (structure.banded) return BandedLU::of(structure.pattern)->solve(made, right, transposed);
  const Array own = stop_gradient(entries);
  return cond(
      StraightLU::is_sound(made),
      [&](const Array& x) { return StraightLU(structure.pattern).solve(made, x, transposed); },
      [&](const Array& x) {
        const Array all = full_matrix(structure.pattern, own);
        return linalg::solve(transposed ? linalg::matrix_transpose(all) : all, x);
      },
      right);
}

Array solve_by_columns(const LinearMap<Array>& map, const Array& right, const MatrixStructure& structure) {
  if (structure.is_full()) {
    const Array columns =
        vmap([&](const Array& x) { return map(x); })(eye(right.size(), -1, 0, right.dtype()));
    return linalg::solve(linalg::matrix_transpose(columns), right);
  }
  const Pattern own = map.transposed ? structure.pattern.transpose() : structure.pattern;
  const LinearOperator matrix =
      sparse_jacobian([&](const Array& x) { return map(x); }, zeros_like(right), {.pattern = own});
  if (structure.straight) return MatrixFactors::of({own, true}, matrix.entries()).solve(right);
  return linear_solve(matrix, right, linear::Auto{}, {.throw_ = false}).value;
}

}  // namespace apsis::detail
