// Double pendulum: let go from rest at two angles, how long does it take until one of its arms goes over the
// top? A loop that each start leaves after steps of its own, from none to five thousand, over a grid of
// starts by `vmap`.
//
//   double_pendulum [POINTS]        POINTS by POINTS starts, 256 if not said; the map goes to out/

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

constexpr double step_size = 0.02, longest = 100;  // in units of √(length / g)

struct Pendulum {
  Array a, b;    // angles of the upper and the lower arm from hanging, in radians
  Array va, vb;  // their velocities
};

/// Two equal masses at the ends of two weightless arms of equal length.
Pendulum slope(const Pendulum& s) {
  Array d = s.a - s.b, sine = sin(d), cosine = cos(d), inertia = 3. - cos(2. * d);
  return {.a = s.va,
          .b = s.vb,
          .va = (-3. * sin(s.a) - sin(s.a - 2. * s.b) - 2. * sine * (s.vb * s.vb + s.va * s.va * cosine)) /
                inertia,
          .vb = 2. * sine * (2. * s.va * s.va + 2. * cos(s.a) + s.vb * s.vb * cosine) / inertia};
}

Pendulum moved(const Pendulum& s, double h, const Pendulum& v) {
  return tree_map([h](const Array& x, const Array& dx) { return x + h * dx; }, s, v);
}

/// The classical step of Runge and Kutta.
Pendulum step(const Pendulum& s) {
  Pendulum k1 = slope(s), k2 = slope(moved(s, 0.5 * step_size, k1)),
           k3 = slope(moved(s, 0.5 * step_size, k2)), k4 = slope(moved(s, step_size, k3));
  return tree_map([](const Array& x, const Array& p, const Array& q, const Array& r,
                     const Array& t) { return x + step_size / 6 * (p + 2. * (q + r) + t); },
                  s, k1, k2, k3, k4);
}

Array energy(const Pendulum& s) {
  return s.va * s.va + 0.5 * s.vb * s.vb + s.va * s.vb * cos(s.a - s.b) - 2. * cos(s.a) - cos(s.b);
}

struct Fall {
  Pendulum now;
  Array steps;
};

Array upright(const Pendulum& s) { return abs(s.a) > M_PI || abs(s.b) > M_PI; }

/// Lets go at these angles, and ends when an arm is over the top, or after the longest time.
Fall fall(const Array& a, const Array& b) {
  Pendulum start{a, b, array(0.), array(0.)};
  // With less energy than it takes to stand on the lower arm alone, there is nothing to wait for.
  Array can = energy(start) > -1.;
  return while_loop(
      [&](const Fall& f) {
        return can && !upright(f.now) && f.steps < static_cast<int>(longest / step_size);
      },
      [](const Fall& f) {
        return Fall{step(f.now), f.steps + 1};
      },
      Fall{start, array(0)});
}

/// A map of starts over the plane of both angles.
struct Map {
  Array steps, over, drift;  // [lower arm, upper arm]; drift: by how much the energy is off at the end
};

Map map_of(const Array& angles) {
  auto drop = [](const Array& a, const Array& b) {
    Fall end = fall(a, b);
    return Map{end.steps, upright(end.now), abs(energy(end.now) - energy({a, b, 0., 0.}))};
  };
  auto row = [&](const Array& b) { return vmap([&](const Array& a) { return drop(a, b); })(angles); };
  return vmap(row)(angles);
}

void print(const Map& map, const Array& times, double seconds) {
  std::vector<double> found = times.to_vector<double>();
  std::erase_if(found, [](double t) { return std::isnan(t); });
  auto middle = found.begin() + static_cast<std::ptrdiff_t>(found.size() / 2);
  std::nth_element(found.begin(), middle, found.end());
  double steps = sum(astype(map.steps, f64)).item<double>();
  double together = static_cast<double>(map.steps.size()) * max(map.steps).item<int>();
  std::printf("%lld starts: %zu go over the top within %.0f, half of these within %.1f\n",
              static_cast<long long>(map.steps.size()), found.size(), longest, *middle);
  std::printf("%.1f million steps in %.2f s; as many for each start as for the longest: %.1f million\n",
              steps / 1e6, seconds, together / 1e6);
  std::printf("energy is kept to %.0e\n", max(map.drift).item<double>());
}

void run(std::int64_t points) {
  if (points < 1) throw std::invalid_argument("POINTS must be a positive number");
  Array angles = (arange(points) + 0.5) * (2 * M_PI / static_cast<double>(points)) - M_PI;
  auto program = compile(map_of, angles);

  auto begin = std::chrono::steady_clock::now();
  Map map = program(angles);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  Array times = where(map.over, step_size * map.steps, std::numeric_limits<double>::quiet_NaN());
  print(map, times, seconds);
  std::filesystem::create_directories("out");
  Figure{.title = "Double pendulum, let go from rest: time until an arm goes over the top",
         .xlabel = "angle of the upper arm (degrees)",
         .ylabel = "angle of the lower arm (degrees)",
         .log_color = true,
         .width = 1000,
         .height = 860}
      .map(angles * (180 / M_PI), angles * (180 / M_PI), times,
           "time (square root of length / g); white: not within 100")
      .save("out/double_pendulum.png");
  std::puts("the map is out/double_pendulum.png");
}

}  // namespace

int main(int count, char** arguments) {
  try {
    run(count > 1 ? std::atoi(arguments[1]) : 256);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
