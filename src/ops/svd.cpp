#include <cmath>

#include "ops/complex.hpp"
#include "ops/matrix_rules.hpp"
#include "ops/messages.hpp"

namespace apsis::detail {
namespace {

void svd_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const auto& p = params.as<SvdParams>();
  APSIS_ASSERT(in.size() == 1);
  check_matrices("svd", in[0]);
  const Shape& shape = in[0].shape();
  const Matrices sizes(shape);
  const std::int64_t k = sizes.k();
  out.push_back(Aval(part_dtype(in[0].dtype()), with_matrices(shape, {k})));
  if (!p.compute_uv) return;
  out.push_back(Aval(in[0].dtype(), with_matrices(shape, {sizes.m, p.full_matrices ? sizes.m : k})));
  out.push_back(Aval(in[0].dtype(), with_matrices(shape, {p.full_matrices ? sizes.n : k, sizes.n})));
}

template <class T>
void fill_identity(T* a, std::int64_t rows, std::int64_t columns) {
  std::fill_n(a, rows * columns, T{});
  for (std::int64_t i = 0; i < std::min(rows, columns); ++i) a[i * columns + i] = 1;
}

/// A stack of matrices among the results, or none.
template <class T>
struct Result {
  T* data = nullptr;
  std::int64_t rows = 0, columns = 0;
  explicit Result(Array* a) {
    if (!a) return;
    const Matrices sizes(a->shape());
    data = mutable_data<T>(*a);
    rows = sizes.m, columns = sizes.n;
  }
  std::int64_t size() const { return rows * columns; }
};

void svd_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto& p = params.as<SvdParams>();
  evaluate_matrices(in, out, [&](auto type, std::span<const Array> from, std::span<Array> to) {
    using T = typename decltype(type)::type;
    const Matrices sizes(from[0].shape());
    const std::int64_t size = sizes.m * sizes.n, k = sizes.k();
    const T* a = elements_of<T>(from[0]);
    auto* s = mutable_data<lapack::Real<T>>(to[0]);
    Result<T> u(p.compute_uv ? &to[1] : nullptr), vt(p.compute_uv ? &to[2] : nullptr);
    Scratch<T> copy(static_cast<std::size_t>(size));
    lapack::Work<T> work;
    const char job = !p.compute_uv ? 'N' : p.full_matrices ? 'A' : 'S';
    for (std::int64_t i = 0; i < sizes.count; ++i) {
      bool found = all_finite(a, size);
      if (k == 0) {
        fill_identity(u.data, u.rows, u.columns);
        fill_identity(vt.data, vt.rows, vt.columns);
      } else if (found) {
        // A row by row is Aᵀ column by column, and Aᵀ = V·diag(s)·Uᵀ: the two exchange their places.
        std::copy_n(a, size, copy.data());
        found = lapack::gesdd(job, static_cast<lapack::Int>(sizes.n), static_cast<lapack::Int>(sizes.m),
                              copy.data(), s, vt.data, u.data,
                              static_cast<lapack::Int>(std::max<std::int64_t>(u.columns, 1)), work) == 0;
      }
      if (!found) {
        fill_nan(s, k);
        fill_nan(u.data, u.size());
        fill_nan(vt.data, vt.size());
      }
      a += size, s += k, u.data += u.size(), vt.data += vt.size();
    }
  });
}

/// What is added for the rows that a square matrix has not: (B - P·(Pᴴ·B)) / s, with P the singular vectors
/// on one side and B the tangent times those on the other.
Array outside(const Array& b, const Array& p, const Array& s) {
  const Array within = lax::matrix_product(p, lax::matrix_product(lax::adjoint(p), b));
  return lax::scale_columns(lax::sub(b, within), lax::div(lax::full_like(s.aval(), 1), s));
}

/// Of complex matrices, what makes the vectors' phases turn by (X - Xᴴ) / 2s on the diagonal: that of U does
/// (as in JAX), that of V does not.
Array with_phase(const Array& turned, const Array& x, const Array& s) {
  if (!is_complex(x.dtype())) return turned;
  const Array diagonal = lax::mul(x, lax::identity(x.shape(), x.dtype()));
  const Array zero = lax::full_like(s.aval(), 0), one = lax::full_like(s.aval(), 1);
  const Array none = lax::eq(s, zero);
  const Array inverse = lax::select(none, zero, lax::div(one, lax::select(none, one, s)));
  return lax::add(turned, lax::scale_columns(lax::sub(diagonal, lax::real_part(diagonal)), inverse));
}

// With X = Uᴴ dA V: ds = Re diag(X), dU = U (F ∘ (X s + (X s)ᴴ)), dV = V (F ∘ (s X + (s X)ᴴ)) with
// F[i, j] = 1 / (s[j]² - s[i]²) and 0 on the diagonal, and what leaves the space of the columns of U or V for
// matrices that are not square (M. Giles, An extended collection of matrix derivative results, 2008, section
// 3.2). Where two singular values are equal F is infinite: their vectors have no derivative.
void svd_jvp(const JvpRule& r) {
  const auto& p = r.params.as<SvdParams>();
  const Array &a = r.primals[0], &da = r.tangents[0];
  const Matrices sizes(a.shape());
  if (p.compute_uv && p.full_matrices && sizes.m != sizes.n)
    fail(messages::full_matrices_derivative, {"svd", to_string(a.aval())});
  const std::vector<Array> outs = bind_all(svd_op, r.params, {&a, 1});
  std::ranges::copy(outs, r.outs.begin());
  const std::vector<Array> thin = p.compute_uv ? outs : bind_all(svd_op, make_params(SvdParams{}), {&a, 1});
  const Array &s = thin[0], &u = thin[1], &vh = thin[2];
  const Array v = lax::adjoint(vh);
  const Array x = lax::matrix_product(lax::matrix_product(lax::adjoint(u), da), v);
  const Array along_diagonal = lax::diagonal(x);
  r.out_tangents[0] = is_complex(x.dtype()) ? parts_of(along_diagonal).re : along_diagonal;
  if (!p.compute_uv) return;
  const Aval real(s.dtype(), x.shape());
  const Array ones = lax::full_like(real, 1), eye = lax::identity(x.shape(), s.dtype());
  const Array along = lax::scale_columns(ones, s), across = lax::scale_rows(ones, s);
  const Array gaps = lax::mul(lax::add(along, across), lax::sub(along, across));
  Array f = lax::sub(lax::div(ones, lax::add(gaps, eye)), eye);
  if (f.dtype() != x.dtype()) f = lax::convert(f, x.dtype());
  const auto turned = [&](const Array& product) {
    return lax::mul(f, lax::add(product, lax::adjoint(product)));
  };
  Array du = lax::matrix_product(u, with_phase(turned(lax::scale_columns(x, s)), x, s)),
        dv = lax::matrix_product(v, turned(lax::scale_rows(x, s)));
  if (sizes.m > sizes.n) du = lax::add(du, outside(lax::matrix_product(da, v), u, s));
  if (sizes.n > sizes.m) dv = lax::add(dv, outside(lax::matrix_product(lax::adjoint(da), u), v, s));
  r.out_tangents[1] = du;
  r.out_tangents[2] = lax::adjoint(dv);
}

}  // namespace

const Op svd_op = {
    .name = "svd",
    .kind = OpKind::Index,
    .shape = svd_shape,
    .evaluate = svd_evaluate,
    .jvp = svd_jvp,
    .batch = batch_matrices<svd_op>,
    .parse = parse_params<SvdParams>,
};

}  // namespace apsis::detail
