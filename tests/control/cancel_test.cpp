// Stopping what runs, from another thread and by Ctrl-C.

#include <chrono>
#include <csignal>
#include <thread>

#include "core/memory.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

using Clock = std::chrono::steady_clock;

Array for_ever(const Array& x) {
  return while_loop([](const Array& y) { return sum(y) < 1e300; }, [](const Array& y) { return cos(y); }, x);
}

std::string message_of(auto&& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

/// Runs `call`, has `stop` called meanwhile, and expects it to end with the error, soon.
void expect_stopped(auto&& call, auto&& stop) {
  Clock::time_point stopped;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stopped = Clock::now();
    stop();
  });
  std::string text = message_of(call);
  const Clock::time_point ended = Clock::now();
  other.join();
  EXPECT_NE(text.find("stopped from outside"), std::string::npos) << text;
  // Asked for is a tenth of a second; the machine may be busy with other things.
  ::testing::Test::RecordProperty("seconds_to_stop", std::to_string(seconds(ended - stopped)));
  EXPECT_LT(seconds(ended - stopped), 10.);
}

TEST(Cancel, ATokenStopsLoopsThatRunDirectly) {
  DisableJit off;
  CancelToken token;
  CancelScope scope(token);
  expect_stopped([&] { for_ever(array({1., 2.})); }, [&] { token.cancel(); });
  token.reset();
  auto step = [](const Array& x, const Nothing&) { return std::pair{cos(x), Nothing{}}; };
  expect_stopped([&] { scan(step, array(1.), Nothing{}, {.length = 1'000'000}); }, [&] { token.cancel(); });
}

TEST(Cancel, ATokenStopsACompiledLoop) {
  auto run = jit(for_ever);
  auto finite = jit([](const Array& x) {
    return while_loop([](const Array& y) { return y < 5.; }, [](const Array& y) { return y + 1.; }, x);
  });
  CancelToken token;
  CancelScope scope(token);
  expect_stopped([&] { run(array({1., 2.})); }, [&] { token.cancel(); });
  EXPECT_TRUE(token.cancelled());
  EXPECT_NE(message_of([&] { finite(array(0.)); }), "") << "later calls stop too";
  token.reset();
  EXPECT_EQ(finite(array(0.)).item<double>(), 5.);
}

// A loop of the host around calls that have none ends too.
TEST(Cancel, NoCallBegins) {
  auto step = jit([](const Array& x) { return cos(x); });
  CancelToken token;
  CancelScope scope(token);
  Array x = step(array(1.));
  token.cancel();
  EXPECT_NE(message_of([&] { step(x); }).find("stopped from outside"), std::string::npos);
  token.reset();
  EXPECT_EQ(message_of([&] { step(x); }), "");
}

TEST(Cancel, LanesAndInterpretedLoops) {
  CancelToken token;
  CancelScope scope(token);
  auto lanes = jit(vmap(for_ever));
  expect_stopped([&] { lanes(ones({100, 2})); }, [&] { token.cancel(); });
  token.reset();
  expect_stopped(
      [&] {
        detail::InterpretScope interpreted;
        for_ever(array({1., 2.}));
      },
      [&] { token.cancel(); });
}

struct Count {
  Array i, x;
};

Array repeat(const Array& n, const Array& x, const WhileOptions& options = {}) {
  return while_loop([&](const Count& s) { return s.i < n; },
                    [](const Count& s) {
                      return Count{s.i + 1, sin(1.3 * s.x)};
                    },
                    Count{0, x}, options)
      .x;
}

constexpr std::int64_t endless = std::int64_t{1} << 60;

