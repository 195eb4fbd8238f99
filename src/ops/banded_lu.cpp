// Factors of banded matrices that stay where the program keeps them, and solves with them: for methods that
// solve with one matrix again and again.

#include "apsis/ops/banded_lu.hpp"

#include "ops/banded_factors.hpp"
#include "ops/elementwise.hpp"
#include "ops/index_rules.hpp"
#include "ops/lax.hpp"
#include "ops/matrix_rules.hpp"
#include "ops/messages.hpp"

namespace apsis::detail {

std::int64_t banded_factors_size(const BandedLuParams& p) {
  return p.n == 0 ? 1 : BandedFactors<double>::size({p.lower, p.upper}, p.n);
}

namespace {

constexpr DtypeSet factor_dtypes = only(Dtype::F32) | only(Dtype::F64);

Shape leading(const Shape& shape) {
  Shape out = shape;
  out.resize(out.size() - 1);
  return out;
}
void check_floats(const Aval& aval) {
  APSIS_ASSERT(aval.shape().size() >= 1 && contains(factor_dtypes, aval.dtype()));
}
/// Whether all of `count` numbers are from 0 to less than `end`: others than the library's own may not be.
bool all_within(const std::int64_t* numbers, std::int64_t count, std::int64_t end) {
  std::int64_t signs[8] = {}, i = 0;
  for (; i + 8 <= count; i += 8)
    for (int k = 0; k < 8; ++k) signs[k] |= numbers[i + k] | (end - 1 - numbers[i + k]);
  for (; i < count; ++i) signs[0] |= numbers[i] | (end - 1 - numbers[i]);
  std::int64_t any = 0;
  for (std::int64_t own : signs) any |= own;
  return any >= 0;
}
/// Operands that are mapped, and others whose leading axes go with theirs, with the lanes in front; a vector
/// that all lanes share stays one.
std::vector<Array> lanes_in_front(const BatchRule& r) {
  Shape axes;
  for (std::size_t k = 0; k < r.operands.size(); ++k)
    if (const Shape& shape = r.operands[k].shape(); r.axes[k] < 0 && shape.size() > 1) axes = leading(shape);
  for (std::size_t k = 0; k < r.operands.size(); ++k)
    if (Shape shape = r.operands[k].shape(); r.axes[k] >= 0 && shape.size() > 2) {
      shape.erase(static_cast<std::size_t>(r.axes[k]));
      axes = leading(shape);
    }
  std::vector<Array> out;
  for (std::size_t k = 0; k < r.operands.size(); ++k) {
    if (r.axes[k] < 0 && r.operands[k].ndim() == 1) {
      out.push_back(r.operands[k]);
      continue;
    }
    const Array own = batched_front(r.operands[k], r.axes[k], r.size);
    Shape shape{r.size};
    for (std::int64_t length : axes) shape.push_back(length);
    shape.push_back(own.shape().back());
    const auto last = static_cast<std::int64_t>(shape.size()) - 1;
    out.push_back(own.shape() == shape ? own : lax::broadcast_in_dim(own, shape, {0, last}));
  }
  return out;
}
template <const Op& op>
void batch(const BatchRule& r) {
  r.outs = bind_all(op, r.params, lanes_in_front(r));
  r.out_axes.assign(r.outs.size(), r.outs[0].ndim() > 1 ? 0 : -1);
}

// Operands, in their order.
namespace of_lu {
enum Operand : std::size_t { entries, places };
}

/// Whether there is such a matrix, of whose factors the size is a number.
bool is_matrix(const BandedLuParams& p) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  return p.n >= 0 && p.n <= most && p.lower >= 0 && p.upper >= 0;
}

void lu_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const auto& p = params.as<BandedLuParams>();
  APSIS_ASSERT(in.size() == 2 && is_matrix(p) && in[of_lu::entries].rank() > 0 &&
               in[of_lu::places].rank() > 0);
  check_floats(in[of_lu::entries]);
  Shape shape = in[of_lu::entries].shape();
  APSIS_ASSERT(in[of_lu::places].dtype() == Dtype::I64 && in[of_lu::places].shape().back() == shape.back());
  if (in[of_lu::places].shape().size() > shape.size()) shape = in[of_lu::places].shape();
  shape[shape.size() - 1] = banded_factors_size(p);
  out.push_back(Aval(in[of_lu::entries].dtype(), shape));
}

void lu_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto& p = params.as<BandedLuParams>();
  const std::int64_t size = banded_factors_size(p), matrices = out[0].size() / size,
                     count = in[of_lu::entries].shape().back();
  const std::int64_t height = p.lower + 1 + p.upper;
  const bool own_entries = in[of_lu::entries].ndim() > 1, own_places = in[of_lu::places].ndim() > 1;
  visit_dtype<factor_dtypes>(out[0].dtype(), [&]<class T>(std::type_identity<T>) {
    T* factors = mutable_data<T>(out[0]);
    std::fill_n(factors, p.n == 0 ? out[0].size() : 0, T{});
    struct Bands;
    const KeptScratch<Bands> scratch(static_cast<std::size_t>(height * p.n) * sizeof(T));
    T* bands = static_cast<T*>(scratch.data());
    for (std::int64_t m = 0; m < matrices && p.n > 0; ++m) {
      const T* entries = elements_of<T>(in[of_lu::entries]) + (own_entries ? m * count : 0);
      const std::int64_t* places =
          elements_of<std::int64_t>(in[of_lu::places]) + (own_places ? m * count : 0);
      std::fill_n(bands, height * p.n, T{});
      if (!all_within(places, count, height * p.n)) {
        std::fill_n(factors + m * size, size, T{});
        continue;
      }
      for (std::int64_t e = 0; e < count; ++e) bands[places[e]] = entries[e];
      BandedFactors<T>({p.lower, p.upper}, p.n, factors + m * size).make(bands);
    }
  });
}

