// check/compile-*: how the time to compile grows with the length of a program. Per operation of the user's
// program, at 1,000 and at 100,000 of them; the ratio should be near 1.
#include <ctime>
#include <string>
#include <vector>

#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

Array chain(Array x, long count) {
  for (long k = 0; k < count; ++k)
    x = k % 3 == 0 ? x * 1.0001 + 0.5 : k % 3 == 1 ? x / (x * x + 1.) : x - 0.25 * abs(x);
  return x;
}

/// Seconds of the processor: other work on the machine does not count.
double spent() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class Program>
void compare(const std::string& name, const Program& program, const Array& x) {
  double each[2] = {};
  const long counts[] = {1000, 100000};
  for (int i = 0; i < 2; ++i) {
    const double start = spent();
    lower(program(counts[i]), x).compile();
    each[i] = (spent() - start) * 1e6 / static_cast<double>(counts[i]);
    report("check/compile-" + name + (i ? "-1e5" : "-1e3"), "us/op", each[i], {});
  }
  report("check/compile-" + name + "-ratio", "ratio", each[1] / each[0], {});
}

}  // namespace

void compile_costs() {
  const Array scalar(0.3), array = linspace(-1., 1., 1000);
  const auto straight = [](long n) { return [n](const Array& x) { return sum(chain(x, n)); }; };
  const auto looped = [](long n) {
    return [n](const Array& x) {
      return sum(fori_loop(
          0, 3, [n](const Array&, const Array& y) { return chain(y, n); }, x));
    };
  };
  const auto gradient = [](const auto& of) { return [of](long n) { return grad(of(n)); }; };
  jit([](const Array& x) { return sin(x) + 1.; })(scalar);  // loads the compiler
  compare("scalar", straight, scalar);
  compare("scalar-grad", gradient(straight), scalar);
  compare("array", straight, array);
  compare("array-grad", gradient(straight), array);
  compare("loop", looped, scalar);
  compare("loop-grad", gradient(looped), scalar);
  compare("loop-array-grad", gradient(looped), array);
  compare(
      "wide",
      [](long n) {
        return [n](const Array& x) {
          std::vector<Array> parts;
          for (long k = 0; k < n; ++k) parts.push_back(x * static_cast<double>(k));
          return stack(parts);
        };
      },
      scalar);
}

}  // namespace bench
