// Apsis' side.

#include <cstring>

#include <apsis/apsis.hpp>

#include "common.hpp"

using apsis::Array;
namespace {
Array three_halves(const Array& x) { return x * sqrt(x); }
}  // namespace
#include "problems.hpp"

namespace {

using namespace apsis;

template <class P>
Array slope_of(const Array&, const Array& y) {
  std::vector<Array> parts, slope(P::n);
  for (int i = 0; i < P::n; ++i) parts.push_back(y[i]);
  P::slope(parts.data(), slope.data());
  return stack(slope);
}
template <>
Array slope_of<Brusselator>(const Array&, const Array& y) {
  const Array pairs = reshape(y, {Brusselator::points, 2}), edge = array({{1., 3.}});
  const Array padded = concatenate({edge, pairs, edge});
  const Array second = padded[range({}, -2)] - 2. * pairs + padded[range(2, {})];
  const Array u = pairs(ellipsis, 0), v = pairs(ellipsis, 1);
  const Array reaction = stack({1. + u * u * v - 4. * u, 3. * u - u * u * v}, 1);
  return reshape(reaction + Brusselator::factor * second, {-1});
}

template <class P, class S>
void run(const char* side, const S& solver, double floor, double first = 1e-30) {
  for (double rtol : P::rtols()) {
    if (rtol < first) continue;
    const std::vector<double> start = P::y0();
    const Array y0 = array(start);
    const auto end = [&](const Array& y) {
      return diffeqsolve(
                 ODETerm{slope_of<P>}, solver, P::t0, P::t1, {}, y,
                 {.controller = PIDController{.rtol = rtol, .atol = rtol * floor}, .max_steps = 1'000'000})
          .ys[-1];
    };
    try {
      const auto program = compile(end, y0);
      Array y;
      const double seconds = seconds_of([&] { y = block_until_ready(program(y0)); });
      tell(P::name, side, rtol, seconds, y.to_vector<double>());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s %s %g: %s\n", P::name, side, rtol, error.what());
    }
  }
}

template <class P>
void run_all() {
  if constexpr (P::stiff) {
    run<P>("Apsis Rodas5P", Rodas5P{}, P::floor);
    run<P>("Apsis Radau5", Radau5{}, P::floor);
    run<P>("Apsis BackwardDifferences", BackwardDifferences{}, P::floor);
  } else {
    run<P>("Apsis Tsit5", Tsit5{}, P::floor);
    run<P>("Apsis Vern7", Vern7{}, P::floor);
  }
}
template <class... P>
void run_list(List<P...>, const char* only) {
  ((only == nullptr || std::strcmp(only, P::name) == 0 ? run_all<P>() : void()), ...);
}

}  // namespace

int main(int count, char** words) {
  const char* only = count > 1 ? words[1] : nullptr;
  run_list(Problems{}, only);
  if (only == nullptr || std::strcmp(only, Brusselator::name) == 0) {
    run<Brusselator>("Apsis RKC", RKC{}, 1.);
    run<Brusselator>("Apsis BackwardDifferences", BackwardDifferences{}, 1.);
    run<Brusselator>("Apsis Rodas5P", Rodas5P{}, 1.);
  }
}
