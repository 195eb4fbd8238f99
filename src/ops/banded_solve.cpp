#include <cmath>
#include <cstring>
#include <variant>

#include "ops/index_rules.hpp"
#include "ops/matrix_rules.hpp"
#include "ops/messages.hpp"
#include "ops/narrow_bands.hpp"

namespace apsis::detail {
namespace {

// Operands, in their order.
enum Operand : std::size_t { bands, right };

void solve_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 2 && in[bands].dtype() == in[right].dtype());
  const auto& p = params.as<BandedSolveParams>();
  for (const Operand k : {bands, right}) check_matrices("banded_solve", in[k]);
  const std::int64_t n = Matrices(in[right].shape()).m, height = Matrices(in[bands].shape()).m;
  APSIS_ASSERT(p.lower >= 0 && p.lower < height && p.upper == height - 1 - p.lower);
  APSIS_ASSERT(in[bands].shape() == with_matrices(in[right].shape(), {height, n}));
  out.push_back(Aval(in[right].dtype(), in[right].shape()));
}

/// The factors of one matrix: Gaussian elimination, with exchanges of rows where the matrix has more than a
/// few diagonals, or is in need of them. They stay with the elements they were made of, so that the next
/// solve with the same matrix, which iterations and the stages of a step make, finds them there.
template <class T>
class BandedFactors {
 public:
  /// Makes the factors of other elements than the last ones.
  void take(const BandedSolveParams& p, std::int64_t n, const T* bands) {
    const std::size_t count = static_cast<std::size_t>((p.lower + 1 + p.upper) * n);
    if (n == n_ && p.lower == given_.lower && p.upper == given_.upper && elements_.size() == count &&
        std::memcmp(elements_.data(), bands, count * sizeof(T)) == 0)
      return;
    given_ = p, n_ = n, lower_ = std::min(p.lower, n - 1), upper_ = std::min(p.upper, n - 1);
    width_ = lower_ + upper_ + 1;
    elements_.assign(bands, bands + count);
    if (!make_narrow()) factorise();
    if (count > most_kept) elements_ = {};
  }

  /// Solves for right sides that are the columns of [n, columns], in place; false of singular matrices.
  bool solve(T* right, std::int64_t columns) const {
    if (narrow_.index() > 0) {
      std::visit([&](const auto& factors) { solve_narrow(factors, right, columns); }, narrow_);
      return true;
    }
    if (singular_) return false;
    if (columns == 1)
      substitute(right, std::integral_constant<std::int64_t, 1>{});
    else
      substitute(right, columns);
    return true;
  }

 private:
  static constexpr std::size_t most_kept = std::size_t{1} << 18;
  /// Empty: the factors are not narrow ones.
  using Narrow = std::conditional_t<
      std::is_floating_point_v<T>,
      std::variant<std::monostate, NarrowBands<T, 1>, NarrowBands<T, 2>, NarrowBands<T, 3>>,
      std::variant<std::monostate>>;

  bool make_narrow() {
    if constexpr (std::is_floating_point_v<T>) {
      const std::int64_t width = std::max(lower_, upper_);
      if (width == 1 && make_narrow_of<1>()) return true;
      if (width == 2 && make_narrow_of<2>()) return true;
      if (width == 3 && make_narrow_of<3>()) return true;
    }
    narrow_ = std::monostate{};
    return false;
  }
  template <std::size_t width>
  bool make_narrow_of() {
    if (narrow_.index() != width) narrow_.template emplace<width>();
    return std::get<width>(narrow_).make(given_, n_, elements_.data());
  }
  static void solve_narrow(std::monostate, T*, std::int64_t) {}
  static void solve_narrow(const auto& factors, T* right, std::int64_t columns) {
    factors.solve(right, columns);
  }

