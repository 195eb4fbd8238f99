// What a jitted function keeps, and how threads share it.

#include <barrier>
#include <thread>

#include "runtime/program_cache.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

TEST(JitEntries, AreBounded) {
  auto f = jit([](const Array& x, int n) { return x * n; }, {.max_entries = 8});
  Array x = array({1., 2.});
  for (int n = 0; n < 40; ++n) expect_same_bits(f(x, n), x * n);
  EXPECT_EQ(f.entry_count(), 8);
  EXPECT_EQ(f.trace_count(), 40);
  for (int n = 32; n < 40; ++n) expect_same_bits(f(x, n), x * n);
  EXPECT_EQ(f.trace_count(), 40);
  f(x, 0);
  EXPECT_EQ(f.trace_count(), 41);
  EXPECT_NE(explain(f).find("whose program was dropped"), std::string::npos) << explain(f);
}

TEST(JitEntries, TheLeastRecentlyUsedGo) {
  auto f = jit([](const Array& x, int n) { return x * n; }, {.max_entries = 4});
  Array x = array({1., 2.});
  for (int n = 0; n < 4; ++n) f(x, n);
  for (int round = 0; round < 10; ++round) {
    f(x, 0);
    f(x, 100 + round);
  }
  EXPECT_EQ(f.trace_count(), 14);  // 0 was never dropped
}

TEST(JitEntries, ShapesMayChangeForEver) {
  auto f = jit([](const Array& x) { return sum(x) * 2.; }, {.max_entries = 3});
  for (int n = 1; n < 60; ++n) EXPECT_EQ(f(ones({n})).item<double>(), 2. * n);
  EXPECT_EQ(f.entry_count(), 3);
}

TEST(JitEntries, AnEntryInUseOutlivesItsPlace) {
  // While a program runs or its result is rebuilt, the function is called with so many signatures that its
  // entry goes.
  struct Holder {
    Array value;
    std::vector<int> numbers;
  };
  auto g = jit(
      [](const Array& x, int n) {
        return Holder{x * n, std::vector<int>(1000, 7)};
      },
      {.max_entries = 1});
  Array x = array(3.);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        Holder h = g(x, t + i % 2);
        wrong += h.value.item<double>() != 3. * (t + i % 2) || h.numbers != std::vector<int>(1000, 7);
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(g.entry_count(), 1);
}

