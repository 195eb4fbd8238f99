// Usual mistakes in the programs of this directory, three and more for each: what the message says to do
// about it, and that it names the user's line.

#include <cmath>
#include <map>

#include "scenarios/linear.hpp"
#include "scenarios/ways.hpp"

namespace apsis::scenarios {
namespace {

const Array x = array({1., 2., 3.});
[[maybe_unused]] const auto decay = [](const Array&, const Array& y) { return -y; };

TEST(Misuses, ThreeBodies) {
  // Field of another shape.
  expect_misuse("y0 is f64[3] in the state and f64[] in the slope", [&] {
    diffeqsolve(ODETerm{[](const Array&, const Array& y) { return y[0]; }}, Tsit5{}, 0., 1., 0.1, x);
  });
  // Squeeze of an axis that is not 1.
  expect_misuse("only axes of size 1 can be dropped", [&] { squeeze(ones({3, 2}), {1}); });
  // A first step that leads away.
  expect_misuse("give it the sign of t1 - t0", [&] { diffeqsolve(ODETerm{decay}, Tsit5{}, 1., 0., 0.1, x); });
}

TEST(Misuses, DoublePendulum) {
  // Four from three.
  expect_misuse("the number must be that axis' size", [&] { unstack<4>(ones({3})); });
  // No step at all.
  expect_misuse("dt0 must be given; or use an adaptive controller",
                [&] { diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., {}, x); });
  // One beside the steps that are given.
  expect_misuse("dt0 must be empty ({}): the steps are those of StepTo::ts", [&] {
    diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, x, {.controller = StepTo{{0., 1.}}});
  });
}

TEST(Misuses, RigidBody) {
  // Roll by an axis too many.
  expect_misuse("it must lie in [-1, 1)", [&] { roll(x, 1, 1); });
  // Times as a vector.
  expect_misuse("to solve for many times at once use vmap",
                [&] { diffeqsolve(ODETerm{decay}, Tsit5{}, x, 1., 0.1, x); });
  // Integer state.
  expect_misuse("convert with astype, or write 1. instead of 1", [&] {
    diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, array({1, 2}));
  });
}

TEST(Misuses, KnownEnds) {
  // Save steps without a bound.
  expect_misuse("saveat.steps needs a bound on the number of steps; give max_steps", [&] {
    diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, x, {.saveat = {.steps = 1}, .max_steps = -1});
  });
  // F32 slope of an f64 state.
  expect_misuse("y0 is f64[3] in the state and f32[3] in the slope", [&] {
    diffeqsolve(ODETerm{[](const Array&, const Array& y) { return astype(y, f32); }}, Tsit5{}, 0., 1., 0.1,
                x);
  });
  // Reverse with one checkpoint.
  expect_misuse("2 or more, or 0 for a tape of all steps", [&] {
    grad([](const Array& y) {
      return sum(diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, y, {.checkpoints = 1}).ys);
    })(x);
  });
}

TEST(Misuses, Heat) {
  // Padding of two axes for one.
  expect_misuse("give one number an axis, crop no more than there is, and a scalar value", [&] {
    pad(x, {1, 1}, {1, 1});
  });
  // Step of zero.
  expect_misuse("the step of a range must not be 0 (axis 0 of shape [3])", [&] { x[range(0, 3, 0)]; });
  // Steps by an error that the method does not estimate.
  expect_misuse("use ConstantStepSize, or HalfSolver{…} of it, or another solver such as Tsit5", [&] {
    diffeqsolve(ODETerm{decay}, Euler{}, 0., 1., 0.1, x,
                {.controller = PIDController{.rtol = 1e-6, .atol = 1e-9}});
  });
}

TEST(Misuses, Burgers) {
  // A grid of another size.
  expect_misuse("as many axes, of equal sizes, are needed on both sides", [&] { dot(eye(4), x); });
  // Arange without end.
  expect_misuse("check the ends for infinity and NaN", [&] { arange(0., INFINITY, 1.); });
  // Step of zero.
  expect_misuse("the step must not be 0", [&] { arange(0, 3, 0); });
}

TEST(Misuses, Advection) {
  // Reshape to the wrong size.
  expect_misuse("sizes must multiply to 3, and one of them may be -1", [&] { reshape(x, {2, 2}); });
  // Two unknown sizes.
  expect_misuse("sizes must multiply to 3, and one of them may be -1", [&] { reshape(x, {-1, -1}); });
  // Tile by a negative number.
  expect_misuse("a count must not be negative, got [-1]", [&] { tile(x, {-1}); });
}

TEST(Misuses, Ising) {
  // Spins compared in a chain.
  expect_misuse("write `a < x && x < b`", [&] { Array inside = 0. < x < 1.; });
  // Bits of doubles.
  expect_misuse("convert with astype", [&] { Array both = x & 1; });
  // Minus of Booleans.
  expect_misuse("convert with astype", [&] { Array minus = -(x > 0.); });
}

TEST(Misuses, Walk) {
  // Condition that is no Boolean.
  expect_misuse("compare, or reduce with all(…) or any(…)", [&] {
    while_loop([](const Array& a) { return a; }, [](const Array& a) { return a - 1.; }, 3.);
  });
  // A position that becomes a double.
  expect_misuse("make the body return what it got, or start from a carry of that shape and dtype", [&] {
    while_loop([](const Array& a) { return a < 3; }, [](const Array& a) { return a + 0.5; }, array(0));
  });
  // If of a traced value.
  expect_misuse("Use `where`, `cond` or `while_loop` for decisions that depend on values",
                [&] { jit([](const Array& a) { return a.item<double>() > 0 ? a : -a; })(1.); });
}