  template <class Count>
  void substitute(T* right, Count columns) const {
    const auto subtract = [&](T factor, const T* from, T* to) {
      for (std::int64_t c = 0; c < columns; ++c) to[c] -= factor * from[c];
    };
    for (std::int64_t k = 0; k < n_; ++k) {
      T* own = right + k * columns;
      const std::int64_t pivot = pivots_[static_cast<std::size_t>(k)];
      if (pivot != k) std::swap_ranges(own, own + columns, right + pivot * columns);
      const T* factors = multipliers_.data() + k * lower_;
      for (std::int64_t i = 1; i <= std::min(n_ - 1 - k, lower_); ++i)
        subtract(factors[i - 1], own, own + i * columns);
    }
    for (std::int64_t k = n_; k-- > 0;) {
      const T* row = row_of(k);
      T* own = right + k * columns;
      for (std::int64_t j = 1; j <= std::min(n_ - 1 - k, lower_ + upper_); ++j)
        subtract(row[j], own + j * columns, own);
      for (std::int64_t c = 0; c < columns; ++c) own[c] /= row[0];
    }
  }
  T* row_of(std::int64_t i) { return rows_.data() + i * width_; }
  const T* row_of(std::int64_t i) const { return rows_.data() + i * width_; }

  /// Row i of `rows_` begins at the first column whose entry is not 0 for sure: at column max(0, i - lower),
  /// and at the diagonal once it is eliminated. Exchanges bring up to `lower` entries more to its end.
  void factorise() {
    rows_.assign(static_cast<std::size_t>(n_ * width_), T{});
    multipliers_.assign(static_cast<std::size_t>(n_ * lower_), T{});
    pivots_.resize(static_cast<std::size_t>(n_));
    singular_ = false;
    for (std::int64_t i = 0; i < n_; ++i) {
      const std::int64_t first = std::max<std::int64_t>(0, i - lower_);
      for (std::int64_t j = first; j <= std::min(n_ - 1, i + upper_); ++j)
        row_of(i)[j - first] = elements_[static_cast<std::size_t>((given_.upper + i - j) * n_ + j)];
    }
    for (std::int64_t k = 0; k < n_; ++k) eliminate(k);
  }
  /// Column k: of the rows that have an entry there, all of which begin with it, the one with the greatest
  /// goes up.
  void eliminate(std::int64_t k) {
    const std::int64_t last = std::min(n_ - 1, k + lower_);
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i <= last; ++i)
      if (std::abs(row_of(i)[0]) > std::abs(row_of(pivot)[0])) pivot = i;
    pivots_[static_cast<std::size_t>(k)] = pivot;
    const std::int64_t length = std::min(lower_ + upper_ + 1, n_ - k);
    T* own = row_of(k);
    if (pivot != k) std::swap_ranges(own, own + length, row_of(pivot));
    if (own[0] == T{}) {
      singular_ = true;
      return;
    }
    for (std::int64_t i = k + 1; i <= last; ++i) {
      T* row = row_of(i);
      const T factor = row[0] / own[0];
      multipliers_[static_cast<std::size_t>(k * lower_ + i - k - 1)] = factor;
      for (std::int64_t c = 1; c < length; ++c) row[c - 1] = row[c] - factor * own[c];
      row[length - 1] = 0;
    }
  }

  BandedSolveParams given_{};
  std::int64_t n_ = -1, lower_ = 0, upper_ = 0, width_ = 0;
  std::vector<T> elements_, rows_, multipliers_;
  std::vector<std::int64_t> pivots_;
  bool singular_ = false;
  Narrow narrow_;
};

/// A matrix of wide bands, by LAPACK, which works on blocks. Right sides are columns one after the other.
template <class T>
bool solve_wide(const BandedSolveParams& p, std::int64_t n, const T* bands, T* right, std::int64_t columns) {
  const std::int64_t lower = std::min(p.lower, n - 1), upper = std::min(p.upper, n - 1);
  // LAPACK's storage has room above for what exchanges of rows bring there.
  const std::int64_t height = 2 * lower + upper + 1;
  std::vector<T> stored(static_cast<std::size_t>(height * n));
  for (std::int64_t k = -lower; k <= upper; ++k)
    for (std::int64_t i = std::max<std::int64_t>(0, -k); i < std::min(n, n - k); ++i)
      stored[static_cast<std::size_t>((i + k) * height + lower + upper - k)] =
          bands[(p.upper - k) * n + i + k];
  std::vector<lapack::Int> pivots(static_cast<std::size_t>(n));
  const auto number = [](std::int64_t count) { return static_cast<lapack::Int>(count); };
  return lapack::gbsv(number(n), number(lower), number(upper), number(columns), stored.data(), pivots.data(),
                      right) == 0;
}

