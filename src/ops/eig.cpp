#include "ops/complex.hpp"
#include "ops/matrix_rules.hpp"
#include "ops/reduce_params.hpp"
#include "ops/table.hpp"

namespace apsis::detail {
namespace {

void eig_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1);
  check_matrices("eig", in[0]);
  const Shape& shape = in[0].shape();
  APSIS_ASSERT(Matrices(shape).m == Matrices(shape).n);
  const Dtype dtype = complex_dtype(in[0].dtype());
  out.push_back(Aval(dtype, with_matrices(shape, {shape.back()})));
  if (params.as<EigParams>().compute_vectors) out.push_back(Aval(dtype, shape));
}

void eig_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const bool vectors = params.as<EigParams>().compute_vectors;
  evaluate_matrices(in, out, [&](auto type, std::span<const Array> from, std::span<Array> to) {
    using T = typename decltype(type)::type;
    using Complex = std::complex<lapack::Real<T>>;
    const Matrices sizes(from[0].shape());
    const std::int64_t n = sizes.n, size = n * n;
    if (n == 0) return;
    const T* a = elements_of<T>(from[0]);
    auto* w = mutable_data<Complex>(to[0]);
    auto* v = vectors ? mutable_data<Complex>(to[1]) : nullptr;
    Scratch<T> columns(static_cast<std::size_t>(size));
    Scratch<Complex> found_vectors(static_cast<std::size_t>(vectors ? size : 0));
    lapack::Work<T> work;
    for (std::int64_t i = 0; i < sizes.count; ++i, a += size, w += n) {
      transpose_into(a, n, n, columns.data());
      const bool found =
          all_finite(a, size) && lapack::geev(vectors ? 'V' : 'N', static_cast<lapack::Int>(n),
                                              columns.data(), w, found_vectors.data(), work) == 0;
      if (!found) fill_nan(w, n);
      if (!vectors) continue;
      if (found)
        transpose_into(found_vectors.data(), n, n, v);
      else
        fill_nan(v, size);
      v += size;
    }
  });
}

/// A⁻¹·B by Q and R.
Array solved(const Array& a, const Array& b) {
  const std::vector<Array> f = bind_all(qr_op, make_params(QrParams{}), {&a, 1});
  return lax::triangular_solve(f[1], lax::matrix_product(lax::adjoint(f[0]), b), {.left_side = true});
}

/// The entries of row `rows[.., j]` of each column j, as [.., 1, n].
Array chosen(const Array& mask, const Array& a) {
  const int row = a.ndim() - 2;
  const Array kept = lax::select(mask, a, lax::full_like(a.aval(), 0));
  return lax::expand_axis(lax::reduce_sum(kept, {row}), row);
}

Array along_rows(const Array& line, const Shape& shape) {
  return lax::broadcast_in_dim(line, shape, Dims::counting(shape.size()));
}

// LAPACK's vectors have length 1 and a largest component that is real. What keeps them so is added to each,
// times c = -Re vᴴu - i Im u_k / v_k, with u its change within the others and k the largest component.
Array normalised(const Array& v, const Array& u) {
  const int row = v.ndim() - 2;
  const Parts z = parts_of(v), d = parts_of(u);
  const Array along = lax::reduce_sum(lax::add(lax::mul(z.re, d.re), lax::mul(z.im, d.im)), {row});
  const Array largest =
      bind1(argmax_op, make_params(ArgReduceParams{row}), {lax::stop_gradient(parts::abs(z))});
  const Array line = lax::expand_axis(lax::convert(largest, Dtype::I64), row);
  const Array mask = lax::eq(along_rows(line, v.shape()), lax::iota(Dtype::I64, v.shape(), row));
  const Array turn = lax::div(chosen(mask, d.im), chosen(mask, z.re));
  const Array c = joined({lax::neg(lax::expand_axis(along, row)), lax::neg(turn)});
  return lax::add(u, lax::mul(v, along_rows(c, v.shape())));
}

// With X = V⁻¹ dA V: dw = diag(X), dV = V (F ∘ X) with F[i, j] = 1 / (w[j] - w[i]) and 0 on the diagonal (M.
// Giles, An extended collection of matrix derivative results, 2008, section 3.1), up to the factor of each
// vector. Where two eigenvalues are equal V has no inverse, or F is infinite.
void eig_jvp(const JvpRule& r) {
  const bool vectors = r.params.as<EigParams>().compute_vectors;
  r.outs[0] = bind_all(eig_op, r.params, r.primals)[0];
  const std::vector<Array> all = bind_all(eig_op, make_params(EigParams{}), r.primals);
  const Array &w = all[0], &v = all[1];
  const Array da =
      r.tangents[0].dtype() == v.dtype() ? r.tangents[0] : lax::convert(r.tangents[0], v.dtype());
  const Array x = lax::matrix_product(solved(v, da), v);
  r.out_tangents[0] = lax::diagonal(x);
  if (!vectors) return;
  r.outs[1] = v;
  const Array eye = lax::identity(v.shape(), v.dtype()), ones = lax::full_like(v.aval(), 1);
  const Array gaps = lax::sub(lax::scale_columns(ones, w), lax::scale_rows(ones, w));
  const Array f = lax::sub(lax::div(ones, lax::add(eye, gaps)), eye);
  r.out_tangents[1] = normalised(v, lax::matrix_product(v, lax::mul(f, x)));
}

}  // namespace

const Op eig_op = {
    .name = "eig",
    .kind = OpKind::Index,
    .shape = eig_shape,
    .evaluate = eig_evaluate,
    .jvp = eig_jvp,
    .batch = batch_matrices<eig_op>,
    .parse = parse_params<EigParams>,
};

}  // namespace apsis::detail
