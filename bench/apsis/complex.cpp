// complex/*: a loop of complex numbers, and a fused expression of them.
#include <cmath>
#include <complex>

#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

/// How often z² + p stays within the circle of radius 2, of 300 by 300 points: 500 iterations at most.
void mandelbrot() {
  struct State {
    Array z, count;
  };
  const auto escape = [](const Array& p) {
    return while_loop([](const State& s) { return (abs(s.z) <= 2.) && (s.count < 500); },
                      [&](const State& s) {
                        return State{s.z * s.z + p, s.count + 1};
                      },
                      State{zeros_like(p), Array(0, i64)})
        .count;
  };
  const auto counts = jit(vmap(escape));
  const Array points =
      reshape(complex(linspace(-2., .6, 300), reshape(linspace(-1.2, 1.2, 300), {300, 1})), {-1});
  Array found;
  const double spent = median_seconds([&] { found = counts(points); });
  report("complex/mandelbrot", "ms", spent * 1e3,
         {double(sum(found).item<std::int64_t>()), double(found[45150].item<std::int64_t>())});
}

/// exp(a b) of a million c64.
void exp_product() {
  const Array k = astype(arange(1000000.), f32);
  const Array a = complex(cos(k), sin(k)), b = complex(sin(2 * k), cos(3 * k));
  const auto f = jit([](const Array& a, const Array& b) { return exp(a * b); });
  Array y;
  const double spent = median_seconds([&] { y = f(a, b); });
  const auto at = [&](std::int64_t i) { return y[i].item<std::complex<double>>(); };
  report("complex/exp-product", "ms", spent * 1e3, {at(1).real(), at(1).imag(), at(777777).real()});
}

}  // namespace

void complex_numbers() {
  mandelbrot();
  exp_product();
}

}  // namespace bench
