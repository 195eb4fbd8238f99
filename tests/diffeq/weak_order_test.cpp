// Weak orders of stochastic solvers by regression, without sampling: what a step makes of a function of the
// state is taken by quadrature over the increments of the path, and the exact law by its equation.
//
// The state is an angle. The means of a function after many steps, as a function of the angle at first, are
// powers of a matrix on trigonometric polynomials; the exact ones are exp(t L), L the generator (Kloeden,
// Platen, Numerical Solution of Stochastic Differential Equations, 2.5 and 9.7).

#include <cmath>
#include <numbers>

#include "diffeq/any_solver.hpp"
#include "diffeq/regression.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

/// A step's increments, given.
struct GivenPath {
  Array w, h, k;
  Array evaluate(const Array&, const Array&) const { return w; }
  detail::PathTraits path_traits() const {
    return {.brownian = true, .levy_area = LevyArea::SpaceTimeTime, .name = "GivenPath"};
  }
  std::vector<Array> start_memory() const { return {}; }
  detail::FlatIncrement flat_increment(const Array&, const Array&, std::vector<Array>&) const {
    return {{w}, {h}, {k}};
  }
};

Array drift(const Array& y) { return 0.6 + 0.8 * sin(y) + 0.3 * cos(2. * y); }
/// Of two motions; general noise does not commute, though the state is one number.
Array noise(NoiseKind kind, const Array& y) {
  if (kind == NoiseKind::Additive) return array({0.7, 0.3});
  if (kind == NoiseKind::Commutative) return stack({0.7 + 0.3 * sin(y), 0. * y});
  return stack({0.7 + 0.2 * cos(y), 0.5 * sin(y)});
}

constexpr std::int64_t modes = 16, angles = 2 * modes + 1;

/// 1, cos y, …, sin y, …: rows of a matrix for a vector of angles.
Array waves(const Array& y) {
  const Array k = astype(arange(modes), f64) + 1.;
  const Array ky = expand_dims(y, -1) * k;
  return concatenate({ones_like(expand_dims(y, -1)), cos(ky), sin(ky)}, -1);
}
/// The generator at one angle: what it makes of each wave.
Array generator(NoiseKind kind, Calculus calculus, const Array& y) {
  const Array k = astype(arange(modes), f64) + 1.;
  const auto g = [kind](const Array& at) { return noise(kind, at); };
  const auto [b, slope] = jvp(g, std::tuple{y}, std::tuple{ones_like(y)});
  const Array ito = calculus == Calculus::Ito ? zeros_like(y) : 0.5 * sum(b * slope);
  const Array a = drift(y) + ito, half = 0.5 * sum(b * b);
  return concatenate({zeros({1}), -a * k * sin(k * y) - half * k * k * cos(k * y),
                      a * k * cos(k * y) - half * k * k * sin(k * y)});
}

/// Gauss and Hermite's rule of five nodes for a standard normal number, exact to degree 9.
const std::vector<double> nodes = {-2.856970013872806, -1.355626179974266, 0., 1.355626179974266,
                                   2.856970013872806},
                          node_weights = {0.011257411327720688, 0.22207592200561264, 8. / 15,
                                          0.22207592200561264, 0.011257411327720688};
/// All choices of W and H of two motions, [625, 4], and their weights.
std::pair<Array, Array> increments() {
  std::vector<double> z, weights;
  for (int i = 0; i < 625; ++i) {
    double weight = 1;
    for (int j = 0, rest = i; j < 4; ++j, rest /= 5) {
      z.push_back(nodes[static_cast<std::size_t>(rest % 5)]);
      weight *= node_weights[static_cast<std::size_t>(rest % 5)];
    }
    weights.push_back(weight);
  }
  return {reshape(array(z), {625, 4}), array(weights)};
}

/// The greatest error of the means of two functions at time 1, over all angles at first, by 8 to 64 steps.
std::vector<double> weak_errors(const Whole& solver, NoiseKind kind) {
  const Array at = astype(arange(angles), f64) * (2 * std::numbers::pi / static_cast<double>(angles));
  const auto [z, weights] = increments();
  // Functions are vectors of their values at the angles; `fit` makes coefficients of waves of them.
  const Array fit = linalg::inv(waves(at)), first = stack({cos(at), sin(2. * at)}, -1);
  const Calculus calculus = solver.traits().calculus;
  const Array law = vmap([&](const Array& y) { return generator(kind, calculus, y); })(at);
  const Array exact = matmul(linalg::expm(matmul(law, fit)), first);
  const auto after = [&](const Array& h) {
    const auto next = [&](const Array& y, const Array& x) {
      const Array root = sqrt(h);
      const GivenPath path{root * x[range(0, 2)], root / std::sqrt(12.) * x[range(2, 4)], zeros({2})};
      const auto f = [](const Array&, const Array& u) { return drift(u); };
      const auto g = [kind](const Array&, const Array& u) { return noise(kind, u); };
      return diffeqsolve(MultiTerm{ODETerm{f}, ControlTerm{g, path}}, solver, 0., h, h, y).ys[-1];
    };
    const auto mean_waves = [&](const Array& y) {
      const Array ends = vmap([&](const Array& x) { return next(y, x); })(z);
      return matmul(weights, waves(ends));
    };
    return matmul(vmap(mean_waves)(at), fit);
  };
  const auto step = jit(after);
  std::vector<double> errors;
  for (const std::int64_t steps : {8, 16, 32, 64}) {
    const Array means =
        matmul(linalg::matrix_power(step(array(1. / static_cast<double>(steps))), steps), first);
    errors.push_back(max(abs(means - exact)).item<double>());
  }
  return errors;
}

