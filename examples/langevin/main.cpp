// A particle in a liquid, between two wells: underdamped Langevin diffusion, thousands of particles in one
// program. After a while positions and speeds have Boltzmann's law, whatever they were at first: Kolmogorov
// and Smirnov's test tells whether.
//
//   langevin [small]            small: fewer particles, for a test; the picture goes to out/langevin.png

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

constexpr double end_time = 64., step = 0.125, friction = 1., temperature = 0.7;

/// The potential of two wells, the left one deeper.
Array potential(const Array& x) { return pow(x, 4) / 4. - x * x + x / 4.; }

struct Paths {
  Array place, speed;  // [particles, times]
};

/// Mass is 1: the law of the speed has the temperature as variance, that of the place the density
/// exp(-potential / temperature).
Paths moved(const Array& keys, const Array& times) {
  const auto slope = [](const Array& x) { return grad(potential)(x) / temperature; };
  const auto one = [&](const Array& key) {
    const UnsafeBrownianPath path({}, key, {.levy_area = LevyArea::SpaceTimeTime});
    const auto sol = diffeqsolve(underdamped_langevin(friction, temperature, slope, path), QUICSORT{}, 0.,
                                 end_time, step, std::pair{array(1.5), array(0.)}, {.saveat = {.ts = times}});
    return Paths{sol.ys.first, sol.ys.second};
  };
  return vmap(one)(keys);
}

struct Law {
  Array x, density, below;
};
Law law(const Array& x, const Array& energy) {
  const Array weight = exp(-energy / temperature), step_of_x = x[1] - x[0];
  return {x, weight / (sum(weight) * step_of_x), cumsum(weight) / sum(weight)};
}
/// √n times the greatest difference of distribution functions: above 1.95 once in a thousand times.
double kolmogorov_smirnov(const Array& sample, const Law& law) {
  const double n = static_cast<double>(sample.size());
  const Array exact = interp(sort(sample), law.x, law.below), found = (arange(sample.size()) + 0.5) / n;
  return std::sqrt(n) * max(abs(exact - found)).item<double>();
}

int run(bool small) {
  const std::int64_t particles = small ? 2000 : 20'000;
  const Array times = linspace(0., end_time, 129);
  const auto simulate = jit([&](const Array& keys) { return moved(keys, times); });
  const Paths all = simulate(random::split(random::key(1827), particles));
  const Array places = all.place(range(), -1), speeds = all.speed(range(), -1);

  const Array x = linspace(-4., 4., 8001);
  const Law of_places = law(x, potential(x)), of_speeds = law(x, 0.5 * x * x);
  const double place = kolmogorov_smirnov(places, of_places), speed = kolmogorov_smirnov(speeds, of_speeds);
  std::printf("%lld particles, %.0f steps of length %g each\n", static_cast<long long>(particles),
              end_time / step, step);
  std::printf("Kolmogorov-Smirnov, below 1.95: places %.2f, speeds %.2f\n", place, speed);
  const double on_the_left = mean(astype(places < 0.125, f64)).item<double>();
  const double expected = interp(array({0.125}), x, of_places.below)[0].item<double>();
  std::printf("in the left well %.3f of them, exactly %.3f\n", on_the_left, expected);

  const auto [density, edges] = histogram(places, {.bins = 60, .density = true});
  const Array middles = 0.5 * (edges[range(1, {})] + edges[range(0, -1)]);
  Figure paths{.title = "Ways between two wells", .xlabel = "time", .ylabel = "place"};
  for (std::int64_t i = 0; i < 5; ++i) paths.line(times, all.place[i], "particle " + std::to_string(i + 1));
  std::filesystem::create_directories("out");
  save_stacked(
      {paths, Figure{.title = "Places at the end", .xlabel = "place", .ylabel = "density"}
                  .points(middles, density, "particles")
                  .line(x[range(1400, 6601)], of_places.density[range(1400, 6601)], "Boltzmann's law")},
      "out/langevin.png");
  std::puts("the picture is out/langevin.png");
  return place < 1.95 && speed < 1.95 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(count > 1 && std::strcmp(arguments[1], "small") == 0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
