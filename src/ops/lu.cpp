#include <numeric>

#include "ops/complex_matrix.hpp"
#include "ops/each_matrix.hpp"
#include "ops/index_rules.hpp"
#include "ops/large_lu.hpp"
#include "ops/small_matrix_emit.hpp"

namespace apsis::detail {
namespace {

void lu_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1);
  check_matrices("lu", in[0]);
  const Shape& shape = in[0].shape();
  const Matrices sizes(shape);
  out.push_back(Aval(in[0].dtype(), shape));
  out.push_back(Aval(Dtype::I32, with_matrices(shape, {sizes.k()})));
  out.push_back(Aval(Dtype::I32, with_matrices(shape, {sizes.m})));
}

template <class T>
void factor(std::int64_t m, std::int64_t n, const T* a, T* lu, std::int32_t* pivots) {
  if constexpr (std::is_floating_point_v<T>) {
    std::copy_n(a, m * n, lu);
    large_lu(m, n, lu, pivots);
  } else {
    Scratch<T> columns(static_cast<std::size_t>(m * n));
    transpose_into(a, m, n, columns.data());
    lapack::getrf(static_cast<lapack::Int>(m), static_cast<lapack::Int>(n), columns.data(), pivots);
    transpose_into(columns.data(), n, m, lu);
    // Where elements are NaN there is no largest one: whatever was found must be a row.
    for (std::int64_t j = 0; j < std::min(m, n); ++j)
      pivots[j] = static_cast<std::int32_t>(std::clamp<std::int64_t>(pivots[j] - 1, j, m - 1));
  }
}

void lu_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  evaluate_matrices(in, out, [](auto type, std::span<const Array> from, std::span<Array> to) {
    using T = typename decltype(type)::type;
    const Matrices sizes(from[0].shape());
    const std::int64_t m = sizes.m, n = sizes.n, k = sizes.k();
    const T* a = elements_of<T>(from[0]);
    T* lu = mutable_data<T>(to[0]);
    auto *pivots = mutable_data<std::int32_t>(to[1]), *permutation = mutable_data<std::int32_t>(to[2]);
    if (k > 0 && is_small_matrix(m, n)) {
      if constexpr (std::is_floating_point_v<T>)
        return small_matrix_code<T>(sizes.count)
            .real.lu(sizes.count, static_cast<int>(m), static_cast<int>(n), a, lu, pivots, permutation);
      else
        return evaluate_split(complex_lu_op, {}, from, to);
    }
    const double operations = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    each_matrix(sizes.count, operations, [&](std::int64_t i) {
      std::int32_t *const exchanged = pivots + i * k, *const order = permutation + i * m;
      if (k > 0) factor(m, n, a + i * m * n, lu + i * m * n, exchanged);
      std::iota(order, order + m, 0);
      for (std::int64_t j = 0; j < k; ++j) std::swap(order[j], order[exchanged[j]]);
    });
  });
}

void complex_lu_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  evaluate_parts<lu_op>({}, in, out, [&](const auto& code, const auto& from, const auto& to) {
    const Matrices sizes(from.shape(0));
    code(sizes.count)
        .lu(sizes.count, static_cast<int>(sizes.m), static_cast<int>(sizes.n), from[0], to[0],
            mutable_data<std::int32_t>(out[2]), mutable_data<std::int32_t>(out[3]));
  });
}

template <bool complex>
void lu_emit(Emitter& e, const Params&, std::span<const Aval> in_avals, std::span<const Value> in,
             std::span<const Aval>, std::span<Value> out) {
  const Matrices sizes(in_avals[0].shape());
  const std::int64_t m = sizes.m, n = sizes.n, k = sizes.k();
  emit_matrices<complex>(e, in_avals[0].dtype(), in, out, [&](auto elements) {
    using M = typename decltype(elements)::M;
    auto a = elements.read(in_avals[0].size());
    std::vector<typename M::I> pivots(static_cast<std::size_t>(sizes.count * k)),
        permutation(static_cast<std::size_t>(sizes.count * m));
    for (std::int64_t i = 0; i < sizes.count; ++i) {
      const small::Elimination<M> elimination{.m = elements.model(),
                                              .a = a.data() + i * m * n,
                                              .pivots = pivots.data() + i * k,
                                              .permutation = permutation.data() + i * m};
      elimination.run(static_cast<int>(m), static_cast<int>(n), 0);
    }
    elements.write(a);
    elements.write_numbers(pivots);
    elements.write_numbers(permutation);
  });
}

