// check/*: what loops cost beyond the rows: how time grows with leaves and with buffers, what reverse mode
// keeps.
#include <sys/resource.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
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
  report("check/scan-grad-" + std::to_string(N) + "-leaves", "ns/leaf-step",
         spent * 1e9 / static_cast<double>(N * length), {g[0].template item<double>()});
}

struct Filling {
  Array i, buffer;
};

/// One entry of a buffer that is given up is written an iteration, in order; and the pull-back of that, on a
/// cotangent that is given up. Returns nanoseconds for both.
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
  const std::string name =
      "check/update-in-place-1e" + std::to_string(std::lround(std::log10(static_cast<double>(size))));
  const double each = 1e9 / static_cast<double>(size);
  const double forward = each * median_seconds([&] { buffer = run(std::move(buffer)); }, 0.5);
  report(name, "ns/update", forward, {buffer[-1].item<double>()});
  const double both =
      each * median_seconds(
                 [&] { std::tie(buffer, cotangent) = back(std::move(buffer), std::move(cotangent)); }, 0.5);
  report(name + "-grad", "ns/update", both, {cotangent[0].item<double>()});
  return {forward, both};
}

/// What the machine takes for it: the same reads and writes in C++, forwards, and forwards and backwards.
std::pair<double, double> updates_by_hand(std::int64_t size) {
  std::vector<double> filled(static_cast<std::size_t>(size), 0.25),
      pulled(static_cast<std::size_t>(size), 1.);
  volatile double *entries = filled.data(), *cotangents = pulled.data();
  auto fill = [&] {
    for (std::int64_t i = 0; i + 1 < size; ++i) entries[i + 1] = std::fma(0.5, entries[i], 1.);
  };
  auto both = [&] {
    fill();
    for (std::int64_t i = size - 1; i-- > 0;) {
      const double cotangent = cotangents[i + 1];
      cotangents[i + 1] = 0;
      cotangents[i] = std::fma(0.5, cotangent, cotangents[i]);
    }
  };
  const double each = 1e9 / static_cast<double>(size);
  return {each * median_seconds(fill, 0.5), each * median_seconds(both, 0.5)};
}

/// An update of a large buffer should cost as much as one of a small buffer, but for the memory.
void updates_of_any_size() {
  const auto small = updates_in_place(1'000);
  updates_in_place(10'000);
  const auto large = updates_in_place(10'000'000);
  const auto small_by_hand = updates_by_hand(1'000), large_by_hand = updates_by_hand(10'000'000);
  const std::string name = "check/update-in-place-1e7-over-1e3";
  report(name, "ratio", large.first / small.first, {});
  report(name + "-grad", "ratio", large.second / small.second, {});
  report(name + "-by-hand", "ratio", large_by_hand.first / small_by_hand.first, {});
  report(name + "-grad-by-hand", "ratio", large_by_hand.second / small_by_hand.second, {});
  report("check/update-in-place-1e7-grad-by-hand", "ns/update", large_by_hand.second, {});
}

double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1024. * static_cast<double>(usage.ru_maxrss);
}

/// Reverse mode through a million steps with a thousand states kept. Compiled before, so that the peak is
/// that of the run.
void checkpoints() {
  const std::int64_t size = 2048, steps = 1'000'000, states = 1000;
  auto loss = [](const Array& x) {
    auto end = scan(
        [](const Array& s, const Nothing&) {
          return std::pair{0.999999 * s + 1e-6 * s * s, Nothing{}};
        },
        broadcast_to(x, {size}), Nothing{}, {.length = steps, .checkpoints = states});
    return sum(end.first);
  };
  Array x(0.25, f64), g;
  auto gradient = compile(grad(loss), x);
  const double before = peak_bytes();
  double spent = seconds([&] { g = gradient(x); });
  const double kept = 8. * size * states;
  report("check/checkpoints-1e6-peak", "of the states", (peak_bytes() - before) / kept, {g.item<double>()});
  report("check/checkpoints-1e6", "s", spent, {g.item<double>()});
}

struct Steps {
  Array i, x;
};

/// How often such a loop runs its body's forward part, of known length and of unknown; the least is
/// 2,497,497.
void forward_steps() {
  const std::int64_t steps = 1'000'000, states = 1000;
  double count = 0;
  auto counted = pure_callback([&count](const Array& z) { return ++count, z; }, Array(0., f64));
  auto step = [counted](const Array& s) { return sin(s) + 1e-9 * counted(stop_gradient(s)); };
  auto known = [=](const Array& x) {
    return scan(
               [=](const Array& s, const Nothing&) {
                 return std::pair{step(s), Nothing{}};
               },
               x, Nothing{}, {.length = steps, .checkpoints = states})
        .first;
  };
  auto unknown = [=](const Array& x) {
    return while_loop([=](const Steps& s) { return s.i < steps; },
                      [=](const Steps& s) {
                        return Steps{s.i + 1, step(s.x)};
                      },
                      Steps{0, x}, {.checkpoints = states})
        .x;
  };
  Array x(0.25, f64);
  double g = jit(grad(known))(x).item<double>();
  report("check/checkpoints-1e6-forward-steps", "steps", std::exchange(count, 0), {g});
  g = jit(grad(unknown))(x).item<double>();
  report("check/checkpoints-1e6-forward-steps-unknown-length", "steps", count, {g});
}

/// The bytes of an entry of the lists that loops record, as the program's text names them: `list<f64[3]>`.
double recorded_bytes(const std::string& program) {
  double bytes = 0;
  for (std::size_t loop = program.find("= while{"); loop != std::string::npos;
       loop = program.find("= while{", loop + 1)) {
    const std::size_t line = program.rfind('\n', loop);
    for (std::size_t at = program.find("list<", line); at < loop; at = program.find("list<", at + 1)) {
      const std::size_t bits = program.find_first_of("0123456789", at), shape = program.find('[', at);
      double entry = std::stod(program.substr(bits)) / 8;
      for (std::size_t n = shape + 1; program[n] != ']'; n = program.find_first_of(",]", n)) {
        if (program[n] == ',') ++n;
        entry *= std::stod(program.substr(n));
      }
      bytes += entry;
    }
  }
  return bytes;
}

/// What an adaptive solve keeps of a step for reverse mode, in lanes.
void tape_of_lorenz() {
  struct Lorenz {
    Array rho;
    Array operator()(const Array&, const Array& y) const {
      auto [u, v, w] = unstack<3>(y);
      return stack({10. * (v - u), u * (rho - w) - v, u * v - 8. / 3. * w});
    }
  };
  auto member = [](const Array& rho) {
    return sum(diffeqsolve(ODETerm{Lorenz{rho}}, Tsit5{}, 0., 5., 0.01, ones({3}),
                           {.controller = PIDController{.rtol = 1e-8, .atol = 1e-8}})
                   .ys);
  };
  auto loss = [&](const Array& rho) { return mean(vmap(member)(rho)); };
  report("check/lorenz-tape", "bytes/lane-step",
         recorded_bytes(make_graph(grad(loss), linspace(0.5, 40., 1000))), {});
}

}  // namespace

void loop_costs() {
  checkpoints();  // first: its peak is that of the process
  forward_steps();
  tape_of_lorenz();
  scan_leaves<15>();
  scan_leaves<30>();
  scan_leaves<60>();
  scan_leaves<120>();
  updates_of_any_size();
}

}  // namespace bench
