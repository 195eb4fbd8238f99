// brusselator/*: stiff reactions with diffusion, on a line and in the plane, by solvers that find the pattern
// of the Jacobian.
#include <numbers>

#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

/// u' = 1 + u² v - 4 u + α u_xx, v' = 3 u - u² v + α v_xx, u = 1 and v = 3 at the ends; α = 1/50. The state
/// is [2, N].
struct OnALine {
  static Array second(const Array& u, double end) {
    const Array ends = array({end}), wide = concatenate({ends, u, ends});
    return wide[range(0, -2)] - 2. * u + wide[range(2, {})];
  }
  Array operator()(const Array&, const Array& y) const {
    const Array u = y[0], v = y[1], reaction = u * u * v;
    const double n = static_cast<double>(u.size()), factor = (n + 1) * (n + 1) / 50;
    return stack(
        {1. + reaction - 4. * u + factor * second(u, 1.), 3. * u - reaction + factor * second(v, 3.)});
  }
};

/// u' = 1 + u² v - 4.4 u + α Δu, v' = 3.4 u - u² v + α Δv on a periodic square of unit length; α = 1/10. [2,
/// N, N].
struct InThePlane {
  static Array laplacian(const Array& u) {
    return roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) - 4. * u;
  }
  Array operator()(const Array&, const Array& y) const {
    const Array u = y[0], v = y[1], reaction = u * u * v;
    const double n = static_cast<double>(u.dim(0)), factor = n * n / 10;
    return stack(
        {1. + reaction - 4.4 * u + factor * laplacian(u), 3.4 * u - reaction + factor * laplacian(v)});
  }
};

template <class Field, class Method>
void measure(const std::string& name, const Field& field, const Method& method, double t1, const Array& y0,
             double rtol, const std::vector<std::int64_t>& probed) {
  auto run = jit([&](const Array& start) {
    return diffeqsolve(ODETerm{field}, method, 0., t1, {}, start,
                       {.controller = PIDController{.rtol = rtol, .atol = rtol}})
        .ys[0];
  });
  Array y;
  const double spent = median_seconds([&] { y = run(y0); });
  report(name, "ms", spent * 1e3, ravel(y)[array(probed)].template to_vector<double>());
}

}  // namespace

void brusselator() {
  const std::int64_t n = 256;
  const Array x = arange(1., n + 1.) / static_cast<double>(n + 1);
  measure("brusselator/banded", OnALine{}, Rodas5P{}, 10.,
          stack({1. + sin(2 * std::numbers::pi * x), full_like(x, 3.)}), 1e-6, {0, 63, 127, 256, 319, 383});

  const std::int64_t side = 20;
  const Array at = arange(0., static_cast<double>(side)) / static_cast<double>(side),
              bump = pow(at * (1. - at), 1.5), flat = ones({side});
  const Array start = stack({22. * bump * expand_dims(flat, 1), 27. * expand_dims(bump, 1) * flat});
  measure("brusselator/2d", InThePlane{}, BackwardDifferences{}, 11.5, start, 5e-8,
          {0, 105, 210, 400, 505, 610});
}

}  // namespace bench
