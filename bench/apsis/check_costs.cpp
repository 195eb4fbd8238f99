// check/*: what checks cost that find nothing, as a multiple of the time without them.
#include <algorithm>

#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

/// Both by turns, so that the machine is the same for both; the least of each.
template <class Plain, class Checked>
void report_ratio(const std::string& name, const Plain& plain, const Checked& checked) {
  plain();
  checked();
  double least = 1e30, least_checked = 1e30;
  for (int k = 0; k < 200; ++k) {
    least = std::min(least, seconds(plain));
    least_checked = std::min(least_checked, seconds(checked));
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
  Array y;
  report_ratio(
      "check/error-if-in-lorenz", [&] { y = plain(rho); }, [&] { y = checked(rho); });
  auto solve_checked = jit(end_of_lorenz<false>, {.checks = Checks::all()});
  report_ratio(
      "check/checks-of-lorenz", [&] { y = plain(rho); }, [&] { y = solve_checked(rho); });

  const Array a = linspace(-1., 1., 100'000), b = linspace(0., 2., 100'000);
  const Array x = a + 0.f * a, z = b;
  auto sum_plain = jit(expression);
  auto sum_checked = jit([](const Array& p, const Array& q) {
    Array r = expression(p, q);
    error_if(any(q < 0.), "[expression] negative");
    return r;
  });
  report_ratio(
      "check/error-if-elementwise", [&] { y = sum_plain(x, z); }, [&] { y = sum_checked(x, z); });
  auto all_checked = jit(expression, {.checks = Checks::all()});
  report_ratio(
      "check/checks-elementwise", [&] { y = sum_plain(x, z); }, [&] { y = all_checked(x, z); });
}

}  // namespace bench