TEST(Cancel, SolvesAndLoopsInLoops) {
  CancelToken token;
  CancelScope scope(token);
  auto oscillate = [](const Array&, const Array& y) { return stack({y[1], -y[0]}); };
  auto solve = [&](const Array& y0) {
    return diffeqsolve(ODETerm{oscillate}, Tsit5{}, 0., 1e15, {}, y0,
                       {.controller = PIDController{.rtol = 1e-6, .atol = 1e-9}, .max_steps = -1})
        .ys;
  };
  // An inner loop that never ends, in a body that runs once.
  auto inner = [](const Array& x) {
    return while_loop([](const Count& s) { return s.i < 3; },
                      [](const Count& s) {
                        return Count{s.i + 1, repeat(array(endless), s.x)};
                      },
                      Count{0, x})
        .x;
  };
  Array y0 = array({1., 0.}), batch = reshape(cos(arange(1000.)), {500, 2});
  expect_stopped([run = jit(solve), &y0] { run(y0); }, [&] { token.cancel(); });
  token.reset();
  expect_stopped([run = jit(vmap(solve)), &batch] { run(batch); }, [&] { token.cancel(); });
  token.reset();
  expect_stopped([run = jit(inner)] { run(array(0.3)); }, [&] { token.cancel(); });
  token.reset();
  expect_stopped([run = jit(vmap(inner))] { run(cos(arange(100.))); }, [&] { token.cancel(); });
}

/// The identity, whose pull-back cancels the token: what comes after it on the way back is stopped.
Array cancels_backwards(const Array& x, CancelToken& token) {
  auto cancel = pure_callback(
      [&token](const Array& ct) {
        token.cancel();
        return ct;
      },
      zeros({}));
  return custom_vjp([](const Array& y) { return 1. * y; },
                    [](const Array& y) {
                      return std::pair{1. * y, Nothing{}};
                    },
                    [cancel](Nothing, const Array& ct) { return cancel(ct); })(x);
}

std::int64_t bytes_in_use() { return detail::memory_use().live; }

// The tape is made, and its memory goes when the pull-back is stopped.
TEST(Cancel, AReversePass) {
  CancelToken token;
  CancelScope scope(token);
  Array n = array(500000), xs = cos(arange(40.)), ns = full({40}, std::int64_t{20000});
  for (const WhileOptions& options : {WhileOptions{}, WhileOptions{.checkpoints = 30}}) {
    auto one =
        jit(grad([=, &token](const Array& x) { return cancels_backwards(repeat(n, x, options), token); }));
    auto lanes = jit(grad([=, &token](const Array& x) {
      auto lane = [&](const Array& m, const Array& y) { return repeat(m, y, options); };
      return cancels_backwards(sum(vmap(lane)(ns, x)), token);
    }));
    for (int i = 0; i < 5; ++i) {
      const std::int64_t before = bytes_in_use();
      token.reset();
      EXPECT_NE(message_of([&] { one(array(0.3)); }).find("stopped from outside"), std::string::npos);
      token.reset();
      EXPECT_NE(message_of([&] { lanes(xs); }).find("stopped from outside"), std::string::npos);
      // A tape is some megabytes. The first calls leave compiled programs and scratch memory behind.
      EXPECT_TRUE(i == 0 || bytes_in_use() - before < 1'000'000) << bytes_in_use() - before;
    }
  }
}

TEST(Cancel, ScopesNest) {
  CancelToken outer, inner;
  CancelScope first(outer);
  outer.cancel();
  {
    CancelScope second(inner);
    EXPECT_EQ(while_loop([](const Array& y) { return y < 3.; }, [](const Array& y) { return y + 1.; }, 0.)
                  .item<double>(),
              3.);
  }
  EXPECT_NE(message_of([] {
              while_loop([](const Array& y) { return y < 3.; }, [](const Array& y) { return y + 1.; }, 0.);
            }),
            "");
}

std::atomic<int> handled{0};

TEST(Cancel, CtrlCInAnInterruptScope) {
  std::signal(SIGINT, [](int) { ++handled; });
  auto run = jit(for_ever);
  {
    InterruptScope interrupts;
    expect_stopped([&] { run(array({1., 2.})); }, [] { std::raise(SIGINT); });
    EXPECT_TRUE(interrupts.token().cancelled());
  }
  EXPECT_EQ(handled, 0);
  std::raise(SIGINT);  // the handler that was there before is back
  EXPECT_EQ(handled, 1);
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace
}  // namespace apsis::testing
