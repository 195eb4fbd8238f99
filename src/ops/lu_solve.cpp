#include <cstring>

#include "apsis/ops/linalg.hpp"
#include "ops/complex_matrix.hpp"
#include "ops/index_rules.hpp"
#include "ops/messages.hpp"
#include "ops/small_matrix_emit.hpp"

namespace apsis::detail {
namespace {

// Operands, in their order.
enum Operand : std::size_t { factors, pivots, right };

void solve_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 3 && in[factors].dtype() == in[right].dtype() &&
               in[pivots].dtype() == Dtype::I32);
  for (const Operand k : {factors, right}) check_matrices("lu_solve", in[k]);
  const Matrices a(in[factors].shape()), b(in[right].shape());
  APSIS_ASSERT(a.m == a.n && a.n == b.m && repeats_matrices(in[factors].shape(), in[right].shape()));
  APSIS_ASSERT(in[pivots].shape() == with_matrices(in[factors].shape(), {a.n}));
  out.push_back(Aval(in[right].dtype(), in[right].shape()));
}

/// Rows exchanged as a factorisation did, or back.
void exchange_rows(const std::int32_t* found, std::int64_t n, std::size_t row_bytes, char* x, bool back) {
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t k = back ? n - 1 - step : step, i = found[k];
    if (i > k && i < n)
      std::swap_ranges(x + static_cast<std::size_t>(k) * row_bytes,
                       x + static_cast<std::size_t>(k + 1) * row_bytes,
                       x + static_cast<std::size_t>(i) * row_bytes);
  }
}

void exchange_all(std::span<const Array> from, Array& x, bool back) {
  const Matrices a(from[factors].shape()), b(x.shape());
  const std::size_t row_bytes = static_cast<std::size_t>(b.n) * item_size(x.dtype());
  const auto* found = elements_of<std::int32_t>(from[pivots]);
  char* at = mutable_data<char>(x);
  for (std::int64_t i = 0; i < b.count; ++i, at += static_cast<std::size_t>(b.m) * row_bytes)
    exchange_rows(found + i % a.count * a.n, a.n, row_bytes, at, back);
}

/// The same by the rules of triangular systems.
void solve_by_triangles(std::span<const Array> from, Array& to, bool transposed) {
  const auto solved = [&](const Array& x, bool lower) {
    const TriangularSolveParams p{
        .left_side = true, .lower = lower, .transpose_a = transposed, .unit_diagonal = lower};
    const std::vector<Array> operands = {from[factors], x};
    std::vector<Array> result = {allocate(x.aval())};
    triangular_solve_op.evaluate(make_params(p), operands, result);
    return result[0];
  };
  const auto bytes = static_cast<std::size_t>(to.size()) * item_size(to.dtype());
  Array first = allocate(to.aval());
  std::memcpy(mutable_data<char>(first), data_of(from[right]), bytes);
  if (!transposed) exchange_all(from, first, false);
  const Array last = solved(solved(first, !transposed), transposed);
  std::memcpy(mutable_data<char>(to), data_of(last), bytes);
  if (transposed) exchange_all(from, to, true);
}

void solve_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const bool transposed = params.as<LuSolveParams>().transposed;
  const Array matrices[] = {in[factors], in[right]};
  evaluate_matrices(matrices, out, [&](auto type, std::span<const Array> from, std::span<Array> to) {
    using T = typename decltype(type)::type;
    const Matrices a(from[0].shape()), b(from[1].shape());
    if (from[1].size() == 0) return;
    const std::vector<Array> operands = {from[0], in[pivots], from[1]};
    if (is_small_matrix(a.n, a.n) && is_small_matrix(a.n, b.n)) {
      if constexpr (std::is_floating_point_v<T>)
        return small_matrix_code<T>(b.count).real.lu_solve(
            transposed, a.count, b.count, static_cast<int>(a.n), static_cast<int>(b.n),
            elements_of<T>(from[0]), elements_of<std::int32_t>(in[pivots]), elements_of<T>(from[1]),
            mutable_data<T>(to[0]));
      else
        return evaluate_split(complex_lu_solve_op, params, operands, to);
    }
    solve_by_triangles(operands, to[0], transposed);
  });
}

void complex_solve_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  evaluate_parts<lu_solve_op>(params, in, out, [&](const auto& code, const auto& from, const auto& to) {
    const Matrices a(from.shape(0)), b(from.shape(1));
    code(b.count).lu_solve(params.as<LuSolveParams>().transposed, a.count, b.count, static_cast<int>(a.n),
                           static_cast<int>(b.n), from[0], elements_of<std::int32_t>(in[2]), from[1], to[0]);
  });
}

