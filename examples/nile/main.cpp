// The flow of the Nile at Aswan, 1871 to 1970: by how much did it fall in 1899? Bayesian regression by
// Hamiltonian Monte Carlo, 16 chains in one program, beside the exact answer, which this model has.
//
//   nile [small]            small: fewer draws, for a test; the picture goes to out/nile.png

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

/// Flows are level, from 1899 on level - drop, with normal deviations; in units of 100 million cubic metres.
struct Parameters {
  Array level, drop, log_sigma;
};

/// Minus the logarithm of the posterior: of a flat prior of all three.
Array potential(const Parameters& p, const Array& years, const Array& flow) {
  const Array residuals = flow - p.level + where(years >= 1899., p.drop, 0.);
  return 0.5 * sum(square(residuals)) * exp(-2. * p.log_sigma) +
         static_cast<double>(years.size()) * p.log_sigma;
}

// Hamiltonian Monte Carlo (Neal 2011) with masses by which all parameters have about the same scale, and
// steps that the warm-up chooses by dual averaging (Hoffman and Gelman, The No-U-Turn Sampler, JMLR 2014,
// section 3.2.1).

constexpr int leapfrog_steps = 12;
constexpr double wanted_acceptance = 0.8;
const Parameters scale() { return {array(0.25), array(0.35), array(0.07)}; }

Parameters moved(const Parameters& x, const Array& h, const Parameters& v, const Parameters& s) {
  return tree_map([&](const Array& a, const Array& b, const Array& c) { return a + h * b * c; }, x, v, s);
}
Array energy(const Parameters& momentum) {
  return 0.5 * (square(momentum.level) + square(momentum.drop) + square(momentum.log_sigma));
}

struct Draw {
  Parameters position;
  Array acceptance;  // the probability
};

/// One transition with steps of this size.
template <class Potential>
Draw transition(const Potential& u, const Parameters& start, const Array& step_size, const Array& key) {
  const auto keys = random::split<3>(key);
  const Array noise = random::normal(keys[0], {3});
  const Parameters momentum{noise[0], noise[1], noise[2]}, s = scale();
  // Steps that differ a little, so that no orbit comes back to its start.
  const Array h = step_size * random::uniform(keys[1], {}, f64, 0.8, 1.2);
  using Orbit = std::pair<Parameters, Parameters>;
  const auto leapfrog = [&](const Array&, const Orbit& o) {
    const Parameters half = moved(o.second, -0.5 * h, grad(u)(o.first), s);
    const Parameters position = moved(o.first, h, half, s);
    return Orbit{position, moved(half, -0.5 * h, grad(u)(position), s)};
  };
  const Orbit end = fori_loop(0, leapfrog_steps, leapfrog, Orbit{start, momentum});
  const Array gain = u(start) + energy(momentum) - u(end.first) - energy(end.second);
  const Array acceptance = where(isnan(gain), 0., exp(minimum(gain, 0.)));
  const Array taken = random::uniform(keys[2]) < acceptance;
  return {tree_map([&](const Array& a, const Array& b) { return where(taken, a, b); }, end.first, start),
          acceptance};
}

/// What the warm-up carries from draw to draw.
struct Tuning {
  Parameters position;
  Array count, error, log_step, log_mean;
};

struct Chain {
  Parameters draws;  // [draws]
  Array acceptance, step_size;
};

template <class Potential>
Chain chain(const Potential& u, const Parameters& start, const Array& key, std::int64_t warm_up,
            std::int64_t draws) {
  const auto keys = random::split<2>(key);
  const double first = std::log(0.1), target = std::log(10 * 0.1);
  const auto tune = [&](const Tuning& t, const Array& k) {
    const Draw next = transition(u, t.position, exp(t.log_step), k);
    const Array n = t.count + 1., eta = 1. / (n + 10.);
    const Array error = (1. - eta) * t.error + eta * (wanted_acceptance - next.acceptance);
    const Array log_step = target - sqrt(n) / 0.05 * error, weight = pow(n, -0.75);
    return std::pair(
        Tuning{next.position, n, error, log_step, weight * log_step + (1. - weight) * t.log_mean}, Nothing{});
  };
  const Tuning tuned = scan(tune, Tuning{start, 0., 0., first, first}, random::split(keys[0], warm_up)).first;
  const Array step_size = exp(tuned.log_mean);
  const auto draw = [&](const Parameters& p, const Array& k) {
    const Draw next = transition(u, p, step_size, k);
    return std::pair(next.position, next);
  };
  const Draw all = scan(draw, tuned.position, random::split(keys[1], draws)).second;
  return {all.position, mean(all.acceptance), step_size};
}

