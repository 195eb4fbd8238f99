// What options are worth, by random paths of prices: a call by Black and Scholes with its derivatives by
// price, volatility and rate; a digital option, whose derivatives the paths do not have, but their likelihood
// has; a basket of four shares that move together; and calls by Heston, whose volatility is random itself.
// Each stands beside exact or published values.
//
//   options [small]            small: fewer paths, for a test; the picture goes to out/options.png

#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

constexpr double strike = 105.;  // due in a year

/// dS = rate S dt + volatility S dW.
struct Market {
  Array price, volatility, rate;
};

/// What a call pays on one path, less the interest up to then. Of the price that the path leads to it is
/// differentiable in the market: the mean of its derivatives is that of the value.
Array payoff(const Market& m, const Array& key, std::int64_t steps) {
  const auto drift = [m](const Array&, const Array& s) { return m.rate * s; };
  const auto diffusion = [m](const Array&, const Array& s) { return m.volatility * s; };
  const MultiTerm term{ODETerm{drift}, ControlTerm{diffusion, UnsafeBrownianPath({}, key), Calculus::Ito}};
  const auto sol =
      diffeqsolve(term, ItoMilstein{}, 0., 1., 1. / static_cast<double>(steps), m.price, {.checkpoints = 0});
  return exp(-m.rate) * maximum(sol.ys[-1] - strike, 0.);
}

double normal_density(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * M_PI); }
double normal_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.)); }

struct Greeks {
  double value, delta, vega, rho;
};
/// Black, Scholes, The pricing of options and corporate liabilities, J. Polit. Econ. 81, 1973.
Greeks black_scholes(double s, double sigma, double r) {
  const double d1 = (std::log(s / strike) + r) / sigma + 0.5 * sigma, d2 = d1 - sigma;
  const double paid = strike * std::exp(-r) * normal_below(d2);
  return {s * normal_below(d1) - paid, normal_below(d1), s * normal_density(d1), paid};
}

/// What a digital option pays on one path, 1 above the strike, less the interest. That has no derivative by
/// the price that the path leads to. The path itself stays as it was, and its probability density counts: the
/// mean of the derivatives of payoff · density / density is that of the value (likelihood ratios: Glynn,
/// Likelihood ratio gradient estimation for stochastic systems, Commun. ACM 33, 1990).
Array digital(const Market& m, const Array& key) {
  constexpr std::int64_t steps = 4;
  constexpr double h = 1. / steps;
  const Market fixed = tree_map([](const Array& a) { return stop_gradient(a); }, m);
  const auto drift_of = [](const Market& at) { return at.rate - 0.5 * at.volatility * at.volatility; };
  const auto drift = [=](const Array&, const Array& x) { return drift_of(fixed) + 0. * x; };  // of log S
  const auto diffusion = [=](const Array&, const Array& x) { return fixed.volatility + 0. * x; };
  const MultiTerm term{ODETerm{drift}, ControlTerm{diffusion, UnsafeBrownianPath({}, key), Calculus::Ito}};
  const Array x = diffeqsolve(term, EulerMaruyama{}, 0., 1., h, log(fixed.price),
                              {.saveat = {.steps = 1}, .max_steps = steps})
                      .ys;
  const Array before = concatenate({expand_dims(log(m.price), 0), x[range({}, -1)]});
  const Array density = sum(stats::norm::logpdf(x, before + h * drift_of(m), m.volatility * std::sqrt(h)));
  return exp(-m.rate) * where(x[-1] > std::log(strike), 1., 0.) * exp(density - stop_gradient(density));
}
Greeks digital_exact(double s, double sigma, double r) {
  const double d2 = (std::log(s / strike) + r) / sigma - 0.5 * sigma, d1 = d2 + sigma;
  const double paid = std::exp(-r) * normal_below(d2), slope = std::exp(-r) * normal_density(d2);
  return {paid, slope / (s * sigma), -slope * d1 / sigma, slope / sigma - paid};
}

