#include <cmath>

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
  out.push_back(Aval(in[0].dtype(), with_matrices(shape, {k})));
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
    T* s = mutable_data<T>(to[0]);
    Result<T> u(p.compute_uv ? &to[1] : nullptr), vt(p.compute_uv ? &to[2] : nullptr);
    std::vector<T> copy(static_cast<std::size_t>(size));
    lapack::Work<T> work;
    const char job = !p.compute_uv ? 'N' : p.full_matrices ? 'A' : 'S';
    for (std::int64_t i = 0; i < sizes.count; ++i) {
      bool found = std::all_of(a, a + size, [](T x) { return std::isfinite(x); });
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

/// What is added for the rows that a square matrix has not: (B - P·(Pᵀ·B)) / s, with P the singular vectors
/// on one side and B the tangent times those on the other.
Array outside(const Array& b, const Array& p, const Array& s) {
  const Array within = lax::matrix_product(p, lax::matrix_product(lax::matrix_transpose(p), b));
  return lax::scale_columns(lax::sub(b, within), lax::div(lax::full_like(s.aval(), 1), s));
}

// With X = Uᵀ dA V: ds = diag(X), dU = U (F ∘ (X s + (X s)ᵀ)), dV = V (F ∘ (s X + (s X)ᵀ)) with
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
  const Array &s = thin[0], &u = thin[1], &vt = thin[2];
  const Array ut = lax::matrix_transpose(u), v = lax::matrix_transpose(vt);
  const Array x = lax::matrix_product(lax::matrix_product(ut, da), v);
  r.out_tangents[0] = lax::diagonal(x);
  if (!p.compute_uv) return;
  const Array ones = lax::full_like(x.aval(), 1), eye = lax::identity(x.shape(), x.dtype());
  const Array along = lax::scale_columns(ones, s), across = lax::scale_rows(ones, s);
  const Array gaps = lax::mul(lax::add(along, across), lax::sub(along, across));
  const Array f = lax::sub(lax::div(ones, lax::add(gaps, eye)), eye);
  const auto turned = [&](const Array& product) {
    return lax::mul(f, lax::add(product, lax::matrix_transpose(product)));
  };
  Array du = lax::matrix_product(u, turned(lax::scale_columns(x, s))),
        dv = lax::matrix_product(v, turned(lax::scale_rows(x, s)));
  if (sizes.m > sizes.n) du = lax::add(du, outside(lax::matrix_product(da, v), u, s));
  if (sizes.n > sizes.m) dv = lax::add(dv, outside(lax::matrix_product(lax::matrix_transpose(da), u), v, s));
  r.out_tangents[1] = du;
  r.out_tangents[2] = lax::matrix_transpose(dv);
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