TEST(Misuses, Regulator) {
  // Matrix times the wrong side.
  expect_misuse("as many axes, of equal sizes, are needed on both sides", [&] {
    matmul(ones({1, 2}), ones({1, 2}));
  });
  // Transposing by a wrong list.
  expect_misuse("the axis 0 is named twice", [&] { transpose(ones({2, 3}), {0, 0}); });
  // Max_steps below -1.
  expect_misuse("give the most iterations there may be, or -1 for no bound", [&] {
    while_loop([](const Array& a) { return a < 3.; }, [](const Array& a) { return a + 1.; }, 0.,
               {.max_steps = -2});
  });
}

TEST(Misuses, SwingUp) {
  // Branches of other shapes.
  expect_misuse("result is f64[3] in branch 0 and f64[] in branch 1", [&] {
    cond(
        x[0] > 0., [](const Array& v) { return v; }, [](const Array& v) { return sum(v); }, x);
  });
  // Scans of other lengths.
  expect_misuse("cut them to one length", [&] {
    scan(
        [](const Array& c, const std::pair<Array, Array>& in) {
          return std::pair{c + sum(in.first), in.second};
        },
        0., std::pair{ones({3, 1}), ones({4, 1})});
  });
  // Argmin over two axes.
  expect_misuse("reshape to join axes", [&] { argmin(ones({2, 2}), {.axis = {0, 1}}); });
}

TEST(Misuses, Predictive) {
  // A checkpoint too few.
  expect_misuse("give at least 2 states or a positive number of bytes, or 0 for a tape without bound", [&] {
    grad([](const Array& v) {
      return fori_loop(0, 5, [](const Array&, const Array& s) { return sin(s); }, v, {.checkpoints = 1});
    })(1.);
  });
  // Index that is a double.
  expect_misuse("the index must be an integer scalar, got f64[]", [&] {
    switch_(x[0], std::tuple{[](const Array& v) { return v; }, [](const Array& v) { return -v; }}, x);
  });
  // Booleans for a predicate.
  expect_misuse("compare, or reduce with all(…) or any(…)", [&] {
    cond(
        x, [](const Array& v) { return v; }, [](const Array& v) { return -v; }, x);
  });
}

TEST(Misuses, BouncingBall) {
  // Lax loop backwards.
  expect_misuse("use the default kind, or Loop::Bounded with max_steps, or forward mode (jvp, jacfwd)", [&] {
    grad([](const Array& v) {
      return while_loop([](const Array& s) { return s < 9.; }, [](const Array& s) { return s * 2.; }, v,
                        {.kind = Loop::Lax});
    })(1.);
  });
  // Bounded without bound.
  expect_misuse("give it, or use the default kind, or Loop::Lax for forward mode only, which need none", [&] {
    while_loop([](const Array& s) { return s < 9.; }, [](const Array& s) { return s * 2.; }, 1.,
               {.kind = Loop::Bounded});
  });
  // Past its bound in one of the lanes.
  expect_misuse("raise max_steps, or make the loop end", [&] {
    jit(vmap([](const Array& v) {
      return while_loop([](const Array& s) { return s < 9.; }, [](const Array& s) { return s * 2.; }, v,
                        {.max_steps = 4});
    }))(array({5., 1e-3}));
  });
}

TEST(Misuses, SteadyState) {
  // Reverse without a transposed solver.
  expect_misuse("give a transpose_solve, or {.symmetric = true} if the map is its own transpose", [&] {
    grad([](const Array& a) {
      return custom_linear_solve([&](const Array& v) { return a * v; }, array(1.),
                                 [](const auto&, const Array& b) { return b / 2.; });
    })(2.);
  });
  // A map that is not linear.
  expect_misuse("give a linear function, or the derivative of this one", [&] {
    jacrev([](const Array& a) { return linear_transpose([](const Array& v) { return sin(v); }, a)(a); })(2.);
  });
  // A map to one number.
  expect_misuse("the map's result must be like the right side: array 0 is f64[], expected f64[3]", [&] {
    custom_linear_solve([](const Array& v) { return sum(v); }, x,
                        [](const auto&, const Array& b) { return b; });
  });
}

TEST(Misuses, Kinematics) {
  // A point of three from two links.
  expect_misuse("insert axes of size 1 with expand_dims or reshape", [&] { norm(ones({2}) - ones({3})); });
  // Jacobian by an argument that is not there.
  expect_misuse("it must lie in [-1, 1)",
                [&] { jacrev([](const Array& q) { return sum(q, {.axis = 2}); })(x); });
  // Norm over an axis twice.
  expect_misuse("the axis 1 is named twice", [&] { norm(ones({2, 2}), {.axis = {1, -1}}); });
}

TEST(Misuses, Cartpole) {
  // In_axes of another number.
  expect_misuse("give one an argument",
                [&] { vmap([](const Array& a, const Array& b) { return a * b; }, {.in_axes = {0}})(x, x); });
  // A struct with lanes of different number.
  expect_misuse("all mapped axes must be equally long", [&] {
    vmap([](const std::pair<Array, Array>& c) { return c.first * c.second; })(
        std::pair{ones({2}), ones({3})});
  });
  // Lanes put behind the last axis.
  expect_misuse("out axis 3 of result is out of range for its 1 axes",
                [&] { vmap([](const Array& c) { return c * 2.; }, {.out_axes = 3})(x); });
}

TEST(Misuses, BundleAdjustment) {
  // Cameras flattened wrongly.
  expect_misuse("sizes must multiply to 17, and one of them may be -1", [&] { reshape(ones({17}), {3, 6}); });
  // Too many indices.
  expect_misuse("give at most one an axis", [&] { ones({3, 6})(0, 0, 0); });
  // A mask of the wrong size.
  expect_misuse("the sizes must agree", [&] { ones({3, 6})(array({true, false})); });
}

}  // namespace
}  // namespace apsis::scenarios
