// Rules of custom_jvp whose tangents come out of jvp of something with a program inside: a jitted function, a
// closure, a loop, a branch, lanes. Reverse mode splits these in a known and a linear part.

#include <apsis/apsis.hpp>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

const Array xs = array({0.5, -1.25, 2.});

/// A function whose rule is its own derivative.
const auto ruled = [](const auto& f) {
  return custom_jvp(f, [f](const Array& x, const Array& dx) { return jvp(f, x, dx); });
};

/// All derivatives of the function by its rule are those it has without, in each mode and nesting.
template <class F>
void expect_split(const F& f) {
  auto loss = [](const auto& g) { return [g](const Array& x) { return sum(sin(g(x)) * (x + 2.)); }; };
  auto plain = loss(f);
  auto custom = loss(ruled(f));
  const auto direction = [](const Array& x) { return cos(x + 0.3); };
  const auto along = [&](const auto& g) {
    return [g, direction](const Array& x) { return sum(grad(g)(x) * direction(x)); };
  };
  expect_near(grad(custom)(xs), grad(plain)(xs));
  expect_near(jit(grad(custom))(xs), grad(plain)(xs));
  expect_near(grad(jit(custom))(xs), grad(plain)(xs));
  expect_near(grad(checkpoint(custom))(xs), grad(plain)(xs));
  expect_near(linearize(custom, xs).second(xs), jvp(plain, xs, xs).second);
  expect_near(grad(along(custom))(xs), grad(along(plain))(xs), 1e-12);
  expect_near(jit(grad(along(custom)))(xs), grad(along(plain))(xs), 1e-12);
  expect_near(jvp(grad(custom), xs, xs).second, jvp(grad(plain), xs, xs).second, 1e-12);
  const Array many = stack({xs, 0.5 * xs, -xs});
  expect_near(vmap(grad(custom))(many), vmap(grad(plain))(many));
  expect_near(jit(vmap(grad(custom)))(many), vmap(grad(plain))(many));
  auto all = [&](const auto& g) { return [g](const Array& x) { return sum(vmap(g)(x)); }; };
  expect_near(grad(all(custom))(many), grad(all(plain))(many));
}

TEST(SplitRules, JittedFunctions) {
  auto inner = jit([](const Array& x) { return sin(x) * x; });
  expect_split([inner](const Array& x) { return inner(inner(x) + 1.) * 0.5; });
}

TEST(SplitRules, CheckpointedFunctions) {
  auto product = [](const Array& x) { return exp(sin(x)) * matmul(x, x); };
  expect_split(checkpoint(product));
  expect_split(checkpoint(jit(product), {.dots = true}));
}

TEST(SplitRules, Closures) {
  auto f = [](const Array& x) {
    Array gain = sum(x);
    Closure act = closure_convert([gain](const Array& v) { return tanh(gain * v); }, x);
    return act(act(x)) + x;
  };
  expect_split(f);
}

TEST(SplitRules, Branches) {
  expect_split([](const Array& x) {
    Array s = sum(x);
    return cond(
        s > 0.5, [](const Array& a, const Array& b) { return sin(a * b); },
        [](const Array& a, const Array&) { return a; }, x, s);
  });
}

TEST(SplitRules, Scans) {
  expect_split([](const Array& x) {
    auto [last, ys] = scan(
        [&x](const Array& c, const Array& v) {
          Array next = sin(c * v) + 0.1 * sum(x);
          return std::pair{next, next * c};
        },
        sum(x), x);
    return ys * last;
  });
  // What the tangents do not pass through, the loop keeps for itself: a counter, and a second result.
  expect_split([](const Array& x) {
    auto [end, ys] = scan(
        [](const std::pair<Array, Array>& c, const Array& v) {
          return std::pair{std::pair{c.first + 1, c.second * cos(v)}, astype(c.first, f64) * v};
        },
        std::pair{array(std::int64_t{1}), array(1.)}, x, {.reverse = true});
    return ys * end.second + astype(end.first, f64);
  });
}

TEST(SplitRules, ScansWithCheckpoints) {
  auto f = [](const Array& x) {
    auto [last, ys] = scan(
        [&x](const Array& c, const Array& v) {
          Array next = sin(c * v) + 0.1 * sum(x);
          return std::pair{next, next * c};
        },
        sum(x), concatenate({x, cos(x)}), {.checkpoints = 2});
    return sum(ys) * last + x;
  };
  expect_split(f);
}

TEST(SplitRules, LoopsOfUnknownLength) {
  using State = std::pair<Array, Array>;
  auto grow = [](std::int64_t checkpoints) {
    return [checkpoints](const Array& x) {
      State end = while_loop([](const State& s) { return s.second < 3.; },
                             [&](const State& s) {
                               return State{sin(s.first) * x + 0.2, s.second * (1.3 + 0.1 * sum(x * x))};
                             },
                             State{x, sum(x * x) + 0.1}, {.checkpoints = checkpoints});
      return end.first * end.second;
    };
  };
  expect_split(grow(0));
  expect_split(grow(3));
  // States are kept, not a tape, by the loop that the rule's jvp makes too.
  const auto program = [&](std::int64_t checkpoints) {
    return make_graph(grad([f = ruled(grow(checkpoints))](const Array& x) { return sum(f(x)); }), xs);
  };
  EXPECT_NE(program(0).find("list<"), std::string::npos);
  EXPECT_EQ(program(3).find("list<"), std::string::npos);
}

TEST(SplitRules, Lanes) {
  expect_split([](const Array& x) {
    auto one = [](const Array& v) {
      return while_loop([](const Array& y) { return y < 4.; },
                        [&](const Array& y) { return y * (1.2 + v * v); }, v * v + 0.1);
    };
    return vmap(one)(x);
  });
}

TEST(SplitRules, RulesInRules) {
  auto inner = jit(ruled(jit([](const Array& x) { return tanh(x) * x; })));
  expect_split(ruled([inner](const Array& x) { return inner(x) * inner(2. * x); }));
  // Of a function with a batching rule, and of one that only reverse mode goes through.
  auto batched = custom_batch([](const Array& x) { return sin(x) * x; },
                              [](std::int64_t, const Array&, const Array& x) { return sin(x) * x; });
  expect_split([batched](const Array& x) { return batched(jit(batched)(x)); });
  auto reversed = custom_vjp([](const Array& x) { return x * x * x; },
                             [](const Array& x) {
                               return std::pair{x * x * x, x};
                             },
                             [](const Array& x, const Array& ct) { return 3. * x * x * ct; });
  auto inside = custom_batch([reversed](const Array& x) { return jit(reversed)(x); },
                             [](std::int64_t, const Array&, const Array& x) { return x * x * x; });
  expect_near(grad([&](const Array& x) { return sum(inside(x)); })(xs), 3. * xs * xs);
}

}  // namespace
}  // namespace apsis::testing