/// The payoff, in five years, of a call on the mean of four shares of volatility 0.4, each 100 now, with the
/// same correlation between any two, by the price of each: log S has additive noise, correlated by a factor.
Array basket(const Array& correlation, const Array& key) {
  constexpr double sigma = 0.4, years = 5.;
  const Array one = eye(4), factor = sigma * linalg::cholesky(correlation + (1. - correlation) * one);
  const auto drift = [=](const Array&, const Array& x) { return -0.5 * sigma * sigma + 0. * x; };
  const auto diffusion = [=](const Array&, const Array&) { return factor; };
  const MultiTerm term{ODETerm{drift}, ControlTerm{diffusion, UnsafeBrownianPath({4}, key), Calculus::Ito}};
  const Array x = diffeqsolve(term, EulerMaruyama{}, 0., years, 1., full({4}, std::log(100.))).ys[-1];
  return maximum(mean(exp(x)) - 100., 0.);
}
/// Krekel, de Kock, Korn, Man, An analysis of pricing methods for basket options, Wilmott 2004, table 1; all
/// digits by Choi, Sum of all Black-Scholes-Merton models, J. Futures Mark. 38, 2018.
struct Published {
  double correlation, value;
};
constexpr Published baskets[] = {{0.1, 21.6921}, {0.3, 25.0293}, {0.5, 28.0074},
                                 {0.7, 30.7427}, {0.8, 32.0412}, {0.95, 33.9187}};

/// dS = r S dt + √v S dW₁, dv = pull (level - v) dt + width √v dW₂, with correlated W₁ and W₂.
struct Heston {
  double s = 100., v = 0.04, pull = 1.5, level = 0.04, width = 0.3, correlation = -0.6, rate = 0.03;
};

/// The price in a year, on one path. (Variances below 0, as steps may give them, count as 0: Lord, Koekkoek,
/// van Dijk, A comparison of biased simulation schemes for stochastic volatility models, Quant. Finance 10,
/// 2010.)
Array heston_price(const Heston& m, const Array& key, std::int64_t steps) {
  const double other = std::sqrt(1 - m.correlation * m.correlation);
  const auto drift = [m](const Array&, const Array& y) {  // of log S and v
    const Array v = maximum(y[1], 0.);
    return stack({m.rate - 0.5 * v, m.pull * (m.level - v)});
  };
  const auto diffusion = [m, other](const Array&, const Array& y) {
    const Array deviation = sqrt(maximum(y[1], 0.)), none = 0. * deviation;
    return stack({stack({deviation, none}), m.width * stack({m.correlation * deviation, other * deviation})});
  };
  const MultiTerm term{ODETerm{drift}, ControlTerm{diffusion, UnsafeBrownianPath({2}, key), Calculus::Ito}};
  const auto sol = diffeqsolve(term, EulerMaruyama{}, 0., 1., 1. / static_cast<double>(steps),
                               array({std::log(m.s), m.v}));
  return exp(sol.ys[-1][0]);
}

/// The value of a call: Heston, A closed-form solution for options with stochastic volatility, Rev. Financ.
/// Stud. 6, 1993, by Lewis' integral of the characteristic function in the form that does not jump
/// (Albrecher, Mayer, Schoutens, Tistaert, The little Heston trap, Wilmott 2007).
double heston_exact(const Heston& m, double k) {
  using Complex = std::complex<double>;
  const Complex i(0., 1.);
  const auto characteristic = [&](Complex u) {
    const Complex a = m.pull - i * m.correlation * m.width * u,
                  d = std::sqrt(a * a + m.width * m.width * (u * u + i * u)), g = (a - d) / (a + d),
                  e = std::exp(-d);
    const double w = m.width * m.width;
    return std::exp(m.pull * m.level / w * (a - d - 2. * std::log((1. - g * e) / (1. - g))) +
                    m.v / w * (a - d) * (1. - e) / (1. - g * e));
  };
  const double log_ratio = std::log(m.s / k) + m.rate, h = 0.01;
  double integral = 0;
  for (double u = 0.5 * h; u < 200; u += h)
    integral += h * std::real(std::exp(i * u * log_ratio) * characteristic(u - 0.5 * i)) / (u * u + 0.25);
  return m.s - std::sqrt(m.s * k) * std::exp(-0.5 * m.rate) / M_PI * integral;
}

