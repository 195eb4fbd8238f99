// while/* and scan/*: loops with next to nothing in their bodies, and the gradient of one with many leaves.
#include <cmath>

#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

void while_scalar() {
  const std::int64_t n = 1'000'000;
  struct Carry {
    Array i, x;
  };
  auto count = jit([](const Array& bound, const Array& x) {
    return while_loop([&](const Carry& c) { return c.i < bound; },
                      [](const Carry& c) {
                        return Carry{c.i + 1, 0.999 * c.x + 0.1};
                      },
                      Carry{Array(0, i64), x});
  });
  Array bound(n, i64), x(1., f64);
  Carry end;
  double spent = median_seconds([&] { end = count(bound, x); });
  report("while/scalar", "ns/iteration", spent * 1e9 / n, {end.i.item<double>(), end.x.item<double>()});
}

void scan_vec4() {
  const std::int64_t steps = 100'000;
  auto four = jit([](const Array& c) {
    return scan([](const Array& carry, const Nothing&) { return std::pair(0.999 * carry + 0.1, carry); }, c,
                Nothing{}, {.length = steps});
  });
  Array start = array({0., 1., 2., 3.});
  std::pair<Array, Array> out;
  double spent = median_seconds([&] { out = four(start); });
  std::vector<double> answer = out.first.to_vector<double>(), ys = out.second.to_vector<double>();
  for (std::int64_t row : {steps / 2, steps - 1})
    answer.insert(answer.end(), ys.begin() + 4 * row, ys.begin() + 4 * row + 4);
  report("scan/vec4", "ns/step", spent * 1e9 / steps, answer);
}

void scan_grad() {
  using Leaves = std::array<Array, 60>;
  auto gradient = jit(grad([](const Leaves& start) {
    auto body = [](const Leaves& a, const Nothing&) {
      Leaves next;
      for (std::size_t k = 0; k < a.size(); ++k) next[k] = 0.99 * a[k] + 0.01 * sin(a[(k + 1) % a.size()]);
      return std::pair(next, Nothing{});
    };
    Leaves end = scan(body, start, Nothing{}, {.length = 1000}).first;
    Array total = end[0];
    for (std::size_t k = 1; k < end.size(); ++k) total = total + end[k];
    return total;
  }));
  Leaves leaves, g;
  for (std::size_t k = 0; k < leaves.size(); ++k) leaves[k] = Array(std::cos(static_cast<double>(k)), f64);
  double spent = median_seconds([&] { g = gradient(leaves); });
  std::vector<double> answer;
  for (const Array& a : g) answer.push_back(a.item<double>());
  report("scan/grad-60-leaves", "us", spent * 1e6, answer);
}

}  // namespace

void loops() {
  while_scalar();
  scan_vec4();
  scan_grad();
}

}  // namespace bench
