// The end of a process: static objects that compile as they are destroyed, threads that go on compiling, the
// end from within a program, and children made by fork.

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <thread>

#include "apsis/apsis.hpp"
#include "runtime/child.hpp"

namespace apsis::testing {
namespace {

/// A program of its own for each number: Σ of a loop over each lane.
double compiled_anew(int number) {
  const auto f = [](const Array& y, int n) {
    return sum(fori_loop(
        0, 3, [n](const Array&, const Array& s) { return sin(s) * (n * 1e-3) + s; }, y));
  };
  return jit(f)(linspace(0., 1., 5), number).item<double>();
}
double by_hand(int number) {
  double total = 0;
  for (int i = 0; i < 5; ++i) {
    double s = i * 0.25;
    for (int k = 0; k < 3; ++k) s = std::sin(s) * (number * 1e-3) + s;
    total += s;
  }
  return total;
}
/// Ends the process with an error if the two differ by more than roundings.
void expect_right(double value, double expected) {
  if (!(std::abs(value - expected) <= 1e-12 * std::abs(expected))) _exit(3);
}

/// Destroyed after `main`, and after whatever was made later.
struct CompilesAtEnd {
  bool on = false;
  Jitted<Array (*)(const Array&)>* called_before = nullptr;
  ~CompilesAtEnd() {
    if (!on) return;
    expect_right(compiled_anew(1001), by_hand(1001));
    expect_right(grad([](const Array& x) { return sum(x * x); })(array({1., 2.}))[1].item<double>(), 4.);
    expect_right(vmap([](const Array& x) {
                   return while_loop([](const Array& s) { return s < 8.; },
                                     [](const Array& s) { return 2. * s; }, x);
                 })(array({1., 3.}))[1]
                     .item<double>(),
                 12.);
    expect_right(compile([](const Array& x) { return x + 1.; }, Array(1.))(2.).item<double>(), 3.);
    if (called_before) expect_right((*called_before)(3.).item<double>(), 9.);
  }
};
CompilesAtEnd before_main;

Array squared(const Array& x) { return x * x; }

TEST(ExitChild, DISABLED_StaticObjectsCompile) {
  before_main.on = true;
  expect_right(compiled_anew(1), by_hand(1));
  static auto f = jit(&squared);  // destroyed after what stands below
  f(2.);
  static CompilesAtEnd late;
  late.on = true;
  late.called_before = &f;
}
TEST(ExitChild, DISABLED_StaticObjectsCompileFirst) { before_main.on = true; }
TEST(Exit, StaticObjectsCompile) {
  Child("ExitChild.DISABLED_StaticObjectsCompile", {});
  Child("ExitChild.DISABLED_StaticObjectsCompileFirst", {});
}

TEST(ExitChild, DISABLED_ThreadsCompile) {
  for (int t = 0; t < 4; ++t)
    std::thread([t] {
      for (int i = 0;; ++i) expect_right(compiled_anew(t * 1000 + i), by_hand(t * 1000 + i));
    }).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(std::getenv("APSIS_TEST_WAIT"))));
}
TEST(Exit, ThreadsCompile) {
  // Some end while code generation is loaded, some in the first compile, some later.
  for (int i = 0; i < 20; ++i)
    Child("ExitChild.DISABLED_ThreadsCompile", {"APSIS_TEST_WAIT=" + std::to_string(i * i)});
}

TEST(ExitChild, DISABLED_FromACallback) {
  jit([](const Array& x) {
    return pure_callback(
               [](const Array& y) {
                 std::exit(0);
                 return y;
               },
               Array(1.))(x) +
           1.;
  })(2.);
  _exit(4);
}
TEST(ExitChild, DISABLED_FromALane) {
  jit(vmap([](const Array& x) {
    return while_loop([](const Array& s) { return s < 100.; },
                      [](const Array& s) {
                        io_callback([](const Array&) { std::exit(0); })(s);
                        return 2. * s;
                      },
                      x);
  }))(linspace(1., 2., 1000));
  _exit(4);
}
TEST(Exit, FromWithinAProgram) {
  Child("ExitChild.DISABLED_FromACallback", {});
  Child("ExitChild.DISABLED_FromALane", {});
}

TEST(ExitChild, DISABLED_AfterFork) {
  expect_right(compiled_anew(1), by_hand(1));
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    expect_right(compiled_anew(1), by_hand(1));
    expect_right(compiled_anew(2), by_hand(2));
    std::exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  expect_right(compiled_anew(3), by_hand(3));
}
TEST(Exit, AfterFork) { Child("ExitChild.DISABLED_AfterFork", {}); }

}  // namespace
}  // namespace apsis::testing
