#pragma once

#include <cstddef>
#include <vector>

#include "apsis/diffeq/solver.hpp"

namespace apsis {

/// An explicit Runge-Kutta method. Stage i evaluates the slope k[i] at time t + c[i] h and state y + h Σ
/// a[i][j] k[j]; the step is y1 = y + h Σ b[i] k[i]. A solve checks the table before anything else.
///
/// A solver of your own is a struct with a table:
///   struct Own {
///     static const RungeKutta& method() {
///       static const RungeKutta table{.name = "Own", .order = 2, .c = {0, 0.5}, .a = {{}, {0.5}},
///                                     .b = {0, 1}, .dense = linear_output({0, 1})};
///       return table;
///     }
///   };
struct RungeKutta {
  const char* name;
  int order;
  std::vector<double> c;
  std::vector<std::vector<double>> a;  ///< row i has i entries
  std::vector<double> b;
  std::vector<double> error;  ///< b minus the weights of the embedded method; empty: no estimate of the error
  /// Dense output: y(t + θ h) = y + h Σ_d θ^(d+1) Σ_i dense[d][i] k[i].
  std::vector<std::vector<double>> dense;
  /// The last stage is the slope at the end of the step, and so the next step's first.
  bool first_same_as_last = false;
  /// With Brownian motion the method is that for the equation along it as a straight line in each step: what
  /// it then converges to, and the strong order; 0: it is refused.
  Calculus calculus = Calculus::Any;
  double strong_order = 0;

  std::size_t stages() const { return b.size(); }
};

/// Throws if a row is of another length than its stage asks for, c[i] is not the sum of a[i], b does not add
/// up to 1, error to 0, dense output does not end in b, or first_same_as_last or the order (up to 4) is not
/// that of the coefficients; all up to 1e-9.
void check_table(const RungeKutta& method, Loc loc = Loc::here());

/// Dense output by the straight line.
std::vector<std::vector<double>> linear_output(const std::vector<double>& b);
/// Dense output by the cubic through both ends with the slopes of the first and the last stage (Hairer,
/// Nørsett, Wanner, Solving Ordinary Differential Equations I, II.6).
std::vector<std::vector<double>> hermite_output(const std::vector<double>& b);

/// Euler's method, order 1, no error estimate: needs ConstantStepSize or StepTo. With Brownian motion
/// Maruyama's: Itô, strong order 1/2 (1 for additive noise), weak order 1.
struct Euler {
  static const RungeKutta& method();
};
/// Euler's method by its name with Brownian motion.
using EulerMaruyama = Euler;
/// Heun's method, order 2, with Euler's as embedded method. With Brownian motion, as the two below:
/// Stratonovich, strong order 1/2 (1 for commutative noise).
struct Heun {
  static const RungeKutta& method();
};
/// The midpoint rule, order 2, with Euler's as embedded method.
struct Midpoint {
  static const RungeKutta& method();
};
/// Ralston's method, order 2, with the least bound of the error: Runge-Kutta methods with minimum error
/// bounds, Math. Comp. 16, 1962. With Euler's as embedded method.
struct Ralston {
  static const RungeKutta& method();
};
/// Bogacki and Shampine's 3(2) pair: A 3(2) pair of Runge-Kutta formulas, Appl. Math. Lett. 2, 1989.
struct Bosh3 {
  static const RungeKutta& method();
};
/// Tsitouras' 5(4) pair: Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying
/// assumption, Comput. Math. Appl. 62, 2011. The usual choice for problems that are not stiff.
struct Tsit5 {
  static const RungeKutta& method();
};
/// Dormand and Prince's 5(4) pair: A family of embedded Runge-Kutta formulae, J. Comput. Appl. Math. 6, 1980;
/// dense output by Shampine, Some practical Runge-Kutta formulas, Math. Comp. 46, 1986.
struct Dopri5 {
  static const RungeKutta& method();
};
/// Prince and Dormand's 8(7) pair: High order embedded Runge-Kutta formulae, J. Comput. Appl. Math. 7, 1981;
/// dense output by Bogacki and Shampine, Interpolating high-order Runge-Kutta formulas, Comput. Math. Appl.
/// 20, 1990. For tight tolerances. What is saved within steps is of order 6, at their ends of order 8.
struct Dopri8 {
  static const RungeKutta& method();
};
/// Verner's 7(6) pair: Numerically optimal Runge-Kutta pairs with interpolants, Numer. Algorithms 53, 2010.
/// Dense output is of order 7, too: six more slopes a step, where it is asked for.
struct Vern7 {
  static const RungeKutta& method();
};
/// Verner's 9(8) pair, as Vern7, for tolerances near rounding. Dense output of order 9: ten more slopes a
/// step.
struct Vern9 {
  static const RungeKutta& method();
};

namespace detail {
SolverRef explicit_solver(const RungeKutta& table);
template <>
struct SolverFamily<RungeKutta> {
  template <class S>
  static SolverRef ref(const S&) {
    return explicit_solver(S::method());
  }
};
}  // namespace detail

}  // namespace apsis
