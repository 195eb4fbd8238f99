// Terms of one's own: the same steps as by the library's terms, in all that a solve can be part of.

#include "apsis/apsis.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

/// A path of two numbers.
struct Wave {
  Array evaluate(const Array& t0, const Array& t1) const { return at(t1) - at(t0); }
  Array derivative(const Array& t) const { return stack({cos(t), 2. * t}); }
  static Array at(const Array& t) { return stack({sin(t), t * t}); }
};
Array matrix_of(const Array& p, const Array& y) {
  return stack({stack({p * y[1], 1.}), stack({-y[0], p * y[0]})});
}
/// A ControlTerm by hand.
template <class P>
struct Contracted {
  Array p;
  P control;
  Array vector_field(const Array&, const Array& y) const { return matrix_of(p, y); }
  Array product(const Array& field, const Array& dx) const { return tensordot(field, dx, 1); }
};
template <class P>
Contracted(Array, P) -> Contracted<P>;
template <class P>
auto given_of(const Array& p, const P& path) {
  return ControlTerm{[p](const Array&, const Array& y) { return matrix_of(p, y); }, path};
}

/// An ODETerm by hand.
struct Timed {
  Array rate;
  Array vector_field(const Array& t, const Array& y) const { return -rate * y + cos(t); }
  Array control(const Array& t0, const Array& t1) const { return t1 - t0; }
  Array product(const Array& slope, const Array& dt) const { return slope * dt; }
};

struct Weather {
  Array rain, sun;
};
struct Level {
  Array water;
  std::vector<Array> salts;
};
struct Ground {
  Level y;
  Array area;
};
/// Field, control and state are trees of three structures, of which two hold a vector.
struct Pond {
  Array area, drying;
  Ground vector_field(const Array&, const Level& y) const { return {y, area}; }
  std::pair<Weather, std::vector<Array>> control(const Array& t0, const Array& t1) const {
    return {{sin(t1) - sin(t0), t1 - t0}, {t1 * t1 - t0 * t0}};
  }
  Level product(const Ground& g, const std::pair<Weather, std::vector<Array>>& c) const {
    return {g.area * c.first.rain - drying * g.y.water * c.first.sun,
            {-g.y.salts[0] * c.second[0], g.y.water * c.first.sun}};
  }
};
Level rate_of(const Pond& p, const Array& t, const Level& y) {
  return {p.area * cos(t) - p.drying * y.water, {-2. * t * y.salts[0], y.water}};
}

static_assert(OwnTerm<Timed, Array> && OwnTerm<Contracted<Wave>, Array> && OwnTerm<Pond, Level>);
static_assert(!OwnTerm<Pond, Array> && !OwnTerm<ControlTerm<Timed, Wave>, Array>);

const Array y0 = array({1., 0.5});
const PIDController adaptive{.rtol = 1e-6, .atol = 1e-8};

TEST(OwnTerm, EqualsTheControlTermBitForBit) {
  const auto compare = [](const auto& path, const auto& solver, const SolveOptions& options) {
    const Array p = array(0.7);
    const auto drift = ODETerm{[](const Array&, const Array& y) { return -y; }};
    const auto ends = [&](const auto& term) {
      return stack({diffeqsolve(term, solver, 0., 1., 0.05, y0, options).ys[-1],
                    diffeqsolve(MultiTerm{drift, term}, solver, 0., 1., 0.05, y0, options).ys[-1]});
    };
    const Array own = ends(Contracted{p, path});
    EXPECT_TRUE(array_equal(own, ends(given_of(p, path))).template item<bool>());
    EXPECT_TRUE(array_equal(own, jit([&](const Array& q) {
                              return ends(Contracted{q, path});
                            })(p))
                    .template item<bool>());
  };
  compare(Wave{}, Tsit5{}, {.controller = adaptive});
  compare(Wave{}, Dopri5{}, {});
  compare(Wave{}, Euler{}, {});
  compare(Wave{}, Heun{}, {.controller = adaptive});
  compare(Wave{}, ReversibleHeun{}, {});
  const VirtualBrownianTree tree(0., 1., 0.01, {2}, random::key(2), {.levy_area = LevyArea::SpaceTime});
  const PIDController rough{.rtol = 0.05, .atol = 0.05, .dtmin = 0.01};
  compare(tree, Euler{}, {});
  compare(tree, EulerHeun{}, {});
  compare(tree, ReversibleHeun{}, {});
  compare(tree, GeneralShARK{}, {});
  compare(tree, SPaRK{}, {.controller = rough});
  compare(UnsafeBrownianPath({2}, random::key(3)), Heun{}, {});
}

