// A pendulum in Cartesian coordinates: the rod's pull is whatever keeps the length, an algebraic equation
// (index 1) beside four differential ones. The same motion by its angle tells how exact that is.
//
//   pendulum        the figure goes to out/; fails if what it says is not so

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

constexpr double gravity = 9.81, rod = 1.;
const PIDController adaptive{.rtol = 1e-9, .atol = 1e-11};

/// Position (x, y), velocity (u, v) and the pull of the rod per mass and length: the second derivative of
/// x² + y² = rod² is 0.
struct Bob {
  Array x, y, u, v, pull;
};
Bob moving(const Array&, const Bob& b) {
  return {.x = b.u,
          .y = b.v,
          .u = -b.pull * b.x,
          .v = -b.pull * b.y - gravity,
          .pull = b.u * b.u + b.v * b.v - b.pull * (b.x * b.x + b.y * b.y) - gravity * b.y};
}

Solution<Bob> swing(const Array& angle, const Array& ts) {
  const Array none = zeros_like(angle);
  // What the pull is at first is found from its equation: 0 is a guess.
  const Bob start{rod * sin(angle), -rod * cos(angle), none, none, none};
  return diffeqsolve(ODETerm{moving}, Rodas5P{}, 0., 5., {}, start,
                     {.controller = adaptive, .saveat = {.ts = ts}, .mass = array({1., 1., 1., 1., 0.})});
}

Array by_angle(const Array& angle, const Array& ts) {
  const auto field = [](const Array&, const Array& y) { return stack({y[1], -gravity / rod * sin(y[0])}); };
  return diffeqsolve(ODETerm{field}, Vern9{}, 0., 5., {}, stack({angle, zeros_like(angle)}),
                     {.controller = PIDController{.rtol = 1e-12, .atol = 1e-13}, .saveat = {.ts = ts}})
      .ys;
}

void require(bool so, const char* what) {
  if (!so) throw std::runtime_error(std::string("not so: ") + what);
}

void run() {
  const Array angle = array(2.), ts = linspace(0., 5., 501);
  const Solution<Bob> sol = jit(swing)(angle, ts);
  const Array exact = jit(by_angle)(angle, ts), phi = exact(range(), 0), speed = exact(range(), 1);
  const Bob& b = sol.ys;
  const Array off = hypot(b.x - rod * sin(phi), b.y + rod * cos(phi)), length = abs(hypot(b.x, b.y) - rod);
  const Array pull = speed * speed + gravity / rod * cos(phi);
  std::printf("position off by %.0e, the rod's length by %.0e, its pull by %.0e at most\n",
              max(off).item<double>(), max(length).item<double>(), max(abs(b.pull - pull)).item<double>());
  require(max(off).item<double>() < 1e-6, "the position is that of the angle's equation");
  require(max(abs(b.pull - pull)).item<double>() < 1e-5, "the pull is the rod's");

  const auto last = [&](const Array& a) { return swing(a, array({5.})).ys.x[0]; };
  const auto last_by_angle = [&](const Array& a) { return rod * sin(by_angle(a, array({5.}))[0][0]); };
  const double slope = jit(grad(last))(angle).item<double>(),
               other = jit(grad(last_by_angle))(angle).item<double>();
  std::printf("d x(5) / d angle = %.6f, by the angle's equation %.6f\n", slope, other);
  require(std::abs(slope - other) < 1e-5 * std::abs(other), "so are the derivatives");

  std::filesystem::create_directories("out");
  Figure motion{.title = "A pendulum in Cartesian coordinates",
                .xlabel = "time (s)",
                .ylabel = "position (m), pull (10/s²)"};
  motion.line(ts, b.x, "x").line(ts, b.y, "y").line(ts, 0.1 * b.pull, "pull of the rod");
  Figure errors{.title = "Errors", .xlabel = "time (s)", .ylabel = "m", .log_y = true};
  errors.line(ts, length, "length of the rod").line(ts, off, "position");
  save_stacked({motion, errors}, "out/pendulum.png");
  std::puts("the figure is out/pendulum.png");
}

}  // namespace

int main() {
  try {
    run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
