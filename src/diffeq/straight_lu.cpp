#include "diffeq/straight_lu.hpp"

#include <limits>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/transform/jit.hpp"

namespace apsis::detail {

StraightLU::StraightLU(const SparsePattern& pattern) : pattern_(pattern) {
  const auto n = static_cast<std::size_t>(pattern.rows());
  std::vector<std::vector<bool>> there(n, std::vector<bool>(n, false));
  const Integers rows = pattern.row_indices();
  for (std::size_t e = 0; e < rows.size(); ++e)
    there[static_cast<std::size_t>(rows[e])][static_cast<std::size_t>(pattern.column_indices()[e])] = true;
  choose_order(there);
}

// Eliminates on the pattern; `there` ends as that of the factors.
void StraightLU::choose_order(std::vector<std::vector<bool>> there) {
  const std::size_t n = there.size();
  std::vector<bool> done(n, false);
  for (std::size_t step = 0; step < n; ++step) {
    std::size_t best = n, least = std::numeric_limits<std::size_t>::max();
    for (std::size_t k = 0; k < n; ++k) {
      if (done[k]) continue;
      std::size_t in_row = 0, in_column = 0;
      for (std::size_t j = 0; j < n; ++j) {
        if (done[j] || j == k) continue;
        in_row += there[k][j];
        in_column += there[j][k];
      }
      if (in_row * in_column < least) best = k, least = in_row * in_column;
    }
    done[best] = true;
    order_.push_back(static_cast<std::int64_t>(best));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (!done[i] && !done[j] && there[i][best] && there[best][j]) there[i][j] = true;
  }
  number_places(there);
}

void StraightLU::number_places(const std::vector<std::vector<bool>>& there) {
  const std::size_t n = order_.size();
  std::vector<std::vector<std::size_t>> number(n, std::vector<std::size_t>(n));
  lower_.resize(n), upper_.resize(n), diagonal_.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const auto row = static_cast<std::size_t>(order_[i]), column = static_cast<std::size_t>(order_[j]);
      if (!there[row][column]) continue;
      number[row][column] = places_;
      if (i == j)
        diagonal_[i] = places_;
      else
        (j < i ? lower_ : upper_)[i].push_back({j, places_});
      ++places_;
    }
  const Integers rows = pattern_.row_indices();
  for (std::size_t e = 0; e < rows.size(); ++e)
    place_of_.push_back(
        number[static_cast<std::size_t>(rows[e])][static_cast<std::size_t>(pattern_.column_indices()[e])]);
  work_ = static_cast<std::int64_t>(places_);
  for (const std::vector<Place>& row : lower_)
    for (const Place& l : row) work_ += static_cast<std::int64_t>(1 + upper_[l.column].size());
}

Array StraightLU::factor(const Array& entries) const {
  const std::size_t n = order_.size();
  const Dtype dtype = entries.dtype();
  const Scalars given = unstack(entries);
  const Array zero = zeros({}, dtype), one = ones({}, dtype);
  Scalars x(places_, zero);
  for (std::size_t e = 0; e < given.size(); ++e) x[place_of_[e]] = given[e];
  std::vector<std::size_t> in_row(n);  // of each column its place in the row at hand
  for (std::size_t i = 0; i < n; ++i) {
    for (const Place& p : lower_[i]) in_row[p.column] = p.at;
    for (const Place& p : upper_[i]) in_row[p.column] = p.at;
    in_row[i] = diagonal_[i];
    for (const Place& l : lower_[i]) {
      x[l.at] = x[l.at] * x[diagonal_[l.column]];
      const Array minus = -x[l.at];
      for (const Place& u : upper_[l.column]) x[in_row[u.column]] = fma(minus, x[u.at], x[in_row[u.column]]);
    }
    x[diagonal_[i]] = one / x[diagonal_[i]];
  }

  // A row's sizes as its right side.
  const Integers rows = pattern_.row_indices();
  Scalars sizes(n, zero);
  for (std::size_t e = 0; e < given.size(); ++e) {
    Array& size = sizes[static_cast<std::size_t>(rows[e])];
    size = size + abs(given[e]);
  }
  const Scalars found = solved(x, sizes, false);
  Scalars residuals = sizes;
  for (std::size_t e = 0; e < given.size(); ++e) {
    const auto row = static_cast<std::size_t>(rows[e]);
    const Array& factor = found[static_cast<std::size_t>(pattern_.column_indices()[e])];
    residuals[row] = fma(-given[e], factor, residuals[row]);
    sizes[row] = fma(abs(given[e]), abs(factor), sizes[row]);
  }
  // A thousand roundings may be lost, as with KLU's pivots.
  const double allowed = dtype == Dtype::F64 ? 0x1p-42 : 0x1p-13;
  Array sound = array(true);
  for (std::size_t i = 0; i < n; ++i) sound = sound && abs(residuals[i]) <= allowed * sizes[i];
  x.push_back(astype(sound, dtype));
  return stack(x);
}

Array StraightLU::is_sound(const Array& factors) { return factors[-1] != 0.; }

Array StraightLU::unmade(Dtype dtype) const { return zeros({static_cast<std::int64_t>(places_) + 1}, dtype); }

Array StraightLU::solve(const Array& factors, const Array& right, bool transposed) const {
  const auto solve_with = [](const SparsePattern& p, bool of_transpose, const Array& f, const Array& b) {
    return stack(StraightLU(p).solved(unstack(f), unstack(b), of_transpose));
  };
  return jit(solve_with)(pattern_, transposed, factors, right);
}

StraightLU::Scalars StraightLU::solved(const Scalars& factors, Scalars right, bool transposed) const {
  const std::size_t n = order_.size();
  Scalars x, minus(n);
  for (std::int64_t k : order_) x.push_back(right[static_cast<std::size_t>(k)]);
  // What a row's places and the unknowns of their columns add to it, or, transposed, its unknown to those.
  const auto gather = [&](std::size_t i, const std::vector<Place>& row) {
    for (const Place& p : row) x[i] = fma(factors[p.at], minus[p.column], x[i]);
  };
  const auto scatter = [&](std::size_t i, const std::vector<Place>& row) {
    const Array own = -x[i];
    for (const Place& p : row) x[p.column] = fma(factors[p.at], own, x[p.column]);
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (transposed) {
      x[i] = x[i] * factors[diagonal_[i]];
      scatter(i, upper_[i]);
    } else {
      gather(i, lower_[i]);
      minus[i] = -x[i];
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    if (transposed) {
      scatter(i, lower_[i]);
    } else {
      gather(i, upper_[i]);
      x[i] = x[i] * factors[diagonal_[i]];
      minus[i] = -x[i];
    }
  }
  for (std::size_t k = 0; k < n; ++k) right[static_cast<std::size_t>(order_[k])] = x[k];
  return right;
}

}  // namespace apsis::detail