// Steps of a power of two, by which increments are divided exactly.
TEST(OwnTerm, AlongTimeIsAnOdeTerm) {
  const Timed own{0.4};
  const ODETerm given{[](const Array& t, const Array& y) { return -0.4 * y + cos(t); }};
  const auto ends = [&](const auto& term, const auto& solver, const Array& t1) {
    return diffeqsolve(term, solver, 0., t1, t1 / 16., y0, {.saveat = {.steps = true}}).ys;
  };
  const auto compare = [&](const auto& solver) {
    for (const double t1 : {1., -2.})
      EXPECT_TRUE(array_equal(ends(own, solver, t1), ends(given, solver, t1)).template item<bool>());
  };
  compare(Euler{});
  compare(Heun{});
  compare(Tsit5{});
  compare(Dopri8{});
  const auto adaptively = [&](const auto& term) {
    return diffeqsolve(term, Tsit5{}, 0., 3., 0.1, y0, {.controller = adaptive}).ys[-1];
  };
  expect_near(adaptively(own), adaptively(given), 1e-14);
}

TEST(OwnTerm, IsOfTheDtypeOfTheState) {
  const Array start = astype(y0, f32);
  const auto end = [&](const auto& term) { return diffeqsolve(term, Tsit5{}, 0., 1., 0.125, start).ys[-1]; };
  const Array own = end(Timed{0.4});
  EXPECT_EQ(own.dtype(), f32);
  EXPECT_TRUE(array_equal(own, end(ODETerm{[](const Array& t, const Array& y) { return -0.4 * y + cos(t); }}))
                  .item<bool>());
}

// One step at a time, and a solver that has steps of its own.
TEST(OwnTerm, ByHandAndByHalfSteps) {
  const Contracted own{array(0.7), Wave{}};
  const auto given = given_of(0.7, Wave{});
  const auto stepped = [](const auto& term) {
    auto now = solver_start(term, ReversibleHeun{}, 0., y0);
    for (int i = 0; i < 3; ++i) now = solver_step(term, ReversibleHeun{}, now, now.t + 0.1).next;
    return now.y;
  };
  EXPECT_TRUE(array_equal(stepped(own), stepped(given)).item<bool>());
  const auto halves = [](const auto& term) {
    return diffeqsolve(term, HalfSolver{Heun{}}, 1., 0., -0.1, y0, {.controller = adaptive}).ys;
  };
  EXPECT_TRUE(array_equal(halves(own), halves(given)).item<bool>());
}

TEST(OwnTerm, FieldControlAndStateAreAnyTrees) {
  const Pond pond{array({2., 1.}), 0.3};
  const Level start{array({1., 2.}), {3., array({0., 0.})}};
  const auto end = [&](const auto& term, const Pond&) {
    return diffeqsolve(term, Dopri8{}, 0., 1., 0.001, start).ys;
  };
  const auto by_rate = [](const Pond& p) {
    return ODETerm{[p](const Array& t, const Level& y) { return rate_of(p, t, y); }};
  };
  const Level own = end(pond, pond), exact = end(by_rate(pond), pond);
  expect_near(own.water, exact.water, 1e-6);
  expect_near(own.salts[0], exact.salts[0], 1e-6);
  expect_near(own.salts[1], exact.salts[1], 1e-6);
  // Derivatives by its members, and many of them at once.
  const auto loss = [&](const auto& term_of) {
    return [&, term_of](const Pond& p) {
      const Level y = end(term_of(p), p);
      return sum(y.water) + sum(y.salts[0]) + sum(y.salts[1]);
    };
  };
  const auto same = [](const Pond& p) { return p; };
  const Pond by_own = jit(grad(loss(same)))(pond), by_exact = jit(grad(loss(by_rate)))(pond);
  expect_near(by_own.area, by_exact.area, 1e-5);
  expect_near(by_own.drying, by_exact.drying, 1e-5);
  const Pond many{array({{2., 1.}, {1., 1.}, {0.5, 3.}}), array({0.3, 0.2, 0.9})};
  const Array lanes = jit(vmap(loss(same)))(many);
  for (std::int64_t i = 0; i < 3; ++i) {
    const Array alone = jit(loss(same))(Pond{many.area[i], many.drying[i]});
    EXPECT_TRUE(array_equal(lanes[i], alone).item<bool>());
  }
}

