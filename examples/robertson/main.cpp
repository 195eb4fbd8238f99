// Robertson's reactions: three substances, rates that differ by nine orders of magnitude, and a time from
// microseconds to three thousand years. Which solver takes how many steps, how exact is the end, and what
// does it depend on?
//
//   robertson        the figure goes to out/; fails if what it says is not so

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

constexpr double end = 1e11;
/// At the end, from the Test Set for IVP Solvers (Bari).
const double known[] = {0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050};

struct Robertson {
  Array slow, fast, back;  // A -> B, B + B -> C + B, B + C -> A + C
  Array operator()(const Array&, const Array& y) const {
    auto [a, b, c] = unstack<3>(y);
    const Array first = slow * a - back * b * c, second = fast * b * b;
    return stack({-first, first - second, second});
  }
};

SolveOptions options(const Times& ts) {
  return {.controller = PIDController{.rtol = 1e-8, .atol = 1e-14},
          .saveat = {.ts = ts, .t1 = true},
          .max_steps = 100'000};
}

template <class Solver>
Solution<Array> solve(const Solver& solver, const Robertson& model, const Array& ts) {
  return diffeqsolve(ODETerm{model}, solver, 0., end, {}, array({1., 0., 0.}), options(ts));
}

template <class Solver>
void report(const char* name, const Solver& solver, const Robertson& model) {
  const auto program = compile(
      [&](const Robertson& m) {
        const Solution<Array> s = solve(solver, m, array({end}));
        return std::pair{s.ys[-1], s.stats};
      },
      model);
  const auto begin = std::chrono::steady_clock::now();
  const auto [y, stats] = program(model);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
  std::printf("%-9s %5lld steps, %4lld rejected, %7.2f ms, A off by %.0e of itself, A + B + C by %.0e\n",
              name, static_cast<long long>(stats.num_accepted_steps.template item<std::int64_t>()),
              static_cast<long long>(stats.num_rejected_steps.template item<std::int64_t>()), spent.count(),
              std::abs(y[0].template item<double>() / known[0] - 1),
              std::abs(sum(y).template item<double>() - 1));
  for (int i = 0; i < 3; ++i)
    if (!(std::abs(y[i].template item<double>() / known[i] - 1) < 1e-4))
      throw std::runtime_error(std::string(name) + " is off by more than a ten-thousandth");
  if (!(std::abs(sum(y).template item<double>() - 1) < 1e-10))
    throw std::runtime_error(std::string(name) + " has lost substance");
}

void run() {
  const Robertson model{array(0.04), array(3e7), array(1e4)};
  report("Rodas5P", Rodas5P{}, model);
  report("Kvaerno5", Kvaerno5{}, model);
  report("Kvaerno3", Kvaerno3{}, model);

  const auto log_a = [](const Robertson& m) { return log(solve(Rodas5P{}, m, array({end})).ys[-1][0]); };
  const Robertson by = jit(grad(log_a))(model);
  std::printf("1%% more of a rate changes A at the end by %+.3f%% (slow), %+.3f%% (fast), %+.3f%% (back)\n",
              (by.slow * model.slow).item<double>(), (by.fast * model.fast).item<double>(),
              (by.back * model.back).item<double>());

  const Array ts = logspace(-6., 11., 341);
  const Solution<Array> s = solve(Rodas5P{}, model, ts[range({}, -1)]);  // and at the end
  std::filesystem::create_directories("out");
  Figure{.title = "Robertson's reactions by Rodas5P", .xlabel = "time (s)", .ylabel = "share", .log_x = true}
      .line(ts, s.ys(ellipsis, 0), "A")
      .line(ts, 1e4 * s.ys(ellipsis, 1), "10,000 times B")
      .line(ts, s.ys(ellipsis, 2), "C")
      .save("out/robertson.png");
  std::puts("the figure is out/robertson.png");
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