namespace of_solve {
enum Operand : std::size_t { factors, order, right };
}

void solve_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const auto& p = params.as<BandedLuSolveParams>();
  APSIS_ASSERT(in.size() == 3 && in[of_solve::factors].dtype() == in[of_solve::right].dtype() &&
               in[of_solve::order].dtype() == Dtype::I64);
  for (auto k : {of_solve::factors, of_solve::right}) check_floats(in[k]);
  for (const Aval& own : in) APSIS_ASSERT(own.rank() > 0);
  const std::int64_t n = in[of_solve::right].shape().back();
  APSIS_ASSERT(is_matrix({n, p.lower, p.upper}) && in[of_solve::order].shape().back() == n);
  APSIS_ASSERT(in[of_solve::factors].shape().back() == banded_factors_size({n, p.lower, p.upper}));
  Shape shape;
  for (const Aval& own : in)
    if (own.shape().size() > shape.size()) shape = own.shape();
  shape[shape.size() - 1] = n;
  out.push_back(Aval(in[of_solve::right].dtype(), shape));
}

template <class T>
void solve_one(const BandedLuSolveParams& p, std::int64_t n, const T* factors, const std::int64_t* order,
               const T* right, T* x) {
  struct Exchanged;
  const KeptScratch<Exchanged> scratch(static_cast<std::size_t>(n) * sizeof(T));
  const BandedFactors<const T> made({p.lower, p.upper}, n, factors);
  const auto read = [&](std::int64_t i) { return right[order[i]]; };
  const auto write = [&](std::int64_t i, T own) { x[order[i]] = own; };
  if (!all_within(order, n, n) ||
      !(p.transposed ? made.template solve<true>(read, write, static_cast<T*>(scratch.data()))
                     : made.template solve<false>(read, write, static_cast<T*>(scratch.data()))))
    fill_nan(x, n);
}

void solve_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const std::int64_t n = out[0].shape().back(), size = in[of_solve::factors].shape().back();
  if (out[0].size() == 0) return;
  const auto step = [&](of_solve::Operand k, std::int64_t length) { return in[k].ndim() > 1 ? length : 0; };
  const std::int64_t of_factors = step(of_solve::factors, size), of_order = step(of_solve::order, n),
                     of_right = step(of_solve::right, n);
  visit_dtype<factor_dtypes>(out[0].dtype(), [&]<class T>(std::type_identity<T>) {
    for (std::int64_t m = 0; m < out[0].size() / n; ++m)
      solve_one(params.as<BandedLuSolveParams>(), n, elements_of<T>(in[of_solve::factors]) + m * of_factors,
                elements_of<std::int64_t>(in[of_solve::order]) + m * of_order,
                elements_of<T>(in[of_solve::right]) + m * of_right, mutable_data<T>(out[0]) + m * n);
  });
}

template <const Op& op>
void refuse_derivative(const JvpRule&) {
  fail(messages::factors_not_unique, {op.name});
}

void solve_jvp(const JvpRule& r) {
  if (!r.tangents[of_solve::factors].is_empty()) refuse_derivative<banded_lu_op>(r);
  r.outs[0] = bind_all(banded_lu_solve_op, r.params, r.primals)[0];
  if (!r.tangents[of_solve::right].is_empty())
    r.out_tangents[0] =
        bind1(banded_lu_solve_op, r.params,
              {r.primals[of_solve::factors], r.primals[of_solve::order], r.tangents[of_solve::right]});
}

void solve_transpose(const TransposeRule& r) {
  if (r.out[of_solve::factors].is_linear()) fail(messages::not_linear, {"banded_lu_solve"});
  if (r.cotangents[0].is_empty()) return;
  BandedLuSolveParams p = r.params.as<BandedLuSolveParams>();
  p.transposed = !p.transposed;
  const Array each = bind1(banded_lu_solve_op, make_params(p),
                           {r.operands[of_solve::factors], r.operands[of_solve::order], r.cotangents[0]});
  // A right side that several matrices share has the cotangents of all.
  const int shared = each.ndim() - r.out[of_solve::right].aval().rank();
  r.out[of_solve::right].add(
      shared > 0 ? lax::reduce_sum(each, Dims::counting(static_cast<std::size_t>(shared))) : each);
}

}  // namespace

const Op banded_lu_op = {
    .name = "banded_lu",
    .kind = OpKind::Index,
    .shape = lu_shape,
    .evaluate = lu_evaluate,
    .jvp = refuse_derivative<banded_lu_op>,
    .batch = batch<banded_lu_op>,
    .parse = parse_params<BandedLuParams>,
};

const Op banded_lu_solve_op = {
    .name = "banded_lu_solve",
    .kind = OpKind::Index,
    .shape = solve_shape,
    .evaluate = solve_evaluate,
    .jvp = solve_jvp,
    .transpose = solve_transpose,
    .batch = batch<banded_lu_solve_op>,
    .parse = parse_params<BandedLuSolveParams>,
};

Array banded_lu(std::int64_t n, const linalg::Bandwidths& widths, const Array& entries, const Array& places) {
  return bind1(banded_lu_op, make_params(BandedLuParams{n, widths.lower, widths.upper}), {entries, places});
}
std::int64_t banded_lu_size(std::int64_t n, const linalg::Bandwidths& widths) {
  return banded_factors_size({n, widths.lower, widths.upper});
}
Array banded_lu_solve(const linalg::Bandwidths& widths, const Array& factors, const Array& order,
                      const Array& right, bool transposed) {
  return bind1(banded_lu_solve_op, make_params(BandedLuSolveParams{widths.lower, widths.upper, transposed}),
               {factors, order, right});
}

}  // namespace apsis::detail
