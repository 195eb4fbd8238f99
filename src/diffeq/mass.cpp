#include "diffeq/mass.hpp"

#include <algorithm>

#include "apsis/array/dtype.hpp"
#include "apsis/array/linalg.hpp"
#include "apsis/core/op.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/decomposition.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/transform/jacobian.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/newton.hpp"

namespace apsis::detail {

Mass mass_of(const Array& given, const SolverRef& solver, std::span<const Array> y0, Loc loc) {
  const Layout layout(y0);
  const std::int64_t n = layout.size();
  if (!solver.traits.takes_mass) fail(messages::mass_not_taken, {solver.traits.name}, loc);
  const Array known = concrete_value(given);
  if (known.is_empty()) fail(messages::mass_not_known, {to_string(given.aval())}, loc);
  const bool fits = (known.ndim() == 1 || (known.ndim() == 2 && known.dim(1) == n)) && known.dim(0) == n &&
                    (is_floating(known.dtype()) || is_integer(known.dtype()));
  const std::string size = std::to_string(n);
  if (!fits) fail(messages::mass_shape, {to_string(known.aval()), size}, loc);
  TraceScope now(nullptr);
  if (!all(isfinite(known)).item<bool>()) fail(messages::mass_not_finite, {}, loc);
  const Array wide = astype(known, Dtype::F64), m = wide.ndim() == 1 ? diag(wide) : wide;
  const linalg::SVDResult svd = linalg::svd(m);
  std::int64_t rank = 0;
  for (std::int64_t i = 0; i < n; ++i)
    rank += svd.s[i].item<double>() > 1e-12 * svd.s[0].item<double>() ? 1 : 0;
  const Array u = svd.u[range()], vh = svd.vh;
  const auto as = [&](const Array& a) { return astype(a, layout.dtype()); };
  return {as(m), as(linalg::pinv(m)), as(transpose(u)[range(rank, n)]), as(transpose(vh[range(rank, n)]))};
}

std::pair<std::vector<Array>, Array> consistent_state(const Mass& mass, const Slopes& slopes,
                                                      const Tolerances& tolerances, const Array& t,
                                                      std::span<const Array> y) {
  std::vector<Array> given(y.begin(), y.end());
  if (mass.left.dim(0) == 0) return {given, Array()};
  const Layout layout(y);
  const VectorSlope slope(slopes, layout);
  const Array at = layout.join(y);
  const auto state = [&](const Array& z) { return at + matmul(mass.right, z); };
  const auto residual = [&](const Array& z) { return matmul(mass.left, slope(t, state(z))); };
  // A thousandth of what the solve is exact to.
  const auto bound = [&](const Tolerance& of) {
    const Array own = of.is_empty() ? Array(1e-8) : layout.spread(of);
    return maximum(1e-3 * own, 8 * finfo(layout.dtype()).eps);
  };
  const Array rtol = bound(tolerances.rtol), atol = bound(tolerances.atol);
  const auto iterate = [&](const auto& f, const Array& start) {
    const auto change = [&](const Array& z) { return linalg::solve(jacfwd(f)(z), f(z)); };
    const auto size = [&](const Array& step, const Array& z) {
      return max(abs(matmul(mass.right, step) / (atol + rtol * abs(state(z)))));
    };
    const NewtonEnd end = newton_end({.kappa = 0.5, .max_steps = 50}, start, change, size);
    return std::pair(end.u, end.found);
  };
  const Array start = zeros({mass.left.dim(0)}, layout.dtype());
  const auto by_columns = [](const auto& map, const Array& right) {
    return solve_by_columns(map, right, {});
  };
  const auto [z, found] = custom_root(residual, start, iterate, by_columns);
  return {layout.split(state(z)), found};
}

}  // namespace apsis::detail
