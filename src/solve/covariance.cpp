// What a fit says of its parameters' errors.

#include "apsis/solve/least_squares.hpp"
#include "solve/problem.hpp"

namespace apsis::detail {
namespace {

Array covariance_of(const ProblemParts& parts, const Array& y) {
  const NonlinearProblem problem(parts);
  const auto [r, j] = problem.residual_and_jacobian(y);
  const std::int64_t free = r.size() - y.size();
  if (free <= 0)
    fail(messages::few_residuals, {std::to_string(r.size()), std::to_string(y.size())}, parts.loc);
  // Columns of length 1: parameters may differ in size by many orders.
  const Array lengths = sqrt(sum(square(j), {.axis = 0})), scale = where(lengths > 0., lengths, 1.);
  const linalg::SVDResult svd = linalg::svd(j / scale, {.full_matrices = false});
  const double rows = static_cast<double>(r.size());
  const Array counts = svd.s > rows * problem.epsilon() * largest(svd.s);
  const Array inverse = where(counts, 1. / where(counts, svd.s, 1.), 0.);
  const Array v = expand_dims(inverse, 1) * svd.vh / scale;
  const Array covariance = matmul(transpose(v), v) * (sum(square(r)) / static_cast<double>(free));
  // What the residuals do not determine: parameters with a part in a direction that does not count.
  const Array part = sum(where(expand_dims(counts, 1), 0., square(svd.vh)), {.axis = 0});
  const Array open = part > problem.epsilon();
  return where(expand_dims(open, 1) || expand_dims(open, 0), no_limit, covariance);
}
ProblemParts parts_of(const Callee& f, std::span<const Array> at, Loc loc) {
  return {{"parameter_covariance", SolvesFor::LeastSquares},
          f,
          LeafLayout("parameter_covariance", at, f.inputs, loc),
          LevenbergMarquardt::solver,
          {},
          {},
          loc};
}

}  // namespace

Array covariance_flat(const Callee& f, std::span<const Array> at, Loc loc) {
  const LocScope place(loc);
  const ProblemParts parts = parts_of(f, at, loc);
  return covariance_of(parts, parts.layout.pack(at));
}
std::vector<Array> standard_errors_flat(const Callee& f, std::span<const Array> at, Loc loc) {
  const LocScope place(loc);
  const ProblemParts parts = parts_of(f, at, loc);
  return parts.layout.unpack(sqrt(linalg::diagonal(covariance_of(parts, parts.layout.pack(at)))));
}

}  // namespace apsis::detail
