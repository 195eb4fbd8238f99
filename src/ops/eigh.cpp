#include "ops/complex.hpp"
#include "ops/matrix_rules.hpp"

namespace apsis::detail {
namespace {

void eigh_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1);
  check_matrices("eigh", in[0]);
  const Shape& shape = in[0].shape();
  const Matrices sizes(shape);
  APSIS_ASSERT(sizes.m == sizes.n);
  out.push_back(Aval(part_dtype(in[0].dtype()), with_matrices(shape, {sizes.n})));
  if (params.as<EighParams>().compute_vectors) out.push_back(Aval(in[0].dtype(), shape));
}

template <class T>
bool finite_below(const T* a, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    if (!all_finite(a + i * n, i + 1)) return false;
  return true;
}

template <class T>
void transpose_conjugate_into(const T* from, std::int64_t n, T* to) {
  transpose_into(from, n, n, to);
  if constexpr (!std::is_same_v<T, lapack::Real<T>>)
    for (std::int64_t i = 0; i < n * n; ++i) to[i] = std::conj(to[i]);
}

void eigh_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const bool vectors = params.as<EighParams>().compute_vectors;
  evaluate_matrices(in, out, [&](auto type, std::span<const Array> from, std::span<Array> to) {
    using T = typename decltype(type)::type;
    const Matrices sizes(from[0].shape());
    const std::int64_t n = sizes.n, size = n * n;
    if (n == 0) return;
    const T* a = elements_of<T>(from[0]);
    auto* w = mutable_data<lapack::Real<T>>(to[0]);
    T* v = vectors ? mutable_data<T>(to[1]) : nullptr;
    Scratch<T> columns(static_cast<std::size_t>(size));
    lapack::Work<T> work;
    for (std::int64_t i = 0; i < sizes.count; ++i, a += size, w += n) {
      // The lower triangle row by row is the upper one of Aᵀ column by column, whose vectors are conjugate.
      std::copy_n(a, size, columns.data());
      const bool found =
          finite_below(a, n) &&
          lapack::syevd(vectors ? 'V' : 'N', 'U', static_cast<lapack::Int>(n), columns.data(), w, work) == 0;
      if (!found) fill_nan(w, n);
      if (!vectors) continue;
      if (found)
        transpose_conjugate_into(columns.data(), n, v);
      else
        fill_nan(v, size);
      v += size;
    }
  });
}

// dw = Re diag(Vᴴ dA V), dV = V (F ∘ Vᴴ dA V) with F[i, j] = 1 / (w[j] - w[i]) and 0 on the diagonal:
// perturbation of distinct eigenvalues (M. Giles, An extended collection of matrix derivative results, 2008,
// section 3.1). Where two are equal F is infinite: their eigenvectors have no derivative. dA is Hermitian:
// its upper triangle is not read.
void eigh_jvp(const JvpRule& r) {
  const bool vectors = r.params.as<EighParams>().compute_vectors;
  r.outs[0] = bind_all(eigh_op, r.params, r.primals)[0];
  const std::vector<Array> all = bind_all(eigh_op, make_params(EighParams{}), r.primals);
  const Array &w = all[0], &v = all[1];
  const Array da = lax::hermitian_of_lower(r.tangents[0]);
  const Array x = lax::matrix_product(lax::matrix_product(lax::adjoint(v), da), v);
  const Array diagonal = lax::diagonal(x);
  r.out_tangents[0] = is_complex(x.dtype()) ? parts_of(diagonal).re : diagonal;
  if (!vectors) return;
  r.outs[1] = v;
  const Array eye = lax::identity(v.shape(), w.dtype()), ones = lax::full_like(Aval(w.dtype(), v.shape()), 1);
  const Array gaps = lax::sub(lax::scale_columns(ones, w), lax::scale_rows(ones, w));
  Array f = lax::sub(lax::div(ones, lax::add(eye, gaps)), eye);
  if (f.dtype() != x.dtype()) f = lax::convert(f, x.dtype());
  r.out_tangents[1] = lax::matrix_product(v, lax::mul(f, x));
}

}  // namespace

const Op eigh_op = {
    .name = "eigh",
    .kind = OpKind::Index,
    .shape = eigh_shape,
    .evaluate = eigh_evaluate,
    .jvp = eigh_jvp,
    .batch = batch_matrices<eigh_op>,
    .parse = parse_params<EighParams>,
};

}  // namespace apsis::detail
