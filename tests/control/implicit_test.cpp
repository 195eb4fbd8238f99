// Transposes of linear functions, and derivatives of what an equation defines.

#include <apsis/apsis.hpp>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

const Array a = array({{4., 1., 0.5}, {1., 3., -0.25}, {0., 0.5, 2.}});
const Array b = array({1., -2., 0.5});

TEST(LinearTranspose, OfMatricesAndTrees) {
  auto transposed = linear_transpose([](const Array& x) { return matmul(a, x); }, b);
  expect_near(transposed(b), matmul(transpose(a), b));
  expect_near(jit(transposed)(b), matmul(transpose(a), b));
  expect_near(vmap(transposed)(a), matmul(a, a));
  auto two = linear_transpose(
      [](const Array& x, const Array& y) {
        return std::pair{matmul(a, x) + sum(y), 3. * y[1]};
      },
      b, ones({2}));
  auto [x, y] = two(std::pair{b, array(10.)});
  expect_near(x, matmul(transpose(a), b));
  expect_near(y, sum(b) + array({0., 30.}));
  // What is captured may be traced.
  auto slope = grad([](const Array& m) {
    return sum(linear_transpose([&](const Array& v) { return matmul(m, v); }, b)(b) * b);
  });
  expect_near(slope(a), outer(b, b));
}

/// Jacobi's iteration: converges for matrices with a strong diagonal; uses the map alone.
const auto iterate = [](const auto& map, const Array& right) {
  Array diagonal =
      stack({map(array({1., 0., 0.}))[0], map(array({0., 1., 0.}))[1], map(array({0., 0., 1.}))[2]});
  auto end =
      while_loop([](const std::pair<Array, Array>& s) { return s.first < 200; },
                 [&](const std::pair<Array, Array>& s) {
                   return std::pair<Array, Array>{s.first + 1, s.second + (right - map(s.second)) / diagonal};
                 },
                 std::pair<Array, Array>{0, right / diagonal});
  return end.second;
};

Array solve(const Array& m, const Array& right) {
  return custom_linear_solve([&](const Array& x) { return matmul(m, x); }, right, iterate, iterate);
}

TEST(CustomLinearSolve, IsDifferentiatedByItsEquation) {
  Array x = solve(a, b);
  expect_near(matmul(a, x), b);
  expect_near(jit(solve)(a, b), x);
  auto loss = [](const Array& m, const Array& right) { return sum(sin(solve(m, right))); };
  Array adjoint = solve(transpose(a), cos(x));
  auto [da, db] = grad<0, 1>(loss)(a, b);
  expect_near(db, adjoint, 1e-12);
  expect_near(da, -outer(adjoint, x), 1e-12);
  auto compiled = jit(grad<0, 1>(loss))(a, b);
  expect_near(compiled, std::tuple{da, db}, 1e-12);
  expect_near(da, differences([&](const Array& m) { return loss(m, b); }, a), 1e-8);
  Array direction = cos(a);
  expect_near(jvp([&](const Array& m) { return loss(m, b); }, a, direction).second, sum(da * direction),
              1e-12);
  auto along = [&](const Array& m) { return sum(grad(loss)(m, b) * direction); };
  expect_near(grad(along)(a), differences(along, a), 1e-7);
  expect_near(jacfwd(grad(loss))(a, b), jacrev(grad(loss))(a, b), 1e-11);
}

TEST(CustomLinearSolve, UnderVmap) {
  Array matrices = stack({a, 2. * a, transpose(a)}), sides = stack({b, b + 1., 2. * b});
  auto one_by_one = stack({solve(a, b), solve(2. * a, b + 1.), solve(transpose(a), 2. * b)});
  expect_near(vmap(solve)(matrices, sides), one_by_one, 1e-12);
  expect_near(jit(vmap(solve, {.in_axes = {{}, 0}}))(a, sides),
              stack({solve(a, b), solve(a, b + 1.), solve(a, 2. * b)}), 1e-12);
  auto loss = [](const Array& m, const Array& right) { return sum(sin(solve(m, right))); };
  expect_near(vmap(grad(loss), {.in_axes = {0, {}}})(matrices, b),
              stack({grad(loss)(a, b), grad(loss)(2. * a, b), grad(loss)(transpose(a), b)}), 1e-12);
  auto total = [&](const Array& m, const Array& rights) {
    return sum(vmap(loss, {.in_axes = {{}, 0}})(m, rights));
  };
  expect_near(grad(total)(a, sides), grad(loss)(a, b) + grad(loss)(a, b + 1.) + grad(loss)(a, 2. * b), 1e-12);
}

TEST(CustomLinearSolve, OfASymmetricMapNeedsOneSolver) {
  Array symmetric = a + transpose(a);
  auto loss = [&](const Array& right) {
    return sum(exp(custom_linear_solve([&](const Array& x) { return matmul(symmetric, x); }, right, iterate,
                                       {.symmetric = true})));
  };
  expect_near(grad(loss)(b), differences(loss, b), 1e-9);
}