TEST(OwnTerm, GradientsAreThoseOfTheControlTerm) {
  const VirtualBrownianTree tree(0., 1., 0.01, {2}, random::key(5));
  const auto loss = [&](const auto& term_of, Adjoint adjoint) {
    return [&, term_of, adjoint](const Array& p) {
      const MultiTerm term{ODETerm{[p](const Array&, const Array& y) { return -p * y; }}, term_of(p)};
      return sum(diffeqsolve(term, ReversibleHeun{}, 0., 1., 0.02, y0, {.adjoint = adjoint}).ys);
    };
  };
  const auto own = [&](const Array& p) { return Contracted{p, tree}; };
  const auto given = [&](const Array& p) { return given_of(p, tree); };
  for (const Adjoint adjoint : {Adjoint::Steps, Adjoint::Reversible}) {
    const Array one = jit(grad(loss(own, adjoint)))(0.7), other = jit(grad(loss(given, adjoint)))(0.7);
    EXPECT_TRUE(array_equal(one, other).item<bool>());
  }
  const auto forward = [&](const auto& term_of) {
    return jit([f = loss(term_of, Adjoint::Steps)](const Array& p) { return jvp(f, p, 1.).second; })(0.7);
  };
  EXPECT_TRUE(array_equal(forward(own), forward(given)).item<bool>());
}

std::string refusal(const auto& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.id();
  }
  return "";
}
TEST(OwnTerm, BrownianMotionKeepsItsRules) {
  const VirtualBrownianTree tree(0., 1., 0.01, {2}, random::key(5), {.levy_area = LevyArea::SpaceTime});
  struct Ito : Contracted<VirtualBrownianTree<Array>> {
    Calculus calculus = Calculus::Ito;
  };
  const auto solve = [&](const auto& term, const auto& solver) {
    diffeqsolve(term, solver, 0., 1., 0.05, y0);
  };
  EXPECT_EQ(refusal([&] { solve(Contracted{0.7, tree}, Tsit5{}); }), "takes_no_noise");
  EXPECT_EQ(refusal([&] { solve(Contracted{0.7, tree}, ShARK{}); }), "noise_not_additive");
  EXPECT_EQ(refusal([&] { solve(Contracted{0.7, tree}, ItoMilstein{}); }), "noise_not_commutative");
  EXPECT_EQ(refusal([&] { solve(Ito{{0.7, tree}}, Heun{}); }), "wrong_calculus");
  EXPECT_EQ(refusal([&] { solve(Ito{{0.7, tree}}, Euler{}); }), "");
  EXPECT_EQ(refusal([&] { solve(Contracted{0.7, Wave{}}, Kvaerno3{}); }), "takes_no_control");
}

TEST(OwnTerm, BecomesAnOdeTermAlongASmoothPath) {
  const Array given = diffeqsolve(to_ode(given_of(0.7, Wave{})), Tsit5{}, 0., 1., 0.01, y0).ys,
              own = diffeqsolve(to_ode(Contracted{0.7, Wave{}}), Tsit5{}, 0., 1., 0.01, y0).ys;
  expect_near(own, given, 1e-14);
  const Array stiff = diffeqsolve(to_ode(Contracted{0.7, Wave{}}), Kvaerno5{}, 0., 1., {}, y0,
                                  {.controller = PIDController{.rtol = 1e-9, .atol = 1e-11}})
                          .ys;
  expect_near(stiff, given, 1e-7);
}

}  // namespace
}  // namespace apsis::testing
