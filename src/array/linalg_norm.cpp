// Norms, and what singular values tell.

#include <cmath>
#include <limits>

#include "apsis/array/creation.hpp"
#include "apsis/array/dtype.hpp"
#include "apsis/array/linalg.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "array/linalg_support.hpp"
#include "array/messages.hpp"

namespace apsis::linalg {
using namespace detail::arrays;
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::string text(const NormOrder& ord) {
  if (ord == fro) return "fro";
  if (ord == nuc) return "nuc";
  const auto whole = static_cast<std::int64_t>(ord.number);
  return static_cast<double>(whole) == ord.number ? std::to_string(whole) : std::to_string(ord.number);
}

/// The largest, of numbers that are not negative: 0 if there are none.
Array largest(const Array& x, const ReduceOptions& over) {
  const Array kept = sum(x, over);
  return x.size() == 0 && kept.size() > 0 ? zeros_like(kept) : max(x, over);
}

Array edge_value(const Array& s, bool first) { return entry(s, s.ndim() - 1, first ? 0 : s.dim(-1) - 1); }

}  // namespace

Array trace(const Array& x, int offset, Loc loc) {
  return apsis::trace(x, {.offset = offset, .axis1 = -2, .axis2 = -1}, loc);
}

Array diagonal(const Array& x, int offset, Loc loc) { return apsis::diagonal(x, offset, -2, -1, loc); }

Array vector_norm(const Array& x, const VectorNormOptions& options, Loc loc) {
  const LocScope place(loc);
  const ReduceOptions over{options.axis, options.keepdims};
  const Array v = inexact(x);
  if (options.ord.kind != NormOrder::Kind::Number)
    fail(messages::array_norm, {"vector_norm", text(options.ord), "a number"});
  const double ord = options.ord.number;
  if (ord == 2) return norm(v, over);
  if (ord == infinity) return largest(abs(v), over);
  if (ord == -infinity) return min(abs(v), over);
  if (ord == 0) return sum(astype(v != 0, real_dtype(v.dtype())), over);
  if (ord == 1) return sum(abs(v), over);
  return pow(sum(pow(abs(v), ord), over), 1 / ord);
}

Array matrix_norm(const Array& x, const MatrixNormOptions& options, Loc loc) {
  const LocScope place(loc);
  const Array m = matrices("matrix_norm", x);
  const bool keep = options.keepdims;
  const NormOrder& ord = options.ord;
  if (ord == fro) return norm(m, {.axis = {-2, -1}, .keepdims = keep});
  const auto of_lines = [&](int summed, bool most) {
    const Array sums = sum(abs(m), {.axis = summed, .keepdims = true});
    const ReduceOptions over{{-2, -1}, keep};
    return most ? largest(sums, over) : min(sums, over);
  };
  if (ord == 1 || ord == -1) return of_lines(-2, ord == 1);
  if (ord == infinity || ord == -infinity) return of_lines(-1, ord == infinity);
  if (ord != nuc && ord != 2 && ord != -2)
    fail(messages::array_norm, {"matrix_norm", text(ord), "fro, nuc, 1, -1, 2, -2, or an infinity"});
  const Array s = svdvals(m);
  const ReduceOptions last{-1, false};
  const Array value = ord == nuc ? sum(s, last) : ord == 2 ? largest(s, last) : min(s, last);
  return keep ? expand_dims(expand_dims(value, -1), -1) : value;
}

Array cond(const Array& x, const NormOrder& ord, Loc loc) {
  const LocScope place(loc);
  const Array m = matrices("cond", x);
  if (m.dim(-1) == 0 || m.dim(-2) == 0)
    fail(messages::array_few,
         {"cond", "1 entry", m.dim(-1) == 0 ? "axis -1" : "axis -2", to_string(x.aval())});
  if (ord == 2 || ord == -2) {
    const Array s = svdvals(m), first = edge_value(s, true), last = edge_value(s, false);
    return ord == 2 ? first / last : last / first;
  }
  square_matrices("cond", x);
  const Array product = matrix_norm(m, {.ord = ord}) * matrix_norm(inv(m), {.ord = ord});
  return where(isnan(product) && !any(isnan(m), {.axis = {-2, -1}}), infinity, product);
}

Array matrix_rank(const Array& x, double tol, Loc loc) {
  const LocScope place(loc);
  const Array m = matrices("matrix_rank", x), s = stop_gradient(svdvals(m));
  const double relative = static_cast<double>(std::max(m.dim(-1), m.dim(-2))) * finfo(s.dtype()).eps;
  const Array bound = tol >= 0 ? full_like(s, tol) : largest(s, {-1, true}) * relative;
  return sum(s > bound, {.axis = -1});
}

}  // namespace apsis::linalg
