#include "apsis/ops/linalg.hpp"
#include "ops/complex_matrix.hpp"
#include "ops/index_rules.hpp"
#include "ops/messages.hpp"
#include "ops/small_matrix_emit.hpp"

// Where nothing but X is wanted, the factors stay in registers. Derivatives keep them: they are those of lu
// and lu_solve, which give the same bits.

namespace apsis::detail {
namespace {

void solve_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 2 && in[0].dtype() == in[1].dtype());
  for (const Aval& a : in) check_matrices("solve", a);
  const Matrices a(in[0].shape()), b(in[1].shape());
  APSIS_ASSERT(a.m == a.n && a.n == b.m && in[0].shape() == with_matrices(in[1].shape(), {a.n, a.n}));
  out.push_back(Aval(in[1].dtype(), in[1].shape()));
}

void solve_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  evaluate_matrices(in, out, [](auto type, std::span<const Array> from, std::span<Array> to) {
    using T = typename decltype(type)::type;
    const Matrices b(from[1].shape());
    if (from[1].size() == 0) return;
    if (is_small_matrix(b.m, b.m) && is_small_matrix(b.m, b.n)) {
      if constexpr (std::is_floating_point_v<T>)
        return small_matrix_code<T>(b.count).real.solve(b.count, static_cast<int>(b.m), static_cast<int>(b.n),
                                                        elements_of<T>(from[0]), elements_of<T>(from[1]),
                                                        mutable_data<T>(to[0]));
      else
        return evaluate_split(complex_solve_op, {}, from, to);
    }
    std::vector<Aval> avals;
    lu_op.shape({}, std::vector{from[0].aval()}, avals);
    std::vector<Array> factors;
    for (const Aval& aval : avals) factors.push_back(allocate(aval));
    lu_op.evaluate({}, from.first(1), factors);
    const std::vector<Array> operands = {factors[0], factors[1], from[1]};
    lu_solve_op.evaluate(make_params(LuSolveParams{}), operands, to);
  });
}

void complex_solve_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  evaluate_parts<solve_op>({}, in, out, [](const auto& code, const auto& from, const auto& to) {
    const Matrices b(from.shape(1));
    code(b.count).solve(b.count, static_cast<int>(b.m), static_cast<int>(b.n), from[0], from[1], to[0]);
  });
}

template <bool complex>
void solve_emit(Emitter& e, const Params&, std::span<const Aval> in_avals, std::span<const Value> in,
                std::span<const Aval>, std::span<Value> out) {
  const Matrices b(in_avals.back().shape());
  emit_matrices<complex>(e, in_avals[0].dtype(), in, out, [&](auto elements) {
    auto a = elements.read(in_avals[0].size()), x = elements.read(in_avals.back().size());
    for (std::int64_t i = 0; i < b.count; ++i)
      small::solve(elements.model(), static_cast<int>(b.m), static_cast<int>(b.n), a.data() + i * b.m * b.m,
                   x.data() + i * b.m * b.n);
    elements.write(x);
  });
}

// A dX = dB - dA X. In half floats the factors would be rounded, and X not that of the op.
void solve_jvp(const JvpRule& r) {
  const Array &a = r.primals[0], &b = r.primals[1], &da = r.tangents[0], &db = r.tangents[1];
  const std::vector<Array> f = bind_all(lu_op, {}, {&a, 1});
  const bool rounded = item_size(a.dtype()) == 2;
  const Array x = r.outs[0] = rounded ? bind1(solve_op, {}, {a, b}) : lax::lu_solve(f[0], f[1], b);
  Array change = db;
  if (!da.is_empty()) {
    const Array moved = lax::matrix_product(da, x);
    change = db.is_empty() ? lax::neg(moved) : lax::sub(db, moved);
  }
  r.out_tangents[0] = lax::lu_solve(f[0], f[1], change);
}

void solve_transpose(const TransposeRule& r) {
  if (r.out[0].is_linear()) fail(messages::not_linear, {"solve"});
  if (r.cotangents[0].is_empty()) return;
  const std::vector<Array> f = bind_all(lu_op, {}, r.operands.first(1));
  r.out[1].add(lax::lu_solve(f[0], f[1], r.cotangents[0], true));
}

// A matrix that all lanes share is factored once, but for half floats, whose factors would be rounded.
void solve_batch(const BatchRule& r) {
  if (r.axes[0] >= 0 || item_size(r.operands[0].dtype()) == 2) return batch_matrices<solve_op>(r);
  const std::vector<Array> f = bind_all(lu_op, {}, r.operands.first(1));
  r.outs.push_back(lax::lu_solve(f[0], f[1], batched_front(r.operands[1], r.axes[1], r.size)));
  r.out_axes.push_back(0);
}

}  // namespace

const Op solve_op = {
    .name = "solve",
    .kind = OpKind::Index,
    .shape = solve_shape,
    .evaluate = solve_evaluate,
    .of_complex = by_small_parts<complex_solve_op>,
    .jvp = solve_jvp,
    .transpose = solve_transpose,
    .batch = solve_batch,
    .emit_unrolled = solve_emit<false>,
};

constinit const Op complex_solve_op =
    solve_on_parts<solve_op>("complex_solve", complex_solve_evaluate, solve_emit<true>);

}  // namespace apsis::detail
