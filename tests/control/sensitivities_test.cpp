// Loops that few numbers move: reverse mode carries the derivatives by each of them along.

#include <complex>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

constexpr const char* told = "along: reverse mode needs no tape of it (forward sensitivities)";

struct Wave {
  Array steps, x, y;
};

/// A loop of n steps that two numbers move, over arrays.
Array wave(const Array& n, const Array& a, const Array& b, const WhileOptions& options) {
  const Array x = astype(linspace(0.1, 0.9, 5), a.dtype());
  const Wave end = while_loop([&](const Wave& s) { return s.steps < n; },
                              [&](const Wave& s) {
                                return Wave{s.steps + 1, s.x + 0.1 * a * sin(s.y), s.y - 0.1 * b * s.x};
                              },
                              Wave{array(std::int64_t{0}), x, a * x}, options);
  return sum(end.x * end.y);
}
auto wave_of(const WhileOptions& options, std::int64_t n = 23) {
  return [=](const Array& a, const Array& b) { return wave(array(n), a, b, options); };
}
const WhileOptions few{.kind = Loop::Sensitivities};

TEST(Sensitivities, AreTheDerivativesOfATape) {
  for (Dtype dtype : {f64, f32})
    for (std::int64_t n : {0, 1, 23}) {
      const Array a = astype(array(0.7), dtype), b = astype(array(1.3), dtype);
      const double tolerance = dtype == f64 ? 1e-13 : 1e-4;
      const auto f = wave_of(few, n), taped = wave_of({}, n);
      auto g = jit(grad<0, 1>(f));
      expect_near(g(a, b), jit(grad<0, 1>(taped))(a, b), tolerance);
      expect_near(grad<0, 1>(f)(a, b), g(a, b), tolerance);
      expect_near(jit(grad(grad(f)))(a, b), jit(grad(grad(taped)))(a, b), tolerance);
      EXPECT_NE(explain(g).find(std::string("carries its derivatives by 2 numbers ") + told),
                std::string::npos)
          << explain(g);
      EXPECT_EQ(make_graph(grad<0, 1>(f), a, b).find("list<"), std::string::npos);
      EXPECT_NE(make_graph(grad<0, 1>(taped), a, b).find("list<"), std::string::npos);
    }
}

TEST(Sensitivities, LanesAreSingleCalls) {
  const Array a = linspace(0.2, 0.9, 9), b = linspace(1., 2., 9);
  auto lengths = astype(linspace(0., 40., 9), i64);
  auto one = [](const Array& n, const Array& x, const Array& y) {
    return grad<0, 1>([&](const Array& u, const Array& v) { return wave(n, u, v, few); })(x, y);
  };
  auto single = jit(one);
  for (LaneLoops mode : {LaneLoops::Lanes, LaneLoops::Lockstep}) {
    auto all = jit(vmap(one, {.loops = mode}))(lengths, a, b);
    for (std::int64_t i = 0; i < 9; ++i)
      expect_same_bits(std::tuple{Array(std::get<0>(all)[i]), Array(std::get<1>(all)[i])},
                       single(lengths[i], a[i], b[i]));
  }
}

// A loop in the equation of a root is differentiated forwards, then backwards twice: what the first of these
// records for the second has no columns.
TEST(Sensitivities, InRootsSeveralTimes) {
  const auto root = [](const WhileOptions& options) {
    return [=](const Array& a) {
      return custom_root([&](const Array& b) { return wave(array(std::int64_t{9}), a, b, options) - 0.5; },
                         array(1.3),
                         [](const auto& f, const Array& start) {
                           Array x = start;
                           for (int i = 0; i < 8; ++i) x = x - f(x) / jvp(f, x, array(1.)).second;
                           return x;
                         },
                         [](const auto& slope, const Array& y) { return y / slope(ones_like(y)); });
    };
  };
  const auto few_moved = root(few), taped = root({});
  const Array a = array(0.7);
  expect_near(wave(array(std::int64_t{9}), a, few_moved(a), few), array(0.5), 1e-12);
  const Array slope = (taped(a + 1e-4) - taped(a - 1e-4)) / 2e-4;
  expect_near(jit(grad(few_moved))(a), slope, 1e-6);
  expect_near(grad(grad(few_moved))(a), grad(grad(taped))(a), 1e-12);
  expect_near(jit(grad(grad(few_moved)))(a), grad(grad(taped))(a), 1e-12);
  expect_near(jit(grad(grad(grad(few_moved))))(a), jit(grad(grad(grad(taped))))(a), 1e-11);
}

// More numbers, complex ones, derivatives that are known by their transpose alone, and those that go from
// lane to lane: a tape.
TEST(Sensitivities, ElseThereIsATape) {
  auto loop = [](const auto& step) {
    return [=](const Array& x) {
      return sum(while_loop([](const Wave& s) { return s.steps < 7; },
                            [&](const Wave& s) {
                              return Wave{s.steps + 1, step(s.x), s.y};
                            },
                            Wave{array(std::int64_t{0}), x, x}, few)
                     .x);
    };
  };
  const auto plain = [](const Array& x) { return sin(x); };
  const auto doubled = custom_vjp([](const Array& x) { return 2. * x; },
                                  [](const Array& x) {
                                    return std::pair{2. * x, x};
                                  },
                                  [](const Array&, const Array& ct) { return 2. * ct; });
  EXPECT_NE(make_graph(grad(loop(plain)), zeros({4})).find("list<"), std::string::npos);
  EXPECT_EQ(make_graph(grad(loop(plain)), zeros({3})).find("list<"), std::string::npos);
  expect_near(jit(grad(loop(plain)))(zeros({0})), zeros({0}), 0.);
  auto through = jit(grad(loop(doubled)));
  expect_near(through(array(0.25)), array(128.), 1e-12);
  EXPECT_EQ(explain(through).find(told), std::string::npos);
  auto lanes = jit([&](const Array& x) {
    return vmap(grad(loop([](const Array& v) { return pmean(v, "i") * v; })), {.axis_name = "i"})(x);
  });
  auto apart = jit([&](const Array& x) {
    return vmap(grad([](const Array& v) {
                  Array u = v;
                  for (int k = 0; k < 7; ++k) u = pmean(u, "i") * u;
                  return u;
                }),
                {.axis_name = "i"})(x);
  });
  const Array x = array({0.9, 1.1, 1.05});
  expect_near(lanes(x), apart(x), 1e-12);
  auto turned = jit(grad([](const Array& z) {
    return real(while_loop([](const Wave& s) { return s.steps < 5; },
                           [](const Wave& s) {
                             return Wave{s.steps + 1, s.x * conj(s.x) + s.x, s.y};
                           },
                           Wave{array(std::int64_t{0}), z, z}, few)
                    .x);
  }));
  EXPECT_EQ((turned(Array(std::complex<double>(0.1, 0.2))), explain(turned).find(told)), std::string::npos);
}

}  // namespace
}  // namespace apsis::testing
