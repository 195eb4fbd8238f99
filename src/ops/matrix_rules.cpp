#include "ops/matrix_rules.hpp"

#include <string>

#include "apsis/ops/shape.hpp"
#include "core/convert.hpp"
#include "ops/arguments.hpp"
#include "ops/complex.hpp"
#include "ops/dtype_set.hpp"
#include "ops/index_rules.hpp"
#include "ops/messages.hpp"

namespace apsis::detail {

Matrices::Matrices(const Shape& shape) : m(shape[shape.size() - 2]), n(shape.back()) {
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) count *= shape[i];
}

Shape with_matrices(const Shape& shape, std::initializer_list<std::int64_t> last) {
  Shape out = shape;
  out.resize(shape.size() - 2);
  for (std::int64_t size : last) out.push_back(size);
  return out;
}

void check_matrices(const char* name, const Aval& aval) {
  APSIS_ASSERT(aval.rank() >= 2 && contains(float_dtypes | complex_dtypes, aval.dtype()));
  const Matrices sizes(aval.shape());
  constexpr std::int64_t most = std::numeric_limits<lapack::Int>::max();
  if (sizes.m > most || sizes.n > most) fail(messages::matrix_side, {name, to_string(aval)});
}

namespace {

bool is_half(const Array& a) { return a.dtype() == Dtype::F16 || a.dtype() == Dtype::BF16; }

Array wide(const Array& a) {
  if (!is_half(a)) return a;
  Array out = allocate(Aval(Dtype::F32, a.shape()));
  convert_elements(a.dtype(), data_of(a), Dtype::F32, mutable_data<char>(out),
                   static_cast<std::size_t>(a.size()));
  return out;
}

}  // namespace

ComputedArrays::ComputedArrays(std::span<const Array> in, std::span<Array> out) : wanted_(out) {
  for (const Array& a : in) in_.push_back(wide(a));
  for (const Array& a : out) out_.push_back(is_half(a) ? allocate(Aval(Dtype::F32, a.shape())) : a);
}

void ComputedArrays::finish() {
  for (std::size_t i = 0; i < wanted_.size(); ++i)
    if (is_half(wanted_[i]))
      convert_elements(Dtype::F32, data_of(out_[i]), wanted_[i].dtype(), mutable_data<char>(wanted_[i]),
                       static_cast<std::size_t>(wanted_[i].size()));
}

bool repeats_matrices(const Shape& a, const Shape& b) {
  if (a.size() > b.size()) return false;
  for (std::size_t i = 0; i + 2 < a.size(); ++i)
    if (a[i] != b[b.size() - a.size() + i]) return false;
  return true;
}

void batch_solve(const Op& op, const BatchRule& r) {
  const std::size_t last = r.operands.size() - 1;
  const Array b = batched_front(r.operands[last], r.axes[last], r.size);
  const bool mapped = std::ranges::any_of(r.axes.first(last), [](int axis) { return axis >= 0; });
  std::vector<Array> operands;
  for (std::size_t i = 0; i < last; ++i) {
    Array a = r.operands[i];
    const std::size_t own = i == 0 ? 2 : 1;
    if (mapped) {
      a = batched_front(a, r.axes[i], r.size);
      if (const std::size_t rank = b.shape().size() - 2 + own; a.shape().size() != rank) {
        // The lanes come before axes that b alone has.
        Shape shape = b.shape();
        shape.resize(rank);
        Dims axes{0};
        for (std::size_t k = 1; k < a.shape().size(); ++k)
          axes.push_back(static_cast<std::int64_t>(rank - a.shape().size() + k));
        for (std::size_t k = rank - own; k < rank; ++k) shape[k] = a.shape().back();
        a = lax::broadcast_in_dim(a, shape, axes);
      }
    }
    operands.push_back(a);
  }
  operands.push_back(b);
  r.outs = bind_all(op, r.params, operands);
  r.out_axes.assign(r.outs.size(), 0);
}

