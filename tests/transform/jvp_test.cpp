#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Point {
  Array x, y;
};
struct Tagged {
  Array value, count;
};

Point polar(const Point& p) { return {p.x * cos(p.y), p.x * sin(p.y)}; }

TEST(Jvp, OfOneArgument) {
  Array x = array({0.5, 2.}), dx = array({1., -3.});
  auto [y, dy] = jvp([](const Array& v) { return v * v; }, x, dx);
  expect_same_bits(y, x * x);
  expect_near(dy, 2. * x * dx);
}

TEST(Jvp, OfSeveralArgumentsAndAStruct) {
  auto f = [](const Point& p, const Array& s) { return Point{p.x * s, p.y + s}; };
  Point p{array(2.), array(3.)}, dp{array(1.), array(10.)};
  auto [out, tangent] = jvp(f, std::tuple{p, array(5.)}, std::tuple{dp, array(100.)});
  expect_same_bits(out, Point{array(10.), array(8.)});
  expect_same_bits(tangent, Point{array(205.), array(110.)});
}

TEST(Jvp, EmptyTangentsAreZeroAndIntegersHaveNone) {
  auto f = [](const Tagged& t) { return Tagged{t.value * 3., t.count + 1}; };
  auto [out, tangent] = jvp(f, Tagged{array(2.), array(1)}, Tagged{array(1.), Array()});
  EXPECT_EQ(out.count.item<int>(), 2);
  EXPECT_EQ(tangent.value.item<double>(), 3.);
  EXPECT_TRUE(tangent.count.is_empty());
  auto [same, zero] = jvp(f, Tagged{array(2.), array(1)}, Tagged{Array(), Array()});
  EXPECT_EQ(zero.value.item<double>(), 0.);
}

TEST(Jvp, WeakTangentsTakeTheDtypeOfTheirPrimal) {
  auto [y, dy] = jvp([](const Array& x) { return x * x; }, Array(3., f32), 1.);
  EXPECT_EQ(dy.dtype(), f32);
  EXPECT_EQ(dy.item<float>(), 6.f);
}

TEST(Linearize, ServesManyTangents) {
  Point at{array(2.), array(0.5)};
  auto [out, push] = linearize(polar, at);
  expect_same_bits(out, polar(at));
  for (double dx : {1., 0., -2.}) {
    Point direction{array(dx), array(1.)};
    expect_near(push(direction), jvp(polar, at, direction).second);
  }
}

TEST(Vjp, ServesManyCotangentsAndIsTheTranspose) {
  auto f = [](const Point& p, const Array& s) { return polar({p.x * s, p.y}); };
  Point at{array(2.), array(0.5)};
  Array s = array(1.5);
  auto [out, pull] = vjp(f, at, s);
  auto [same, push] = linearize(f, at, s);
  for (double c : {1., -3.}) {
    Point cotangent{array(c), array(0.25)}, dp{array(0.7), array(-1.1)};
    Array ds = array(0.3);
    auto [pulled, pulled_s] = pull(cotangent);
    Point pushed = push(dp, ds);
    expect_near(cotangent.x * pushed.x + cotangent.y * pushed.y,
                pulled.x * dp.x + pulled.y * dp.y + pulled_s * ds);
  }
}

TEST(Vjp, EmptyCotangentsAreZero) {
  auto [out, pull] = vjp(polar, Point{array(2.), array(0.)});
  auto [found] = pull(Point{array(1.), Array()});
  expect_same_bits(found, Point{array(1.), array(-0.)});
  auto [none] = pull(Point{Array(), Array()});
  expect_same_bits(none, Point{array(0.), array(0.)});
}

TEST(Vjp, InsideOtherTransformations) {
  // A pull-back made under jit and mapped over its cotangents: rows of the Jacobian.
  auto rows = jit([](const Array& x) {
    auto [y, pull] = vjp([](const Array& v) { return v * sum(v * v); }, x);
    return vmap([pull = pull](const Array& c) { return std::get<0>(pull(c)); })(eye(3));
  });
  Array x = array({1., 2., 3.});
  expect_near(rows(x), 14. * eye(3) + 2. * outer(x, x));
}

