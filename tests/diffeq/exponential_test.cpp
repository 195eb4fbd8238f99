// Exponential integrators: what is linear is exact, whatever the length of the step.

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>
#include <apsis/apsis.hpp>

#include "diffeq/regression.hpp"

namespace apsis::testing {
namespace {

const auto none = [](const Array&, const Array& y) { return 0. * y; };
double greatest(const Array& a) { return max(abs(a)).item<double>(); }

TEST(ETDRK4, IsExactForLinearEquationsFullAndDiagonal) {
  const Array full = array({{-1., 30., 0.}, {-30., -1., 2.}, {0.5, 0., -4000.}});
  const auto by_matrix = [&](const Array&, const Array& y) { return matmul(full, y); };
  const Array y0 = array({1., -0.5, 2.});
  const auto end = [&](const auto& linear, double t0, double t1, double dt) {
    return diffeqsolve(MultiTerm{ODETerm{none}, ODETerm{linear}}, ETDRK4{}, t0, t1, dt, y0).ys[-1];
  };
  const Array exact = matmul(linalg::expm(full), y0);
  for (double dt : {1., 0.5, 0.0625}) EXPECT_LT(greatest(end(by_matrix, 0., 1., dt) - exact), 1e-12) << dt;

  // Of all sizes, and so small that closed forms would cancel.
  const Array rates = array({-1e-9, -0.3, -1e5});
  const auto by_rates = [&](const Array&, const Array& y) { return rates * y; };
  EXPECT_LT(greatest(end(by_rates, 0., 1., 0.25) - exp(rates) * y0), 1e-14);
  // And back, without what would grow beyond all numbers.
  const auto slow = [](const Array&, const Array& y) { return array({-1e-9, -0.3, 2.}) * y; };
  EXPECT_LT(greatest(end(slow, 1., 0., -0.25) - exp(-array({-1e-9, -0.3, 2.})) * y0), 1e-14);
}

// What the second term has beyond L y belongs to the first: sources, and a time.
TEST(ETDRK4, TakesSourcesInEitherTerm) {
  const auto decay = [](const Array&, const Array& y) { return -1e4 * y; };
  const auto source = [](const Array& t, const Array& y) { return 1e4 * cos(t) + 0. * y; };
  const auto both = [&](const Array& t, const Array& y) { return decay(t, y) + source(t, y); };
  const auto end = [](const auto& f, const auto& l) {
    return diffeqsolve(MultiTerm{ODETerm{f}, ODETerm{l}}, ETDRK4{}, 0., 1., 0.05, array({1.}))
        .ys[-1][0]
        .template item<double>();
  };
  const double a = end(source, decay), b = end(none, both);
  EXPECT_NEAR(a, b, 1e-11);
  EXPECT_NEAR(a, std::cos(1.) + std::sin(1.) / 1e4, 1e-6);
}

/// Viscous Burgers' equation u_t = ν u_xx - u u_x on [0, 1], 0 at both ends, by n inner points; full, or by
/// its sine modes, where the linear part is diagonal.
struct Burgers {
  std::int64_t n = 48;
  double nu = 0.02;
  Array x() const { return linspace(0., 1., n + 2)[range(1, n + 1)]; }
  Array laplacian(const Array& u) const {
    const double h = 1. / static_cast<double>(n + 1);
    const Array wide = concatenate({zeros({1}), u, zeros({1})});
    return (nu / (h * h)) * (wide[range(2, {})] - 2 * u + wide[range(0, -2)]);
  }
  Array transport(const Array& u) const {
    const Array wide = concatenate({zeros({1}), u, zeros({1})});
    return (-0.25 * static_cast<double>(n + 1)) * (square(wide[range(2, {})]) - square(wide[range(0, -2)]));
  }
  Array modes() const {
    const Array k = arange(n) + 1.;
    return sin((std::numbers::pi / static_cast<double>(n + 1)) * expand_dims(k, 1) * k) *
           std::sqrt(2. / static_cast<double>(n + 1));
  }
  Array eigenvalues() const {
    const double h = 1. / static_cast<double>(n + 1);
    return (-4 * nu / (h * h)) * square(sin((0.5 * std::numbers::pi * h) * (arange(n) + 1.)));
  }
};

TEST(ETDRK4, HasOrderFourOnAStiffEquationByBothForms) {
  const Burgers b;
  const Array u0 = sin(std::numbers::pi * b.x()), m = b.modes(), rates = b.eigenvalues();
  const auto full = [&](const Array& dt) {
    const auto f = [&](const Array&, const Array& u) { return b.transport(u); };
    const auto l = [&](const Array&, const Array& u) { return b.laplacian(u); };
    return diffeqsolve(MultiTerm{ODETerm{f}, ODETerm{l}}, ETDRK4{}, 0., 0.5, dt, u0).ys[-1];
  };
  const auto diagonal = [&](const Array& dt) {
    const auto f = [&](const Array&, const Array& c) { return matmul(m, b.transport(matmul(m, c))); };
    const auto l = [&](const Array&, const Array& c) { return rates * c; };
    return matmul(
        m, diffeqsolve(MultiTerm{ODETerm{f}, ODETerm{l}}, ETDRK4{}, 0., 0.5, dt, matmul(m, u0)).ys[-1]);
  };
  const auto by_full = jit(full);
  const auto by_modes = jit(diagonal);
  const Array exact = by_full(array(0.5 / 1024));
  std::vector<double> errors;
  for (double steps : {32., 64., 128.}) {
    const Array y = by_full(array(0.5 / steps));
    errors.push_back(greatest(y - exact));
    EXPECT_LT(greatest(y - by_modes(array(0.5 / steps))), 1e-12) << steps;
  }
  EXPECT_NEAR(slope_of(errors), 4, 0.3);
  EXPECT_LT(errors[2], 1e-7);
}

// Functions of the matrix are kept while steps have one length; derivatives by the matrix, and by the end and
// with it the length of steps, are those of functions that are made anew.
TEST(ETDRK4, KeptFunctionsHaveTheirDerivatives) {
  struct Given {
    Array matrix, t1;
  };
  const auto end = [](const Given& g) {
    const auto f = [](const Array& t, const Array& y) { return sin(t + y) * y; };
    const auto l = [&](const Array&, const Array& y) { return matmul(g.matrix, y); };
    const Array y =
        diffeqsolve(MultiTerm{ODETerm{f}, ODETerm{l}}, ETDRK4{}, 0., g.t1, 0.125 * g.t1, array({1., 0.3}))
            .ys[-1];
    return y[0] + 2. * y[1];
  };
  const Given at{array({{-2., 1.}, {0.5, -30.}}), array(1.)};
  const auto value = jit(end);
  const Given by_reverse = jit(grad(end))(at);
  const auto difference = [&](const auto& moved) {
    const double h = 1e-5;
    return (value(moved(h)) - value(moved(-h))).template item<double>() / (2 * h);
  };
  EXPECT_NEAR(by_reverse.t1.item<double>(), difference([&](double h) {
                return Given{at.matrix, at.t1 + h};
              }),
              1e-8);
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 2; ++j)
      EXPECT_NEAR(by_reverse.matrix(i, j).item<double>(), difference([&](double h) {
                    return Given{at.matrix.at(i, j).add(h), at.t1};
                  }),
                  1e-8);
  const auto by_entry = [&](const Array& a) { return end({at.matrix.at(0, 1).set(a), at.t1}); };
  const double h = 1e-4;
  const auto first = jit(grad(by_entry));
  EXPECT_NEAR(jit(grad(grad(by_entry)))(array(1.)).item<double>(),
              (first(array(1. + h)) - first(array(1. - h))).item<double>() / (2 * h), 1e-6);
}

TEST(ETDRK4, AdaptsByHalvesAndRefusesToWithout) {
  const Burgers b;
  const Array u0 = sin(std::numbers::pi * b.x());
  const auto f = [&](const Array&, const Array& u) { return b.transport(u); };
  const auto l = [&](const Array&, const Array& u) { return b.laplacian(u); };
  const MultiTerm term{ODETerm{f}, ODETerm{l}};
  const SolveOptions options{.controller = PIDController{.rtol = 1e-6, .atol = 1e-8}};
  const Array y = diffeqsolve(term, HalfSolver{ETDRK4{}}, 0., 0.5, {}, u0, options).ys[-1];
  const Array other = diffeqsolve(term, KenCarp5{}, 0., 0.5, {}, u0,
                                  {.controller = PIDController{.rtol = 1e-9, .atol = 1e-11}})
                          .ys[-1];
  EXPECT_LT(greatest(y - other), 1e-5);
  EXPECT_THROW(diffeqsolve(term, ETDRK4{}, 0., 0.5, {}, u0, options), Error);
}

TEST(ETDRK4, TakesTreesEmptyStatesAndSinglePrecision) {
  struct State {
    Array a, b;
  };
  const auto f = [](const Array&, const State& y) { return State{0. * y.a, 0. * y.b}; };
  const auto l = [](const Array&, const State& y) { return State{-2.f * y.a, -1000.f * y.b}; };
  const auto sol = diffeqsolve(MultiTerm{ODETerm{f}, ODETerm{l}}, ETDRK4{}, 0.f, 1.f, 0.25f,
                               State{array({1.f, 2.f}), ones({2, 2}, f32)});
  EXPECT_EQ(sol.ys.a.dtype(), f32);
  EXPECT_NEAR(sol.ys.a[-1][1].item<double>(), 2 * std::exp(-2.), 1e-6);
  EXPECT_LT(greatest(sol.ys.b), 1e-7);
  const auto decay = [](const Array&, const Array& y) { return -y; };
  EXPECT_EQ(
      diffeqsolve(MultiTerm{ODETerm{none}, ODETerm{decay}}, ETDRK4{}, 0., 1., 0.5, zeros({0})).ys.size(), 0);
}

}  // namespace
}  // namespace apsis::testing
