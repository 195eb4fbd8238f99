#include <pthread.h>
#include <sys/resource.h>

#include <chrono>
#include <optional>

#include "core/memory.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Layer {
  Array weight, bias;
  Array calls;  // an integer: no derivative
};

Array square_sum(const Array& x) { return sum(x * x); }

TEST(Grad, OfAVector) {
  Array x = array({1., -2., 3.});
  expect_same_bits(grad(square_sum)(x), array({2., -4., 6.}));
  auto [value, slope] = value_and_grad(square_sum)(x);
  expect_same_bits(value, array(14.));
  expect_same_bits(slope, array({2., -4., 6.}));
}

TEST(Grad, BracesAtTheCall) {
  auto slope = grad([](const Layer& l) { return sum(l.weight * l.bias); });
  Layer g = slope({array({1., 2.}), array({3., 4.}), array(7)});
  expect_same_bits(g.weight, array({3., 4.}));
  expect_same_bits(g.bias, array({1., 2.}));
  EXPECT_TRUE(g.calls.is_empty());
}

TEST(Grad, OfWeakScalars) {
  auto cube = [](const Array& x) { return x * x * x; };
  Array g = grad(cube)(2.);
  EXPECT_EQ(g.item<double>(), 12.);
  // A generic callable takes a double as a weak Array too, and an f32 stays an f32.
  EXPECT_EQ(grad([](const auto& x) { return x * x; })(3.).template item<double>(), 6.);
  EXPECT_EQ(grad(cube)(Array(2., f32)).dtype(), f32);
}

TEST(Grad, AuxiliaryResultsAndSeveralArguments) {
  auto f = [](const Array& x, const Array& n, const Array& y) {
    return std::pair{sum(x * y), std::pair{n + 1, x + y}};
  };
  Array x = array({1., 2.}), n = array(5), y = array({3., 4.});
  auto [value, aux, gradients] = value_and_grad<0, 2>(f)(x, n, y);
  EXPECT_EQ(value.item<double>(), 11.);
  EXPECT_EQ(aux.first.item<int>(), 6);
  expect_same_bits(aux.second, array({4., 6.}));
  expect_same_bits(std::get<0>(gradients), y);
  expect_same_bits(std::get<1>(gradients), x);
  auto [slope, more] = grad<2>(f)(x, n, y);
  expect_same_bits(slope, x);
  EXPECT_EQ(more.first.item<int>(), 6);
}

TEST(Grad, OfAnArgumentThatIsNotUsedIsZero) {
  Array g = grad<1>([](const Array& x, const Array&) { return sum(x); })(array({1.}), array({2., 3.}));
  expect_same_bits(g, array({0., 0.}));
}

TEST(Grad, ThroughContainersAndEmptyLeaves) {
  using Model = std::pair<std::vector<Array>, std::optional<Array>>;
  auto loss = [](const Model& m) { return m.first[0] * m.first[1] * (m.second ? *m.second : Array(2.)); };
  Model g = grad(loss)(Model{{array(3.), array(5.), Array()}, std::nullopt});
  EXPECT_EQ(g.first[0].item<double>(), 10.);
  EXPECT_EQ(g.first[1].item<double>(), 6.);
  EXPECT_TRUE(g.first[2].is_empty());
  EXPECT_FALSE(g.second.has_value());
}

TEST(Grad, PerturbationsAreNotConfused) {
  // d/dx (x · d/dy (x + y)) = 1, not 2.
  auto f = [](const Array& x) { return x * grad([&](const Array& y) { return x + y; })(array(1.)); };
  EXPECT_EQ(grad(f)(array(3.)).item<double>(), 1.);
  EXPECT_EQ(jvp(f, array(3.), array(1.)).second.item<double>(), 1.);
  auto forward = [](const Array& x) {
    return x * jvp([&](const Array& y) { return x + y; }, array(1.), array(1.)).second;
  };
  EXPECT_EQ(grad(forward)(array(3.)).item<double>(), 1.);
  EXPECT_EQ(jvp(forward, array(3.), array(1.)).second.item<double>(), 1.);
}

