#include "ops/complex_matrix.hpp"
#include "ops/messages.hpp"
#include "ops/small_matrix_emit.hpp"

namespace apsis::detail {
namespace {

void qr_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1);
  check_matrices("qr", in[0]);
  const Shape& shape = in[0].shape();
  const Matrices sizes(shape);
  const std::int64_t k = params.as<QrParams>().full_matrices ? sizes.m : sizes.k();
  out.push_back(Aval(in[0].dtype(), with_matrices(shape, {sizes.m, k})));
  out.push_back(Aval(in[0].dtype(), with_matrices(shape, {k, sizes.n})));
}

// A row by row is Aᵀ column by column, and Aᵀ = L·Q' means A = Q'ᵀ·Lᵀ: nothing is transposed in memory.
template <class T>
class Factoring {
 public:
  Factoring(const Matrices& sizes, bool full)
      : m_(sizes.m),
        n_(sizes.n),
        reflections_(sizes.k()),
        k_(full ? sizes.m : sizes.k()),
        tau_(static_cast<std::size_t>(reflections_)) {}

  /// A: m × n, q: m × k, r: k × n.
  void run(const T* a, T* q, T* r) {
    // The one of both that has the size of A.
    T* const factors = k_ == m_ ? r : q;
    std::copy_n(a, m_ * n_, factors);
    if (reflections_ > 0) lapack::gelqf(as_int(n_), as_int(m_), factors, tau_.data(), for_factors_);
    if (k_ == m_) {
      for (std::int64_t i = 0; i < m_; ++i) {
        std::copy_n(factors + i * n_, reflections_, q + i * m_);
        std::fill_n(q + i * m_ + reflections_, m_ - reflections_, T{});
      }
    } else {
      std::copy_n(factors, k_ * n_, r);
    }
    for (std::int64_t i = 0; i < k_; ++i) std::fill_n(r + i * n_, std::min(i, n_), T{});
    if (k_ > 0) lapack::orglq(as_int(k_), as_int(m_), as_int(reflections_), q, tau_.data(), for_q_);
  }

 private:
  static lapack::Int as_int(std::int64_t n) { return static_cast<lapack::Int>(n); }

  std::int64_t m_, n_, reflections_, k_;
  std::vector<T> tau_;
  lapack::Work<T> for_factors_, for_q_;
};

void qr_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const bool full = params.as<QrParams>().full_matrices;
  evaluate_matrices(in, out, [&](auto type, std::span<const Array> from, std::span<Array> to) {
    using T = typename decltype(type)::type;
    const Matrices sizes(from[0].shape()), of_q(to[0].shape());
    const T* a = elements_of<T>(from[0]);
    T *q = mutable_data<T>(to[0]), *r = mutable_data<T>(to[1]);
    if (sizes.k() > 0 && is_small_matrix(sizes.m, sizes.n) && is_small_matrix(sizes.m, of_q.n)) {
      if constexpr (std::is_floating_point_v<T>)
        return small_matrix_code<T>(sizes.count)
            .real.qr(sizes.count, static_cast<int>(sizes.m), static_cast<int>(sizes.n),
                     static_cast<int>(of_q.n), a, q, r);
      else
        return evaluate_split(complex_qr_op, params, from, to);
    }
    Factoring<T> factoring(sizes, full);
    for (std::int64_t i = 0; i < sizes.count; ++i) {
      factoring.run(a, q, r);
      a += sizes.m * sizes.n, q += of_q.m * of_q.n, r += of_q.n * sizes.n;
    }
  });
}

void complex_qr_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  evaluate_parts<qr_op>(params, in, out, [](const auto& code, const auto& from, const auto& to) {
    const Matrices sizes(from.shape(0)), of_q(to.shape(0));
    code(sizes.count)
        .qr(sizes.count, static_cast<int>(sizes.m), static_cast<int>(sizes.n), static_cast<int>(of_q.n),
            from[0], to[0], to[1]);
  });
}

