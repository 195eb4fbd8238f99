#pragma once

// Newton's matrix, kept from step to step.

#include "apsis/control/cond.hpp"
#include "diffeq/newton.hpp"
#include "diffeq/step.hpp"

namespace apsis::detail {

/// M - c ∂f/∂y by factors of an earlier step, kept by CVODE's rules (Hindmarsh et al., SUNDIALS, ACM TOMS 31,
/// 2005, and the user guide of CVODE, "Nonlinear system solution"): the Jacobian for 50 steps, and until
/// Newton's method fails with it; the factors for 20 steps, and while c stays within a factor of 1 ± 0.3.
struct KeptMatrix {
  Array jacobian, scale;            // scale: the c of the factors
  Array jacobian_age, factors_age;  // in steps; 0: of this one
  MatrixFactors factors;

  /// None as yet: the first step makes it.
  static KeptMatrix none(const MatrixForm& form) {
    const Array old = array(std::int64_t{1000}), empty = zeros_like(form.mass());
    return {empty, ones({}, form.mass().dtype()), old, old,
            MatrixFactors::unmade(form.structure(), form.mass())};
  }
  /// As arrays of a solver's state, and back.
  void append_to(std::vector<Array>& state) const {
    for (const Array& a : {jacobian, scale, jacobian_age, factors_age}) state.push_back(a);
    factors.append_to(state);
  }
  static KeptMatrix from(const MatrixForm& form, std::span<const Array> state) {
    return {state[0], state[1], state[2], state[3], MatrixFactors::from(form.structure(), state.subspan(4))};
  }

  /// The same, fit for a step with this c: `evaluate` makes the Jacobian.
  template <class Evaluate>
  KeptMatrix fit_for(const MatrixForm& form, const Array& c, const Array& again,
                     const Evaluate& evaluate) const {
    const Array stale = again || jacobian_age >= 50;
    const Array remake = stale || factors_age >= 20 || !(abs(c / scale - 1) <= 0.3);
    KeptMatrix out;
    out.jacobian = cond(
        stale, [&](const Array&) { return evaluate(); }, [](const Array& j) { return j; }, jacobian);
    out.factors = cond(
        remake,
        [&](const MatrixFactors&) {
          return MatrixFactors::of(form.structure(), form.mass() - c * out.jacobian);
        },
        [](const MatrixFactors& kept) { return kept; }, factors);
    out.scale = where(remake, c, scale);
    out.jacobian_age = where(stale, std::int64_t{0}, jacobian_age);
    out.factors_age = where(remake, std::int64_t{0}, factors_age);
    return out;
  }
};

struct KeptTry {
  Array u, found, tries;
  KeptMatrix matrix;
  StepWork work;  // evaluations: iterations
};
/// The root of `f`, whose derivative is M - c ∂f/∂y, as newton_end finds it, with a matrix of earlier steps,
/// and where that does not do, with one of this step. What factors of another c find of the stiff part is
/// made up for by 2 / (1 + ratio).
template <class F, class Size, class Evaluate>
KeptTry newton_with_kept(const NewtonOptions& newton, const MatrixForm& form, const KeptMatrix& kept,
                         const Array& c, const F& f, const Array& start, const Size& size,
                         const Evaluate& evaluate) {
  const auto goes_on = [](const KeptTry& t) { return !t.found && t.tries < 2; };
  const auto attempt = [&](const KeptTry& t) {
    const KeptMatrix matrix = t.matrix.fit_for(form, c, t.tries > 0, evaluate);
    const Array weight = 2 / (1 + c / matrix.scale);
    const NewtonEnd end = newton_end(
        newton, start, [&](const Array& at) { return weight * matrix.factors.solve(f(at)); }, size);
    return KeptTry{end.u, end.found, where(matrix.jacobian_age == 0, std::int64_t{2}, t.tries + 1), matrix,
                   more_work(t.work, end.count, matrix.jacobian_age == 0, matrix.factors_age == 0)};
  };
  const Array none = array(std::int64_t{0});
  KeptTry end = while_loop(goes_on, attempt, KeptTry{start, array(false), none, kept, {none, none, none}},
                           {.kind = Loop::Lax});
  end.matrix.jacobian_age = end.matrix.jacobian_age + 1;
  end.matrix.factors_age = end.matrix.factors_age + 1;
  return end;
}

}  // namespace apsis::detail