TEST(Grad, ThreeTimes) {
  auto f = [](const Array& x) { return sin(x * x); };
  double x = 0.7, s = std::sin(x * x), c = std::cos(x * x);
  EXPECT_NEAR(grad(grad(grad(f)))(x).item<double>(), -12 * x * s - 8 * x * x * x * c, 1e-13);
}

TEST(Grad, WithJitAndVmapInside) {
  auto inner = vmap([](const Array& a, const Array& b) { return exp(a) * b; });
  auto loss = jit([=](const Array& x) { return sum(inner(x, x * x)); });
  auto slope = jit(grad(loss));
  Array x = array({0.5, -1., 2.});
  expect_near(slope(x), exp(x) * (x * x + 2. * x));
  auto total = [=](const Array& y) { return sum(slope(y)); };
  expect_near(grad(jit(total))(x), exp(x) * (x * x + 4. * x + 2.));
}

TEST(Grad, DecidesByValuesInEagerCode) {
  auto f = [](const Array& x) {
    if (x > 0.) return x * x;
    return -x;
  };
  EXPECT_EQ(grad(f)(array(3.)).item<double>(), 6.);
  EXPECT_EQ(grad(f)(array(-3.)).item<double>(), -1.);
  int rounds = 0;
  auto newton = [&rounds](const Array& a) {  // √a
    Array x = a, error = abs(x * x - a);
    rounds = 0;
    while (error > 1e-12) {
      x = 0.5 * (x + a / x);
      error = abs(x * x - a);
      ++rounds;
    }
    return x;
  };
  EXPECT_NEAR(grad(newton)(array(2.)).item<double>(), 0.5 / std::sqrt(2.), 1e-12);
  EXPECT_GT(rounds, 3);
}

TEST(Grad, ThroughAJittedFunction) {
  auto f = jit([](const Array& x, const Array& y) { return std::pair{x * sin(y), x + y}; });
  auto loss = [&](const Array& x) {
    auto [a, b] = f(x, 2. * x);
    return sum(a * b);
  };
  Array x = array({0.3, 1.1});
  expect_near(grad(loss)(x), 6. * x * sin(2. * x) + 6. * x * x * cos(2. * x));
  expect_near(grad(loss)(x), differences(loss, x), 1e-9);
}

/// Runs `f` on a stack too small for anything that recurses over the length of a program.
template <class F>
void on_a_small_stack(F f) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 512 << 10);
  pthread_t thread;
  auto run = [](void* body) -> void* {
    (*static_cast<F*>(body))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &f), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(Grad, OfAMillionOpsInARow) {
  struct Cost {
    double seconds;
    std::int64_t arrays;  // bytes in use at the most
  };
  auto cost_of = [](int ops) {
    auto chain = [ops](const Array& x) {
      Array y = x;
      for (int i = 0; i < ops / 2; ++i) y = sin(y) + x;
      return y;
    };
    Cost cost{};
    Array g;
    on_a_small_stack([&] {
      auto start = std::chrono::steady_clock::now();
      g = grad(chain)(array(0.25));
      cost.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      cost.arrays = detail::memory_use().peak;
    });
    // The same recurrence by hand: y' = cos(y) y' + 1.
    double y = 0.25, slope = 1;
    for (int i = 0; i < ops / 2; ++i) {
      slope = std::cos(y) * slope + 1;
      y = std::sin(y) + 0.25;
    }
    EXPECT_NEAR(g.item<double>(), slope, 1e-9 * std::abs(slope));
    return cost;
  };
  Cost small = cost_of(100'000), large = cost_of(1'000'000);
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  std::printf(
      "gradient of 1,000,000 ops: %.2f s, %.1f times that of 100,000; arrays at their peak %.1f MB, the "
      "whole process %.1f MB\n",
      large.seconds, large.seconds / small.seconds, static_cast<double>(large.arrays) / 1e6,
      static_cast<double>(use.ru_maxrss) / 1e3);
  EXPECT_LT(large.arrays, 11 * small.arrays);
}

}  // namespace
}  // namespace apsis::testing
