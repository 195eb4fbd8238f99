// Running means, variances and covariances: two sets of observations are joined by their counts, means and
// sums of squares.

#include "apsis/stats/running.hpp"

#include "apsis/array/product.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "stats/running_support.hpp"

namespace apsis::stats {
using namespace running;
namespace {

Array outer_square(const Array& v) { return expand_dims(v, 1) * expand_dims(v, 0); }

/// Joined sums: what the distance of the means adds to a sum of products, (Δ Δᵀ) na nb / n; and the share of
/// the second in the mean.
struct Join {
  Array count, share, weight;
  Join(const Array& a, const Array& b, Dtype dtype) : count(a + b) {
    const Array n = astype(maximum(count, std::int64_t{1}), dtype);
    share = astype(b, dtype) / n;
    weight = astype(a, dtype) * share;
  }
};
Array divided(const Array& sum, const Array& count, double ddof) {
  const Array divisor = astype(count, sum.dtype()) - ddof;
  return where(divisor > 0., sum / where(divisor > 0., divisor, 1.), no_number);
}

}  // namespace

RunningMoments running_moments(const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("running_moments", dtype);
  return {std::int64_t{0}, zeros(shape, dtype), zeros(shape, dtype)};
}
RunningMoments RunningMoments::add(const Array& x, Loc loc) const {
  const LocScope place(loc);
  const Array one = observation("RunningMoments", x, mean);
  return merge({std::int64_t{1}, one, zeros_like(one)}, loc);
}
RunningMoments RunningMoments::add_rows(const Array& xs, Loc loc) const {
  const LocScope place(loc);
  const Array rows = observations("RunningMoments", xs, mean);
  if (rows.dim(0) == 0) return *this;
  const Array centre = apsis::mean(rows, {.axis = 0});
  return merge({rows.dim(0), centre, sum(square(rows - centre), {.axis = 0})}, loc);
}
RunningMoments RunningMoments::merge(const RunningMoments& other, Loc loc) const {
  const LocScope place(loc);
  const Array change = observation("RunningMoments", other.mean, mean) - mean;
  const Join join(count, other.count, mean.dtype());
  return {join.count, mean + change * join.share,
          squares + astype(other.squares, mean.dtype()) + square(change) * join.weight};
}
Array RunningMoments::variance(double ddof, Loc loc) const {
  const LocScope place(loc);
  return divided(squares, count, ddof);
}
Array RunningMoments::standard_error(Loc loc) const {
  const LocScope place(loc);
  return sqrt(variance(1) / astype(count, mean.dtype()));
}

RunningCovariance running_covariance(std::int64_t d, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("running_covariance", dtype);
  return {std::int64_t{0}, zeros({d}, dtype), zeros({d, d}, dtype)};
}
RunningCovariance RunningCovariance::add(const Array& x, Loc loc) const {
  const LocScope place(loc);
  return merge({std::int64_t{1}, observation("RunningCovariance", x, mean), zeros_like(products)}, loc);
}
RunningCovariance RunningCovariance::add_rows(const Array& xs, Loc loc) const {
  const LocScope place(loc);
  const Array rows = observations("RunningCovariance", xs, mean);
  if (rows.dim(0) == 0) return *this;
  const Array centre = apsis::mean(rows, {.axis = 0}), around = rows - centre;
  return merge({rows.dim(0), centre, matmul(transpose(around), around)}, loc);
}
RunningCovariance RunningCovariance::merge(const RunningCovariance& other, Loc loc) const {
  const LocScope place(loc);
  const Array change = observation("RunningCovariance", other.mean, mean) - mean;
  const Join join(count, other.count, mean.dtype());
  return {join.count, mean + change * join.share,
          products + astype(other.products, mean.dtype()) + outer_square(change) * join.weight};
}
Array RunningCovariance::covariance(double ddof, Loc loc) const {
  const LocScope place(loc);
  return divided(products, count, ddof);
}

}  // namespace apsis::stats
