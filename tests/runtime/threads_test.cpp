// One jitted function, traced, compiled and called by many threads at once; best run under ThreadSanitizer.

#include <atomic>
#include <barrier>
#include <thread>

#include "apsis/core/op.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

constexpr int threads = 8;

/// Calls `body(thread)` on all threads at the same moment.
template <class F>
void at_once(const F& body) {
  std::barrier start(threads);
  std::vector<std::jthread> pool;
  for (int t = 0; t < threads; ++t)
    pool.emplace_back([&, t] {
      start.arrive_and_wait();
      body(t);
    });
}

TEST(Threads, ShareOneTraceOfASignature) {
  auto f = jit([](const Array& x) { return x * 2. + sin(x); });
  std::atomic<int> wrong = 0;
  at_once([&](int t) {
    for (int i = 0; i < 50; ++i) {
      double v = t + i * 0.25;
      if (std::abs(f(array(v)).item<double>() - (v * 2. + std::sin(v))) > 1e-12) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(f.trace_count(), 1);
}

TEST(Threads, TraceAndCompileDifferentSignatures) {
  auto f = jit([](const Array& x, int n) {
    return while_loop([&](const std::pair<Array, Array>& s) { return s.first < n; },
                      [](const std::pair<Array, Array>& s) {
                        return std::pair{s.first + 1, s.second * 2.};
                      },
                      std::pair{Array(0), x})
        .second;
  });
  std::atomic<int> wrong = 0;
  at_once([&](int t) {
    for (int n = 0; n < 6; ++n) {
      Array out = f(full({(t + n) % 4 + 1}, 1.), n);
      for (double v : out.to_vector<double>())
        if (v != std::exp2(n)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(f.trace_count(), 24);
}

TEST(Threads, TransformWhileOthersCall) {
  auto f = jit([](const Array& x) { return sum(x * x * x); });
  auto slope = jit(grad(f));
  std::atomic<int> wrong = 0;
  Array shared = array({1., 2., 3.});
  at_once([&](int t) {
    for (int i = 0; i < 10; ++i) {
      if (t % 2 ? f(shared).item<double>() != 36. : grad(f)(shared).to_vector<double>()[2] != 27.) ++wrong;
      if (slope(shared).to_vector<double>()[1] != 12.) ++wrong;
      if (vmap(f)(stack({shared, shared})).to_vector<double>()[1] != 36.) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, AnExceptionInOneDoesNotStallTheOthers) {
  std::atomic<int> calls = 0;
  auto f = jit([&calls](const Array& x) {
    if (calls++ < 3) throw std::runtime_error("first calls fail");
    return x + 1.;
  });
  std::atomic<int> failed = 0, right = 0;
  at_once([&](int) {
    for (int i = 0; i < 4; ++i) {
      try {
        right += f(array(1.)).item<double>() == 2.;
      } catch (const std::runtime_error&) {
        ++failed;
      }
    }
  });
  EXPECT_EQ(failed, 3);
  EXPECT_EQ(right, threads * 4 - 3);
}

TEST(Threads, TraceCompileCallClearAndThrow) {
  struct Refused {};
  std::atomic<int> refusals = 0, wrong = 0;
  // Shared by all threads, and traced anew for each length and number.
  auto inner = jit([](const Array& x, int n) { return sin(x) * (n + 1.) + x; });
  auto outer = jit([&](const Array& x, int n) {
    Array y = inner(x, n) * 2.;
    if (n == 3 && refusals++ % 2 == 0) throw Refused{};
    return sum(y * y);
  });
  auto expected = [](double v, int n, int length) {
    const double y = (std::sin(v) * (n + 1.) + v) * 2.;
    return length * y * y;
  };
  set_program_limit(4);
  at_once([&](int t) {
    for (int i = 0; i < 12; ++i) {
      const int length = 1 + (t + i) % 3, n = i % 4;
      const double v = 0.5 + 0.125 * t;
      if (t == 0 || i % 5 == 4) clear_program_cache();
      if (t == 1 && i % 3 == 2) clear_caches();
      double got = 0;
      try {
        got = outer(full({length}, v), n).item<double>();
      } catch (const Refused&) {
        if (current_trace()) ++wrong;  // the trace that was thrown through is over
        --i;                           // the next attempt goes through
        continue;
      }
      if (std::abs(got - expected(v, n, length)) > 1e-12 * got) ++wrong;
      // A function of this thread alone, transformed, with a loop in eager code.
      auto own = jit(grad([&](const Array& x) { return sum(inner(x, n)); }));
      if (std::abs(own(full({2}, v)).to_vector<double>()[1] - (std::cos(v) * (n + 1.) + 1.)) >
          1e-14 * (n + 2))
        ++wrong;
      Array doubled =
          while_loop([](const Array& x) { return x < 10.; }, [](const Array& x) { return x * 2.; }, array(v));
      if (doubled.item<double>() < 10. || doubled.item<double>() >= 20.) ++wrong;
    }
  });
  set_program_limit(2048);
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(refusals, 0);
}

}  // namespace
}  // namespace apsis::testing
