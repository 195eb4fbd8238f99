// Carbon dioxide over Mauna Loa: a Gaussian process learns trend and seasons from the years up to 1996, and
// forecasts those that follow. (The model: Rasmussen and Williams, Gaussian Processes for Machine Learning,
// 2006, 5.4.3.)
//
//   mauna_loa [small]       small: the last 15 years alone, for a test; the picture goes to out/mauna_loa.png

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

constexpr double growth = 50;  // ppm: a parabola of which nothing is known beforehand
Array decades(const Array& years) { return (years - 1980.) / 10.; }

/// Logarithms of the sizes (ppm) and lengths (years) of the parts of a covariance.
struct Covariance {
  Array trend_size, trend_length;
  Array season_size, season_decay, season_shape;
  Array medium_size, medium_length, medium_shape;
  Array weather_size, weather_length, noise;

  /// [n, m] between times a[n] and b[m], without the noise.
  Array operator()(const Array& a, const Array& b) const {
    const Array d = expand_dims(a, 1) - expand_dims(b, 0), d2 = square(d);
    const auto scaled = [&](const Array& log_length) { return d2 * exp(-2. * log_length); };
    const Array parabola = growth * growth * square(1. + outer(decades(a), decades(b)));
    const Array trend = exp(2. * trend_size - 0.5 * scaled(trend_length));
    const Array season = exp(2. * season_size - 0.5 * scaled(season_decay) -
                             2. * square(sin(M_PI * d)) * exp(-2. * season_shape));
    const Array shape = exp(medium_shape);
    const Array medium =
        exp(2. * medium_size - shape * log1p(scaled(medium_length) / (2. * shape)));  // a rational quadratic
    const Array weather = exp(2. * weather_size - 0.5 * scaled(weather_length));
    return parabola + trend + season + medium + weather;
  }
  /// That of each time with itself, and the noise: of a measurement.
  Array variance(const Array& at) const {
    return growth * growth * square(1. + square(decades(at))) + exp(2. * trend_size) + exp(2. * season_size) +
           exp(2. * medium_size) + exp(2. * weather_size) + exp(2. * noise);
  }
  /// Its triangular factor at the times of measurements.
  Array factor(const Array& ts) const {
    return linalg::cholesky((*this)(ts, ts) + exp(2. * noise) * eye(ts.dim(0)));
  }
};

/// What the process begins with, about the values of the book.
Covariance start() {
  const auto log_of = [](double x) { return array(std::log(x)); };
  return {log_of(3),   log_of(10),  log_of(2.5), log_of(90),   log_of(1.3), log_of(0.6),
          log_of(1.2), log_of(0.8), log_of(0.2), log_of(0.13), log_of(0.2)};
}

/// Months with measurements, as years, and the mean of each.
struct Series {
  Array years, co2;
};
Series monthly_means(const Table& table) {
  const Array month = 12. * table.column("year") + table.column("month") - 1.;
  const auto [months, first, inverse, counts] = unique_all(month);
  const std::int64_t n = months.dim(0);
  const Array sums = segment_sum(table.column("co2"), inverse, {.segments = n});
  return {(months + 0.5) / 12., sums / astype(counts, f64)};
}

struct Forecast {
  Array mean, deviation;
};
Forecast forecast(const Covariance& covariance, const Array& ts, const Array& ys, const Array& at) {
  const Array factor = covariance.factor(ts), across = covariance(ts, at);
  const linalg::SolveTriangularOptions lower{.lower = true};
  const Array v = linalg::solve_triangular(factor, across, lower),
              w = linalg::solve_triangular(factor, ys, lower);
  return {matmul(transpose(v), w), sqrt(covariance.variance(at) - sum(square(v), {.axis = 0}))};
}

int run(bool small) {
  const Series all = monthly_means(read_csv(std::string(APSIS_EXAMPLE_DATA) + "/co2_mauna_loa_weekly.csv"));
  const double last = 1997;
  const Array is_old = all.years < last;
  Array ts = all.years[is_old], ys = all.co2[is_old];
  const Array new_ts = all.years[!is_old], new_ys = all.co2[!is_old];
  if (small) ts = ts[range(-180, {})], ys = ys[range(-180, {})];
  const Array level = mean(ys);
  std::printf("%lld months up to 1996 to learn from, %lld after them to compare with\n",
              static_cast<long long>(ts.dim(0)), static_cast<long long>(new_ts.dim(0)));

  // Minus the logarithm of the marginal likelihood, up to a constant.
  const auto loss = [](const Covariance& c, const Array& t, const Array& y) {
    const Array factor = c.factor(t), w = linalg::solve_triangular(factor, y, {.lower = true});
    return 0.5 * sum(square(w)) + sum(log(diagonal(factor)));
  };
  const auto fit = jit([&](const Covariance& c, const Array& t, const Array& y) {
    return minimize([&](const Covariance& p) { return loss(p, t, y); }, BFGS{.gtol = 1e-3}, c,
                    {.max_steps = small ? 20 : 100, .throw_ = false});
  });
  const double before = loss(start(), ts, ys - level).item<double>();
  const auto found = fit(start(), ts, ys - level);
  std::printf("-log likelihood, up to a constant, %.2f; at the start %.2f; %d steps\n",
              found.objective.item<double>(), before, found.stats.steps.item<int>());
  const Covariance& c = found.value;
  std::printf("the season has a size of %.2f ppm, and changes in %.0f years; noise %.2f ppm\n",
              std::exp(c.season_size.item<double>()), std::exp(c.season_decay.item<double>()),
              std::exp(c.noise.item<double>()));

  const auto predict = jit(forecast);
  const Forecast later = predict(c, ts, ys - level, new_ts);
  const Array error = later.mean + level - new_ys;
  const double rms = sqrt(mean(square(error))).item<double>(),
               inside = mean(abs(error) < 1.96 * later.deviation).item<double>();
  std::printf("forecast of 1997 to 2001: off by %.2f ppm (root mean square); %.0f %% within the 95 %% band\n",
              rms, 100 * inside);

  const Array fine = linspace(1986., 2012., 26 * 24 + 1);
  const Forecast shown = predict(c, ts, ys - level, fine);
  const Array middle = shown.mean + level, half = 1.96 * shown.deviation;
  const Array recent = ts > 1986.;
  std::filesystem::create_directories("out");
  Figure{.title = "Carbon dioxide over Mauna Loa, forecast from the end of 1996",
         .xlabel = "year",
         .ylabel = "ppm"}
      .band(fine, middle - half, middle + half, "95 %")
      .line(fine, middle, "Gaussian process")
      .points(ts[recent], ys[recent], "measured, learned from")
      .points(new_ts, new_ys, "measured later")
      .mark(last, "")
      .save("out/mauna_loa.png");
  std::puts("the picture is out/mauna_loa.png");
  return found.objective.item<double>() < before && rms < 2 && inside > 0.75 ? 0 : 1;
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
