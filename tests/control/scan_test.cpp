#include "errors/error_of.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Carry {
  Array position, velocity;
};
struct Input {
  Array force, mass;
};

Array wave(const Shape& shape) {
  std::int64_t n = shape.product();
  return sin(reshape(arange(static_cast<double>(n)), shape) * 0.7 + 0.3);
}

auto sum_and_product(const Array& xs, bool reverse) {
  return scan(
      [](const Array& c, const Array& x) {
        return std::pair{c + x, c * x};
      },
      1., xs, {.reverse = reverse});
}

TEST(Scan, StacksResults) {
  Array xs = array({2., 3., 4.});
  auto forward = [](const Array& v) { return sum_and_product(v, false); };
  auto [total, products] = expect_compiled_as_interpreted(forward, xs);
  expect_same_bits(total, array(10.));
  expect_same_bits(products, array({2., 9., 24.}));
  auto backward = [](const Array& v) { return sum_and_product(v, true); };
  auto [same, reversed] = expect_compiled_as_interpreted(backward, xs);
  expect_same_bits(same, array(10.));
  expect_same_bits(reversed, array({16., 15., 4.}));
}

TEST(Scan, OverTrees) {
  auto run = [](const Array& force) {
    Input inputs{force, linspace(1., 2., 5)};
    return scan(
        [](const Carry& c, const Input& in) {
          Carry next{c.position + 0.1 * c.velocity, c.velocity + 0.1 * in.force / in.mass};
          return std::pair{next, std::tuple{next.position, Input{in.mass * c.velocity, Array()}}};
        },
        Carry{array(0.), array(1.)}, inputs);
  };
  Array force = wave({5});
  auto [last, ys] = expect_compiled_as_interpreted(run, force);
  double position = 0, velocity = 1;
  std::vector<double> f = force.to_vector<double>();
  for (int i = 0; i < 5; ++i) {
    position += 0.1 * velocity;
    velocity += 0.1 * f[static_cast<std::size_t>(i)] / (1 + 0.25 * i);
    EXPECT_NEAR(std::get<0>(ys)[i].item<double>(), position, 1e-14);
  }
  EXPECT_NEAR(last.velocity.item<double>(), velocity, 1e-14);
  EXPECT_TRUE(std::get<1>(ys).mass.is_empty());
}

TEST(Scan, Derivatives) {
  for (bool reverse : {false, true}) {
    auto loss = [=](const Array& xs) {
      auto [last, ys] = scan(
          [&](const Array& c, const Array& x) {
            return std::pair{sin(c) + x * c + xs[0], c * x};
          },
          array({0.5, 0.2}), xs, {.reverse = reverse});
      return sum(last * last) + sum(ys * wave({4, 2}));
    };
    expect_derivatives(loss, wave({4, 2}));
  }
}

TEST(Scan, OfNoEntries) {
  auto loss = [](const Array& x) {
    auto [last, ys] = scan(
        [&](const Array& c, const Array& e) {
          return std::pair{c * e + x[0], c + e};
        },
        x, zeros({0, 2}));
    EXPECT_EQ(to_string(ys.shape()), to_string(Shape{0, 2}));
    return sum(last * last) + sum(ys);
  };
  expect_derivatives(loss, array({0.4, 0.3}));
}

TEST(Scan, WithoutXs) {
  auto powers = [](const Array& x) {
    return scan(
        [&](const Array& c, Nothing) {
          return std::pair{c * x, c};
        },
        array(1.), Nothing{}, {.length = 4});
  };
  auto [last, ys] = expect_compiled_as_interpreted(powers, array(3.));
  expect_same_bits(last, array(81.));
  expect_same_bits(ys, array({1., 3., 9., 27.}));
  expect_derivatives([&](const Array& x) { return sum(powers(x).second); }, array(0.8));
}

TEST(Scan, InLanes) {
  auto f = [](const Array& x) {
    return scan(
               [&](const Array& c, const Array& e) {
                 return std::pair{c * e + x[0], cos(c)};
               },
               1., x)
        .second;
  };
  Array xs = wave({3, 5});
  Array all = expect_compiled_as_interpreted(vmap(f), xs);
  auto loss = [&](const Array& x) { return sum(f(x) * x); };
  Array slopes = expect_compiled_as_interpreted(vmap(grad(loss)), xs);
  for (int i = 0; i < 3; ++i) {
    expect_same_bits(Array(all[i]), f(xs[i]));
    expect_same_bits(Array(slopes[i]), grad(loss)(xs[i]));
  }
  auto total = [&](const Array& m) { return sum(vmap(loss)(m)); };
  expect_derivatives(total, xs);
}

