// check/*: what loops cost beyond the rows: how time grows with leaves and with buffers, what reverse mode keeps.
#include <sys/resource.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

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

/// One entry of a buffer that is given up is written an iteration, in order; and the pull-back of that, on a cotangent
/// that is given up. Returns nanoseconds for both.
std::pair<double, double> updates_in_place(std::int64_t size) {
  auto fill = [size](const Array& buffer) {
    return while_loop([size](const Filling& s) { return s.i < size - 1; },
                      [](const Filling& s) {
                        return Filling{s.i + 1, s.buffer.at(s.i + 1).set(0.5 * s.buffer[s.i] + 1.)};
                      },
                      Filling{0, buffer})
        .buffer;
  };
  auto run = jit(fill);
  auto back = jit([fill](const Array& buffer, const Array& cotangent) {
    auto [filled, pull] = vjp(fill, buffer);
    return std::pair(filled, std::get<0>(pull(cotangent)));
  });
  Array buffer = full({size}, 0.25), cotangent = ones({size});
  const std::string name = "check/update-in-place-1e" + std::to_string(std::lround(std::log10(static_cast<double>(size))));
  const double each = 1e9 / static_cast<double>(size);
  const double forward = each * median_seconds([&] { buffer = run(std::move(buffer)); }, 0.5);
  report(name, "ns/update", forward, {buffer[-1].item<double>()});
  const double both = each * median_seconds([&] {
                        std::tie(buffer, cotangent) = back(std::move(buffer), std::move(cotangent));
                      }, 0.5);
  report(name + "-grad", "ns/update", both, {cotangent[0].item<double>()});
  return {forward, both};
}

/// What the machine takes for it: the same reads and writes in C++.
double updates_by_hand(std::int64_t size) {
  std::vector<double> buffer(static_cast<std::size_t>(size), 0.25);
  auto fill = [&] {
    volatile double* entries = buffer.data();
    for (std::int64_t i = 0; i + 1 < size; ++i) entries[i + 1] = std::fma(0.5, entries[i], 1.);
  };
  return median_seconds(fill, 0.5) * 1e9 / static_cast<double>(size);
}

/// An update of a large buffer should cost as much as one of a small buffer, but for the memory.
void updates_of_any_size() {
  const auto small = updates_in_place(1'000);
  updates_in_place(10'000);
  const auto large = updates_in_place(10'000'000);
  const std::string name = "check/update-in-place-1e7-over-1e3";
  report(name, "ratio", large.first / small.first, {});
  report(name + "-grad", "ratio", large.second / small.second, {});
  report(name + "-by-hand", "ratio", updates_by_hand(10'000'000) / updates_by_hand(1'000), {});
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
  updates_of_any_size();
  checkpoints();
}

}  // namespace bench
