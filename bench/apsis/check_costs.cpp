// check/*: what checks cost that find nothing, as a multiple of the time without them.
#include <algorithm>

#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

/// Both by turns, so that the machine is the same for both; the least of each. Each keeps its own result, so
/// that both write to either of two places in memory by turns: what differs otherwise is where in memory they
/// write.
template <class Plain, class Checked, class... Args>
void report_ratio(const std::string& name, const Plain& plain, const Checked& checked, int calls,
                  const Args&... args) {
  Array result = plain(args...), checked_result = checked(args...);
  const auto run = [&](const auto& f, Array& out) {
    return seconds([&] {
      for (int i = 0; i < calls; ++i) out = f(args...);
    });
  };
  double least = 1e30, least_checked = 1e30;
  for (int k = 0; k < 200; ++k) {
    least = std::min(least, run(plain, result));
    least_checked = std::min(least_checked, run(checked, checked_result));
  }
  report(name, "of the time without", least_checked / least, {});
}

template <bool checked>
struct CheckedLorenz {
  Array rho;
  Array operator()(const Array&, const Array& y) const {
    auto [u, v, w] = unstack<3>(y);
    if (checked) error_if(abs(u) > 1e3, "[lorenz] the solution leaves the attractor: {0}", {u});
    return stack({10. * (v - u), u * (rho - w) - v, u * v - 8. / 3. * w});
  }
};

template <bool checked>
Array end_of_lorenz(const Array& rho) {
  return diffeqsolve(ODETerm{CheckedLorenz<checked>{rho}}, Tsit5{}, 0., 20., 0.01, ones({3}),
                     {.controller = PIDController{.rtol = 1e-8, .atol = 1e-8}})
      .ys[0];
}

Array expression(const Array& a, const Array& b) { return tanh(a * b + 0.5) * exp(-b); }

}  // namespace

void check_costs() {
  const Array rho(28., f64);
  auto plain = jit(end_of_lorenz<false>), checked = jit(end_of_lorenz<true>);
  report_ratio("check/error-if-in-lorenz", plain, checked, 1, rho);
  report_ratio("check/checks-of-lorenz", plain, jit(end_of_lorenz<false>, {.checks = Checks::all()}), 1, rho);

  // Large arrays, and small ones, whose programs are compiled fast instead of well.
  for (const std::int64_t size : {100'000, 4'000}) {
    const std::string end = size > 32'000 ? "" : "-small";
    const int calls = size > 32'000 ? 2 : 20;
    const Array x = astype(linspace(-1., 1., size), f32), y = astype(linspace(0., 2., size), f32);
    auto of_two = jit(expression);
    auto of_two_checked = jit([](const Array& p, const Array& q) {
      Array r = expression(p, q);
      error_if(any(q < 0.), "[expression] negative");
      return r;
    });
    report_ratio("check/error-if-elementwise" + end, of_two, of_two_checked, calls, x, y);
    report_ratio("check/checks-elementwise" + end, of_two, jit(expression, {.checks = Checks::all()}), calls,
                 x, y);
  }
}

}  // namespace bench
