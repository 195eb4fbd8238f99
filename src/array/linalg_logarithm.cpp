// Logarithms of matrices, and what else is composed of their roots and factors.

#include <limits>
#include <utility>

#include "apsis/array/creation.hpp"
#include "apsis/array/linalg.hpp"
#include "apsis/control/while_loop.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/complex.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/transform/jvp.hpp"
#include "array/linalg_support.hpp"

namespace apsis::linalg {
using namespace detail::arrays;
namespace {

/// Gauss and Legendre's rule of seven points on [0, 1]: the Padé approximant of degree 7 of log(1 + x), as
/// partial fractions (N. Higham, Functions of matrices, 2008, equation 11.18).
struct Fraction {
  double point, weight;
};
constexpr Fraction fractions[] = {
    {0.025446043828620737737, 0.064742483084434846635}, {0.129234407200302780068, 0.139852695744638333951},
    {0.297077424311301416547, 0.190915025252559472475}, {0.5, 0.208979591836734693878},
    {0.702922575688698583453, 0.190915025252559472475}, {0.870765592799697219932, 0.139852695744638333951},
    {0.974553956171379262263, 0.064742483084434846635}};

/// |A - 1| up to which its backward error is below the unit roundoff of f64 (table 11.1 there).
constexpr double most = 0.264;

/// More roots than any matrix of finite numbers that is not singular needs: its eigenvalues are above 2⁻²⁰⁹⁸.
constexpr double most_roots = 40;

Array widened(const Array& x) { return expand_dims(expand_dims(x, -1), -1); }

Array distance(const Array& x) { return matrix_norm(stop_gradient(x) - identity_like(x), {.ord = 1}); }

}  // namespace

// Inverse scaling and squaring: log A = 2ᵏ log A^(1/2ᵏ) (Higham 2008, section 11.5, without Schur's form).
Array logm(const Array& a, Loc loc) {
  const LocScope place(loc);
  const Array given = square_matrices("logm", a);
  const Array x = is_complex(given.dtype()) ? given : complex(given, zeros_like(given));
  if (x.size() == 0) return x;
  struct State {
    Array root, count;
  };
  const auto going = [](const State& s) { return distance(s.root) > most && s.count < most_roots; };
  const auto [root, count] = while_loop(
      [&](const State& s) { return any(going(s)); },
      [&](const State& s) {
        const Array on = going(s);
        return State{where(widened(on), sqrtm(s.root), s.root), s.count + astype(on, s.count.dtype())};
      },
      State{x, zeros_like(distance(x))});
  const Array eye = identity_like(root), small = root - eye;
  Array log;
  for (const Fraction& f : fractions) {
    const Array term = f.weight * solve(eye + f.point * small, small);
    log = log.is_empty() ? term : log + term;
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return log * widened(where(distance(root) <= most, exp2(count), nan));
}

PolarResult polar(const Array& a, const PolarOptions& options, Loc loc) {
  const LocScope place(loc);
  const auto [u, s, vh] = svd(matrices("polar", a), {.full_matrices = false});
  const Array line = expand_dims(s, -2);
  const Array p = options.left ? matmul(u * line, adjoint(u)) : matmul(adjoint(vh) * line, vh);
  return {matmul(u, vh), p};
}

std::pair<Array, Array> expm_frechet(const Array& a, const Array& e, Loc loc) {
  const LocScope place(loc);
  const Array given[] = {square_matrices("expm_frechet", a), square_matrices("expm_frechet", e)};
  const std::vector<Array> x = promoted(given);
  const Shape shape = with_leading(x[0], leading_shape("expm_frechet", x[0], x[1])).shape();
  return jvp([&](const Array& m) { return expm(m, loc); }, broadcast_to(x[0], shape),
             broadcast_to(x[1], shape));
}

}  // namespace apsis::linalg
