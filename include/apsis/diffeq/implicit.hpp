#pragma once

// Solvers for stiff equations: those whose slopes pull back to a slow solution much faster than that changes,
// so that explicit steps must be short for stability alone. All of them use the Jacobian of the vector field,
// by forward mode, as a dense matrix: for states of up to some hundred elements.

#include <vector>

#include "apsis/diffeq/solver.hpp"

namespace apsis {

/// How the equations within a step are solved: by Newton's method with the Jacobian of one stage for all
/// stages of the step (Diffrax: VeryChord).
struct NewtonOptions {
  /// What changes of the state are small: atol + rtol |y|, in the greatest element. Empty: those of the step
  /// size controller; without either the solve is refused.
  Array rtol = {}, atol = {};
  /// It ends where the error that is left, by the rate of convergence, is below kappa times that.
  double kappa = 0.01;
  /// After so many iterations the step fails, and a controller such as PIDController tries a shorter one.
  int max_steps = 10;
};

/// A diagonally implicit Runge-Kutta method with an explicit first stage (ESDIRK), alone or as the implicit
/// half of a method that splits the equation. Stage i solves k[i] = f(t + c[i] h, y + h Σ a[i][j] k[j]), the
/// sum up to j = i; the step is y1 = y + h Σ b[i] k[i]. A solve checks the table before anything else. A
/// solver of your own is a struct with a static `method()` that returns one, and a member `NewtonOptions
/// newton` if you like.
struct DiagonallyImplicitRungeKutta {
  const char* name;
  int order;
  int error_order;  ///< that controllers go by
  std::vector<double> c;
  /// Row i has i + 1 entries, the last one on the diagonal: 0 in the first row, and above 0 in the others. As
  /// long as it is the same one factorisation serves all stages.
  std::vector<std::vector<double>> a;
  std::vector<double> b, error;  ///< as in RungeKutta
  /// Row i has i entries whose sum is 1: the first guess of k[i] by the slopes before.
  std::vector<std::vector<double>> predictor;
  /// As in RungeKutta; empty: the cubic through both ends with the slopes of the first and the last stage.
  std::vector<std::vector<double>> dense;
  /// Row i has i entries: of the slopes of the term that is integrated explicitly, which has c and dense in
  /// common with the other, and b and error unless explicit_b and explicit_error are given. Empty: the method
  /// is not split.
  std::vector<std::vector<double>> explicit_a = {};
  /// The last stage is the slope at the end of the step, and so the next step's first.
  bool first_same_as_last = false;
  std::vector<double> explicit_b = {}, explicit_error = {};  ///< those of the explicit half; empty: the same