TEST(Scan, AroundALoop) {
  auto loss = [](const Array& xs) {
    auto [last, ys] = scan(
        [](const Array& c, const Array& x) {
          Array y = while_loop([](const Array& v) { return abs(v) < 3.; },
                               [&](const Array& v) { return 1.7 * v + 0.1 * x; }, c + 0.5);
          return std::pair{sin(y) * x, y};
        },
        array(0.2), xs);
    return last + sum(ys);
  };
  expect_derivatives(loss, array({0.4, 0.8, -0.3}), 1e-8, 1e-4);  // steep
}

TEST(ForiLoop, WithConcreteAndTracedBounds) {
  auto power = [](const Array& n) {
    return [n](const Array& x) {
      return fori_loop(
          0, n, [&](const Array& i, const Array& y) { return y * x + astype(i, f64); }, array(1.));
    };
  };
  Array x = array(0.7);
  Array concrete = expect_compiled_as_interpreted(power(5), x);
  double want = 1;
  for (int i = 0; i < 5; ++i) want = std::fma(want, 0.7, i);
  EXPECT_EQ(concrete.item<double>(), want);
  auto traced = jit([&](const Array& n, const Array& v) { return power(n)(v); });
  expect_same_bits(traced(array(5), x), concrete);
  EXPECT_EQ(traced(array(0), x).item<double>(), 1.);
  EXPECT_EQ(traced(array(-3), x).item<double>(), 1.);
  expect_derivatives(power(5), x);
  expect_near(jit(grad([&](const Array& v, const Array& n) { return power(n)(v); }))(x, array(5)),
              grad(power(5))(x));
  Array lanes = vmap([&](const Array& n) { return power(n)(x); })(array({0, 5, 2}));
  expect_same_bits(Array(lanes[1]), concrete);
}

// The index is counted: no array of all indices is made.
TEST(ForiLoop, OfManyIterationsTakesNoMemoryForItsIndex) {
  auto f = [](const Array& x) {
    return fori_loop(
        -3, 4'000'000'000'000, [](const Array& i, const Array& y) { return y + i; }, x);
  };
  const std::string program = make_graph(f, array(0.));
  EXPECT_NE(program.find("length=4000000000003"), std::string::npos);
  EXPECT_EQ(program.find("i64[4"), std::string::npos);
  auto last = [](const Array& x) {
    return fori_loop(
        astype(array(3), i32), 7, [](const Array& i, const Array&) { return i; }, x);
  };
  EXPECT_EQ(last(Array(std::int64_t{0}, i64)).item<std::int64_t>(), 6);
}

TEST(ForiLoop, ErrorsNameTheUsersCarry) {
  struct State {
    Array x, y;
  };
  const auto message_of = [](const auto& body) {
    return error_of([&] { fori_loop(0, 3, body, State{array(1.), array({1., 2.})}); });
  };
  const auto loses = [](const Array&, const State& s) { return State{s.x, {}}; };
  EXPECT_NE(message_of(loses).find("`carry.y` is a leaf in the first, empty in the second"),
            std::string::npos);
  const auto grows = [](const Array&, const State& s) { return State{s.x + s.y, s.y}; };
  EXPECT_NE(message_of(grows).find("carry.x is f64[] on entry and f64[2] on return"), std::string::npos);
}

// By its own name, whether it becomes a scan or, with bounds that are traced, a while.
TEST(ForiLoop, ErrorsAreItsOwn) {
  const auto grows = [](const Array&, const Array& c) { return concatenate({c, c}); };
  const auto run = [&](const Array& n) { return fori_loop(0, n, grows, array({1., 2.})); };
  const std::string mismatch =
      "[fori_loop] the body must return the carry with the shapes and dtypes it got: carry is ";
  EXPECT_TRUE(error_of([&] { run(3); }).starts_with(mismatch));
  EXPECT_TRUE(error_of([&] { jit(run)(array(3)); }).starts_with(mismatch));
  const auto kept = [](const Array& n) {
    return fori_loop(0, n, [](const Array&, const Array& c) { return sin(c); }, array(1.),
                     {.checkpoints = 1});
  };
  EXPECT_TRUE(error_of([&] { kept(3); }).starts_with("[fori_loop] checkpoints is 1"));
  EXPECT_TRUE(error_of([&] { jit(kept)(array(3)); }).starts_with("[fori_loop] checkpoints is 1"));
}

