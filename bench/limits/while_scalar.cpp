// Hand-written bound of while/scalar: the latency of one multiply-add an iteration.
#include <cstdint>

#include "report.hpp"

namespace {

struct Carry {
  std::int64_t i;
  double x;
};

[[gnu::noinline]] Carry run(std::int64_t n, double x) {
  Carry c{0, x};
  while (c.i < n) c = {c.i + 1, 0.999 * c.x + 0.1};
  return c;
}

}  // namespace

int main() {
  volatile std::int64_t n = 1'000'000;
  volatile double x = 1.0;
  Carry c{};
  const double seconds = limits::median_seconds(31, [&] { c = run(n, x); });
  limits::report("while/scalar", "ns/iteration", seconds * 1e9 / n, {static_cast<double>(c.i), c.x});
}