  std::size_t stages() const { return b.size(); }
};
/// Throws if rows are of other lengths than the stages ask for, sums are not what they must be, or the order
/// (up to 3) is not that of the coefficients; all up to 1e-9.
void check_table(const DiagonallyImplicitRungeKutta& method, Loc loc = Loc::here());

/// Implicit Euler, order 1; the trapezoidal rule tells the error. Damps whatever is fast, and much that is
/// not.
struct ImplicitEuler {
  NewtonOptions newton = {};
  static const DiagonallyImplicitRungeKutta& method();
};
/// Kværnø's methods of orders 3(2), 4(3) and 5(4), L-stable and stiffly accurate: Singly diagonally implicit
/// Runge-Kutta methods with an explicit first stage, BIT 44, 2004.
struct Kvaerno3 {
  NewtonOptions newton = {};
  static const DiagonallyImplicitRungeKutta& method();
};
/// Of order 4(3), see Kvaerno3.
struct Kvaerno4 {
  NewtonOptions newton = {};
  static const DiagonallyImplicitRungeKutta& method();
};
/// Of order 5(4), see Kvaerno3.
struct Kvaerno5 {
  NewtonOptions newton = {};
  static const DiagonallyImplicitRungeKutta& method();
};
/// Kennedy and Carpenter's methods of orders 3(2), 4(3) and 5(4) that split the equation: they take
/// MultiTerm{ODETerm{f}, ODETerm{g}}, and integrate f explicitly and g, the stiff part, implicitly. Additive
/// Runge-Kutta schemes for convection-diffusion-reaction equations, Appl. Numer. Math. 44, 2003.
struct KenCarp3 {
  static constexpr TermStructure terms = TermStructure::Split;
  NewtonOptions newton = {};
  static const DiagonallyImplicitRungeKutta& method();
};
/// Of order 4(3), see KenCarp3.
struct KenCarp4 {
  static constexpr TermStructure terms = TermStructure::Split;
  NewtonOptions newton = {};
  static const DiagonallyImplicitRungeKutta& method();
};
/// Of order 5(4), see KenCarp3.
struct KenCarp5 {
  static constexpr TermStructure terms = TermStructure::Split;
  NewtonOptions newton = {};
  static const DiagonallyImplicitRungeKutta& method();
};

/// Whitaker and Kar's method of four stages for waves that are fast and others that are slow: of order 3 for
/// the explicit term, 2 for the implicit one and so for both. Implicit-explicit Runge-Kutta methods for
/// fast-slow wave problems, Mon. Weather Rev. 141, 2013.
struct Sil3 {
  static constexpr TermStructure terms = TermStructure::Split;
  NewtonOptions newton = {};
  static const DiagonallyImplicitRungeKutta& method();
};

/// A Rosenbrock method: stage i solves a linear equation with the matrix W = 1 - γ h ∂f/∂y of the start of
/// the step,
///   W u[i] = γ (h f(t + c[i] h, y + Σ a[i][j] u[j]) + Σ coupling[i][j] u[j] + d[i] h² ∂f/∂t),
/// with a mass matrix M in the place of the 1, and before Σ coupling,
/// and y1 = y + Σ b[j] u[j]. (Hairer, Wanner, Solving Ordinary Differential Equations II, IV.7.) Jacobian and
/// time derivative are exact, by forward mode; no iterations, so no step fails. A solve checks the table.
struct Rosenbrock {
  const char* name;
  int order;
  int error_order;  ///< that controllers go by
  double gamma;
  std::vector<double> c, d;
  std::vector<std::vector<double>> a, coupling;  ///< row i has i entries
  std::vector<double> b, error;                  ///< error: weights of the u; empty: no estimate
  /// y(t + θ h) = (1 - θ) y + θ (y1 + (1 - θ) (D[0] + θ (D[1] + …))), where D[r] = Σ dense[r][j] u[j].
  std::vector<std::vector<double>> dense;

  std::size_t stages() const { return b.size(); }
};
/// Throws if rows are of other lengths than the stages ask for, or coefficients are not finite.
void check_table(const Rosenbrock& method, Loc loc = Loc::here());

/// Steinebach's method of order 5(4), 8 stages, L-stable and stiffly accurate, with dense output of order 4:
/// Construction of Rosenbrock-Wanner method Rodas5P and numerical benchmarks within the Julia Differential
/// Equations package, BIT 63, 2023. The usual choice for stiff problems of up to some dozen elements.
struct Rodas5P {
  static const Rosenbrock& method();
};

namespace detail {

StepTraits implicit_traits(const DiagonallyImplicitRungeKutta& method);
void check_newton(const NewtonOptions& newton, const char* name, Loc loc);
std::vector<Array> implicit_start(const DiagonallyImplicitRungeKutta& method, const SolverStart& start);
SolverAttempt implicit_step(const DiagonallyImplicitRungeKutta& method, const NewtonOptions& newton,
                            const SolverStep& step);
std::vector<Array> implicit_dense(const DiagonallyImplicitRungeKutta& method, const DenseStep& step);

template <>
struct SolverFamily<DiagonallyImplicitRungeKutta> {
  template <class S>
  static NewtonOptions newton(const void* self) {
    if constexpr (requires(const S& s) { s.newton; })
      return static_cast<const S*>(self)->newton;
    else
      return {};
  }
  template <class S>
  static SolverRef ref(const S& solver) {
    SolverRef r{&solver, implicit_traits(S::method()), {}, {}, {}, {}};
    r.check = [](const void* self, Loc loc) {
      check_table(S::method(), loc);
      check_newton(newton<S>(self), S::method().name, loc);
    };
    r.init = [](const void*, const SolverStart& s) { return implicit_start(S::method(), s); };
    r.step = [](const void* self, const SolverStep& s) {
      return implicit_step(S::method(), newton<S>(self), s);
    };
    r.interpolate = [](const void*, const DenseStep& s) { return implicit_dense(S::method(), s); };
    return r;
  }
};

SolverRef rosenbrock_solver(const Rosenbrock& table);
template <>
struct SolverFamily<Rosenbrock> {
  template <class S>
  static SolverRef ref(const S&) {
    return rosenbrock_solver(S::method());
  }
};

}  // namespace detail
}  // namespace apsis
