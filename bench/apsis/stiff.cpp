// robertson/*, pollution/*: stiff chemistry of 3 and 20 equations.
#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

struct Robertson {
  Array slow = 0.04;
  Array operator()(const Array&, const Array& y) const {
    const auto [a, b, c] = unstack<3>(y);
    const Array first = slow * a - 1e4 * b * c, last = 3e7 * b * b;
    return stack({-first, first - last, last});
  }
};
Array robertson_end(const Array& slow) {
  return diffeqsolve(ODETerm{Robertson{slow}}, Rodas5P{}, 0., 1e5, {}, array({1., 0., 0.}),
                     {.controller = PIDController{.rtol = 1e-8, .atol = 1e-10}})
      .ys[0];
}

/// The air pollution problem of the Test Set for IVP Solvers (Bari).
Array pollution_slope(const Array&, const Array& y) {
  const Array y1 = y[0], y2 = y[1], y6 = y[5], y7 = y[6], y11 = y[10], y19 = y[18];
  const Array r1 = 0.35 * y1, r2 = 26.6 * y2 * y[3], r3 = 12300. * y[4] * y2, r4 = 0.00086 * y7,
              r5 = 0.00082 * y7, r6 = 15000. * y7 * y6, r7 = 0.00013 * y[8], r8 = 24000. * y[8] * y6,
              r9 = 16500. * y11 * y2, r10 = 9000. * y11 * y1, r11 = 0.022 * y[12], r12 = 12000. * y[9] * y2,
              r13 = 1.88 * y[13], r14 = 16300. * y1 * y6, r15 = 4.8e6 * y[2], r16 = 0.00035 * y[3],
              r17 = 0.0175 * y[3], r18 = 1e8 * y[15], r19 = 4.44e11 * y[15], r20 = 1240. * y[16] * y6,
              r21 = 2.1 * y19, r22 = 5.78 * y19, r23 = 0.0474 * y1 * y[3], r24 = 1780. * y19 * y1,
              r25 = 3.12 * y[19];
  return stack({-r1 - r10 - r14 - r23 - r24 + r2 + r3 + r9 + r11 + r12 + r22 + r25,
                -r2 - r3 - r9 - r12 + r1 + r21,
                -r15 + r1 + r17 + r19 + r22,
                -r2 - r16 - r17 - r23 + r15,
                -r3 + 2 * r4 + r6 + r7 + r13 + r20,
                -r6 - r8 - r14 - r20 + r3 + 2 * r18,
                -r4 - r5 - r6 + r13,
                r4 + r5 + r6 + r7,
                -r7 - r8,
                -r12 + r7 + r9,
                -r9 - r10 + r8 + r11,
                r9,
                -r11 + r10,
                -r13 + r12,
                r14,
                -r18 - r19 + r16,
                -r20,
                r20,
                -r21 - r22 - r24 + r23 + r25,
                -r25 + r24});
}

}  // namespace

void robertson() {
  const auto run = jit(robertson_end);
  Array y;
  const double spent = median_seconds([&] { y = run(array(0.04)); });
  report("robertson/solve", "us", spent * 1e6, y.to_vector<double>());
}

void robertson_first() {
  warm_compiler();
  Array y;
  const double spent = seconds([&] { y = block_until_ready(jit(robertson_end)(array(0.04))); });
  report("robertson/first-call", "ms", spent * 1e3, y.to_vector<double>());
}

void robertson_ensemble() {
  const auto run = jit(vmap(robertson_end));
  const Array slow = 0.02 + 0.04 * arange(10'000.) / 9999.;
  Array ends;
  const double spent = median_seconds([&] { ends = run(slow); });
  report("robertson/ensemble", "us/solve", spent * 1e6 / 10'000,
         ravel(ends[array({0, 4000, 8000})]).to_vector<double>());
}

void pollution() {
  const auto run = jit([](const Array& y0) {
    return diffeqsolve(ODETerm{pollution_slope}, Rodas5P{}, 0., 60., {}, y0,
                       {.controller = PIDController{.rtol = 1e-6, .atol = 1e-10}})
        .ys[0];
  });
  std::vector<double> start(20, 0.);
  start[1] = 0.2, start[3] = 0.04, start[6] = 0.1, start[7] = 0.3, start[8] = 0.01, start[16] = 0.007;
  const Array y0 = array(start);
  Array y;
  const double spent = median_seconds([&] { y = run(y0); });
  report("pollution/solve", "us", spent * 1e6, y[array({0, 1, 3, 6, 7, 14})].to_vector<double>());
}

}  // namespace bench
