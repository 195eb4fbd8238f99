#include "fit.hpp"

#include <algorithm>
#include <cmath>

namespace lynx_hare {
namespace {

using namespace apsis;

struct Published {
  const char* name;
  double mean;
};
// Posterior means of the same model: posteriordb, hudson_lynx_hare-lotka_volterra (Carpenter 2018).
constexpr Published published[parameter_count] = {
    {"alpha", 0.5469},    {"beta", 0.02775},    {"gamma", 0.8001},      {"delta", 0.02409},
    {"hare 1900", 34.04}, {"lynx 1900", 5.936}, {"sigma hare", 0.2481}, {"sigma lynx", 0.2510}};

Parameters from_vector(const Array& v) { return {{v[0], v[1], v[2], v[3]}, v[4], v[5], v[6], v[7]}; }

std::vector<double> values_of(const Parameters& p) {
  std::vector<double> out;
  for_each_leaf(p, [&](const Array& a) { out.push_back(a.item<double>()); });
  return out;
}

/// The inverse of a symmetric positive definite matrix, by Gauss and Jordan.
std::vector<double> inverse(std::vector<double> a, int n) {
  std::vector<double> b(static_cast<std::size_t>(n * n), 0);
  for (int i = 0; i < n; ++i) b[static_cast<std::size_t>(i * n + i)] = 1;
  auto at = [n](std::vector<double>& m, int i, int j) -> double& {
    return m[static_cast<std::size_t>(i * n + j)];
  };
  for (int k = 0; k < n; ++k) {
    double pivot = 1 / at(a, k, k);
    for (int j = 0; j < n; ++j) at(a, k, j) *= pivot, at(b, k, j) *= pivot;
    for (int i = 0; i < n; ++i) {
      if (i == k) continue;
      double factor = at(a, i, k);
      for (int j = 0; j < n; ++j) at(a, i, j) -= factor * at(a, k, j), at(b, i, j) -= factor * at(b, k, j);
    }
  }
  return b;
}

}  // namespace

double Fit::standard_error(int i) const {
  return std::sqrt(covariance[static_cast<std::size_t>(i * parameter_count + i)]);
}

Fit fit_from_starts(const Array& years, const Array& log_counts) {
  constexpr int starts = 64, steps = 800;
  auto loss = [=](const Parameters& p) { return negative_log_likelihood(p, years, log_counts); };

  std::vector<double> centre;
  for (const Published& p : published) centre.push_back(std::log(p.mean));
  Array off = random::uniform(random::key(1900), {starts, parameter_count}, f64, -1., 1.) * std::log(10.);
  Array vectors = array(centre) + off;
  Parameters members = from_vector(transpose(vectors));  // each leaf [64]

  // One program steps all members: 64 solves with gradients, each at its own pace. A member whose solve fails
  // has no finite gradient; it stays where it is and does not stop the others.
  auto step = jit([=](const Parameters& p, const optim::AdamState<Parameters>& s, const Array& rate) {
    auto [value, gradient] = vmap(value_and_grad(loss))(p);
    Array good = isfinite(value);
    for_each_leaf(gradient, [&](const Array& g) { good = good && isfinite(g); });
    gradient = tree_map([&](const Array& g) { return where(good, clip(g, -1e3, 1e3), 0.); }, gradient);
    auto [change, next] = optim::Adam{.learning_rate = rate, .b2 = 0.99}.update(gradient, s, p);
    return std::tuple(apply_updates(p, change), next,
                      where(good, value, std::numeric_limits<double>::infinity()));
  });
  optim::AdamState<Parameters> state = optim::Adam{}.init(members);
  Array values;
  train::ProgressBar progress("64 starts", steps, stdout);
  for (int i = 1; i <= steps; ++i) {
    // The rate falls by a cosine from 0.1 to nothing.
    Array rate = array(0.05 * (1 + std::cos(M_PI * i / steps)) + 1e-5);
    std::tie(members, state, values) = step(members, state, rate);
    progress.show(i, {{"loss", min(values)}});
  }

  std::vector<double> all = values.to_vector<double>();
  auto best = std::min_element(all.begin(), all.end()) - all.begin();
  Parameters start = tree_map([&](const Array& a) { return a[best]; }, members);
  auto polish = jit([=](const Parameters& p) { return minimize(loss, BFGS{.gtol = 1e-7}, p); });
  auto minimum = polish(start);

  Fit fit{.parameters = minimum.value, .value = minimum.objective.item<double>(), .starts = starts};
  for (double v : all) {
    fit.reached += v < fit.value + 1e-3;
    fit.failed += !std::isfinite(v);
  }
  fit.covariance = inverse(jit(hessian(loss))(fit.parameters).matrix().to_vector<double>(), parameter_count);
  return fit;
}

void print_estimates(const Fit& fit) {
  std::printf(
      "  %d of %d starts reach the best likelihood within 1e-3 (%d cannot be solved); -log L = %.6f\n",
      fit.reached, fit.starts, fit.failed, fit.value);
  std::printf("  %-11s %12s %24s %18s %14s\n", "", "estimate", "95% interval", "s.e. of the log",
              "published mean");
  std::vector<double> logs = values_of(fit.parameters);
  for (int i = 0; i < parameter_count; ++i) {
    double e = logs[static_cast<std::size_t>(i)], s = fit.standard_error(i);
    std::printf("  %-11s %12.6g %11.5g ... %-9.5g %18.4f %14.5g\n", published[i].name, std::exp(e),
                std::exp(e - 1.96 * s), std::exp(e + 1.96 * s), s, published[i].mean);
  }
}

Hybrid train_hybrid(Hybrid model, const Array& years, const Array& log_counts) {
  constexpr int steps = 3000;
  auto loss = [=](const Hybrid& h) { return hybrid_loss(h, years, log_counts); };
  auto step = jit([=](const Hybrid& h, const optim::AdamState<Hybrid>& s, const Array& rate) {
    auto [value, gradient] = value_and_grad(loss)(h);
    auto [change, next] = optim::Adam{.learning_rate = rate}.update(gradient, s, h);
    return std::tuple(apply_updates(h, change), next, value);
  });
  optim::AdamState<Hybrid> state = optim::Adam{}.init(model);
  train::ProgressBar progress("hybrid model", steps, stdout);
  for (int i = 1; i <= steps; ++i) {
    Array value, rate = array(0.005 * (1 + std::cos(M_PI * i / steps)) + 1e-5);
    std::tie(model, state, value) = step(model, state, rate);
    progress.show(i, {{"loss", value}});
  }
  return model;
}

void plot(const char* path, const Fit& fit, const Fit& short_fit, const Hybrid& hybrid, const Array& years,
          const Array& counts, std::int64_t known) {
  Array fine = linspace(0., 20., 401);
  auto curve = jit([](const Parameters& p, const Array& ts) { return populations(p, ts); });
  auto hybrid_curve = jit([](const Hybrid& h, const Array& ts) { return populations(h, ts); });
  Array best = curve(fit.parameters, fine), early = curve(short_fit.parameters, fine),
        learned = hybrid_curve(hybrid, fine);

  // The band: how far the curve moves with the parameters' uncertainty, to first order.
  Parameters slope = jit(jacfwd([&](const Parameters& p) { return populations(p, fine); }))(fit.parameters);
  std::vector<Array> columns;
  for_each_leaf(slope, [&](const Array& a) { columns.push_back(a); });
  Array j = stack(columns, 2), covariance = array(fit.covariance, {parameter_count, parameter_count});
  Array spread = 1.96 * sqrt(sum(matmul(j, covariance) * j, {.axis = -1}));

  std::vector<Figure> figures;
  const char* species[] = {"Hares", "Lynxes"};
  Array shown = fine + 1900.;
  std::int64_t first_forecast = (known - 1) * 20;
  for (int k = 0; k < 2; ++k) {
    Figure f{.title = k == 0 ? "Hudson Bay Company pelts and models" : "",
             .xlabel = k == 0 ? "" : "year",
             .ylabel = std::string(species[k]) + " (thousands of pelts)",
             .height = 430};
    f.band(shown, exp(best(range(), k) - spread(range(), k)), exp(best(range(), k) + spread(range(), k)),
           "95% band of the fit", "#0072b2");
    f.line(shown, exp(best(range(), k)), "Lotka-Volterra, 1900-1920", "#0072b2");
    f.dashed(shown[range(first_forecast, {})], exp(early(range(first_forecast, {}), k)),
             "Lotka-Volterra, forecast", "#d55e00");
    f.line(shown[range(0, first_forecast + 1)], exp(learned(range(0, first_forecast + 1), k)),
           "hybrid, 1900-1916", "#009e73");
    f.dashed(shown[range(first_forecast, {})], exp(learned(range(first_forecast, {}), k)), "hybrid, forecast",
             "#009e73");
    f.mark(1916, "last year fitted for forecasts");
    f.points(years + 1900., counts(range(), k), "counts", "#000000");
    figures.push_back(f);
  }
  save_stacked(figures, path);
}

}  // namespace lynx_hare
