// Influenza in a boarding school, 1978: how many boys were in bed on each of fourteen days. Susceptible ones
// meet infected ones and fall ill, and recover: two rates and the number of first cases are fitted by
// Levenberg and Marquardt's method, through the solve of the equations.
//
//   influenza        the figure goes to out/; fails if what it says is not so

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

constexpr double boys = 763;

struct School {  // a state
  Array susceptible, infected;
};
struct Epidemic {  // the parameters
  Array contact, recovery;
  Array first;  // cases on the first day
  School operator()(const Array&, const School& y) const {
    const Array falls_ill = contact * y.susceptible * y.infected / boys;
    return {.susceptible = -falls_ill, .infected = falls_ill - recovery * y.infected};
  }
};

Array in_bed(const Epidemic& e, const Array& days) {
  return diffeqsolve(ODETerm{e}, Tsit5{}, days[0], days[-1], {},
                     School{.susceptible = boys - e.first, .infected = e.first},
                     {.controller = PIDController{.rtol = 1e-10, .atol = 1e-10}, .saveat = {.ts = days}})
      .ys.infected;
}

void require(bool so, const char* what) {
  if (!so) throw std::runtime_error(std::string("not so: ") + what);
}

void run() {
  const Table table = read_csv(std::string(APSIS_EXAMPLE_DATA) + "/influenza_boarding_school_1978.csv");
  const Array days = table.column("day"), counts = table.column("in_bed");
  const auto residual = [&](const Epidemic& e) { return in_bed(e, days) - counts; };

  const auto fit = least_squares(residual, LevenbergMarquardt{}, Epidemic{2., 0.5, 1.});
  const Epidemic best = fit.value, error = standard_errors(residual, best);
  // SciPy's least_squares with DOP853 at 1e-11 ends there, too.
  const struct {
    const char* name;
    const Array &value, &error;
    double scipy, scipy_error;
  } rows[] = {{"contacts a day", best.contact, error.contact, 1.78810593, 0.1058068},
              {"recovery a day", best.recovery, error.recovery, 0.45570099, 0.0187408},
              {"first cases", best.first, error.first, 2.09342862, 0.87708199}};
  for (const auto& row : rows) {
    const double value = row.value.item<double>(), off = row.error.item<double>();
    std::printf("%-15s %.4f, standard error %.4f\n", row.name, value, off);
    // The minimum is as flat as its cost's rounding and the solves' tolerances make it.
    require(std::abs(value / row.scipy - 1) < 1e-5, "the fit is SciPy's");
    require(std::abs(off / row.scipy_error - 1) < 1e-3, "its standard errors are SciPy's");
  }
  std::printf("sum of squares %.2f after %lld steps\n", 2 * fit.objective.item<double>(),
              static_cast<long long>(fit.stats.steps.item<std::int64_t>()));

  // How many boys one ill boy infects at first; its error by the covariance of the two rates.
  const auto reproduction = [](const Epidemic& e) { return e.contact / e.recovery; };
  const Epidemic by = grad(reproduction)(best);
  const Array slope = stack({by.contact, by.recovery, zeros_like(by.contact)});
  const Array variance = dot(slope, matmul(parameter_covariance(residual, best), slope));
  std::printf("each infects %.2f others at first, standard error %.2f\n", reproduction(best).item<double>(),
              std::sqrt(variance.item<double>()));

  // The curve's standard error at each time, by its derivatives with respect to the parameters.
  const Array times = linspace(0., 13., 261), curve = in_bed(best, times);
  const auto slopes = jacfwd([&](const Epidemic& e) { return in_bed(e, times); })(best);
  const Array j = stack({slopes.contact, slopes.recovery, slopes.first}, 1);
  const Array spread = 2. * sqrt(sum(matmul(j, parameter_covariance(residual, best)) * j, {1}));
  std::filesystem::create_directories("out");
  Figure{.title = "Influenza in a boarding school", .xlabel = "day", .ylabel = "boys in bed"}
      .band(times, curve - spread, curve + spread, "two standard errors of the curve")
      .line(times, curve, "fit")
      .points(days, counts, "counted")
      .save("out/influenza.png");
  std::puts("the figure is out/influenza.png");
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
