#include "diffeq/phi.hpp"

#include "apsis/control/while_loop.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"

namespace apsis::detail {
namespace {

/// Where |z| is at most 1: φ3(z) = Σ z^k / (k + 3)!, and the others by that.
Phi by_series(const Array& z) {
  constexpr int terms = 18;  // the next one is below 1e-18 of the first
  const bool diagonal = z.ndim() == 1;
  const Array unit = diagonal ? ones_like(z) : eye(z.dim(0), -1, 0, z.dtype());
  double factorial[terms + 3] = {1};
  for (int k = 1; k < terms + 3; ++k) factorial[k] = factorial[k - 1] * k;
  const auto next = [&](int k, const Array& after) { return unit * (1 / factorial[k]) + times(z, after); };
  Phi p;
  p.three = unit * (1 / factorial[terms + 2]);
  for (int k = terms + 1; k >= 3; --k) p.three = next(k, p.three);
  p.two = next(2, p.three);
  p.one = next(1, p.two);
  p.exponential = next(0, p.one);
  return p;
}

Phi of_diagonal(const Array& z) {
  const Array near = abs(z) < 1, far = where(near, 1., z);
  const Phi series = by_series(where(near, z, 0.));
  const Array one = expm1(far) / far, two = (one - 1) / far;
  return {exp(z), where(near, series.one, one), where(near, series.two, two),
          where(near, series.three, (two - 0.5) / far)};
}

struct Halved {
  Array left;
  Phi phi;
};

}  // namespace

Array times(const Array& matrix, const Array& by) {
  return matrix.ndim() == 1 ? matrix * by : matmul(matrix, by);
}

Phi doubled(const Phi& at) {
  return {times(at.exponential, at.exponential), 0.5 * (times(at.exponential, at.one) + at.one),
          0.25 * (times(at.exponential, at.two) + at.one + at.two),
          0.125 * (times(at.exponential, at.three) + 0.5 * at.one + at.two + at.three)};
}

Phi phi(const Array& z) {
  if (z.ndim() == 1) return of_diagonal(z);
  const Array norm = max(sum(abs(stop_gradient(z)), {.axis = 1}));
  const Array halvings = where(norm > 1 && isfinite(norm), ceil(log2(where(norm > 1, norm, 1.))), 0.);
  const Halved end = while_loop([](const Halved& s) { return s.left > 0; },
                                [](const Halved& s) {
                                  return Halved{s.left - 1, doubled(s.phi)};
                                },
                                Halved{astype(halvings, Dtype::I64), by_series(exp2(-halvings) * z)});
  return end.phi;
}

}  // namespace apsis::detail
