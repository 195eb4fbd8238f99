#include "ops/index_rules.hpp"
#include "ops/matrix_rules.hpp"
#include "ops/messages.hpp"

namespace apsis::detail {
namespace {

// Operands, in their order.
enum Operand : std::size_t { lower, diagonal, upper, right };

void solve_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 4);
  check_matrices("tridiagonal_solve", in[right]);
  Shape line = in[right].shape();
  line.resize(line.size() - 1);
  for (std::size_t i : {lower, diagonal, upper})
    APSIS_ASSERT(in[i].shape() == line && in[i].dtype() == in[right].dtype());
  out.push_back(Aval(in[right].dtype(), in[right].shape()));
}

void solve_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  evaluate_matrices(in, out, [](auto type, std::span<const Array> from, std::span<Array> to) {
    using T = typename decltype(type)::type;
    const Matrices sizes(from[right].shape());
    const std::int64_t n = sizes.m, columns = sizes.n;
    if (from[right].size() == 0) return;
    std::vector<T> lines[3], turned(static_cast<std::size_t>(n * columns));
    const T* b = elements_of<T>(from[right]);
    T* x = mutable_data<T>(to[0]);
    for (std::int64_t i = 0; i < sizes.count; ++i, b += n * columns, x += n * columns) {
      for (std::size_t k : {lower, diagonal, upper}) {
        const T* line = elements_of<T>(from[k]) + i * n;
        lines[k].assign(line + (k == lower), line + n - (k == upper));
      }
      transpose_into(b, n, columns, turned.data());
      if (lapack::gtsv(static_cast<lapack::Int>(n), static_cast<lapack::Int>(columns), lines[lower].data(),
                       lines[diagonal].data(), lines[upper].data(), turned.data()) == 0)
        transpose_into(turned.data(), columns, n, x);
      else
        fill_nan(x, n * columns);
    }
  });
}

/// Entries of [.., n] moved by one towards the end or the beginning, where a zero comes in.
Array shifted(const Array& line, bool to_end) {
  if (line.size() == 0) return line;
  Dims low = Dims::filled(line.shape().size(), 0), high = low;
  low[low.size() - 1] = to_end ? 1 : -1;
  high[low.size() - 1] = to_end ? -1 : 1;
  return lax::pad(line, literal(line.dtype(), 0), low, high);
}

/// Each column of x times the entries of a line.
Array times(const Array& line, const Array& x) { return lax::scale_rows(x, line); }

/// The same along the axis before the last.
Array shifted_rows(const Array& x, bool to_end) {
  return lax::matrix_transpose(shifted(lax::matrix_transpose(x), to_end));
}

// T dX = dB - dT X.
void solve_jvp(const JvpRule& r) {
  const Array x = r.outs[0] = bind_all(tridiagonal_solve_op, {}, r.primals)[0];
  Array change = r.tangents[right];
  const auto subtract = [&](const Array& product) {
    change = change.is_empty() ? lax::neg(product) : lax::sub(change, product);
  };
  if (!r.tangents[lower].is_empty()) subtract(times(r.tangents[lower], shifted_rows(x, true)));
  if (!r.tangents[diagonal].is_empty()) subtract(times(r.tangents[diagonal], x));
  if (!r.tangents[upper].is_empty()) subtract(times(r.tangents[upper], shifted_rows(x, false)));
  r.out_tangents[0] =
      bind1(tridiagonal_solve_op, {}, {r.primals[lower], r.primals[diagonal], r.primals[upper], change});
}

void solve_transpose(const TransposeRule& r) {
  if (r.out[lower].is_linear() || r.out[diagonal].is_linear() || r.out[upper].is_linear())
    fail(messages::not_linear, {"tridiagonal_solve"});
  if (r.cotangents[0].is_empty()) return;
  r.out[right].add(bind1(tridiagonal_solve_op, {},
                         {shifted(r.operands[upper], true), r.operands[diagonal],
                          shifted(r.operands[lower], false), r.cotangents[0]}));
}

}  // namespace

const Op tridiagonal_solve_op = {
    .name = "tridiagonal_solve",
    .kind = OpKind::Index,
    .shape = solve_shape,
    .evaluate = solve_evaluate,
    .jvp = solve_jvp,
    .transpose = solve_transpose,
    .batch = batch_matrices<tridiagonal_solve_op>,
};

}  // namespace apsis::detail