TEST(JitEntries, ClearingCachesWhileOthersCall) {
  auto f = jit([](const Array& x, int n) {
    if (n == 3) throw std::runtime_error("three");
    return while_loop([](const Array& y) { return sum(y) < 100.; },
                      [n](const Array& y) { return y * 2. + n; }, x);
  });
  auto slope = jit(grad([f](const Array& x, int n) { return sum(f(x, n)); }));
  Array x = array({1., 2.});
  std::vector<Array> want;
  for (int n = 0; n < 3; ++n) want.push_back(f(x, n));
  Array want_slope = slope(x, 1);
  std::atomic<int> wrong = 0;
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        int n = (t + i) % 4;
        try {
          wrong += !tree_equal(f(x, n), want[static_cast<std::size_t>(n)]);
        } catch (const std::runtime_error&) {
          wrong += n != 3;
        }
        if (i % 8 == 0) wrong += !tree_equal(slope(x, 1), want_slope);
      }
    });
  std::thread clearer([&] {
    while (!done) {
      clear_caches();
      f.clear_cache();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  for (auto& t : threads) t.join();
  done = true;
  clearer.join();
  EXPECT_EQ(wrong, 0);
  clear_caches();
  EXPECT_EQ(f.entry_count(), 0);
  std::int64_t traces = f.trace_count(), compiles = detail::compile_count();
  f(x, 0);
  EXPECT_EQ(f.trace_count(), traces + 1);
  EXPECT_EQ(detail::compile_count(), compiles + 1);
}

// Each thread traces a function that calls the other's: neither may wait for the other for ever. (How deep
// they go depends on the thread, or the program would have no end.)
struct Ping {
  Array operator()(const Array& x) const;
};
struct Pong {
  Array operator()(const Array& x) const;
};
const Jitted<Ping> ping = jit(Ping{});
const Jitted<Pong> pong = jit(Pong{});
std::barrier both_trace(2);
thread_local int depth = 0;
Array Ping::operator()(const Array& x) const {
  if (++depth == 1) both_trace.arrive_and_wait();
  return depth == 4 ? x : pong(x) * 2.;
}
Array Pong::operator()(const Array& x) const {
  if (++depth == 1) both_trace.arrive_and_wait();
  return depth == 4 ? x : ping(x) + 1.;
}

TEST(JitEntries, ThreadsThatWouldWaitForEachOtherDoNot) {
  double a = 0, b = 0;
  std::thread one([&] { a = ping(array(1.)).item<double>(); });
  std::thread other([&] { b = pong(array(1.)).item<double>(); });
  one.join();
  other.join();
  // Whoever waited got the other's program.
  EXPECT_TRUE((a == 10. && b == 5.) || (a == 6. && b == 7.)) << a << ' ' << b;
  EXPECT_EQ(ping(array(1.)).item<double>(), a);
  EXPECT_EQ(pong(array(1.)).item<double>(), b);
}

TEST(DisableJit, FunctionsAndLoopsRunOnValues) {
  int runs = 0;
  auto f = jit([&](const Array& x) {
    ++runs;
    return x > 2. ? x * 10. : -x;  // a decision on a value: refused under jit
  });
  EXPECT_THROW(f(array(3.)), Error);
  runs = 0;
  {
    DisableJit off;
    EXPECT_EQ(f(array(3.)).item<double>(), 30.);
    EXPECT_EQ(f(array(1.)).item<double>(), -1.);
    EXPECT_EQ(grad(f)(array(3.)).item<double>(), 10.);
    std::vector<double> seen;
    auto body = [&](const std::pair<Array, Array>& s) {
      seen.push_back(s.second.item<double>());
      return std::pair{s.first + 1, s.second * 2.};
    };
    auto test = [](const std::pair<Array, Array>& s) { return s.first < 3; };
    EXPECT_EQ(while_loop(test, body, std::pair{Array(0), array(1.)}).second.item<double>(), 8.);
    EXPECT_EQ(seen, (std::vector<double>{1, 2, 4}));
    EXPECT_THROW(while_loop(test, body, std::pair{Array(0), array(1.)}, {.max_steps = 2}), Error);
    seen.clear();
    auto [last, ys] = scan(
        [&](const Array& c, const Array& v) {
          seen.push_back(v.item<double>());
          return std::pair{c + v, c * v};
        },
        0., array({1., 2., 3.}), {.reverse = true});
    EXPECT_EQ(seen, (std::vector<double>{3, 2, 1}));
    EXPECT_EQ(last.item<double>(), 6.);
    expect_same_bits(ys, array({5., 6., 0.}));
    EXPECT_EQ(fori_loop(
                  0, 4, [](const Array& i, const Array& c) { return c + i; }, array(0.))
                  .item<double>(),
              6.);
    EXPECT_EQ(fori_loop(
                  4, 4, [](const Array& i, const Array& c) { return c * i.item<double>(); }, array(5.))
                  .item<double>(),
              5.);
    int taken = 0;
    auto yes = [&](const Array& v) { return taken = 1, v; };
    auto no = [&](const Array& v) { return taken = 2, -v; };
    EXPECT_EQ(cond(array(-1.) > 0., yes, no, array(4.)).item<double>(), -4.);
    EXPECT_EQ(taken, 2);
    EXPECT_EQ(switch_(array(7), std::tuple{no, yes}, array(4.)).item<double>(), 4.);
  }
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(f.trace_count(), 1);
  EXPECT_THROW(f(array(3.)), Error);  // on again
}

TEST(DisableJit, SameResultsAsCompiled) {
  struct State {
    Array x, v;
  };
  auto run = [](const State& s, const Array& k) {
    State end =
        while_loop([](const State& a) { return sum(a.v) < 50.; },
                   [&](const State& a) {
                     return State{a.x + a.v, a.v + cond(
                                                       a.x(0) > 3., [](const Array& b) { return b * 2.; },
                                                       [](const Array& b) { return b + 1.; }, a.v)};
                   },
                   s);
    return sum(end.x * k) + scan(
                                [](const Array& c, const Array& e) {
                                  return std::pair{c * e, c};
                                },
                                1., end.v)
                                .first;
  };
  auto all = [&](const State& s, const Array& k) {
    return std::tuple{run(s, k), grad<0, 1>(run)(s, k),
                      jvp([&](const Array& a) { return run(s, a); }, k, k).second, vmap([&](const Array& a) {
                        return run({s.x, a * s.v}, k);
                      })(array({1., 2.}))};
  };
  State s{array({0.5, 2.}), array({1., 0.25})};
  Array k = array({2., 3.});
  auto compiled = jit(all)(s, k);
  DisableJit off;
  expect_near(jit(all)(s, k), compiled, 1e-13);
}

const Shape many{1 << 16};

TEST(Donation, MemoryIsUsedForResults) {
  auto step = jit([](const Array& x, const Array& v) { return std::pair{x * 0.5 + v, sin(v)}; });
  Array x = full(many, 3.), v = full(many, 0.25);
  auto want = step(x, v);
  const void *x_data = data_of(x), *v_data = data_of(v);
  auto [x1, v1] = step(std::move(x), std::move(v));
  EXPECT_EQ(data_of(x1), x_data);
  EXPECT_NE(data_of(x1), data_of(v1));
  expect_same_bits(x1, want.first);
  expect_same_bits(v1, want.second);
  (void)v_data;
  // Round and round in one place.
  for (int i = 0; i < 5; ++i) x1 = step(std::move(x1), v1).first;
  EXPECT_EQ(data_of(x1), x_data);
}

std::string refusal(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    std::string what = error.what();
    return what.substr(0, what.find("\n  at "));
  }
  return "nothing was refused";
}

TEST(Donation, WhatWasMovedSaysSo) {
  auto twice = jit([](const Array& x) { return x * 2.; });
  Array x = full({4}, 1.), kept = full({4}, 1.);
  Array y = twice(std::move(x));
  expect_same_bits(y, full({4}, 2.));
  EXPECT_FALSE(x.is_empty());
  EXPECT_EQ(x.shape(), (Shape{4}));  // shape and dtype are known still
  const std::string text =
      "this Array (f64[4]) was given up: it was moved into a compiled call, which may have used its memory "
      "for results; "
      "use the result, or pass it without std::move";
  EXPECT_EQ(refusal([&] { x + 1.; }), "[add] " + text);
  EXPECT_EQ(refusal([&] { x(0).item<double>(); }).substr(0, 1), "[");
  EXPECT_EQ(refusal([&] { twice(x); }), "[call] " + text);
  EXPECT_EQ(refusal([&] { compile(twice, kept)(x); }), "[compiled] " + text);
  x = y;  // assigned again, it is an array as any
  expect_same_bits(twice(x), full({4}, 4.));
}

TEST(Donation, WhatOthersHoldIsLeftAlone) {
  auto f = jit([](const Array& x) { return x + 1.; });
  Array x = full(many, 1.), shared = x;
  Array y = f(std::move(x));
  expect_same_bits(shared, full(many, 1.));
  expect_same_bits(y, full(many, 2.));
  std::vector<double> mine(1 << 16, 1.);
  Array borrowed = view_of(mine.data(), many);
  y = f(std::move(borrowed));
  EXPECT_EQ(mine, std::vector<double>(1 << 16, 1.));
  // Twice in one call.
  auto g = jit([](const Array& a, const Array& b) { return a - 2. * b; });
  Array z = full(many, 3.);
  expect_same_bits(g(std::move(z), std::move(z)), full(many, -3.));
}

TEST(Donation, OnlyAfterTheProgramIsThere) {
  bool refuse = true;
  auto f = jit([&](const Array& x) {
    if (refuse) throw std::runtime_error("not now");
    return x + 1.;
  });
  Array x = full(many, 1.);
  EXPECT_THROW(f(std::move(x)), std::runtime_error);
  expect_same_bits(x, full(many, 1.));
  refuse = false;
  expect_same_bits(f(std::move(x)), full(many, 2.));
}

TEST(Donation, StructsAndCompiledFunctions) {
  struct State {
    std::vector<Array> parts;
    int n = 2;
  };
  auto step = [](const State& s, const Array& x) {
    State out = s;
    for (Array& a : out.parts) a = a * s.n + x;
    return out;
  };
  Array x = full(many, 1.);
  State s{{full(many, 1.), full(many, 2.)}};
  const void *first = data_of(s.parts[0]), *second = data_of(s.parts[1]);
  State next = jit(step)(std::move(s), Array(x));
  EXPECT_EQ(data_of(next.parts[0]), first);
  EXPECT_EQ(data_of(next.parts[1]), second);
  expect_same_bits(next.parts[1], full(many, 5.));
  auto ready = compile(step, next, x);
  next = ready(std::move(next), Array(x));
  EXPECT_EQ(data_of(next.parts[0]), first);
  expect_same_bits(next.parts[0], full(many, 7.));
}

// Where an input is read after or beside the place where a result is made, its memory must not be used.
template <class F>
void expect_not_harmed(const F& f, const Shape& shape) {
  Array x = reshape(cos(arange(static_cast<double>(shape.product()))), shape);
  auto compiled = jit(f);
  auto want = compiled(x);
  Array given = x + 0.;
  expect_same_bits(compiled(std::move(given)), want);
}

TEST(Donation, ResultsAreRight) {
  for (const Shape& shape :
       {Shape{64}, Shape{100}, Shape{4096}, Shape{1000, 3}, Shape{64, 64}, Shape{256, 128}}) {
    SCOPED_TRACE(to_string(shape));
    expect_not_harmed([](const Array& x) { return x * 2. + 1.; }, shape);
    expect_not_harmed([](const Array& x) { return std::pair{x * 2., sum(x)}; }, shape);
    expect_not_harmed([](const Array& x) { return x - sum(x); }, shape);
    expect_not_harmed([](const Array& x) { return x - sum(x, {.axis = 0}) / 3.; }, shape);
    expect_not_harmed([](const Array& x) { return std::tuple{x * 2., x + 1., x}; }, shape);
    expect_not_harmed([](const Array& x) { return std::tuple{sin(x), cos(x) * sin(x), exp(x)}; }, shape);
    expect_not_harmed([](const Array& x) { return x + flip(x); }, shape);
    expect_not_harmed([](const Array& x) { return x + reshape(flip(reshape(x, {x.size()})), x.shape()); },
                      shape);
    expect_not_harmed([](const Array& x) { return x + cumsum(x, {.axis = 0}); }, shape);
    expect_not_harmed(grad([](const Array& x) { return sum(sin(x) * exp(x * x)); }), shape);
    expect_not_harmed([](const Array& x) { return jit([](const Array& a) { return a * 2.; })(x) + x; },
                      shape);
    expect_not_harmed(
        [](const Array& x) {
          return x + while_loop([](const Array& y) { return sum(y * y) > 1.; },
                                [](const Array& y) { return y * 0.5; }, x);
        },
        shape);
    if (shape.size() == 2 && shape[0] == shape[1]) {
      expect_not_harmed([](const Array& x) { return x + transpose(x); }, shape);
      expect_not_harmed([](const Array& x) { return x * 0.5 + matmul(x, x); }, shape);
      expect_not_harmed([](const Array& x) { return matmul(x, transpose(x)) + x; }, shape);
    }
  }
}

}  // namespace
}  // namespace apsis::testing
