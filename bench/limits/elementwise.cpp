// Bounds of elementwise/*: the loop as g++ -O3 -march=native -ffast-math vectorises it with glibc's
// libmvec.
#include <cmath>
#include <cstddef>

#include "report.hpp"

namespace {

[[gnu::noinline]] void run(std::size_t n, const float* __restrict a, const float* __restrict b,
                           const float* __restrict c, const float* __restrict d, float* __restrict y) {
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = std::tanh(a[i] * b[i] + c[i]) * std::exp(-d[i]);
  }
}

/// The same memory without the functions: no formula can be faster.
[[gnu::noinline]] void stream(std::size_t n, const float* __restrict a, const float* __restrict b,
                              const float* __restrict c, const float* __restrict d, float* __restrict y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = (a[i] + b[i]) + (c[i] + d[i]);
}

void measure(const char* name, std::size_t n, int repeats) {
  std::vector<float> a(n), b(n), c(n), d(n), y(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double u = static_cast<double>(i) / static_cast<double>(n);
    a[i] = static_cast<float>(2 * u - 1), b[i] = static_cast<float>(1.5 - u),
    c[i] = static_cast<float>(0.5 * u);
    d[i] = static_cast<float>(2 * u * u);
  }
  const auto per_element = [&](auto f) {
    return limits::median_seconds(repeats, f) * 1e9 / static_cast<double>(n);
  };
  const double time = per_element([&] { run(n, a.data(), b.data(), c.data(), d.data(), y.data()); });
  limits::report(name, "ns/element", time, {y[0], y[1], y[n / 3], y[n / 2], y[n - 1]});
  if (n != 1'000'000) return;
  const double memory = per_element([&] { stream(n, a.data(), b.data(), c.data(), d.data(), y.data()); });
  limits::report("check/elementwise-memory", "ns/element", memory, {y[0], y[n - 1]});
}

}  // namespace

int main() {
  measure("elementwise/f32-1e4", 10'000, 3001);
  measure("elementwise/f32-1e6", 1'000'000, 31);
  measure("elementwise/f32-1e7", 10'000'000, 15);
}
