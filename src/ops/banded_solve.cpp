#include <cmath>
#include <cstring>

#include "ops/banded_factors.hpp"
#include "ops/index_rules.hpp"
#include "ops/matrix_rules.hpp"
#include "ops/messages.hpp"

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

/// The factors of one matrix. They stay with the elements they were made of, so that the next solve with the
/// same matrix, which iterations make, finds them there.
template <class T>
class KeptBandedFactors {
 public:
  /// Those of these elements, made if the last ones were others.
  BandedFactors<const T> of(const BandedSolveParams& p, std::int64_t n, const T* bands) {
    const std::size_t count = static_cast<std::size_t>((p.lower + 1 + p.upper) * n);
    if (n != n_ || p.lower != given_.lower || p.upper != given_.upper || elements_.size() != count ||
        std::memcmp(elements_.data(), bands, count * sizeof(T)) != 0) {
      given_ = p, n_ = n;
      elements_.clear();
      factors_.resize(static_cast<std::size_t>(BandedFactors<T>::size(p, n)));
      BandedFactors<T>(p, n, factors_.data()).make(bands);
      if (count <= most_kept) elements_.assign(bands, bands + count);
    }
    return {p, n, factors_.data()};
  }

 private:
  static constexpr std::size_t most_kept = std::size_t{1} << 18;

  BandedSolveParams given_{};
  std::int64_t n_ = -1;
  std::vector<T> elements_, factors_;
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
    static thread_local KeptBandedFactors<T> kept;
    for (std::int64_t i = 0; i < sizes.count; ++i) {
      bool solved;
      if (blocks) {
        transpose_into(b, n, columns, turned.data());
        solved = solve_wide(p, n, a, turned.data(), columns);
        transpose_into(turned.data(), columns, n, x);
      } else {
        std::copy_n(b, n * columns, x);
        solved = kept.of(p, n, a).solve(x, columns);
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
