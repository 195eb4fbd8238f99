// A drug is taken every twelve hours. It goes from the gut into the blood and from there out of the body; of
// noisy measurements of the blood alone, what are the rates of absorption and of elimination, and the volume
// in which it spreads? Each dose is an event: the fit's derivatives go through them and through the solve.
//
//   dosing        the figure goes to out/; fails if what it says is not so

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

constexpr double period = 12., dose = 100., pi = 3.141592653589793;

struct Rates {
  Array absorption, elimination, volume;  // per hour, per hour, litres
};
struct Body {
  Array gut, blood;  // mg
};
struct Kinetics {
  Rates rates;
  Body operator()(const Array&, const Body& y) const {
    const Array absorbed = rates.absorption * y.gut;
    return {.gut = -absorbed, .blood = absorbed - rates.elimination * y.blood};
  }
};

// The clock passes 0 each twelve hours; the first dose is the state at first.
Array clock(const Array& t, const Body&) { return sin(pi / period * t); }
Body take(const Array&, const Body& y) { return {.gut = y.gut + dose, .blood = y.blood}; }

/// mg per litre of blood at the given times.
Array concentration(const Rates& r, const Times& ts) {
  const auto sol = diffeqsolve(ODETerm{Kinetics{r}}, Tsit5{}, 0., 72., 0.1, Body{array(dose), array(0.)},
                               {.controller = PIDController{.rtol = 1e-8, .atol = 1e-8, .dtmax = 3.},
                                .saveat = {.ts = ts},
                                .events = {Event{.condition = clock, .change = take}}});
  return sol.ys.blood / r.volume;
}

/// The sum over all doses of what one leaves (Bateman's function).
double exact(double absorption, double elimination, double volume, double t) {
  double sum = 0;
  for (double since = t; since >= 0; since -= period)
    sum += dose * absorption / (volume * (absorption - elimination)) *
           (std::exp(-elimination * since) - std::exp(-absorption * since));
  return sum;
}

void require(bool so, const char* what) {
  if (!so) throw std::runtime_error(std::string("not so: ") + what);
}

void run() {
  const Rates truth{array(0.8), array(0.15), array(20.)};
  const Array ts = linspace(1., 71., 36);
  const Array clean = jit(concentration)(truth, ts);
  require(std::abs(clean[35].item<double>() - exact(0.8, 0.15, 20., 71.)) < 1e-6,
          "the doses are given in time");
  const Array data = clean * exp(0.05 * random::normal(random::key(7), {36}));

  // The logarithms are fitted: rates are positive, and the noise is a part of the size.
  const auto rates = [](const Array& x) { return Rates{exp(x[0]), exp(x[1]), exp(x[2])}; };
  const auto residual = [&](const Array& x) { return log(concentration(rates(x), ts)) - log(data); };
  const auto fit = [&](const Array& x) { return least_squares(residual, LevenbergMarquardt{}, x); };
  const auto found = jit(fit)(log(array({2., 0.5, 50.})));
  const Rates best = rates(found.value);
  const Array errors = standard_errors(residual, found.value);
  const char* names[] = {"absorption", "elimination", "volume"};
  const Array* values[] = {&best.absorption, &best.elimination, &best.volume};
  const double known[] = {0.8, 0.15, 20.};
  for (int i = 0; i < 3; ++i) {
    const double value = values[i]->item<double>(), error = errors[i].item<double>();
    std::printf("%-12s %.4f, off by %.1f of its standard errors of %.1f%%\n", names[i], value,
                std::abs(std::log(value / known[i])) / error, 100 * error);
    require(std::abs(std::log(value / known[i])) < 3 * error, "the fit is as good as its data");
  }

  const Array fine = linspace(0., 72., 721);
  std::filesystem::create_directories("out");
  Figure{.title = "A dose every twelve hours", .xlabel = "time (h)", .ylabel = "concentration (mg/l)"}
      .line(fine, jit(concentration)(best, fine), "fitted")
      .dashed(fine, jit(concentration)(truth, fine), "true")
      .points(ts, data, "measured")
      .save("out/dosing.png");
  std::puts("the figure is out/dosing.png");
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