struct Estimate {
  double mean, error;
};
Estimate estimate(const Array& x) {
  return {mean(x).item<double>(), (std_(x) / std::sqrt(static_cast<double>(x.size()))).item<double>()};
}
/// Says both, and whether they agree within three standard errors.
bool agrees(const char* name, const Estimate& found, double exact) {
  std::printf("%-12s %9.4f ± %.4f, exactly %9.4f\n", name, found.mean, found.error, exact);
  return std::abs(found.mean - exact) < 3 * found.error;
}

int run(bool small) {
  const std::int64_t paths = small ? 1 << 14 : 1 << 17, steps = small ? 64 : 256;
  const Market market{array(100.), array(0.2), array(0.03)};
  const auto keys = random::split<4>(random::key(8));
  const auto one = [&](const Array& key) {
    return value_and_grad([&](const Market& m) { return payoff(m, key, steps); })(market);
  };
  const auto [values, slopes] = jit(vmap(one))(random::split(keys[0], paths));
  const Greeks exact = black_scholes(100., 0.2, 0.03);
  std::printf("a call at %g, Black and Scholes, by %lld paths\n", strike, static_cast<long long>(paths));
  bool good = agrees("value", estimate(values), exact.value);
  good = agrees("delta", estimate(slopes.price), exact.delta) && good;
  good = agrees("vega", estimate(slopes.volatility), exact.vega) && good;
  good = agrees("rho", estimate(slopes.rate), exact.rho) && good;

  const auto by_density = [&](const Array& key) {
    return value_and_grad([&](const Market& m) { return digital(m, key); })(market);
  };
  const auto [paid, scores] = jit(vmap(by_density))(random::split(keys[2], paths));
  const Greeks digitally = digital_exact(100., 0.2, 0.03);
  std::printf("a digital option there, derivatives by likelihood ratios\n");
  good = agrees("value", estimate(paid), digitally.value) && good;
  good = agrees("delta", estimate(scores.price), digitally.delta) && good;
  good = agrees("vega", estimate(scores.volatility), digitally.vega) && good;
  good = agrees("rho", estimate(scores.rate), digitally.rho) && good;

  std::printf("calls on baskets of four shares, published values\n");
  const auto baskets_at = jit([&](const Array& rho, const Array& k) {
    return vmap([&](const Array& key) { return basket(rho, key); })(k);
  });
  const Array basket_keys = random::split(keys[3], paths);
  for (const Published& p : baskets) {
    char name[32];
    std::snprintf(name, sizeof name, "corr. %g", p.correlation);
    good = agrees(name, estimate(baskets_at(p.correlation, basket_keys)), p.value) && good;
  }

  const Heston heston;
  const Array ends = jit(vmap([&](const Array& key) { return heston_price(heston, key, steps); }))(
      random::split(keys[1], paths));
  std::printf("calls by Heston\n");
  std::vector<double> strikes, found, low, high, known;
  for (double k = 70; k <= 130; k += 5) {
    const Estimate e = estimate(std::exp(-heston.rate) * maximum(ends - k, 0.));
    strikes.push_back(k);
    found.push_back(e.mean);
    known.push_back(heston_exact(heston, k));
    low.push_back(e.mean - known.back() - 3 * e.error);
    high.push_back(e.mean - known.back() + 3 * e.error);
    char name[32];
    std::snprintf(name, sizeof name, "strike %g", k);
    if (std::fmod(k, 10.) == 0) good = agrees(name, e, known.back()) && good;
  }
  std::filesystem::create_directories("out");
  const Array at = array(strikes);
  save_stacked(
      {Figure{.title = "Calls by Heston's model", .xlabel = "strike", .ylabel = "value"}
           .line(at, array(known), "exact")
           .points(at, array(found), "mean over paths"),
       Figure{
           .title = "How far the means are from the exact values", .xlabel = "strike", .ylabel = "difference"}
           .band(at, array(low), array(high), "three standard errors")
           .line(at, array(found) - array(known), "mean over paths")
           .line(at, 0. * at, "exact")},
      "out/options.png");
  std::puts("the picture is out/options.png");
  return good ? 0 : 1;
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
