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

/// One system, solved in place of its right sides, which are columns one after the other.
template <class T>
class BandedSystem {
 public:
  BandedSystem(const BandedSolveParams& p, std::int64_t n)
      : given_(p), n_(n), lower_(std::min(p.lower, n - 1)), upper_(std::min(p.upper, n - 1)) {}

  bool solve(const T* bands, T* right, std::int64_t columns) {
    const auto order = static_cast<lapack::Int>(n_), count = static_cast<lapack::Int>(columns);
    if (lower_ <= 1 && upper_ <= 1) {
      for (std::int64_t k = -1; k <= 1; ++k) {
        std::vector<T>& line = lines_[k + 1];
        line.assign(static_cast<std::size_t>(n_), T{});
        if (-k <= lower_ && k <= upper_)
          read(bands, k, [&](std::int64_t i) -> T& { return line[i - (k < 0)]; });
      }
      return lapack::gtsv(order, count, lines_[0].data(), lines_[1].data(), lines_[2].data(), right) == 0;
    }
    // LAPACK's storage has room above for what exchanges of rows bring there.
    const std::int64_t height = 2 * lower_ + upper_ + 1;
    stored_.assign(static_cast<std::size_t>(height * n_), T{});
    for (std::int64_t k = -lower_; k <= upper_; ++k)
      read(bands, k, [&](std::int64_t i) -> T& { return stored_[(i + k) * height + lower_ + upper_ - k]; });
    pivots_.resize(static_cast<std::size_t>(n_));
    return lapack::gbsv(order, static_cast<lapack::Int>(lower_), static_cast<lapack::Int>(upper_), count,
                        stored_.data(), pivots_.data(), right) == 0;
  }

 private:
  /// The entries (i, i + k) of the matrix.
  template <class Place>
  void read(const T* bands, std::int64_t k, const Place& place) {
    const T* band = bands + (given_.upper - k) * n_;
    for (std::int64_t i = std::max<std::int64_t>(0, -k); i < std::min(n_, n_ - k); ++i)
      place(i) = band[i + k];
  }

  BandedSolveParams given_;
  std::int64_t n_, lower_, upper_;
  std::vector<T> lines_[3], stored_;
  std::vector<lapack::Int> pivots_;
};

void solve_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto& p = params.as<BandedSolveParams>();
  evaluate_matrices(in, out, [&](auto type, std::span<const Array> from, std::span<Array> to) {
    using T = typename decltype(type)::type;
    if (from[right].size() == 0) return;
    const Matrices sizes(from[right].shape());
    const std::int64_t n = sizes.m, columns = sizes.n;
    BandedSystem<T> system(p, n);
    std::vector<T> turned(static_cast<std::size_t>(n * columns));
    const T *a = elements_of<T>(from[bands]), *b = elements_of<T>(from[right]);
    T* x = mutable_data<T>(to[0]);
    for (std::int64_t i = 0; i < sizes.count; ++i) {
      transpose_into(b, n, columns, turned.data());
      if (system.solve(a, turned.data(), columns))
        transpose_into(turned.data(), columns, n, x);
      else
        fill_nan(x, n * columns);
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
