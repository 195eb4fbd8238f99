#include "apsis/ops/linalg.hpp"
#include "ops/arguments.hpp"
#include "ops/complex_matrix.hpp"
#include "ops/index_rules.hpp"
#include "ops/messages.hpp"
#include "ops/small_matrix_emit.hpp"

namespace apsis::detail {
namespace {

void solve_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 2 && in[0].dtype() == in[1].dtype());
  for (const Aval& a : in) check_matrices("triangular_solve", a);
  const Matrices a(in[0].shape()), b(in[1].shape());
  APSIS_ASSERT(a.m == a.n && a.n == (params.as<TriangularSolveParams>().left_side ? b.m : b.n));
  APSIS_ASSERT(repeats_matrices(in[0].shape(), in[1].shape()));
  out.push_back(Aval(in[1].dtype(), in[1].shape()));
}

void solve_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto& p = params.as<TriangularSolveParams>();
  const lapack::Op op = p.conjugate_a   ? lapack::Op::Adjoint
                        : p.transpose_a ? lapack::Op::Transpose
                                        : lapack::Op::None;
  evaluate_matrices(in, out, [&](auto type, std::span<const Array> from, std::span<Array> to) {
    using T = typename decltype(type)::type;
    const Matrices a(from[0].shape()), b(from[1].shape());
    if (from[1].size() == 0) return;
    const T* matrices = elements_of<T>(from[0]);
    T* x = mutable_data<T>(to[0]);
    const std::int64_t columns = p.left_side ? b.n : b.m;
    if (is_small_matrix(a.n, a.n) && is_small_matrix(a.n, columns)) {
      if constexpr (std::is_floating_point_v<T>)
        return small_matrix_code<T>(b.count).real.triangular_solve(p, a.count, b.count, static_cast<int>(a.n),
                                                                   static_cast<int>(columns), matrices,
                                                                   elements_of<T>(from[1]), x);
      else
        return evaluate_split(complex_triangular_solve_op, params, from, to);
    }
    std::copy_n(elements_of<T>(from[1]), from[1].size(), x);
    for (std::int64_t i = 0; i < b.count; ++i, x += b.m * b.n)
      lapack::trsm_by_rows(p.left_side, p.lower, op, p.unit_diagonal, static_cast<lapack::Int>(b.m),
                           static_cast<lapack::Int>(b.n), matrices + i % a.count * a.n * a.n, x);
  });
}

void complex_solve_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  evaluate_parts<triangular_solve_op>(
      params, in, out, [&](const auto& code, const auto& from, const auto& to) {
        const auto& p = params.as<TriangularSolveParams>();
        const Matrices a(from.shape(0)), b(from.shape(1));
        code(b.count).triangular_solve(p, a.count, b.count, static_cast<int>(a.n),
                                       static_cast<int>(p.left_side ? b.n : b.m), from[0], from[1], to[0]);
      });
}

template <bool complex>
void solve_emit(Emitter& e, const Params& params, std::span<const Aval> in_avals, std::span<const Value> in,
                std::span<const Aval>, std::span<Value> out) {
  const auto& p = params.as<TriangularSolveParams>();
  const Matrices a(in_avals[0].shape()), b(in_avals.back().shape());
  const small::Triangle triangle = small::triangle_of(p.left_side, p.lower, p.transpose_a, p.unit_diagonal);
  emit_matrices<complex>(e, in_avals[0].dtype(), in, out, [&](auto elements) {
    auto matrices = elements.read(in_avals[0].size()), x = elements.read(in_avals.back().size());
    if (p.conjugate_a)
      small::conjugate(elements.model(), static_cast<int>(in_avals[0].size()), matrices.data());
    for (std::int64_t i = 0; i < b.count; ++i)
      small::solve_triangle(elements.model(), triangle, static_cast<int>(a.n),
                            static_cast<int>(p.left_side ? b.n : b.m),
                            matrices.data() + i % a.count * a.n * a.n, x.data() + i * b.m * b.n);
    elements.write(x);
  });
}

// op(A) X = B: op(A) dX = dB - op(dA) X.
void solve_jvp(const JvpRule& r) {
  const auto& p = r.params.as<TriangularSolveParams>();
  const Array &a = r.primals[0], &da = r.tangents[0], &db = r.tangents[1];
  const Array x = r.outs[0] = bind1(triangular_solve_op, r.params, {a, r.primals[1]});
  Array right = db;
  if (!da.is_empty()) {
    Array part = lax::triangle(da, p.lower, !p.unit_diagonal ? 0 : p.lower ? -1 : 1);
    if (p.transpose_a) part = p.conjugate_a ? lax::adjoint(part) : lax::matrix_transpose(part);
    const Array moved = lax::neg(p.left_side ? matmul(part, x) : matmul(x, part));
    right = db.is_empty() ? moved : lax::add(db, moved);
  }
  r.out_tangents[0] = bind1(triangular_solve_op, r.params, {a, right});
}

void solve_transpose(const TransposeRule& r) {
  if (r.out[0].is_linear()) fail(messages::not_linear, {"triangular_solve"});
  if (r.cotangents[0].is_empty()) return;
  TriangularSolveParams p = r.params.as<TriangularSolveParams>();
  p.transpose_a = !p.transpose_a;
  r.out[1].add(lax::triangular_solve(r.operands[0], r.cotangents[0], p));
}

}  // namespace

const Op triangular_solve_op = {
    .name = "triangular_solve",
    .kind = OpKind::Index,
    .shape = solve_shape,
    .evaluate = solve_evaluate,
    .of_complex = by_small_parts<complex_triangular_solve_op>,
    .jvp = solve_jvp,
    .transpose = solve_transpose,
    .batch = [](const BatchRule& r) { batch_solve(triangular_solve_op, r); },
    .emit_unrolled = solve_emit<false>,
    .parse = parse_params<TriangularSolveParams>,
};

constinit const Op complex_triangular_solve_op =
    solve_on_parts<triangular_solve_op>("complex_triangular_solve", complex_solve_evaluate, solve_emit<true>,
                                        parse_params<TriangularSolveParams>);

}  // namespace apsis::detail