template <bool complex>
void solve_emit(Emitter& e, const Params& params, std::span<const Aval> in_avals, std::span<const Value> in,
                std::span<const Aval>, std::span<Value> out) {
  const bool transposed = params.as<LuSolveParams>().transposed;
  const Aval &pivots_aval = in_avals[complex ? 2 : 1], &right_aval = in_avals.back();
  const Matrices a(in_avals[0].shape()), b(right_aval.shape());
  emit_matrices<complex>(e, in_avals[0].dtype(), in, out, [&](auto elements) {
    const auto lu = elements.read(in_avals[0].size());
    const auto found = elements.read_numbers(pivots_aval.size());
    auto x = elements.read(right_aval.size());
    for (std::int64_t i = 0; i < b.count; ++i) {
      const std::int64_t matrix = i % a.count;
      small::solve_factored(elements.model(), transposed, static_cast<int>(a.n), static_cast<int>(b.n),
                            lu.data() + matrix * a.n * a.n, found.data() + matrix * a.n,
                            x.data() + i * b.m * b.n);
    }
    elements.write(x);
  });
}

/// The change of A, or of Aᵀ, times x, where A = P⁻¹·L·U and its factors change by `change`.
Array changed_product(const Array& lu, const Array& found, const Array& change, const Array& x,
                      bool transposed) {
  const Array ones = lax::identity(lu.shape(), lu.dtype()), l = lax::add(lax::triangle(lu, true, -1), ones),
              u = lax::triangle(lu, false), dl = lax::triangle(change, true, -1),
              du = lax::triangle(change, false);
  // With factors that are identities nothing but rows is exchanged.
  const auto exchanged = [&](const Array& rows, bool back) { return lax::lu_solve(ones, found, rows, back); };
  if (!transposed) return exchanged(lax::add(matmul(dl, matmul(u, x)), matmul(l, matmul(du, x))), true);
  const auto turned = lax::matrix_transpose;
  const Array y = exchanged(x, false);
  return lax::add(matmul(turned(u), matmul(turned(dl), y)), matmul(turned(du), matmul(turned(l), y)));
}

// op(A) dX = dB - d op(A) X.
void solve_jvp(const JvpRule& r) {
  const bool transposed = r.params.as<LuSolveParams>().transposed;
  const Array &lu = r.primals[factors], &found = r.primals[pivots];
  const Array x = r.outs[0] = lax::lu_solve(lu, found, r.primals[right], transposed);
  Array change = r.tangents[right];
  if (const Array& d = r.tangents[factors]; !d.is_empty()) {
    const Array moved = changed_product(lu, found, d, x, transposed);
    change = change.is_empty() ? lax::neg(moved) : lax::sub(change, moved);
  }
  if (!change.is_empty()) r.out_tangents[0] = lax::lu_solve(lu, found, change, transposed);
}

void solve_transpose(const TransposeRule& r) {
  if (r.out[factors].is_linear()) fail(messages::not_linear, {"lu_solve"});
  if (r.cotangents[0].is_empty()) return;
  r.out[right].add(lax::lu_solve(r.operands[factors], r.operands[pivots], r.cotangents[0],
                                 !r.params.as<LuSolveParams>().transposed));
}

}  // namespace

const Op lu_solve_op = {
    .name = "lu_solve",
    .kind = OpKind::Index,
    .shape = solve_shape,
    .evaluate = solve_evaluate,
    .of_complex = by_small_parts<complex_lu_solve_op>,
    .jvp = solve_jvp,
    .transpose = solve_transpose,
    .batch = [](const BatchRule& r) { batch_solve(lu_solve_op, r); },
    .emit_unrolled = solve_emit<false>,
    .parse = parse_params<LuSolveParams>,
};

constinit const Op complex_lu_solve_op = solve_on_parts<lu_solve_op>(
    "complex_lu_solve", complex_solve_evaluate, solve_emit<true>, parse_params<LuSolveParams>);

namespace lax {

Array lu_solve(const Array& lu, const Array& pivots, const Array& b, bool transposed) {
  return bind1(lu_solve_op, make_params(LuSolveParams{transposed}), {lu, pivots, b});
}

}  // namespace lax
}  // namespace apsis::detail