/// How much wider all chains together are than each half of a chain, 1 if they agree (Gelman et al., Bayesian
/// Data Analysis, 2013, 11.4). x: [chains, draws].
double r_hat(const Array& x) {
  const std::int64_t n = x.dim(1) / 2;
  const Array halves = concatenate({x(range(), range(0, n)), x(range(), range(n, 2 * n))});
  const Array within = mean(var(halves, {.axis = 1, .ddof = 1}));
  const double m = static_cast<double>(n);
  const Array between = m * var(mean(halves, {.axis = 1}), {.ddof = 1});
  return sqrt(((m - 1) / m * within + between / m) / within).item<double>();
}

int run(bool small) {
  const Table table = read_csv(std::string(APSIS_EXAMPLE_DATA) + "/nile.csv");
  const Array years = table.values(range(), 0), flow = table.values(range(), 1) / 100.;
  const std::int64_t chains = 16, warm_up = small ? 200 : 1000, draws = small ? 500 : 4000;
  const auto sample = jit([&](const Array& key) {
    const auto keys = random::split<2>(key);
    const Array off = random::normal(keys[0], {3, chains});
    const Parameters starts{10. + 2. * off[0], 2. * off[1], 0.5 * off[2]};  // far apart
    const auto u = [&](const Parameters& p) { return potential(p, years, flow); };
    return vmap([&](const Parameters& p, const Array& k) { return chain(u, p, k, warm_up, draws); })(
        starts, random::split(keys[1], chains));
  });
  const Chain all = sample(random::key(1899));

  const double rhats[] = {r_hat(all.draws.level), r_hat(all.draws.drop), r_hat(all.draws.log_sigma)};
  std::printf("%lld chains of %lld draws, %.0f %% accepted; R-hat of level %.4f, drop %.4f, log sigma %.4f\n",
              static_cast<long long>(chains), static_cast<long long>(draws),
              100 * mean(all.acceptance).item<double>(), rhats[0], rhats[1], rhats[2]);

  // The exact posterior of the drop: Student's t about the difference of the means (Gelman et al.
  // 2013, 14.2).
  const Array old = flow[years < 1899.], later = flow[years >= 1899.];
  const double n = static_cast<double>(flow.size()), freedom = n - 2;
  const double exact = (mean(old) - mean(later)).item<double>();
  const double squares = (sum(square(old - mean(old))) + sum(square(later - mean(later)))).item<double>();
  const double width = std::sqrt(
      squares / freedom * (1 / static_cast<double>(old.size()) + 1 / static_cast<double>(later.size())));
  const double deviation = width * std::sqrt(freedom / (freedom - 2));
  const Array drop = ravel(all.draws.drop);
  const double found = mean(drop).item<double>(), spread = std_(drop).item<double>();
  std::printf("the flow fell by %.3f ± %.3f; exactly %.3f ± %.3f\n", found, spread, exact, deviation);

  const auto [density, edges] = histogram(drop, {.bins = 60, .density = true});
  const Array middles = 0.5 * (edges[range(1, {})] + edges[range(0, -1)]);
  const double norm = std::exp(std::lgamma((freedom + 1) / 2) - std::lgamma(freedom / 2)) /
                      (std::sqrt(freedom * M_PI) * width);
  const Array t = (middles - exact) / width;
  const Array exact_density = norm * exp(-(freedom + 1) / 2 * log1p(square(t) / freedom));
  const Array mid = mean(all.draws.level) - where(years >= 1899., mean(all.draws.drop), 0.);
  const Array half =
      1.96 * sqrt(where(years >= 1899., var(all.draws.level - all.draws.drop), var(all.draws.level)));
  std::filesystem::create_directories("out");
  save_stacked({Figure{.title = "Flow of the Nile at Aswan", .xlabel = "year", .ylabel = "1e8 m^3 a year"}
                    .band(years, 100. * (mid - half), 100. * (mid + half), "95 % of the mean")
                    .line(years, 100. * mid, "posterior mean")
                    .points(years, 100. * flow, "measured"),
                Figure{.title = "Its fall in 1899", .xlabel = "1e10 m^3 a year", .ylabel = "density"}
                    .points(middles, density, "Hamiltonian Monte Carlo")
                    .line(middles, exact_density, "exact")},
               "out/nile.png");
  std::puts("the picture is out/nile.png");
  // Of 16 · 4000 draws, correlated by half at most, the mean is known to 1 / 150 of the deviation.
  const double close = small ? 0.1 : 0.03, agree = small ? 1.05 : 1.01;
  const bool good = std::abs(found - exact) < close * deviation && std::abs(spread / deviation - 1) < close;
  return good && rhats[0] <= agree && rhats[1] <= agree && rhats[2] <= agree ? 0 : 1;
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
