// Stopping what runs, from another thread and by Ctrl-C.

#include <csignal>

#include <chrono>
#include <thread>

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
  EXPECT_LT(seconds(ended - stopped), 1.) << "a tenth of a second on a quiet machine";
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