TEST(Jacobian, ForwardIsReverse) {
  auto f = [](const Array& x) { return stack({x[0] * x[1], sin(x[1]), exp(x[0]) * x[2], x[2]}); };
  Array x = array({0.5, -1., 2.});
  Array forward = jacfwd(f)(x), reverse = jacrev(f)(x);
  Array want =
      array({{-1., 0.5, 0.}, {0., std::cos(1.), 0.}, {2 * std::exp(0.5), 0., std::exp(0.5)}, {0., 0., 1.}});
  expect_near(forward, want);
  expect_near(reverse, want);
}

TEST(Jacobian, ShapesAreOutThenIn) {
  auto f = [](const Array& x) { return outer(x, array({1., 2., 3.})); };
  EXPECT_EQ(to_string(jacfwd(f)(array({1., 2.})).shape()), to_string(Shape{2, 3, 2}));
  expect_same_bits(jacfwd(f)(array({1., 2.})), jacrev(f)(array({1., 2.})));
}

TEST(Jacobian, ByTypeOfArgumentAndResult) {
  auto to_array = [](const Point& p) { return p.x * array({1., 2.}) + p.y * p.y; };
  Point by_leaf = jacrev(to_array)({array(3.), array(4.)});
  expect_same_bits(by_leaf.x, array({1., 2.}));
  expect_same_bits(by_leaf.y, array({8., 8.}));
  auto from_array = [](const Array& x) { return Point{sum(x), x * x}; };
  Point from = jacfwd(from_array)(array({3., 4.}));
  expect_same_bits(from.x, array({1., 1.}));
  expect_same_bits(from.y, array({{6., 0.}, {0., 8.}}));
  auto blocks = jacfwd(polar)({array(2.), array(0.5)});
  expect_near(blocks.block(&Point::x, &Point::x), array(std::cos(0.5)));
  expect_near(blocks.block(&Point::x, &Point::y), array(-2 * std::sin(0.5)));
  expect_near(blocks.matrix(),
              array({{std::cos(0.5), -2 * std::sin(0.5)}, {std::sin(0.5), 2 * std::cos(0.5)}}));
}

TEST(Jacobian, EmptyBlocksOfIntegerLeaves) {
  auto f = [](const Tagged& t) { return Tagged{t.value * t.value, t.count}; };
  auto j = jacrev(f)({array({1., 2.}), array(3)});
  expect_same_bits(j.block(&Tagged::value, &Tagged::value), array({{2., 0.}, {0., 4.}}));
  EXPECT_TRUE(j.block(&Tagged::value, &Tagged::count).is_empty());
  EXPECT_TRUE(j.block(&Tagged::count, &Tagged::value).is_empty());
  expect_same_bits(j.matrix(), array({{2., 0.}, {0., 4.}}));
}

TEST(Jacobian, OfChosenArguments) {
  auto step = [](const Array& x, const Point& p, const Array& u) { return sin(x) * p.x + u[0] * p.y; };
  const Array x = array({0.2, -1.1}), u = array({0.5, 2., 7.});
  const Point p{array(3.), array(-4.)};
  const Array by_u = array({{-4., 0., 0.}, {-4., 0., 0.}});
  expect_near(jacfwd<2>(step)(x, p, u), by_u);
  expect_near(jacrev<2>(step)(x, p, u), by_u);
  auto [of_u, of_x] = jit(jacrev<2, 0>(step))(x, p, u);
  expect_near(of_u, by_u);
  expect_near(of_x, diag(3. * cos(x)));
  Point by_p = jacfwd<1>(step)(x, p, u);
  expect_near(by_p.x, sin(x));
  expect_same_bits(by_p.y, array({0.5, 0.5}));
  // A tree out, several arguments in: one matrix, its columns by argument.
  auto both = [&](const Array& a, const Point& q, const Array& b) {
    return Point{sum(a * b[1]), step(a, q, b)};
  };
  const Array columns = jacfwd<2, 1>(both)(x, p, u).matrix();
  expect_near(columns(ellipsis, range(0, 3)), concatenate({array({{0., 0.2 - 1.1, 0.}}), by_u}));
  expect_near(columns(ellipsis, range(3, 5)),
              concatenate({zeros({1, 2}), stack({sin(x), array({0.5, 0.5})}, 1)}));
}