namespace lax {

Array matrix_transpose(const Array& a) {
  Dims permutation = Dims::counting(a.shape().size());
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return lax::transpose(a, permutation);
}

Array conj(const Array& a) { return is_complex(a.dtype()) ? joined(parts::conj(parts_of(a))) : a; }

Array adjoint(const Array& a) { return conj(matrix_transpose(a)); }

Array real_part(const Array& a) {
  return is_complex(a.dtype()) ? lax::convert(parts_of(a).re, a.dtype()) : a;
}

Array hermitian_of_lower(const Array& a) {
  const Array strict = triangle(a, true, -1), whole = lax::add(triangle(a, true), adjoint(strict));
  if (!is_complex(a.dtype())) return whole;
  // What is imaginary on the diagonal does not count.
  const Array diagonal = lax::sub(triangle(a, true), strict);
  return lax::sub(whole, lax::sub(diagonal, real_part(diagonal)));
}

Array matrix_product(const Array& a, const Array& b) {
  const int rank = a.ndim();
  const Dims batch = Dims::counting(static_cast<std::size_t>(rank - 2));
  return lax::dot_general(a, b, {rank - 1}, {rank - 2}, batch, batch);
}

Array triangle(const Array& a, bool lower, int k) { return lower ? tril(a, k) : triu(a, k); }

// Element i is number i·(n + 1) of the matrix: a strided slice.
Array diagonal(const Array& a) {
  const Matrices sizes(a.shape());
  if (a.size() == 0) return lax::full(with_matrices(a.shape(), {sizes.k()}), a.dtype(), 0);
  const Shape lines = with_matrices(a.shape(), {sizes.m * sizes.n});
  Dims start = Dims::filled(lines.size(), 0), limit = lines, stride = Dims::filled(lines.size(), 1);
  limit[lines.size() - 1] = (sizes.k() - 1) * (sizes.n + 1) + 1;
  stride[lines.size() - 1] = sizes.n + 1;
  return lax::slice(lax::reshape(a, lines), start, limit, stride);
}

namespace {

// `factors` along the last axis but `from_last`.
Array scaled(const Array& a, const Array& factors, int from_last) {
  Dims axes = Dims::counting(factors.shape().size());
  axes[axes.size() - 1] = a.ndim() - 1 - from_last;
  const Array wide = factors.dtype() == a.dtype() ? factors : lax::convert(factors, a.dtype());
  return mul(a, broadcast_in_dim(wide, a.shape(), axes));
}

Array matrix_part(const Array& a, int axis, std::int64_t from, std::int64_t to) {
  Dims start = Dims::filled(a.shape().size(), 0), limit = a.shape();
  start[static_cast<std::size_t>(axis)] = from;
  limit[static_cast<std::size_t>(axis)] = to;
  return lax::slice(a, start, limit);
}

}  // namespace

Array scale_columns(const Array& a, const Array& factors) { return scaled(a, factors, 0); }
Array scale_rows(const Array& a, const Array& factors) { return scaled(a, factors, 1); }

Array identity(const Shape& shape, Dtype dtype) {
  const Matrices sizes(shape);
  const Shape matrix{sizes.m, sizes.n};
  return broadcast_last(convert(eq(iota(Dtype::I64, matrix, 0), iota(Dtype::I64, matrix, 1)), dtype), shape);
}

Array moved(const Array& a, int axis, std::int64_t k) {
  const auto at = static_cast<std::size_t>(axis);
  if (k == 0) return a;
  if (k <= -a.shape()[at] || k >= a.shape()[at]) return full_like(a.aval(), 0);
  Dims low = Dims::filled(a.shape().size(), 0), high = low;
  low[at] = -k;
  high[at] = k;
  return pad(a, literal(a.dtype(), 0), low, high);
}

Array matrix_rows(const Array& a, std::int64_t from, std::int64_t to) {
  return matrix_part(a, a.ndim() - 2, from, to);
}
Array matrix_columns(const Array& a, std::int64_t from, std::int64_t to) {
  return matrix_part(a, a.ndim() - 1, from, to);
}

Array triangular_solve(const Array& a, const Array& b, const TriangularSolveParams& params) {
  TriangularSolveParams p = params;
  const bool conjugates = p.conjugate_a && is_complex(a.dtype());
  p.conjugate_a = conjugates && p.transpose_a;
  const Array matrix = conjugates && !p.transpose_a ? conj(a) : a;
  return bind1(triangular_solve_op, make_params(p), {matrix, b});
}

}  // namespace lax
}  // namespace apsis::detail
