// Roots of systems: Newton, chord, Broyden.

#include "apsis/solve/root_find.hpp"
#include "solve/support.hpp"

namespace apsis {

using namespace detail;

namespace {

Array solve_system(const Array& a, const Array& b) {
  return b.size() == 1 ? b / ravel(a) : linalg::solve(a, b);
}

/// The iterate at y, where the residual is f, after a step `change` of which `left` is still to go. A
/// Jacobian that is not finite makes steps of no length: they are no solution.
Iterate moved(const NonlinearProblem& p, const Iterate& it, const Array& y, const Array& f,
              const Array& change, const Array& left, double rtol, double atol, std::vector<Array> state,
              int derivatives, const Array& jacobian_is_finite = array(true)) {
  const Array finite = all(isfinite(f)) && jacobian_is_finite, regular = all(isfinite(change));
  const Array small = within(p, left, y, rtol, atol) && regular && finite;
  return {y,
          largest(f),
          all(f == 0.) || small,
          where(!regular && jacobian_is_finite, code_of(NonlinearResult::Singular),
                code_if(!finite, NonlinearResult::NonFinite)),
          static_cast<std::vector<Array>&&>(state),
          it.evaluations + 1,
          it.derivatives + derivatives};
}
/// `jacobian`: where it is known, otherwise empty.
Iterate first_root(const Array& y, const Array& f, const Array& jacobian, std::vector<Array> state) {
  const Array known = jacobian.is_empty() ? array(true) : all(isfinite(jacobian));
  return {y,
          largest(f),
          all(f == 0.),
          code_if(!all(isfinite(f)) || !known, NonlinearResult::NonFinite),
          static_cast<std::vector<Array>&&>(state),
          count_of(1),
          count_of(jacobian.is_empty() ? 0 : 1)};
}

}  // namespace

Iterate Newton::start(const NonlinearProblem& p, const Array& y) const {
  check_tolerances(p, rtol, atol);
  return first_root(y, p.residual(y), {}, {});
}
Iterate Newton::step(const NonlinearProblem& p, const Iterate& it) const {
  const auto [f, jacobian] = p.residual_and_jacobian(it.y);
  const Array change = solve_system(jacobian, -f), y = p.project(it.y + change);
  return moved(p, it, y, p.residual(y), change, change, rtol, atol, {}, 1, all(isfinite(jacobian)));
}

// State: the factors of the Jacobian, and the size of the last step.
Iterate Chord::start(const NonlinearProblem& p, const Array& y) const {
  check_tolerances(p, rtol, atol);
  const auto [f, jacobian] = p.residual_and_jacobian(y);
  const linalg::LUFactors factors = linalg::lu_factor(jacobian);
  return first_root(y, f, jacobian,
                    {factors.lu, factors.pivots, factors.permutation, f, zeros({}, p.dtype())});
}
Iterate Chord::step(const NonlinearProblem& p, const Iterate& it) const {
  const linalg::LUFactors factors{it.state[0], it.state[1], it.state[2]};
  const Array change = linalg::lu_solve(factors, -it.state[3]), y = p.project(it.y + change);
  const Array f = p.residual(y), size = largest(change);
  return moved(p, it, y, f, change, Rate(size, it.state[4]).left_of(change), rtol, atol,
               {factors.lu, factors.pivots, factors.permutation, f, size}, 0);
}

// State: the inverse Jacobian, the residual, and the size of the last step.
Iterate Broyden::start(const NonlinearProblem& p, const Array& y) const {
  check_tolerances(p, rtol, atol);
  const auto [f, jacobian] = p.residual_and_jacobian(y);
  return first_root(y, f, jacobian, {linalg::inv(jacobian), f, zeros({}, p.dtype())});
}
Iterate Broyden::step(const NonlinearProblem& p, const Iterate& it) const {
  const Array &inverse = it.state[0], &before = it.state[1];
  const Array change = -matmul(inverse, before), y = p.project(it.y + change);
  const Array f = p.residual(y), step = y - it.y, size = largest(change);
  // The inverse of B + (Δf - B s) sᵀ / |s|² by Sherman and Morrison; left as it is where that is singular.
  const Array image = matmul(inverse, f - before), weight = dot(step, image);
  const Array usable = abs(weight) > p.epsilon() * dot(step, step);
  const Array update = outer(step - image, matmul(step, inverse)) / where(usable, weight, 1.);
  return moved(p, it, y, f, change, Rate(size, it.state[2]).left_of(change), rtol, atol,
               {where(usable, inverse + update, inverse), f, size}, 0);
}

}  // namespace apsis
