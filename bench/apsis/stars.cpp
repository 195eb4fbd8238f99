// pleiades/*: seven stars in the plane (Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations
// I).
#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

/// The state is [4, 7]: the stars' places x and y, and their velocities. Star k has mass k.
Array attraction(const Array&, const Array& state) {
  const Array mass = arange(1., 8.), dx = state[0] - expand_dims(state[0], 1),
              dy = state[1] - expand_dims(state[1], 1), squared = dx * dx + dy * dy;
  const Array weight =
      where(squared > 0., mass / (squared * sqrt(squared)), 0.);  // [7, 7]: of star j on star i
  return stack({state[2], state[3], sum(weight * dx, {1}), sum(weight * dy, {1})});
}

struct End {
  Array state, steps;
};

}  // namespace

void pleiades() {
  const auto run = jit([](const Array& start) {
    const auto solution = diffeqsolve(ODETerm{attraction}, Dopri8{}, 0., 3., {}, start,
                                      {.controller = PIDController{.rtol = 1e-9, .atol = 1e-9}});
    return End{solution.ys[0], solution.stats.num_steps};
  });
  const Array start = array({{3., 3., -1., -3., 2., -2., 2.},
                             {3., -3., 2., 0., 0., -4., 4.},
                             {0., 0., 0., 0., 0., 1.75, -1.5},
                             {0., 0., 0., -1.25, 1., 0., 0.}});
  End end;
  const double spent = median_seconds([&] { end = run(start); });
  report("pleiades/step", "us/step", spent * 1e6 / end.steps.item<double>(),
         ravel(end.state).to_vector<double>());
}

}  // namespace bench
