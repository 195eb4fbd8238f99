// What transformations derive of a function that is called several times they derive once.

#include <set>

#include "transform/batch/derived.hpp"
#include "transform/checks.hpp"
#include "transform/stage/stage.hpp"

namespace apsis::testing {
namespace {

/// A function of 12 statements that is called `times` times, on other operands each time.
auto called(int times) {
  const auto inner = jit([](const Array& start) {
    Array x = start;
    for (int k = 0; k < 12; ++k) x = k % 2 ? sin(x) * 1.01 + x : x * x * 0.1 + 0.5;
    return x;
  });
  return [=](const Array& start) {
    Array x = start;
    for (int k = 0; k < times; ++k) x = inner(x) * 0.5;
    return sum(x);
  };
}

struct Calls {
  int equations = 0;
  std::set<const detail::Graph*> programs;
  void count(const detail::Graph& graph) {
    for (const detail::Eqn& e : graph.eqns())
      detail::each_region(e.params, [&](const detail::Graph& region) {
        ++equations;
        if (programs.insert(&region).second) count(region);
      });
  }
};
template <class F>
Calls calls_in(const F& f, const Array& x) {
  Calls calls;
  const auto flat = [&](std::span<const Array> in) { return std::vector<Array>{f(in[0])}; };
  const std::vector<Aval> avals{x.aval()};
  calls.count(*detail::stage_with(flat, avals, "test").graph);
  return calls;
}

const Array at = array({0.3, -0.2, 0.7});

const auto push = [](const auto& f) { return [=](const Array& x) { return jvp(f, x, x * 0.5).second; }; };

TEST(Derived, OncePerFunction) {
  constexpr int times = 7;
  const auto f = called(times);
  EXPECT_EQ(calls_in(f, at).equations, times);
  EXPECT_EQ(calls_in(f, at).programs.size(), 1u);
  EXPECT_EQ(calls_in(push(f), at).equations, times);
  EXPECT_EQ(calls_in(push(f), at).programs.size(), 1u);
  EXPECT_EQ(calls_in(vmap(f), at).equations, times);
  EXPECT_EQ(calls_in(vmap(f), at).programs.size(), 1u);
  const Calls reverse = calls_in(grad(f), at);  // the function with what it leaves, and its pull-back
  EXPECT_EQ(reverse.equations, 2 * times);
  EXPECT_EQ(reverse.programs.size(), 2u);
  const Calls both = calls_in(vmap(grad(f)), stack({at, at * 2.}));
  EXPECT_EQ(both.equations, 2 * times);
  EXPECT_EQ(both.programs.size(), 3u);  // the first cotangent is the same in all lanes
  EXPECT_EQ(calls_in(push(grad(f)), at).programs.size(), calls_in(push(grad(called(3))), at).programs.size());
}

TEST(Derived, ValuesStayWhatTheyAre) {
  const auto f = called(5);
  const auto plain = [](const Array& start) {
    Array x = start;
    for (int call = 0; call < 5; ++call) {
      for (int k = 0; k < 12; ++k) x = k % 2 ? sin(x) * 1.01 + x : x * x * 0.1 + 0.5;
      x = x * 0.5;
    }
    return sum(x);
  };
  expect_near(grad(f)(at), grad(plain)(at));
  expect_near(jit(grad(f))(at), grad(plain)(at));
  expect_near(jit(hessian(f))(at), hessian(plain)(at));
  const Array many = stack({at, at * 2., at - 0.1});
  expect_near(jit(vmap(grad(f)))(many), vmap(grad(plain))(many));
  expect_compiled_as_interpreted(jit(push(grad(f))), at);
}

TEST(Derived, RulesRunOncePerFunction) {
  int runs = 0;
  const auto square = custom_jvp([](const Array& x) { return x * x; },
                                 [&](const Array& x, const Array& dx) {
                                   ++runs;
                                   return std::pair{x * x, 2. * x * dx};
                                 });
  const auto f = jit([&](const Array& x) { return square(x) + 1.; });
  const auto runs_of = [&](int times) {
    runs = 0;
    (void)jit(grad([&](const Array& start) {
      Array x = start;
      for (int k = 0; k < times; ++k) x = f(x);
      return sum(x);
    }))(at);
    return runs;
  };
  EXPECT_GE(runs_of(1), 1);
  EXPECT_EQ(runs_of(5), runs_of(1));
}

/// A function may be called for other axes of one name.
TEST(Derived, ForTheAxesInScope) {
  const auto f =
      jit([](const Array& x) { return x * psum(x, "i") + x * static_cast<double>(axis_size("i")); });
  const auto both = [&](const Array& x) {
    const auto over_i = [&](const Array& v) { return sum(vmap(f, {.axis_name = "i"})(v)); };
    return over_i(x) + over_i(x[range(0, 2)]) + over_i(x * 2.);
  };
  const auto plain = [](const Array& x) {
    const auto over_i = [](const Array& v) { return sum(v) * (sum(v) + static_cast<double>(v.size())); };
    return over_i(x) + over_i(x[range(0, 2)]) + over_i(x * 2.);
  };
  expect_near(grad(both)(at), grad(plain)(at));
  expect_near(hessian(both)(at), hessian(plain)(at));
  expect_near(vmap(grad(both))(stack({at, at * 3.})), vmap(grad(plain))(stack({at, at * 3.})));
}

TEST(Derived, KeptWhileTransformationsRun) {
  const detail::GraphRef program =
      detail::parse_graph(trace([](const Array& x) { return x * 2.; }, at).text());
  const detail::DerivedKey key(detail::Derivation::Jvp, *program);
  int made = 0;
  const auto make = [&] { return ++made; };
  EXPECT_EQ(detail::derived_once(key, make), 1);
  EXPECT_EQ(detail::derived_once(key, make), 2);
  {
    const detail::DerivedScope outer;
    {
      const detail::DerivedScope inner;
      EXPECT_EQ(detail::derived_once(key, make), 3);
    }
    EXPECT_EQ(detail::derived_once(key, make), 3);
    detail::DerivedKey other(detail::Derivation::Jvp, *program);
    other.add(std::vector<bool>{true});
    EXPECT_EQ(detail::derived_once(other, make), 4);
    // An equal program, but not this one.
    const detail::GraphRef equal = detail::parse_graph(detail::to_string(*program));
    EXPECT_EQ(detail::derived_once(detail::DerivedKey(detail::Derivation::Jvp, *equal), make), 5);
  }
  EXPECT_EQ(detail::find_derived(key), nullptr);
}

}  // namespace
}  // namespace apsis::testing
