#include <cmath>

#include "ops/complex_matrix.hpp"
#include "ops/each_matrix.hpp"
#include "ops/large_cholesky.hpp"
#include "ops/small_matrix_emit.hpp"

namespace apsis::detail {
namespace {

void cholesky_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1);
  check_matrices("cholesky", in[0]);
  APSIS_ASSERT(Matrices(in[0].shape()).m == Matrices(in[0].shape()).n);
  out.push_back(Aval(in[0].dtype(), in[0].shape()));
}

// Complex ones by LAPACK: the lower triangle row by row is the upper one of Aᵀ column by column, Aᵀ = Uᴴ·U
// there, and L = Uᵀ.
template <class T>
void factor(T* a, std::int64_t n) {
  bool positive;
  if constexpr (std::is_floating_point_v<T>)
    positive = large_cholesky(n, a);
  else
    positive = lapack::potrf('U', static_cast<lapack::Int>(n), a) == 0;
  for (std::int64_t i = 0; i < n; ++i) positive = positive && !std::isnan(std::real(a[i * n + i]));
  for (std::int64_t i = 0; i < n; ++i) {
    if (!positive) fill_nan(a + i * n, i + 1);
    std::fill_n(a + i * n + i + 1, n - i - 1, T{});
  }
}

void cholesky_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  evaluate_matrices(in, out, [](auto type, std::span<const Array> from, std::span<Array> to) {
    using T = typename decltype(type)::type;
    const Matrices sizes(from[0].shape());
    if (sizes.n == 0) return;
    T* l = mutable_data<T>(to[0]);
    if (is_small_matrix(sizes.n, sizes.n)) {
      if constexpr (std::is_floating_point_v<T>)
        return small_matrix_code<T>(sizes.count)
            .real.cholesky(sizes.count, static_cast<int>(sizes.n), elements_of<T>(from[0]), l);
      else
        return evaluate_split(complex_cholesky_op, {}, from, to);
    }
    std::copy_n(elements_of<T>(from[0]), from[0].size(), l);
    const auto n = static_cast<double>(sizes.n);
    each_matrix(sizes.count, n * n * n / 3,
                [&](std::int64_t i) { factor(l + i * sizes.n * sizes.n, sizes.n); });
  });
}

void complex_cholesky_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  evaluate_parts<cholesky_op>({}, in, out, [](const auto& code, const auto& from, const auto& to) {
    const Matrices sizes(from.shape(0));
    code(sizes.count).cholesky(sizes.count, static_cast<int>(sizes.n), from[0], to[0]);
  });
}

template <bool complex>
void cholesky_emit(Emitter& e, const Params&, std::span<const Aval> in_avals, std::span<const Value> in,
                   std::span<const Aval>, std::span<Value> out) {
  const Matrices sizes(in_avals[0].shape());
  emit_matrices<complex>(e, in_avals[0].dtype(), in, out, [&](auto elements) {
    auto a = elements.read(in_avals[0].size());
    for (std::int64_t i = 0; i < sizes.count; ++i)
      small::cholesky(elements.model(), static_cast<int>(sizes.n), a.data() + i * sizes.n * sizes.n);
    elements.write(a);
  });
}

// dL = L Φ(L⁻¹ dA L⁻ᴴ), where Φ takes the lower triangle and half of the diagonal (I. Murray, Differentiation
// of the Cholesky decomposition, 2016, equation 8). dA is Hermitian: its upper triangle is not read.
void cholesky_jvp(const JvpRule& r) {
  const Array l = r.outs[0] = bind1(cholesky_op, {}, {r.primals[0]});
  const Array da = lax::hermitian_of_lower(r.tangents[0]);
  const Array half = lax::triangular_solve(
      l, da, {.left_side = false, .lower = true, .transpose_a = true, .conjugate_a = true});
  const Array whole = lax::triangular_solve(l, half, {.left_side = true, .lower = true});
  const Array strict = lax::triangle(whole, true, -1),
              diagonal = lax::sub(lax::triangle(whole, true), strict);
  const Array phi = lax::add(lax::mul(diagonal, lax::full_like(diagonal.aval(), 0.5)), strict);
  r.out_tangents[0] = lax::matrix_product(l, phi);
}

}  // namespace

const Op cholesky_op = {
    .name = "cholesky",
    .kind = OpKind::Index,
    .shape = cholesky_shape,
    .evaluate = cholesky_evaluate,
    .of_complex = by_small_parts<complex_cholesky_op>,
    .jvp = cholesky_jvp,
    .batch = batch_matrices<cholesky_op>,
    .emit_unrolled = cholesky_emit<false>,
};

constinit const Op complex_cholesky_op =
    op_on_parts<cholesky_op>("complex_cholesky", complex_cholesky_evaluate, cholesky_emit<true>);

}  // namespace apsis::detail
