// Boost.odeint's side: dopri5, and rosenbrock4 with Jacobians by forward differentiation.

#include <array>
#include <cstring>
#include <stdexcept>

#include <boost/numeric/odeint.hpp>

#include "common.hpp"

/// A value with N derivatives.
template <int N>
struct Dual {
  double v = 0;
  std::array<double, N> d{};
  Dual() = default;
  Dual(double x) : v(x) {}
  template <class F>
  Dual with(double value, F slope, const Dual& o = {}) const {
    Dual r(value);
    for (int i = 0; i < N; ++i) r.d[i] = slope(d[i], o.d[i]);
    return r;
  }
  friend Dual operator+(const Dual& a, const Dual& b) {
    return a.with(
        a.v + b.v, [](double x, double y) { return x + y; }, b);
  }
  friend Dual operator-(const Dual& a, const Dual& b) {
    return a.with(
        a.v - b.v, [](double x, double y) { return x - y; }, b);
  }
  friend Dual operator-(const Dual& a) {
    return a.with(-a.v, [](double x, double) { return -x; });
  }
  friend Dual operator*(const Dual& a, const Dual& b) {
    return a.with(
        a.v * b.v, [&](double x, double y) { return x * b.v + y * a.v; }, b);
  }
  friend Dual operator/(const Dual& a, const Dual& b) {
    return a.with(
        a.v / b.v, [&](double x, double y) { return (x - y * a.v / b.v) / b.v; }, b);
  }
};
template <int N>
Dual<N> square(const Dual<N>& x) {
  return x * x;
}
template <int N>
Dual<N> three_halves(const Dual<N>& x) {
  return x.with(x.v * std::sqrt(x.v), [&](double d, double) { return 1.5 * std::sqrt(x.v) * d; });
}
#include "problems.hpp"

namespace {

namespace ode = boost::numeric::odeint;
using Vector = boost::numeric::ublas::vector<double>;
using Matrix = boost::numeric::ublas::matrix<double>;

template <class P>
std::vector<double> stiff(double rtol) {
  const auto slope = [](const Vector& y, Vector& dy, double) { P::slope(&y[0], &dy[0]); };
  const auto jacobian = [](const Vector& y, Matrix& j, double, Vector& dt) {
    using D = Dual<P::n>;
    std::array<D, P::n> in, out;
    for (int i = 0; i < P::n; ++i) {
      in[i] = D(y[i]);
      in[i].d[i] = 1;
      dt[i] = 0;
    }
    P::slope(in.data(), out.data());
    for (int i = 0; i < P::n; ++i)
      for (int k = 0; k < P::n; ++k) j(i, k) = out[i].d[k];
  };
  const std::vector<double> start = P::y0();
  Vector y(P::n);
  std::copy(start.begin(), start.end(), y.begin());
  ode::integrate_adaptive(ode::make_controlled<ode::rosenbrock4<double>>(rtol * P::floor, rtol),
                          std::make_pair(slope, jacobian), y, P::t0, P::t1, 1e-6);
  return {y.begin(), y.end()};
}
template <class P>
std::vector<double> gentle(double rtol) {
  using State = std::array<double, P::n>;
  State y;
  const std::vector<double> start = P::y0();
  std::copy(start.begin(), start.end(), y.begin());
  ode::integrate_adaptive(
      ode::make_controlled<ode::runge_kutta_dopri5<State>>(rtol * P::floor, rtol),
      [](const State& s, State& dy, double) { P::slope(s.data(), dy.data()); }, y, P::t0, P::t1, 1e-3);
  return {y.begin(), y.end()};
}

template <class P>
void run() {
  for (double rtol : P::rtols()) {
    try {
      std::vector<double> y;
      const auto solve = [&] {
        if constexpr (P::stiff)
          y = stiff<P>(rtol);
        else
          y = gentle<P>(rtol);
      };
      const double seconds = seconds_of(solve);
      tell(P::name, P::stiff ? "odeint rosenbrock4" : "odeint dopri5", rtol, seconds, y);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s odeint %g: %s\n", P::name, rtol, error.what());
    }
  }
}
template <class... P>
void run_list(List<P...>, const char* only) {
  ((only == nullptr || std::strcmp(only, P::name) == 0 ? run<P>() : void()), ...);
}

}  // namespace

int main(int count, char** words) { run_list(Problems{}, count > 1 ? words[1] : nullptr); }