/// Heron's square roots, by a number of steps that depends on the values.
Array heron(const Array& v) {
  return while_loop([&](const Array& s) { return any(abs(s * s - v) > 1e-14 * v); },
                    [&](const Array& s) { return 0.5 * (s + v / s); }, v);
}

TEST(CustomLinearSolve, OfAMapThatGoesThroughALoop) {
  // The map's residuals are lists: in a batch of all one number of lanes, or of each lane its own.
  auto f = [](const Array& x) { return matmul(a, x) + 0.2 * heron(square(x) + 3.); };
  auto step = [&](const Array& at, const Array& right) {
    return custom_linear_solve(linearize(f, at).second, right, iterate, iterate);
  };
  Array places = array({{1., 2., -1.}, {0., 30., 2.}, {1e3, 1., -0.5}}), sides = stack({b, b + 1., 2. * b});
  auto each = [&](const auto& g, const Array& at, const Array& right) {
    return stack({g(at[0], right[0]), g(at[1], right[1]), g(at[2], right[2])});
  };
  expect_near(vmap(step)(places, sides), each(step, places, sides), 1e-12);
  expect_near(jit(vmap(step))(places, sides), each(step, places, sides), 1e-12);
  expect_near(jit(vmap(step, {.in_axes = {{}, 0}}))(places[1], sides),
              each(step, stack({places[1], places[1], places[1]}), sides), 1e-12);
  auto loss = [&](const Array& at, const Array& right) { return sum(sin(step(at, right))); };
  for (LaneLoops loops : {LaneLoops::Automatic, LaneLoops::Lockstep}) {
    auto slopes = vmap(grad<1>(loss), {.loops = loops});
    expect_near(slopes(places, sides), each(grad<1>(loss), places, sides), 1e-12);
    expect_near(jit(slopes)(places, sides), each(grad<1>(loss), places, sides), 1e-12);
  }
  auto total = [&](const Array& rights) { return sum(vmap(loss)(places, rights)); };
  expect_near(jit(grad(total))(sides), each(grad<1>(loss), places, sides), 1e-12);
}

TEST(CustomJvp, OfARuleThatCapturesAMapThroughALoop) {
  auto f = [](const Array& x) { return matmul(a, x) + 0.2 * heron(square(x) + 3.); };
  auto along = [&](const Array& at, const Array& x) {
    auto slope = linearize(f, at).second;
    auto map = custom_jvp([=](const Array& v) { return slope(v); },
                          [=](const Array& v, const Array& dv) {
                            return std::pair{slope(v), slope(dv)};
                          });
    return map(x);
  };
  Array places = array({{1., 2., -1.}, {0., 30., 2.}}), xs = stack({b, b + 1.});
  auto slopes = jacfwd<1>(along);
  expect_near(jit(vmap(along))(places, xs), stack({along(places[0], xs[0]), along(places[1], xs[1])}), 1e-12);
  expect_near(jit(vmap(slopes))(places, xs), stack({slopes(places[0], xs[0]), slopes(places[1], xs[1])}),
              1e-12);
  expect_near(vmap(jacrev<1>(along))(places, xs), vmap(slopes)(places, xs), 1e-12);
}

TEST(CustomVjp, OfARuleThatCapturesAMapThroughALoop) {
  auto f = [](const Array& x) { return matmul(a, x) + 0.2 * heron(square(x) + 3.); };
  auto capturing = [&](const Array& at, const Array& x) {
    auto pull = vjp(f, at).second;
    auto map = custom_vjp([=](const Array& v) { return square(v); },
                          [=](const Array& v) {
                            return std::pair{square(v), v};
                          },
                          [=](const Array& v, const Array& ct) { return v * std::get<0>(pull(ct)); });
    return map(x);
  };
  Array places = array({{1., 2., -1.}, {0., 30., 2.}}), xs = stack({b, b + 1.});
  auto slopes = jacrev<1>(capturing);
  Array one_by_one = stack({slopes(places[0], xs[0]), slopes(places[1], xs[1])});
  expect_near(vmap(slopes)(places, xs), one_by_one, 1e-12);
  expect_near(jit(vmap(slopes))(places, xs), one_by_one, 1e-12);
  expect_near(one_by_one[0], xs[0] * jacrev(f)(places[0]), 1e-12);
  auto total = [&](const Array& x) { return sum(vmap(capturing)(places, x)); };
  expect_near(jit(grad(total))(xs), sum(one_by_one, {.axis = 1}), 1e-12);
}

// The root of x^3 + p x = q, by Newton's iteration, whose own derivative would be of no use: the number of
// steps is fixed, and it starts at the answer's whereabouts.
Array cubic(const Array& p, const Array& q) {
  return custom_root([&](const Array& x) { return x * x * x + p * x - q; }, array(1.),
                     [](const auto& f, const Array& start) {
                       return while_loop([&](const Array& x) { return abs(f(x)) > 1e-13; },
                                         [&](const Array& x) { return x - f(x) / grad(f)(x); }, start,
                                         {.kind = Loop::Lax});
                     },
                     [](const auto& slope, const Array& y) { return y / slope(array(1.)); });
}

