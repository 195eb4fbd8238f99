// A planet on an eccentric orbit, a hundred times around: solvers that are symplectic keep its energy for
// ever, others lose or gain it little by little, whatever their order.
//
//   kepler        the figure goes to out/; fails if what it says is not so

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

constexpr double eccentricity = 0.5, turn = 6.283185307179586;
constexpr int turns = 100, steps_a_turn = 200;

const auto velocity = [](const Array&, const Array& p) { return p; };
const auto force = [](const Array&, const Array& q) { return -q / pow(sum(q * q), 1.5); };

/// The change of the energy, which is -1/2, at each of the given times: rows of positions and momenta.
Array drift(const Array& q, const Array& p) {
  return abs(0.5 * sum(p * p, {.axis = 1}) - 1. / sqrt(sum(q * q, {.axis = 1})) + 0.5) / 0.5;
}
const Array start_q = array({1 - eccentricity, 0.}),
            start_p = array({0., std::sqrt((1 + eccentricity) / (1 - eccentricity))});

template <class Solver>
Array split_solve(const Solver& solver, const Array& ts) {
  const auto sol =
      diffeqsolve(std::pair{ODETerm{velocity}, ODETerm{force}}, solver, 0., turns * turn, turn / steps_a_turn,
                  std::pair{start_q, start_p}, {.saveat = {.ts = ts}, .max_steps = -1});
  return drift(sol.ys.first, sol.ys.second);
}

template <class Solver>
Array whole_solve(const Solver& solver, const Array& ts) {
  const auto field = [](const Array& t, const Array& y) {
    const Array q = y[range(0, 2)], p = y[range(2, 4)];
    return concatenate({velocity(t, p), force(t, q)});
  };
  const auto sol = diffeqsolve(ODETerm{field}, solver, 0., turns * turn, turn / steps_a_turn,
                               concatenate({start_q, start_p}), {.saveat = {.ts = ts}, .max_steps = -1});
  return drift(sol.ys(range(), range(0, 2)), sol.ys(range(), range(2, 4)));
}

void require(bool so, const char* what) {
  if (!so) throw std::runtime_error(std::string("not so: ") + what);
}

void run() {
  // Ends of steps, where the planet is as far away as it gets.
  const Array ts = turn * (arange(0, turns) + 0.5);
  const auto first_and_last = [](const char* name, const Array& d) {
    const double early = max(d[range(0, 10)]).item<double>(), late = max(d[range(90, 100)]).item<double>();
    std::printf("%-15s energy off by %.1e in the first ten turns, %.1e in the last ten\n", name, early, late);
    return late / early;
  };
  const Array verlet = split_solve(VelocityVerlet{}, ts), yoshida = split_solve(Yoshida4{}, ts),
              tsit5 = whole_solve(Tsit5{}, ts), vern7 = whole_solve(Vern7{}, ts);
  require(first_and_last("VelocityVerlet", verlet) < 2, "VelocityVerlet keeps the energy");
  require(first_and_last("Yoshida4", yoshida) < 2, "Yoshida4 keeps the energy");
  require(first_and_last("Tsit5", tsit5) > 5, "Tsit5 loses energy turn by turn");
  first_and_last("Vern7", vern7);

  std::filesystem::create_directories("out");
  const Array number = arange(1, turns + 1) * 1.;
  Figure{.title = "Energy of an orbit of eccentricity 0.5, 200 steps a turn",
         .xlabel = "turns",
         .ylabel = "relative change of the energy",
         .log_y = true}
      .line(number, verlet, "VelocityVerlet")
      .line(number, yoshida, "Yoshida4")
      .line(number, tsit5, "Tsit5")
      .line(number, vern7, "Vern7")
      .save("out/kepler.png");
  std::puts("the figure is out/kepler.png");
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
