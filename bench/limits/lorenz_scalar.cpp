// Hand-written scalar bound of lorenz/step: one adaptive solve, everything in registers.
#include <cmath>
#include <limits>

namespace limits {
inline double absolute(double v) { return std::fabs(v); }
inline double maximum(double a, double b) { return a > b ? a : b; }
}  // namespace limits

#include "report.hpp"
#include "tsit5_lorenz.hpp"

namespace {

using namespace limits;

struct Result {
  State<double> end;
  long accepted, rejected;
};

[[gnu::noinline]] Result solve(double rho, double t1) {
  double floor = t1;  // Ends within 100 ULP of t1 are t1, as in Diffrax.
  for (int i = 0; i < 100; ++i) floor = std::nextafter(floor, 0.0);
  State<double> s{1, 1, 1}, k1 = field(s, rho);
  double t = 0, next = 0.01;
  long accepted = 0, rejected = 0;
  while (t < t1) {
    const double h = next - t;
    const auto r = attempt(s, k1, h, rho);
    const bool keep = r.squared_error < 1;
    double factor = 0.9 * std::pow(r.squared_error, -0.1);
    factor = keep ? std::fmin(std::fmax(factor, 1.0), 10.0) : std::fmin(std::fmax(factor, 0.2), 0.9);
    if (keep) {
      s = r.next, k1 = r.slope, t = next;
      ++accepted;
    } else {
      ++rejected;
    }
    next = t + factor * h;
    if (next > floor) next = keep ? t1 : t + 0.5 * (t1 - t);
  }
  return {s, accepted, rejected};
}

}  // namespace

int main() {
  volatile double rho = 28, t1 = 20;
  Result r{};
  const double seconds = median_seconds(51, [&] { r = solve(rho, t1); });
  report("lorenz/step", "ns/step", seconds * 1e9 / (r.accepted + r.rejected), {r.end.x, r.end.y, r.end.z});
  const Result brief = solve(rho, 2.0);
  report("check/lorenz-to-2", "steps", brief.accepted + brief.rejected,
         {double(brief.accepted), double(brief.rejected), brief.end.x, brief.end.y, brief.end.z});
}
