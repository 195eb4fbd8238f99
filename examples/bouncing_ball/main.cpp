// A ball that bounces, loses a part of its speed each time, and is caught by the floor when the bounces are
// no longer worth the name. When does it hit the floor, and how does the last bounce depend on where it was
// let go?
//
//   bouncing_ball        the figure goes to out/; fails if what it says is not so

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

constexpr double gravity = 9.81, restitution = 0.8;
constexpr int bounces = 12;

struct Ball {
  Array height, speed;
};

Ball fall(const Array&, const Ball& y) {
  return {.height = y.speed, .speed = zeros_like(y.height) - gravity};
}
Array height(const Array&, const Ball& y) { return y.height; }
Ball bounce(const Array&, const Ball& y) {
  return {.height = 0. * y.height, .speed = -restitution * y.speed};
}

Solution<Ball> drop(const Array& from, const Times& ts) {
  return diffeqsolve(
      ODETerm{fall}, Tsit5{}, 0., 10., {}, Ball{from, 0. * from},
      {.controller = PIDController{.rtol = 1e-8, .atol = 1e-10, .dtmax = 0.5},
       .saveat = {.ts = ts, .t1 = true, .events = bounces},
       .events = {Event{
           .condition = height, .direction = Crossing::Down, .change = bounce, .stop_after = bounces}}});
}

/// Between the n-th and the next bounce a ball flies 0.8 times as long as before.
double exact_time(double from, int n) {
  double time = std::sqrt(2 * from / gravity), flight = 2 * time;
  for (int i = 0; i < n; ++i) time += flight *= restitution;
  return time;
}

void require(bool so, const char* what) {
  if (!so) throw std::runtime_error(std::string("not so: ") + what);
}

void run() {
  const Array ts = linspace(0., 4., 801);
  const Solution<Ball> sol = jit([&](const Array& from) { return drop(from, ts); })(array(1.));
  double off = 0;
  for (int i = 0; i < bounces; ++i)
    off = std::max(off, std::abs(sol.events.ts[i].item<double>() - exact_time(1., i)));
  std::printf("%d bounces in %lld steps, their times off by %.0e s at most\n", bounces,
              static_cast<long long>(sol.stats.num_steps.item<std::int64_t>()), off);
  require(off < 1e-11, "the times are exact to rounding");

  const auto last = [](const Array& from) { return drop(from, {0.}).ts[-1]; };
  const double slope = jit(grad(last))(array(1.)).item<double>();
  const double exact = exact_time(1., bounces - 1) / 2;  // times go with the square root of the height
  std::printf(
      "the last one, at %.4f s, comes %.4f ms later for each mm that the ball is let go higher "
      "(%.0e off)\n",
      exact_time(1., bounces - 1), slope, std::abs(slope - exact));
  require(std::abs(slope - exact) < 1e-10, "the derivative goes through all bounces");

  const Array heights = linspace(0.5, 1.5, 5);
  const Array ends = jit(vmap(last))(heights);
  for (std::int64_t i = 0; i < 5; ++i)
    require(std::abs(ends[i].item<double>() - exact_time(heights[i].item<double>(), bounces - 1)) < 1e-11,
            "in lanes too");

  std::filesystem::create_directories("out");
  Figure{.title = "A bouncing ball", .xlabel = "time (s)", .ylabel = "height (m)"}
      .line(ts, sol.ys.height[range(0, ts.size())], "height")
      .points(sol.events.ts, sol.events.ys.height, "bounces")
      .save("out/bouncing_ball.png");
  std::puts("the figure is out/bouncing_ball.png");
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
