// Adjoint::Reversible: the gradients of the steps, without a tape.

#include "diffeq/any_solver.hpp"
#include "diffeq/refused.hpp"

namespace apsis::testing {
namespace {

struct Inputs {
  Array p, y0;
};
/// A loss of an equation with drift and noise, along a path of `path`.
template <class Path>
Array loss_of(const Inputs& in, const Path& path, const SolveOptions& options, const Array& dt0) {
  const Array p = in.p;
  const auto drift = [p](const Array& t, const Array& y) {
    return stack({p[0] * cos(t) * y[1], p[1] - y[0] * y[1]});
  };
  const auto diffusion = [p](const Array&, const Array& y) {
    return stack({stack({p[2] * y[0], y[1], 0.3}), stack({0.2, p[2] * y[0] * y[1], y[0]})});
  };
  const Array ys = diffeqsolve(MultiTerm{ODETerm{drift}, ControlTerm{diffusion, path}}, ReversibleHeun{}, 0.,
                               1., dt0, in.y0, options)
                       .ys;
  return sum(ys * ys * array({1., 2.}));
}
/// Both gradients, the one and the other. What is run back is off by rounding, which grows as the solution
/// does: 10⁻¹⁶ a step, of 50 steps.
void expect_same_gradients(const auto& loss, const Inputs& in) {
  const Inputs by_steps = jit(grad([&](const Inputs&x) { return loss(x, Adjoint::Steps); }))(in),
               run_back = jit(grad([&](const Inputs&x) { return loss(x, Adjoint::Reversible); }))(in);
  EXPECT_LT(max(abs(by_steps.p - run_back.p)).item<double>(), 1e-11 * max(abs(by_steps.p)).item<double>());
  EXPECT_LT(max(abs(by_steps.y0 - run_back.y0)).item<double>(), 1e-11 * max(abs(by_steps.y0)).item<double>());
}

const Inputs inputs{array({0.7, 0.3, 0.4}), array({1., 0.5})};

TEST(RunBack, GradientsAreThoseOfTheSteps) {
  const VirtualBrownianTree tree(0., 1., 0.01, {3}, random::key(2));
  const UnsafeBrownianPath unsafe({3}, random::key(2));
  const Times save{0.1, 0.105, 0.5, 0.99, 1.};
  for (const bool times : {false, true}) {
    const auto options = [&](Adjoint adjoint, const Controller& controller = {}) {
      SolveOptions o{.controller = controller, .adjoint = adjoint};
      if (times) o.saveat = {.t0 = true, .ts = save, .t1 = true};
      return o;
    };
    const auto along_tree = [&](const Inputs& in, Adjoint a) { return loss_of(in, tree, options(a), 0.02); };
    const auto along_unsafe = [&](const Inputs& in, Adjoint a) {
      return loss_of(in, unsafe, options(a), 0.02);
    };
    const auto adaptive = [&](const Inputs& in, Adjoint a) {
      return loss_of(in, tree, options(a, PIDController{.rtol = 0.05, .atol = 0.05, .dtmin = 0.01}), 0.1);
    };
    expect_same_gradients(along_tree, inputs);
    expect_same_gradients(along_unsafe, inputs);
    expect_same_gradients(adaptive, inputs);
  }
}

TEST(RunBack, InBatchesAndWithoutNoise) {
  const auto loss = [](const Array& p, Adjoint adjoint) {
    const auto drift = [p](const Array& t, const Array& y) { return stack({y[1], -p * sin(y[0]) + cos(t)}); };
    const Array y =
        diffeqsolve(ODETerm{drift}, ReversibleHeun{}, 2., 0., -0.05, array({1., 0.}), {.adjoint = adjoint})
            .ys[-1];
    return y[0] * y[1];
  };
  const auto slope = [&](Adjoint a) { return grad([&, a](const Array& p) { return loss(p, a); }); };
  const Array p = array({0.5, 1., 2.}), by_steps = jit(vmap(slope(Adjoint::Steps)))(p),
              run_back = jit(vmap(slope(Adjoint::Reversible)))(p);
  EXPECT_LT(max(abs(by_steps - run_back)).item<double>(), 1e-12);
  EXPECT_EQ(jit(slope(Adjoint::Reversible))(p[1]).item<double>(), run_back[1].item<double>());
  // Such a gradient does not know the derivatives of the end of the solve.
  EXPECT_NO_THROW(jit(grad(slope(Adjoint::Steps)))(p[0]));
  EXPECT_THROW(jit(grad(slope(Adjoint::Reversible)))(p[0]), Error);
}

TEST(RunBack, SymplecticSolversDo) {
  for (const auto& [name, solver] : partitioned_solvers()) {
    if (name == "semi_implicit_euler") {
      EXPECT_FALSE(solver.traits().reversible);
      continue;
    }
    const auto loss = [&, solver = solver](const Array& k, Adjoint adjoint) {
      const std::pair terms{ODETerm{[](const Array&, const Array& p) { return p; }},
                            ODETerm{[k](const Array&, const Array& q) { return -k * sin(q); }}};
      const auto y = diffeqsolve(terms, solver, 0., 3., 0.1, std::pair{array(1.), array(0.2)},
                                 {.saveat = {.ts = {0.33, 3.}}, .adjoint = adjoint})
                         .ys;
      return sum(y.first * y.second);
    };
    const auto slope = [&](Adjoint a) {
      return jit(grad([&](const Array& k) { return loss(k, a); }))(array(1.3)).template item<double>();
    };
    EXPECT_NEAR(slope(Adjoint::Reversible), slope(Adjoint::Steps), 1e-12) << name;
  }
}

// A gradient by steps keeps lists of what they made.
TEST(RunBack, LeavesNoTape) {
  const VirtualBrownianTree tree(0., 1., 0.01, {3}, random::key(2));
  const auto program = [&](Adjoint adjoint) {
    const auto loss = [&](const Inputs& in) { return loss_of(in, tree, {.adjoint = adjoint}, 0.02); };
    return make_graph(grad(loss), inputs);
  };
  EXPECT_NE(program(Adjoint::Steps).find("list"), std::string::npos);
  EXPECT_EQ(program(Adjoint::Reversible).find("list"), std::string::npos);
}

TEST(RunBack, RefusesWhatDoesNotRunBack) {
  const auto id = [](const auto& solver, SolveOptions options) {
    options.adjoint = Adjoint::Reversible;
    return error_of_call([&] {
      const auto decay = [](const Array&, const Array& y) { return -y; };
      diffeqsolve(ODETerm{decay}, solver, 0., 1., 0.1, 1., options);
    });
  };
  EXPECT_EQ(id(ReversibleHeun{}, {}), "");
  EXPECT_EQ(id(Heun{}, {}), "not_reversible");
  EXPECT_EQ(id(ReversibleHeun{}, {.saveat = {.steps = 1}}), "reversible_without");
  EXPECT_EQ(id(ReversibleHeun{}, {.saveat = {.dense = true}}), "reversible_without");
  EXPECT_EQ(id(ReversibleHeun{}, {.max_steps = -1}), "reversible_without");
  // Steps end where they are told to: derivatives by times are none of theirs.
  const auto by_time = [](const Array& t1) {
    const auto decay = [](const Array&, const Array& y) { return -y; };
    return diffeqsolve(ODETerm{decay}, ReversibleHeun{}, 0., t1, 0.1, 1., {.adjoint = Adjoint::Reversible})
        .ys[-1];
  };
  EXPECT_THROW(grad(by_time)(array(1.)), Error);
}

}  // namespace
}  // namespace apsis::testing