/// From here on LAPACK is faster.
constexpr std::int64_t wide = 24;

void solve_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto& p = params.as<BandedSolveParams>();
  evaluate_matrices(in, out, [&](auto type, std::span<const Array> from, std::span<Array> to) {
    using T = typename decltype(type)::type;
    if (from[right].size() == 0) return;
    const Matrices sizes(from[right].shape());
    const std::int64_t n = sizes.m, columns = sizes.n;
    const bool blocks = std::min(p.lower, n - 1) > wide;
    std::vector<T> turned(static_cast<std::size_t>(blocks ? n * columns : 0));
    const T *a = elements_of<T>(from[bands]), *b = elements_of<T>(from[right]);
    T* x = mutable_data<T>(to[0]);
    static thread_local BandedFactors<T> factors;
    for (std::int64_t i = 0; i < sizes.count; ++i) {
      bool solved;
      if (blocks) {
        transpose_into(b, n, columns, turned.data());
        solved = solve_wide(p, n, a, turned.data(), columns);
        transpose_into(turned.data(), columns, n, x);
      } else {
        std::copy_n(b, n * columns, x);
        factors.take(p, n, a);
        solved = factors.solve(x, columns);
      }
      if (!solved) fill_nan(x, n * columns);
      a += (p.lower + 1 + p.upper) * n, b += n * columns, x += n * columns;
    }
  });
}

// A dX = dB - dA X.
void solve_jvp(const JvpRule& r) {
  const auto& p = r.params.as<BandedSolveParams>();
  const Array x = r.outs[0] = bind_all(banded_solve_op, r.params, r.primals)[0];
  Array change = r.tangents[right];
  if (const Array& tangent = r.tangents[bands]; !tangent.is_empty()) {
    const int rows = x.ndim() - 2;
    const std::int64_t n = x.dim(rows);
    for (std::int64_t k = std::max(-p.lower, 1 - n); k <= std::min(p.upper, n - 1); ++k) {
      const Array band = lax::matrix_rows(tangent, p.upper - k, p.upper - k + 1);
      const Array product = lax::moved(lax::scale_rows(x, lax::squeeze_axis(band, rows)), rows, k);
      change = change.is_empty() ? lax::neg(product) : lax::sub(change, product);
    }
  }
  if (change.is_empty()) return;
  r.out_tangents[0] = bind1(banded_solve_op, r.params, {r.primals[bands], change});
}

/// Entry (i, i + k) of the transpose is entry (i + k, i) of the matrix.
Array transposed_bands(const Array& a, const BandedSolveParams& p) {
  std::vector<Array> rows;
  for (std::int64_t k = p.lower; k >= -p.upper; --k)
    rows.push_back(lax::moved(lax::matrix_rows(a, p.upper + k, p.upper + k + 1), a.ndim() - 1, -k));
  return lax::concatenate(rows, a.ndim() - 2);
}

void solve_transpose(const TransposeRule& r) {
  if (r.out[bands].is_linear()) fail(messages::not_linear, {"banded_solve"});
  if (r.cotangents[0].is_empty()) return;
  const auto& p = r.params.as<BandedSolveParams>();
  r.out[right].add(bind1(banded_solve_op, make_params(BandedSolveParams{p.upper, p.lower}),
                         {transposed_bands(r.operands[bands], p), r.cotangents[0]}));
}

}  // namespace

const Op banded_solve_op = {
    .name = "banded_solve",
    .kind = OpKind::Index,
    .shape = solve_shape,
    .evaluate = solve_evaluate,
    .jvp = solve_jvp,
    .transpose = solve_transpose,
    .batch = batch_matrices<banded_solve_op>,
    .parse = parse_params<BandedSolveParams>,
};

}  // namespace apsis::detail
