// A pole on a cart, hanging down, is swung up and held there by model-predictive control: at each moment the
// forces of the next two seconds are improved by the gradient through the simulated motion, and the first of
// them is applied.
//
//   cart_pole [small]       small: a shorter run, for a test; the picture goes to out/cart_pole.png

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

constexpr double period = 0.05;  // s, for which a force is held
constexpr std::int64_t horizon = 40;
constexpr double strongest = 15;   // N
constexpr std::int64_t hit = 140;  // the period in which somebody hits the pole

struct CartPole {
  Array place, angle;        // m; radians from upright
  Array velocity, rotation;  // their derivatives
};

/// A pole of 0.1 kg, whose centre is 0.5 m from its joint on a cart of 1 kg (Barto, Sutton and Anderson 1983;
/// Florian 2007).
CartPole slope(const CartPole& s, const Array& force) {
  constexpr double gravity = 9.81, cart = 1, pole = 0.1, half = 0.5, all = cart + pole;
  const Array sine = sin(s.angle), cosine = cos(s.angle);
  const Array push = (force + pole * half * square(s.rotation) * sine) / all;
  const Array turn = (gravity * sine - cosine * push) / (half * (4. / 3. - pole * square(cosine) / all));
  return {s.velocity, s.rotation, push - pole * half * turn * cosine / all, turn};
}

/// The motion of one period, by two steps of Runge and Kutta's method.
CartPole moved(const CartPole& start, const Array& force) {
  constexpr double h = period / 2;
  const auto along = [](const CartPole& s, double t, const CartPole& v) {
    return tree_map([t](const Array& x, const Array& dx) { return x + t * dx; }, s, v);
  };
  CartPole s = start;
  for (int i = 0; i < 2; ++i) {
    const CartPole a = slope(s, force), b = slope(along(s, h / 2, a), force),
                   c = slope(along(s, h / 2, b), force), d = slope(along(s, h, c), force);
    s = tree_map([](const Array& x, const Array& p, const Array& q, const Array& r,
                    const Array& t) { return x + h / 6 * (p + 2. * (q + r) + t); },
                 s, a, b, c, d);
  }
  return s;
}

/// What a plan of forces costs: being off, fast, far away, and using force.
Array cost(const Array& plan, const CartPole& start) {
  const Array forces = strongest * tanh(plan);
  const auto step = [](const CartPole& s, const Array& force) {
    const CartPole next = moved(s, force);
    const Array here = 10. * (1. - cos(next.angle)) + 0.1 * square(next.rotation) + square(next.place) +
                       0.1 * square(next.velocity) + 0.002 * square(force);
    return std::pair(next, here);
  };
  const auto [end, costs] = scan(step, start, forces);
  return sum(costs) + 20. * (1. - cos(end.angle)) + square(end.rotation);
}

struct Controller {
  Array plan;  // [horizon], what tanh makes forces of
};

/// The force of this moment, and the plan for the next one.
std::pair<Array, Controller> decide(const Controller& controller, const CartPole& now) {
  const auto found = minimize([&](const Array& plan) { return cost(plan, now); }, BFGS{.gtol = 1e-3},
                              controller.plan, {.max_steps = 25, .throw_ = false});
  const Array& plan = found.value;
  return {strongest * tanh(plan[0]), {concatenate({plan[range(1, {})], zeros({1})})}};
}

int run(bool small) {
  const std::int64_t periods = small ? 80 : 200;
  // All of it is one program: a loop of minimisations of costs of simulations.
  const auto control = jit([=](const CartPole& start, const Array& plan) {
    const auto step = [](const std::pair<CartPole, Controller>& s, const Array& kick) {
      const auto [force, next] = decide(s.second, s.first);
      CartPole after = moved(s.first, force);
      after.rotation = after.rotation + kick;
      return std::pair(std::pair(after, next), std::tuple(after.place, after.angle, force));
    };
    // At 7 seconds somebody hits the pole.
    const Array kicks = where(arange(periods) == hit, 2.5, 0.);
    return scan(step, std::pair(start, Controller{plan}), kicks).second;
  });
  const CartPole hanging{array(0.), array(M_PI), array(0.), array(0.)};
  // The first plan is made at leisure; the later ones continue it.
  const auto first_plan = jit([=](const Array& plan) {
    return minimize([&](const Array& p) { return cost(p, hanging); }, BFGS{.gtol = 1e-4}, plan,
                    {.max_steps = 400, .throw_ = false})
        .value;
  });
  const auto [place, angle, force] =
      control(hanging, first_plan(0.1 * random::normal(random::key(1), {horizon})));

  const Array height = cos(angle);  // 1: upright
  const Array times = period * (arange(periods) + 1.);
  const double end = min(height[range(-20, {})]).item<double>();
  const Array down = where(logical_and(height < 0.98, arange(periods) < hit), times, 0.);
  std::printf(
      "upright from %.2f s on; in the last second never below %.4f of its height, the cart within %.2f m\n",
      max(down).item<double>() + period, end, max(abs(place)).item<double>());
  std::filesystem::create_directories("out");
  save_stacked({Figure{.title = small ? "A pole is swung up and held"
                                      : "A pole is swung up and held; after 7 seconds somebody hits it",
                       .ylabel = "height of the end / length",
                       .height = 330}
                    .line(times, height, ""),
                Figure{.title = "", .ylabel = "place of the cart (m)", .height = 330}.line(times, place, ""),
                Figure{.title = "", .xlabel = "time (s)", .ylabel = "force (N)", .height = 330}.line(
                    times, force, "")},
               "out/cart_pole.png");
  std::puts("the picture is out/cart_pole.png");
  return end > 0.99 ? 0 : 1;
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
