// Waves of the Belousov-Zhabotinsky reaction in a tube: Tyson's two-variable Oregonator with diffusion, on a
// grid of points. Reactions fifty times faster than what they make recover, and diffusion between near
// points, are stiff; the Jacobian has five diagonals, which the solver finds by itself. How fast do the waves
// run?
//
//   waves        the figure goes to out/; fails if what it says is not so

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

constexpr double length = 60, fast = 1 / 0.02, f = 1.4, q = 0.002;

struct Tube {
  std::int64_t points;
  Array diffusion;
  /// The state is [points, 2], activator and catalyst; nothing leaves at the ends.
  Array operator()(const Array&, const Array& y) const {
    const double h = length / static_cast<double>(points - 1);
    const Array u = y(ellipsis, 0), v = y(ellipsis, 1);
    const Array padded = concatenate({u[range(1, 2)], u, u[range(-2, -1)]});
    const Array second = (padded[range({}, -2)] - 2. * u + padded[range(2, {})]) / (h * h);
    const Array reaction = fast * (u * (1. - u) - f * v * (u - q) / (u + q));
    return stack({reaction + diffusion * second, u - v}, 1);
  }
};

/// At rest but for the left end, which is lit, and a tail behind it.
Array lit(std::int64_t points) {
  const double rest = 0.5 * (1 - f - q + std::sqrt((1 - f - q) * (1 - f - q) + 4 * q * (1 + f)));
  const Array x = linspace(0., length, points);
  return stack({where(x < 2., 0.8, rest), full_like(x, rest)}, 1);
}

Solution<Array> run_to(const Tube& tube, const Times& ts) {
  return diffeqsolve(
      ODETerm{tube}, BackwardDifferences{}, 0., ts[-1], {}, lit(tube.points),
      {.controller = PIDController{.rtol = 1e-5, .atol = 1e-7}, .saveat = {.ts = ts}, .max_steps = 100'000});
}

/// Where the front is at each time: the last place at which there is more than a tenth of the activator.
Array fronts(const Array& u) {
  const std::int64_t points = u.dim(1);
  const Array x = linspace(0., length, points), left = u(range(), range({}, -1)),
              right = u(range(), range(1, {}));
  const Array here = (left > 0.1) && (right <= 0.1);
  const Array share = (left - 0.1) / where(here, left - right, 1.);
  const Array place = x[range({}, -1)] + share * (length / static_cast<double>(points - 1));
  return max(where(here, place, 0.), {.axis = 1});
}

/// The speed between two times at which the front is well inside.
double speed(const Tube& tube, double begin, double end) {
  const Array ts = array({begin, end});
  const Array x = fronts(run_to(tube, ts).ys(range(), range(), 0));
  return (x[1] - x[0]).item<double>() / (end - begin);
}

void require(bool so, const char* what) {
  if (!so) throw std::runtime_error(std::string("not so: ") + what);
}

void run() {
  constexpr std::int64_t points = 481;
  const Tube tube{points, array(1.)};
  // What the solver sees: each element depends on its neighbours alone.
  const auto slope = [](const Array& y) {
    return reshape(Tube{61, array(1.)}(0., reshape(y, {61, 2})), {-1});
  };
  const Array at = reshape(lit(61), {-1});
  const Array dense = jacfwd(slope)(at);
  const LinearOperator banded = jacobian_operator(slope, at, linalg::Bandwidths{2, 2});
  require(max(abs(banded.as_matrix() - dense)).item<double>() == 0, "five diagonals are the whole Jacobian");

  const Array ts = linspace(0., 8., 161);
  const auto begin = std::chrono::steady_clock::now();
  const Solution<Array> sol = run_to(tube, ts);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  std::printf("%lld equations: %s%.1f s\n", static_cast<long long>(2 * points), to_string(sol).c_str(),
              spent.count());

  const double c = speed(tube, 1.5, 4.), coarse = speed({(points + 1) / 2, array(1.)}, 1.5, 4.);
  const double slower = speed({points, array(0.25)}, 1.5, 4.);
  std::printf("waves run at %.2f; on half of the points at %.2f; with a quarter of the diffusion at %.2f\n",
              c, coarse, slower);
  require(std::abs(coarse / c - 1) < 0.05, "the grid is fine enough");
  require(std::abs(slower / c - 0.5) < 0.03, "the speed goes with the root of the diffusion");

  std::filesystem::create_directories("out");
  Figure{.title = "A wave of the Belousov-Zhabotinsky reaction", .xlabel = "time", .ylabel = "place"}
      .map(ts, linspace(0., length, points), transpose(sol.ys(range(), range(), 0)), "activator")
      .save("out/waves.png");
  std::puts("the figure is out/waves.png");
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