TEST(Hessian, OfChosenArguments) {
  auto loss = [](const Array& x, const Array& y) { return sum(x * x) * y; };
  const Array x = array({1., 2.}), y = array(3.);
  expect_near(hessian<1>(loss)(x, y), array(0.));
  expect_near(hessian<1, 0>(loss)(x, y).matrix(), array({{0., 2., 4.}, {2., 6., 0.}, {4., 0., 6.}}));
}

TEST(Hessian, OfAVectorAndAStruct) {
  auto rosenbrock = [](const Array& x) { return square(1. - x[0]) + 100. * square(x[1] - x[0] * x[0]); };
  Array x = array({1.2, 0.7});
  Array want = array({{2 - 400 * (0.7 - 3 * 1.44), -480.}, {-480., 200.}});
  expect_near(hessian(rosenbrock)(x), want);
  auto compiled = jit(hessian(rosenbrock));
  expect_near(compiled(x), want);
  auto h = hessian([](const Point& p) { return sum(p.x * p.x) * p.y; })({array({1., 2.}), array(3.)});
  expect_near(h.block(&Point::x, &Point::x), 6. * eye(2));
  expect_near(h.block(&Point::y, &Point::x), array({2., 4.}));
  expect_near(h.matrix(), array({{6., 0., 2.}, {0., 6., 4.}, {2., 4., 0.}}));
}

TEST(Nesting, EveryModeOverEveryMode) {
  Array x = array({0.4, -0.9, 1.3});
  expect_derivatives([](const Array& v) { return sum(sin(v) * exp(flip(v)) + v[0] * v); }, x);
  expect_derivatives(jit([](const Array& v) { return sum(tanh(v * v)) * prod(v); }), x);
}

// What a rule refuses is refused at the line of the op, not of the transformation that came by.
TEST(Errors, OfRulesNameTheLineOfTheOp) {
  const unsigned line = __LINE__ + 1;
  auto refused = [](const Array& x) { return pure_callback([](const Array& y) { return y; }, array(0.))(x); };
  for (auto transformed : {+[](const Array&x, decltype(refused) f) { return grad(f)(x); },
                           +[](const Array&x, decltype(refused) f) { return jit(grad(f))(x); },
                           +[](const Array&x, decltype(refused) f) { return jvp(f, x, x).second; }}) {
    try {
      transformed(array(1.), refused);
      FAIL();
    } catch (const Error& e) {
      EXPECT_STREQ(e.id(), "callback_derivative");
      EXPECT_NE(std::string(e.what()).find(std::string(__FILE__) + ':' + std::to_string(line)),
                std::string::npos)
          << e.what();
    }
  }
}

TEST(Errors, OfEmptyOperandsAndConditionsNameTheLine) {
  const std::string here = std::string(__FILE__) + ':';
  auto place_of = [](const auto& run) {
    try {
      run();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing was thrown");
  };
  const Array x = array({1., 2.});
  EXPECT_NE(place_of([&] { (void)(x + Array()); }).find(here + std::to_string(__LINE__)), std::string::npos);
  const unsigned line = __LINE__ + 2;
  auto loop = [&] {
    while_loop([](const Array& c) { return c > 0.; }, [](const Array& c) { return c - 1.; }, x);
  };
  EXPECT_NE(place_of(loop).find(here + std::to_string(line)), std::string::npos);
}

}  // namespace
}  // namespace apsis::testing