/// The rows of a in another order.
Array permuted_rows(const Array& a, const Array& permutation) {
  GatherParams g;
  g.slice_sizes = Dims::filled(a.shape().size(), 1);
  g.slice_sizes[a.shape().size() - 1] = a.shape().back();
  g.start_index_map = g.collapsed_slice_dims = {a.ndim() - 2};
  g.operand_batching_dims = g.start_indices_batching_dims =
      Dims::counting(static_cast<std::size_t>(a.ndim() - 2));
  g.offset_dims = {a.ndim() - 1};
  return lax::gather(a, lax::expand_axis(lax::convert(permutation, Dtype::I64), permutation.ndim()), g);
}

/// A matrix within the upper left corner of an identity matrix of that size.
Array in_identity(const Array& a, std::int64_t size) {
  const Matrices sizes(a.shape());
  Dims low = Dims::filled(a.shape().size(), 0), high = low;
  high[low.size() - 2] = size - sizes.m;
  high[low.size() - 1] = size - sizes.n;
  const Array padded = lax::pad(a, literal(a.dtype(), 0), low, high);
  const Array outside = lax::pad(lax::full_like(a.aval(), 0), literal(a.dtype(), 1), low, high);
  const Array ones = lax::mul(lax::identity(padded.shape(), a.dtype()), outside);
  return lax::add(padded, ones);
}

// With X = L⁻¹ dA U⁻¹, where rows of dA are permuted: dL = L tril(X, -1), dU = triu(X) U (F. R. de Hoog,
// R. S. Anderssen and M. A. Lukas, Differentiation of matrix functionals using triangular factorization,
// 2011). L and U are completed to square matrices by an identity.
void lu_jvp(const JvpRule& r) {
  std::vector<Array> outs = bind_all(lu_op, {}, r.primals);
  std::ranges::copy(outs, r.outs.begin());
  const Array& lu = outs[0];
  const Matrices sizes(lu.shape());
  const std::int64_t m = sizes.m, n = sizes.n, k = sizes.k();
  const Dtype dtype = lu.dtype();
  const Array strict = lax::triangle(lax::matrix_columns(lu, 0, k), true, -1);
  const Array l = in_identity(lax::add(strict, lax::identity(strict.shape(), dtype)), m);
  const Array u = in_identity(lax::triangle(lax::matrix_rows(lu, 0, k), false), n);
  const Array da = permuted_rows(r.tangents[0], outs[2]);
  const Array la = lax::triangular_solve(l, da, {.left_side = true, .lower = true, .unit_diagonal = true});
  const Array x = lax::triangular_solve(u, la, {.left_side = false, .lower = false});
  r.out_tangents[0] = lax::add(lax::matrix_product(l, lax::triangle(x, true, -1)),
                               lax::matrix_product(lax::triangle(x, false), u));
}

}  // namespace

const Op lu_op = {
    .name = "lu",
    .kind = OpKind::Index,
    .shape = lu_shape,
    .evaluate = lu_evaluate,
    .of_complex = by_small_parts<complex_lu_op>,
    .jvp = lu_jvp,
    .batch = batch_matrices<lu_op>,
    .emit_unrolled = lu_emit<false>,
};

constinit const Op complex_lu_op = op_on_parts<lu_op>("complex_lu", complex_lu_evaluate, lu_emit<true>);

}  // namespace apsis::detail
