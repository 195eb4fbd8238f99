// check/*: what loops cost beyond the rows: how time grows with leaves and with buffers, what reverse mode keeps.
#include <sys/resource.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

/// The gradient of a scan whose carry is N scalar leaves, per leaf and step.
template <std::size_t N>
void scan_leaves() {
  using Leaves = std::array<Array, N>;
  const std::int64_t length = 1000;
  auto gradient = jit(grad([](const Leaves& start) {
    auto body = [](const Leaves& a, const Nothing&) {
      Leaves next;
      for (std::size_t k = 0; k < N; ++k) next[k] = 0.99 * a[k] + 0.01 * sin(a[(k + 1) % N]);
      return std::pair(next, Nothing{});
    };
    Leaves end = scan(body, start, Nothing{}, {.length = length}).first;
    Array total = end[0];
    for (std::size_t k = 1; k < N; ++k) total = total + end[k];
    return total;
  }));
  Leaves leaves, g;
  for (std::size_t k = 0; k < N; ++k) leaves[k] = Array(std::cos(static_cast<double>(k)), f64);
  double spent = median_seconds([&] { g = gradient(leaves); }, 0.3);
  report("check/scan-grad-" + std::to_string(N) + "-leaves", "ns/leaf-step", spent * 1e9 / static_cast<double>(N * length),
         {g[0].template item<double>()});
}

struct Filling {
  Array i, buffer;
};

/// One entry of a buffer is written an iteration, in order; and the gradient of that.
void updates_in_place(std::int64_t size) {
  auto fill = [size](const Array& x) {
    return while_loop([size](const Filling& s) { return s.i < size - 1; },
                      [](const Filling& s) {
                        return Filling{s.i + 1, s.buffer.at(s.i + 1).set(0.5 * s.buffer[s.i] + 1.)};
                      },
                      Filling{0, zeros({size}).at(0).set(x)})
        .buffer;
  };
  auto last = [=](const Array& x) { return fill(x)[-1]; };
  auto run = jit(last);
  auto gradient = jit(grad(last));
  Array x(0.25, f64), y;
  const std::string name = "check/update-in-place-1e" + std::to_string(std::lround(std::log10(static_cast<double>(size))));
  double spent = median_seconds([&] { y = run(x); }, 0.5);
  report(name, "ns/update", spent * 1e9 / static_cast<double>(size), {y.item<double>()});
  spent = median_seconds([&] { y = gradient(x); }, 0.5);
  report(name + "-grad", "ns/update", spent * 1e9 / static_cast<double>(size), {y.item<double>()});
}

double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1024. * static_cast<double>(usage.ru_maxrss);
}

/// Reverse mode through a million steps with a thousand states kept.
void checkpoints() {
  const std::int64_t size = 4096, steps = 1'000'000, states = 1000;
  auto loss = [](const Array& x) {
    auto end = scan([](const Array& s, const Nothing&) { return std::pair{0.999999 * s + 1e-6 * s * s, Nothing{}}; },
                    broadcast_to(x, {size}), Nothing{}, {.length = steps, .checkpoints = states});
    return sum(end.first);
  };
  auto gradient = jit(grad(loss));
  Array x(0.25, f64), g;
  const double before = peak_bytes();
  double spent = seconds([&] { g = gradient(x); });
  const double kept = 8. * size * states;
  report("check/checkpoints-1e6-peak", "of the states", (peak_bytes() - before) / kept, {g.item<double>()});
  report("check/checkpoints-1e6", "s", spent, {g.item<double>()});
}

}  // namespace

void loop_costs() {
  scan_leaves<15>();
  scan_leaves<30>();
  scan_leaves<60>();
  scan_leaves<120>();
  updates_in_place(1'000);
  updates_in_place(10'000'000);
  checkpoints();
}

}  // namespace bench
