#include "apsis/nn/reparametrize.hpp"

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/random.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "nn/messages.hpp"

namespace apsis::nn::detail {
namespace {

Array as_matrix(const Array& weight) {
  return reshape(weight, {weight.dim(0), weight.size() / std::max<std::int64_t>(weight.dim(0), 1)});
}
Array unit(const Array& x, double eps) { return x / maximum(eps, sqrt(sum(square(x)))); }

SpectralNormState iterated(const Array& matrix, SpectralNormState s, int iterations, double eps) {
  for (int i = 0; i < iterations; ++i) {
    s.u = unit(matmul(matrix, s.v), eps);
    s.v = unit(matmul(s.u, matrix), eps);
  }
  return s;
}

}  // namespace

SpectralNormState spectral_start(const Array& weight, const Array& key, double eps, Loc loc) {
  const LocScope place(loc);
  if (weight.ndim() < 2) fail(messages::spectral_weight, {to_string(weight.aval())});
  const auto [u, v] = random::split<2>(key);
  const Array matrix = as_matrix(weight);
  return iterated(matrix,
                  {random::normal(u, {matrix.dim(0)}, weight.dtype()),
                   random::normal(v, {matrix.dim(1)}, weight.dtype())},
                  15, eps);
}

// The vectors are constants for derivatives, the norm they give is not.
std::pair<Array, SpectralNormState> spectral_step(const Array& weight, const SpectralNormState& state,
                                                  int iterations, double eps) {
  const Array matrix = as_matrix(weight);
  const SpectralNormState next = iterated(stop_gradient(matrix), state, iterations, eps);
  return {weight / matmul(next.u, matmul(matrix, next.v)), next};
}

Array norm_except(const Array& v, std::optional<int> axis) {
  Dims others;
  for (int i = 0; i < v.ndim(); ++i)
    if (!axis || i != (*axis < 0 ? *axis + v.ndim() : *axis)) others.push_back(i);
  return sqrt(sum(square(v), {.axis = others, .keepdims = true}));
}

void check_shared(std::span<const Array> where, std::span<const Array> get, Loc loc) {
  for (std::size_t i = 0; i < where.size(); ++i) {
    const bool one = where[i].is_empty(), other = get[i].is_empty();
    const bool same = one || other ? one == other
                                   : where[i].shape() == get[i].shape() && where[i].dtype() == get[i].dtype();
    if (!same)
      fail(messages::shared_shapes,
           {one ? "no array" : to_string(where[i].aval()), other ? "no array" : to_string(get[i].aval())},
           loc);
  }
}

}  // namespace apsis::nn::detail