struct Claim {
  const char* name;
  NoiseKind kind;
  double order;
};
constexpr Claim claims[] = {
    {"euler", NoiseKind::General, 1.},
    {"heun", NoiseKind::Additive, 2.},
    {"midpoint", NoiseKind::Additive, 1.},
    {"ralston", NoiseKind::Additive, 1.},
    {"euler_heun", NoiseKind::Additive, 1.},
    {"heun", NoiseKind::General, 1.},
    {"midpoint", NoiseKind::General, 1.},
    {"ralston", NoiseKind::General, 1.},
    {"euler_heun", NoiseKind::General, 1.},
    {"ito_milstein", NoiseKind::Commutative, 1.},
    {"stratonovich_milstein", NoiseKind::Commutative, 1.},
    {"sea", NoiseKind::Additive, 1.},
    {"sra1", NoiseKind::Additive, 2.},
    {"shark", NoiseKind::Additive, 2.},
    {"slow_rk", NoiseKind::Commutative, 2.},
    {"general_shark", NoiseKind::Additive, 2.},
    {"general_shark", NoiseKind::Commutative, 1.},
    {"general_shark", NoiseKind::General, 1.},
    {"spark", NoiseKind::Additive, 2.},
    {"spark", NoiseKind::Commutative, 1.},
    {"spark", NoiseKind::General, 1.},
};

TEST(Noise, WeakOrdersByQuadrature) {
  for (const Claim& claim : claims)
    for (const Stochastic& s : stochastic_solvers()) {
      if (s.name != claim.name) continue;
      const std::vector<double> e = weak_errors(s.solver, claim.kind);
      EXPECT_NEAR(slope_of(e), claim.order, 0.15) << s.name << " of kind " << static_cast<int>(claim.kind)
                                                  << ", errors " << ::testing::PrintToString(e);
    }
}

// A particle on a spring, dx = v dt, dv = -γ v dt - u c x dt + √(2 γ u) dW. A step is linear in the state and
// in W, H and K, so that its second moments follow from what it makes of unit vectors; the exact ones solve a
// linear equation.
template <class Solver>
double order_of_moments(const Solver& solver) {
  constexpr double gamma = 0.8, u = 1.3, c = 1.7;
  const auto step = jit([&](const Array& h, const Array& z) {
    const GivenPath path{z[2], z[3], z[4]};
    const auto force = [](const Array& x) { return c * x; };
    const auto sol =
        diffeqsolve(underdamped_langevin(gamma, u, force, path), solver, 0., h, h, std::pair{z[0], z[1]});
    return stack({sol.ys.first[-1], sol.ys.second[-1]});
  });
  const Array first = array({{1., -0.5}, {-0.5, 0.25}});  // of the state (1, -1/2)
  // The moments x², xv, v², and 1.
  const Array law = array({{0., 2., 0., 0.},
                           {-u * c, -gamma, 1., 0.},
                           {0., -2 * u * c, -2 * gamma, 2 * gamma * u},
                           {0., 0., 0., 0.}});
  const Array exact = matmul(linalg::expm(law), array({1., -0.5, 0.25, 1.}));
  std::vector<double> errors;
  for (const double steps : {8., 16., 32., 64.}) {
    const double h = 1 / steps;
    const Array made = transpose(vmap([&](const Array& z) { return step(array(h), z); })(eye(5)));
    const Array a = made(range(), range(0, 2)), b = made(range(), range(2, 5));
    const Array noise = matmul(b * array({h, h / 12, h / 720}), transpose(b));
    Array moments = first;
    for (int i = 0; i < static_cast<int>(steps); ++i)
      moments = matmul(matmul(a, moments), transpose(a)) + noise;
    const Array off = stack({moments(0, 0), moments(0, 1), moments(1, 1)}) - exact[range(0, 3)];
    errors.push_back(max(abs(off)).item<double>());
  }
  return slope_of(errors);
}
TEST(Noise, WeakOrdersOfLangevinSolvers) {
  EXPECT_NEAR(order_of_moments(ALIGN{}), 2., 0.15);
  EXPECT_NEAR(order_of_moments(ShOULD{}), 3., 0.15);
  EXPECT_NEAR(order_of_moments(QUICSORT{}), 3., 0.15);
}

}  // namespace
}  // namespace apsis::testing