TEST(ForiLoop, KeepsAsFewStatesAsItIsTold) {
  const auto loss = [](const ForiOptions& options) {
    return [=](const Array& x, const Array& n) {
      return sum(fori_loop(
          2, n, [&](const Array& i, const Array& y) { return sin(y * x) + 0.1 * astype(i, f64); }, x,
          options));
    };
  };
  Array x = array({0.7, -0.2});
  for (std::int64_t n : {2, 3, 4, 25}) {
    const auto fixed = [&](const ForiOptions& o) {
      return [n, f = loss(o)](const Array& v) { return f(v, Array(n)); };
    };
    Array want = jit(grad(fixed({})))(x);
    for (const ForiOptions& o : {ForiOptions{.checkpoints = 3}, ForiOptions{.checkpoint_bytes = 100}}) {
      expect_same_bits(jit(grad(fixed(o)))(x), want);
      expect_same_bits(jit(grad(loss(o)))(x, array(n)), want);
    }
  }
  // Without a tape.
  auto traced = [&](const ForiOptions& o) { return make_graph(grad(loss(o)), x, array(9)); };
  EXPECT_NE(traced({}).find("list<"), std::string::npos);
  EXPECT_EQ(traced({.checkpoints = 3}).find("list<"), std::string::npos);
}

TEST(Scan, UnrolledIsTheSame) {
  const auto body = [](const Array& c, const Array& x) {
    const Array next = 0.9 * c + sin(x) * c[0];
    return std::pair{next, next * x};
  };
  const Array start = array({1., 0.5});
  for (std::int64_t n : {0, 1, 2, 5, 7})
    for (std::int64_t unroll : {2, 3, 7, 9})
      for (bool reverse : {false, true}) {
        SCOPED_TRACE(std::to_string(n) + " by " + std::to_string(unroll) + (reverse ? " backwards" : ""));
        const Array xs = cos(arange(static_cast<double>(n)));
        const auto run = [&](std::int64_t by) {
          return jit([=](const Array& c, const Array& x) {
            return scan(body, c, x, {.reverse = reverse, .unroll = by});
          });
        };
        const auto [last, ys] = run(unroll)(start, xs);
        const auto [want_last, want_ys] = run(1)(start, xs);
        EXPECT_EQ(last.to_vector<double>(), want_last.to_vector<double>());
        EXPECT_EQ(ys.to_vector<double>(), want_ys.to_vector<double>());
        EXPECT_EQ(ys.shape(), want_ys.shape());
        const auto slopes = [&](std::int64_t by) {
          return grad<0, 1>([=](const Array& c, const Array& x) {
            const auto [end, all] = scan(body, c, x, {.reverse = reverse, .unroll = by});
            return sum(end) + sum(all * all);
          })(start, xs);
        };
        const auto [by_start, by_xs] = jit([&] { return slopes(unroll); })();
        const auto [want_start, want_xs] = slopes(1);
        for (int i = 0; i < 2; ++i)
          EXPECT_NEAR(by_start[i].item<double>(), want_start[i].item<double>(), 1e-13);
        for (int i = 0; i < n; ++i) EXPECT_NEAR(by_xs[i].item<double>(), want_xs[i].item<double>(), 1e-13);
      }
  // Without xs, and a carry that takes its dtype in the first iteration.
  const auto counted = jit([](const Array& step) {
    return scan(
        [&](const Array& c, const Nothing&) {
          return std::pair{c + step, c};
        },
        0, Nothing{}, {.length = 5, .unroll = 2});
  })(array(0.5));
  EXPECT_EQ(counted.first.item<double>(), 2.5);
  EXPECT_EQ(counted.second.to_vector<double>(), (std::vector{0., 0.5, 1., 1.5, 2.}));
}

}  // namespace
}  // namespace apsis::testing
