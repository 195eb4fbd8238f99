// Trouble 4: counting traces.
//
// In Chex and Equinox the answer depends on where the assertion stands:
//     chex.assert_max_traces(f, n=1) inside jax.jit counts runs on tracers; around jax.jit it is a
//     ValueError; around eqx.filter_jit it never fails, whatever is traced; a trace that comes of a static
//     argument alone is not counted. eqx.debug.assert_max_traces(f, max_traces=1) counts every call when it
//     stands outside of jit, and fails at the second call of a function that was traced once.
// Here a trace is a run of the function on tracers, to make a program, and a call that finds its program is
// none: one answer inside, outside and between.

#include <algorithm>
#include <thread>

#include "troubles/wrappers.hpp"

namespace apsis::testing {
namespace {

Array cubes(const Array& x, int n) { return x * x * x * n; }

/// Keeps shapes, so that wrappers go in any order.
Function jitted(const Function& f) { return jit(f); }
Function graded(const Function& f) {
  return grad([f](const Array& x, int n) { return sum(f(x, n)); });
}
Function mapped(const Function& f) {
  return [v = vmap(f)](const Array& x, int n) {
    return reshape(v(reshape(x, {1, x.size()}), n), {x.size()});
  };
}
Function wrapped(const Function& f) {
  return wraps([](const auto& g) { return [g](const Array& x, int n) { return g(2. * x, n); }; }, jit(f));
}
Function decorated(const Function& f) {
  return [f](const Array& x, int n) { return f(x, n) + 1.; };
}

using Wrapper = Function (*)(const Function&);
const Wrapper wrappers[] = {jitted, graded, mapped, wrapped, decorated};
const char* const names[] = {"jit", "grad", "vmap", "wraps", "lambda"};

const Array first = array({1., 2., 3.}), other_shape = array({1., 2.});
const TraceOptions options{.name = "cubes", .arguments = "x, n"};

std::string refusal(const Function& f, const Array& x, int n) {
  try {
    f(x, n);
  } catch (const Error& error) {
    std::string what = error.what();
    return what.substr(0, what.find("\n  at "));
  }
  return "nothing was refused";
}

/// Composes `order` (numbers of wrappers, the innermost first), with the counter after `place` of them.
struct Composed {
  Function f;
  Counted<Function> counted;
};
Composed compose(const std::vector<int>& order, std::size_t place, std::int64_t limit) {
  Function f = &cubes;
  for (std::size_t i = 0; i < place; ++i) f = wrappers[order[i]](f);
  Counted<Function> counted = assert_max_traces(f, limit, options);
  f = counted;
  for (std::size_t i = place; i < order.size(); ++i) f = wrappers[order[i]](f);
  return {f, counted};
}

std::string name_of(const std::vector<int>& order, std::size_t place) {
  std::string text = "from inside out:";
  for (std::size_t i = 0; i <= order.size(); ++i) {
    if (i == place) text += " assert_max_traces";
    if (i < order.size()) text += std::string(" ") + names[order[i]];
  }
  return text;
}

/// Two traces are allowed; a third, by another static value, another shape, is refused.
void expect_counts(const std::vector<int>& order, std::size_t place) {
  SCOPED_TRACE(name_of(order, place));
  auto [f, counted] = compose(order, place, 2);
  EXPECT_EQ(trace_count(counted), 0);
  Array value = f(first, 1);
  for (int i = 0; i < 3; ++i) expect_same_bits(f(first, 1), value);
  EXPECT_EQ(trace_count(counted), 1);
  f(first, 2);
  f(first, 1);
  f(first, 2);
  EXPECT_EQ(trace_count(counted), 2);
  EXPECT_EQ(refusal(f, first, 3),
            "[assert_max_traces] one trace too many of `cubes`, of which 2 traces are allowed: n: static int "
            "2 → 3; "
            "pass an Array to make it dynamic");
  EXPECT_EQ(trace_count(counted), 2);
  expect_same_bits(f(first, 1), value);  // what is traced stays usable
  reset_trace_count(counted);
  f(other_shape, 1);
  f(other_shape, 1);
  EXPECT_EQ(trace_count(counted), 1);
}

TEST(TraceCounts, AllOrdersOfAllWrappers) {
  std::vector<int> order{0, 1, 2, 3, 4};
  do {
    for (std::size_t place = 0; place <= order.size(); ++place) expect_counts(order, place);
    if (HasFailure()) break;
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(TraceCounts, AllOrdersOfSomeWrappersAnyNumberOfTimes) {
  for (std::size_t length = 1; length <= 3; ++length)
    for (int code = 0; code < static_cast<int>(std::pow(5, length)); ++code) {
      std::vector<int> order;
      for (int rest = code; order.size() < length; rest /= 5) order.push_back(rest % 5);
      if (std::ranges::none_of(order, [](int w) { return w == 0 || w == 3; })) continue;  // nothing is traced
      for (std::size_t place = 0; place <= length; ++place) expect_counts(order, place);
      if (HasFailure()) return;
    }
}

TEST(TraceCounts, WithoutJitThereIsNoTrace) {
  for (const std::vector<int>& order : {std::vector{1}, {2}, {4}, {1, 2}, {2, 1}, {4, 1, 2}}) {
    auto [f, counted] = compose(order, order.size() / 2, 0);
    for (int n = 0; n < 3; ++n) f(first, n);
    EXPECT_EQ(trace_count(counted), 0);
  }
}

// The same with the types that users have: what a transformation wraps is known there.
template <int wrapper, class F>
auto wrap(const F& f) {
  if constexpr (wrapper == 0)
    return jit(f);
  else if constexpr (wrapper == 1)
    return grad([f](const Array& x, int n) { return sum(f(x, n)); });
  else if constexpr (wrapper == 2)
    return vmap(f);
  else if constexpr (wrapper == 3)
    return wraps([](const auto& g) { return [g](const Array& x, int n) { return g(2. * x, n); }; }, jit(f));
  else
    return [f](const Array& x, int n) { return f(x, n) + 1.; };
}

/// The counter inside, between and outside of two wrappers.
template <int inner, int outer>
void expect_counts_typed() {
  SCOPED_TRACE(std::string(names[inner]) + " in " + names[outer]);
  auto count = [](const auto& f, const auto& counted) {
    Array x = reshape(first, {1, 3});
    for (int i = 0; i < 3; ++i) f(x, 1);
    EXPECT_EQ(trace_count(counted), 1);
    for (int i = 0; i < 3; ++i) f(x, 2);
    EXPECT_EQ(trace_count(counted), 2);
    EXPECT_THROW(f(x, 3), Error);
    EXPECT_EQ(trace_count(counted), 2);
  };
  auto a = assert_max_traces(&cubes, 2);
  count(wrap<outer>(wrap<inner>(a)), a);
  auto b = assert_max_traces(wrap<inner>(&cubes), 2);
  count(wrap<outer>(b), b);
  auto c = assert_max_traces(wrap<outer>(wrap<inner>(&cubes)), 2);
  count(c, c);
}

TEST(TraceCounts, AllPairsOfWrappersWithTheirOwnTypes) {
  [&]<int... code>(std::integer_sequence<int, code...>) {
    (
        [] {
          constexpr int inner = code / 5, outer = code % 5;
          if constexpr (inner == 0 || inner == 3 || outer == 0 || outer == 3)
            expect_counts_typed<inner, outer>();
        }(),
        ...);
  }
  (std::make_integer_sequence<int, 25>{});
}

TEST(TraceCounts, AJittedFunctionIsTracedOnceForAllThatIsAroundIt) {
  auto f = jit(&cubes);
  auto sum_of = [&](const Array& x, int n) { return sum(f(x, n)); };
  f(first, 1);
  jit([&](const Array& x) { return f(x, 1) + f(2. * x, 1); })(first);
  grad(sum_of)(first, 1);
  jit(grad(sum_of))(first, 1);
  jacfwd(grad(sum_of))(first, 1);
  vmap(f)(stack({first, first}), 1);
  jit(vmap(f))(stack({first, first}), 1);
  while_loop([](const Array& x) { return sum(x) < 1000.; }, [&](const Array& x) { return f(x, 1) + 1.; },
             first);
  compile(f, first, 1)(first, 1);
  EXPECT_EQ(trace_count(f), 1);
  EXPECT_EQ(trace_count(vmap(f)), 1);
  EXPECT_EQ(trace_count(grad(jit(vmap(f)))), 0);  // the outermost jitted function's
}

TEST(TraceCounts, ExplainTellsWhatChanged) {
  struct Config {
    Array lr;
    Static<double> decay = 0.1;
    std::vector<Array> layers;
    std::optional<Array> mask;
    std::string mode = "sum";
  };
  auto f = jit([](const Config& c, const Array& x) { return x * c.lr * c.decay; },
               {.name = "step", .arguments = "config, x"});
  Config config{array(1.)};
  f(config, first);
  f(config, first);
  config.decay = 0.2;
  f(config, first);
  f(config, other_shape);
  f(config, astype(other_shape, f32));
  config.lr = 1.;
  f(config, other_shape);
  config.layers = {first};
  f(config, other_shape);
  config.mask = first;
  f(config, other_shape);
  config.mode = "mean";
  f(config, other_shape);
  config.lr = Array();
  EXPECT_THROW(f(config, other_shape), Error);
  EXPECT_EQ(
      explain(vmap(f)),
      "step: 9 traces, 8 of at most 512 signatures kept\n"
      "1. config.lr: f64[], config.decay: 0.1, config.layers: size 0, config.mask: none, config.mode: "
      "\"sum\", "
      "x: f64[3]\n"
      "   the first trace\n"
      "2. config.lr: f64[], config.decay: 0.2, config.layers: size 0, config.mask: none, config.mode: "
      "\"sum\", "
      "x: f64[3]\n"
      "   config.decay: static double 0.1 → 0.2; pass an Array to make it dynamic\n"
      "3. config.lr: f64[], config.decay: 0.2, config.layers: size 0, config.mask: none, config.mode: "
      "\"sum\", "
      "x: f64[2]\n"
      "   x: f64[3] → f64[2]; each shape is a program of its own: pad to one shape, or expect a trace for "
      "each\n"
      "4. config.lr: f64[], config.decay: 0.2, config.layers: size 0, config.mask: none, config.mode: "
      "\"sum\", "
      "x: f32[2]\n"
      "   x: f64[2] → f32[2]; convert it to one dtype before the call\n"
      "5. config.lr: ~f64[], config.decay: 0.2, config.layers: size 0, config.mask: none, config.mode: "
      "\"sum\", "
      "x: f64[2]\n"
      "   config.lr: f64[] → ~f64[]; one is a number, the other an Array: pass one or the other always\n"
      "6. config.lr: ~f64[], config.decay: 0.2, config.layers: size 1, config.layers[0]: f64[3], "
      "config.mask: "
      "none, config.mode: \"sum\", x: f64[2]\n"
      "   config.layers: size 0 → size 1; it is static: each structure is a program of its own\n"
      "7. config.lr: ~f64[], config.decay: 0.2, config.layers: size 1, config.layers[0]: f64[3], "
      "config.mask: "
      "present, config.mask: f64[3], config.mode: \"sum\", x: f64[2]\n"
      "   config.mask: none → present; it is static: each structure is a program of its own\n"
      "8. config.lr: ~f64[], config.decay: 0.2, config.layers: size 1, config.layers[0]: f64[3], "
      "config.mask: "
      "present, config.mask: f64[3], config.mode: \"mean\", x: f64[2]\n"
      "   config.mode: static string \"sum\" → \"mean\"; it is static: each value is a program of its own\n"
      "9. config.lr: empty, config.decay: 0.2, config.layers: size 1, config.layers[0]: f64[3], config.mask: "
      "present, config.mask: f64[3], config.mode: \"mean\", x: f64[2]\n"
      "   config.lr: ~f64[] → empty; pass it always, or never\n"
      "   the trace failed\n");
}

// Not with the latest call, but with the one that differs in the least.
TEST(TraceCounts, ExplainComparesWithTheNearestCall) {
  auto f = jit(&cubes, {.name = "cubes", .arguments = "x, n"});
  f(first, 1);
  f(other_shape, 2);
  f(first, 3);
  f(other_shape, 4);
  const std::string told = explain(f);
  EXPECT_NE(told.find("   n: static int 1 → 3; pass an Array to make it dynamic\n"), std::string::npos)
      << told;
  EXPECT_NE(told.find("   n: static int 2 → 4; pass an Array to make it dynamic\n"), std::string::npos)
      << told;
}

TEST(TraceCounts, SaysWhyWhenNoArgumentChanged) {
  auto inner = assert_max_traces(&cubes, 1, options);
  // A jitted function made anew for each call: the usual mistake.
  jit(inner)(first, 1);
  EXPECT_EQ(refusal(jit(inner), first, 1),
            "[assert_max_traces] one trace too many of `cubes`, of which 1 trace is allowed: its arguments "
            "are as in "
            "an earlier call, but `jit` around it is traced: the first trace");
  // Called for two reasons in one program.
  reset_trace_count(inner);
  auto outer = jit([&](const Array& x, int n, bool) { return inner(x, n); }, {.name = "outer"});
  outer(first, 1, false);
  EXPECT_EQ(refusal([&](const Array& x, int n) { return outer(x, n, true); }, first, 1),
            "[assert_max_traces] one trace too many of `cubes`, of which 1 trace is allowed: its arguments "
            "are as in "
            "an earlier call, but `outer` around it is traced: argument 2: static bool false → true; pass an "
            "Array to "
            "make it dynamic");
}

TEST(TraceCounts, TracedValuesFromOutsideBelongToTheirTrace) {
  std::int64_t traces = 0;
  auto f = [&](const Array& w) {
    auto inner = jit([&](const Array& x) { return w * x; });
    Array y = inner(first) + inner(first);
    traces = trace_count(inner);
    return sum(y);
  };
  expect_same_bits(grad(f)(array(2.)), array(12.));
  EXPECT_EQ(traces, 2);  // its program uses w, which no later trace has
}

TEST(TraceCounts, ScopesLimitAndNest) {
  auto f = jit(&cubes);
  f(first, 1);
  {
    TraceLimit none(f, 0);
    f(first, 1);
    EXPECT_THROW(f(first, 2), Error);
    EXPECT_EQ(none.traces(), 0);
    TraceLimit more(f, 5);  // never more than around it
    EXPECT_THROW(f(first, 2), Error);
  }
  {
    TraceLimit two(vmap(f), 2);
    f(first, 2);
    f(first, 3);
    EXPECT_EQ(two.traces(), 2);
    EXPECT_THROW(f(first, 4), Error);
  }
  f(first, 4);
  EXPECT_EQ(trace_count(f), 4);
  reset_trace_count(f);
  EXPECT_EQ(trace_count(f), 0);
}

TEST(TraceCounts, ManyThreads) {
  auto counted = assert_max_traces(&cubes, 8);
  auto f = jit(counted);
  std::vector<std::thread> threads;
  std::atomic<int> refused = 0;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 40; ++i) try {
          f(first, i % 9);  // nine signatures, one of which is refused each time
        } catch (const Error&) {
          ++refused;
        }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(trace_count(counted), 8);
  EXPECT_EQ(trace_count(f), 8 + refused);
  EXPECT_GE(refused, 6 * 4);
}

}  // namespace
}  // namespace apsis::testing