TEST(CustomRoot, IsDifferentiatedByItsEquation) {
  Array p = array(2.), q = array(3.), x = array(1.);  // 1 + 2 = 3
  expect_near(cubic(p, q), x);
  expect_near(jit(cubic)(p, q), x);
  // dx/dp = -x / (3 x² + p), dx/dq = 1 / (3 x² + p)
  expect_near(grad<0, 1>(cubic)(p, q), std::tuple{array(-0.2), array(0.2)}, 1e-12);
  expect_near(jit(grad<0, 1>(cubic))(p, q), std::tuple{array(-0.2), array(0.2)}, 1e-12);
  expect_near(jvp(cubic, std::tuple{p, q}, std::tuple{array(1.), array(2.)}).second, array(0.2), 1e-12);
  auto slope = [](const Array& q_) { return grad<1>(cubic)(array(2.), q_); };
  expect_near(grad(slope)(q), differences(slope, q), 1e-8);  // reverse over reverse, through a Lax loop
  expect_near(jacfwd(slope)(q), grad(slope)(q), 1e-12);
  Array many = array({0.5, 1., 3.});
  expect_near(vmap(grad<1>(cubic), {.in_axes = {{}, 0}})(p, many),
              stack({grad<1>(cubic)(p, many[0]), grad<1>(cubic)(p, many[1]), grad<1>(cubic)(p, many[2])}),
              1e-12);
}

TEST(CustomRoot, OfAFunctionWithALoop) {
  // sqrt(x^2 + p) + x = q: x = (q^2 - p) / (2 q). The slope at the root captures the tape of the loop.
  auto root = [](const Array& p, const Array& q) {
    return custom_root([&](const Array& x) { return heron(square(x) + p) + x - q; }, q,
                       [](const auto& f, const Array& start) {
                         return while_loop([&](const Array& x) { return abs(f(x)) > 1e-13; },
                                           [&](const Array& x) { return x - f(x) / grad(f)(x); }, start);
                       },
                       [](const auto& slope, const Array& y) { return y / slope(array(1.)); });
  };
  Array ps = array({1., 0.01, 40.}), qs = array({2., 3., 5.});
  for (LaneLoops loops : {LaneLoops::Automatic, LaneLoops::Lockstep}) {
    expect_near(jit(vmap(root, {.loops = loops}))(ps, qs), (square(qs) - ps) / (2. * qs), 1e-12);
    expect_near(jit(vmap(grad<0, 1>(root), {.loops = loops}))(ps, qs),
                std::tuple{-0.5 / qs, 0.5 + ps / (2. * square(qs))}, 1e-12);
    auto total = [&](const Array& p, const Array& q) { return sum(vmap(root, {.loops = loops})(p, q)); };
    expect_near(jit(grad<0, 1>(total))(ps, qs), std::tuple{-0.5 / qs, 0.5 + ps / (2. * square(qs))}, 1e-12);
  }
}

TEST(CustomRoot, OnTreesWithMoreResults) {
  struct Point {
    Array x, y;
  };
  auto find = [](const Array& radius) {
    // On the circle, and on the line y = 2 x.
    auto f = [&](const Point& v) { return Point{v.x * v.x + v.y * v.y - radius * radius, v.y - 2. * v.x}; };
    return custom_root(
        f, Point{array(1.), array(1.)},
        [](const auto& g, const Point& start) {
          auto step = [&](const std::pair<Array, Point>& s) {
            Point v = s.second, r = g(v);
            // Newton's step by Cramer's rule; rows (2x, 2y), (-2, 1).
            Array det = 2. * v.x + 4. * v.y;
            return std::pair<Array, Point>{s.first + 1, Point{v.x - (r.x - 2. * v.y * r.y) / det,
                                                              v.y - (2. * v.x * r.y + 2. * r.x) / det}};
          };
          auto end = while_loop([](const std::pair<Array, Point>& s) { return s.first < 8; }, step,
                                std::pair<Array, Point>{0, start});
          return std::pair{end.second, end.first};
        },
        [](const auto& slope, const Point& right) {
          Point c0 = slope(Point{array(1.), array(0.)}), c1 = slope(Point{array(0.), array(1.)});
          Array det = c0.x * c1.y - c1.x * c0.y;
          return Point{(right.x * c1.y - c1.x * right.y) / det, (c0.x * right.y - right.x * c0.y) / det};
        });
  };
  auto [point, steps] = find(array(5.));
  expect_near(point.x, array(std::sqrt(5.)));
  EXPECT_EQ(steps.item<int>(), 8);
  auto y_of = [&](const Array& radius) { return find(radius).first.y; };
  expect_near(grad(y_of)(array(5.)), array(2. / std::sqrt(5.)), 1e-12);
  expect_near(jit(vmap(grad(y_of)))(array({5., 6.})), array({2., 2.}) / std::sqrt(5.), 1e-12);
}

}  // namespace
}  // namespace apsis::testing