template <bool complex>
void qr_emit(Emitter& e, const Params&, std::span<const Aval> in_avals, std::span<const Value> in,
             std::span<const Aval> out_avals, std::span<Value> out) {
  const Matrices sizes(in_avals[0].shape()), of_q(out_avals[0].shape());
  emit_matrices<complex>(e, in_avals[0].dtype(), in, out, [&](auto elements) {
    using M = typename decltype(elements)::M;
    const M m = elements.model();
    auto a = elements.read(in_avals[0].size());
    std::vector<typename M::F> q(static_cast<std::size_t>(out_avals[0].size())),
        tau(static_cast<std::size_t>(sizes.k())), r;
    for (std::int64_t i = 0; i < sizes.count; ++i) {
      const small::Reflections<M> reflections{m, static_cast<int>(sizes.m), static_cast<int>(sizes.n),
                                              a.data() + i * sizes.m * sizes.n, tau.data()};
      reflections.find();
      reflections.join(static_cast<int>(of_q.n), q.data() + i * sizes.m * of_q.n);
      for (std::int64_t row = 0; row < of_q.n; ++row)
        for (std::int64_t column = 0; column < sizes.n; ++column)
          r.push_back(column < row ? m.constant(0) : reflections.a[row * sizes.n + column]);
    }
    elements.write(q);
    elements.write(r);
  });
}

struct Factors {
  Array q, r;
};

// The derivative of Q and the square R of A with m ≥ n. With X = Qᴴ dA R⁻¹ and the skew-Hermitian
// S = tril(X, -1) - tril(X, -1)ᴴ + i Im diag(X): dQ = Q (S - X) + dA R⁻¹, dR = (X - S) R, whose diagonal
// stays real (J. Townsend, Differentiating the QR decomposition, 2018).
Factors tall_derivative(const Factors& f, const Array& da) {
  const Array da_r = lax::triangular_solve(f.r, da, {.left_side = false, .lower = false});
  const Array x = lax::matrix_product(lax::adjoint(f.q), da_r), lower = lax::triangle(x, true, -1);
  Array skew = lax::sub(lower, lax::adjoint(lower));
  if (is_complex(x.dtype()))
    skew = lax::add(skew, lax::mul(lax::identity(x.shape(), x.dtype()), lax::sub(x, lax::real_part(x))));
  const Array difference = lax::sub(skew, x);
  return {lax::add(lax::matrix_product(f.q, difference), da_r),
          lax::neg(lax::matrix_product(difference, f.r))};
}

void qr_jvp(const JvpRule& r) {
  const Array &a = r.primals[0], &da = r.tangents[0];
  const Matrices sizes(a.shape());
  const std::int64_t m = sizes.m, n = sizes.n;
  if (r.params.as<QrParams>().full_matrices && m > n)
    fail(messages::full_matrices_derivative, {"qr", to_string(a.aval())});
  const std::vector<Array> outs = bind_all(qr_op, r.params, {&a, 1});
  std::ranges::copy(outs, r.outs.begin());
  const Factors f{outs[0], outs[1]};
  if (m >= n) {
    const Factors d = tall_derivative(f, da);
    r.out_tangents[0] = d.q;
    r.out_tangents[1] = d.r;
    return;
  }
  // The first m columns are square; the others of R are Qᴴ times those of A.
  const Factors d = tall_derivative({f.q, lax::matrix_columns(f.r, 0, m)}, lax::matrix_columns(da, 0, m));
  const Array others = lax::add(lax::matrix_product(lax::adjoint(d.q), lax::matrix_columns(a, m, n)),
                                lax::matrix_product(lax::adjoint(f.q), lax::matrix_columns(da, m, n)));
  const Array parts[] = {d.r, others};
  r.out_tangents[0] = d.q;
  r.out_tangents[1] = lax::concatenate(parts, a.ndim() - 1);
}

}  // namespace

const Op qr_op = {
    .name = "qr",
    .kind = OpKind::Index,
    .shape = qr_shape,
    .evaluate = qr_evaluate,
    .of_complex = by_small_parts<complex_qr_op>,
    .jvp = qr_jvp,
    .batch = batch_matrices<qr_op>,
    .emit_unrolled = qr_emit<false>,
    .parse = parse_params<QrParams>,
};

constinit const Op complex_qr_op =
    op_on_parts<qr_op>("complex_qr", complex_qr_evaluate, qr_emit<true>, parse_params<QrParams>);

}  // namespace apsis::detail
