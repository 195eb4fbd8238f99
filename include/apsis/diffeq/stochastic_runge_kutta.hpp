#pragma once

// Stochastic Runge-Kutta methods, for Stratonovich equations, with the space-time Lévy area H of Brownian
// motion: make the path with {.levy_area = LevyArea::SpaceTime}.

#include <vector>

#include "apsis/diffeq/solver.hpp"

namespace apsis {

/// The coefficients of W, or of a Lévy area, in the stages and the result of a StochasticRungeKutta. Of
/// additive noise `a` has a row of one number for each stage, and `b` one number.
struct StochasticCoefficients {
  std::vector<std::vector<double>> a;
  std::vector<double> b;
  std::vector<double> error = {};  ///< as b, of the estimated error
};

/// A stochastic Runge-Kutta method for dy = f dt + g dW. Stage i is at t + c[i] h and
///   z[i] = y + h Σ a[i][j] f[j] + Σ w.a[i][j] g[j]·W + Σ h.a[i][j] g[j]·H,
/// and so is the result by the b. Where the noise is additive there is one g, that at t, and to the result
/// ½ (g(t + h) - g(t))·(W - 2 H) is added. Slopes and vector fields that no coefficient uses cost nothing.
/// (Foster, dos Reis, Strange, High order splitting methods for SDEs satisfying a commutativity condition,
/// SIAM J. Numer. Anal. 62, 2024.) A solver of your own is a struct with a static `method()` that returns
/// one.
struct StochasticRungeKutta {
  const char* name;
  int order;  ///< without noise
  double strong_order;
  NoiseKind noise = NoiseKind::General;  ///< what it takes
  std::vector<double> c;
  std::vector<std::vector<double>> a;  ///< row i has i entries
  std::vector<double> b, error = {};
  StochasticCoefficients w;
  StochasticCoefficients h;  ///< without entries: the Lévy area is not asked for

  std::size_t stages() const { return b.size(); }
};
/// Throws if lists are of other lengths than stages ask for, c is not the sum of a, b and w.b do not add up
/// to 1, or h.b to 0.
void check_table(const StochasticRungeKutta& method, Loc loc = Loc::here());

/// Shifted Euler for additive noise: strong order 1, with a smaller error than Euler's. One slope a step.
/// (Foster, dos Reis, Strange, equation 5.8.)
struct SEA {
  static const StochasticRungeKutta& method();
};
/// Rößler's method for additive noise, strong order 3/2: Runge-Kutta methods for the strong approximation of
/// solutions of stochastic differential equations, SIAM J. Numer. Anal. 48, 2010. With an error estimate.
struct SRA1 {
  static const StochasticRungeKutta& method();
};
/// Shifted additive-noise Runge-Kutta, strong order 3/2, with an error estimate. The usual choice for
/// additive noise. (Foster, dos Reis, Strange, equation 6.1.)
struct ShARK {
  static const StochasticRungeKutta& method();
};
/// ShARK for any noise: strong order 1/2, 1 where it is commutative, 3/2 where it is additive. Two slopes and
/// three vector fields a step.
struct GeneralShARK {
  static const StochasticRungeKutta& method();
};
/// For commutative noise, strong order 3/2: two slopes and five vector fields a step. (Foster, dos Reis,
/// Strange, equation 6.2.)
struct SlowRK {
  static const StochasticRungeKutta& method();
};
/// Splitting path Runge-Kutta, for any noise and adaptive steps: orders as those of GeneralShARK, with an
/// error estimate. (Foster, On the convergence of adaptive approximations for stochastic differential
/// equations, arXiv:2311.14201, definition 1.6.)
struct SPaRK {
  static const StochasticRungeKutta& method();
};

namespace detail {
SolverRef stochastic_solver(const StochasticRungeKutta& table);
template <>
struct SolverFamily<StochasticRungeKutta> {
  template <class S>
  static SolverRef ref(const S&) {
    return stochastic_solver(S::method());
  }
};
}  // namespace detail

}  // namespace apsis
