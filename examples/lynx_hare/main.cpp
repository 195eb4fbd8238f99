// Lynxes and hares: fits Lotka and Volterra's equations to the pelts that the Hudson Bay Company took in from
// 1900 to 1920, by gradients through the solver; learns a hybrid model; forecasts; saves; plots.
//
//   lynx_hare                       the whole, into out/
//   lynx_hare --predict FILE        predictions of a saved hybrid model, in hexadecimal

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "fit.hpp"
#include "model.hpp"

namespace {

using namespace apsis;
using namespace lynx_hare;

constexpr const char* model_file = "out/lynx_hare_hybrid.npz";

/// The structure of the hybrid model, before any training.
Hybrid untrained() {
  Hybrid h{array(std::log(0.55)), array(std::log(0.8)),
           nn::make_mlp({.in = 2, .out = 2, .width = 16, .depth = 2}, random::key(7)), array(std::log(30.)),
           array(std::log(4.))};
  // Starts as small constant interactions of about the size of growth and death.
  h.interaction.layers.back().weight = 0.1 * h.interaction.layers.back().weight;
  h.interaction.layers.back().bias = array({0., 0.3});
  return h;
}

std::vector<double> hybrid_predictions(const Hybrid& h, const Array& years) {
  auto predict = jit([](const Hybrid& model, const Array& ts) { return populations(model, ts); });
  return predict(h, years).to_vector<double>();
}

Array all_years() { return arange(21) * 1.; }

int predict_saved(const char* file) {
  for (double v : hybrid_predictions(load(file, untrained()), all_years())) std::printf("%a\n", v);
  return 0;
}

/// Runs this program again on the saved model and compares its predictions bit for bit.
bool same_in_another_process(const char* self, const std::vector<double>& expected) {
  std::string command = std::string("'") + self + "' --predict " + model_file;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return false;
  std::vector<double> found;
  char line[100];
  while (std::fgets(line, sizeof line, pipe)) found.push_back(std::strtod(line, nullptr));
  int status = pclose(pipe);
  return status == 0 && found.size() == expected.size() &&
         std::memcmp(found.data(), expected.data(), found.size() * sizeof(double)) == 0;
}

double log_rmse(const Array& predicted, const Array& observed) {
  Array e = predicted - observed;
  return sqrt(mean(e * e)).item<double>();
}

void run(const char* self) {
  std::filesystem::create_directories("out");
  Table table = read_csv(APSIS_EXAMPLE_DATA "/hudson_bay_lynx_hare.csv");
  Array years = table.column("year") - 1900., counts = stack({table.column("hare"), table.column("lynx")}, 1);
  Array log_counts = log(counts);

  std::puts("(a) Lotka and Volterra by maximum likelihood, from 64 starts");
  Fit fit = fit_from_starts(years, log_counts);
  print_estimates(fit);

  std::puts("\n(b) Fitted to 1900-1916, held to 1917-1920");
  constexpr std::int64_t known = 17;
  Array early = years[range(0, known)], early_counts = log_counts[range(0, known)];
  Fit short_fit = fit_from_starts(early, early_counts);
  Hybrid hybrid = train_hybrid(untrained(), early, early_counts);

  Array held = log_counts[range(known, {})];
  Array forecast = populations(short_fit.parameters, years);
  std::vector<double> hybrid_values = hybrid_predictions(hybrid, years);
  Array hybrid_forecast = array(hybrid_values, {21, 2});
  double errors[] = {log_rmse(forecast[range(known, {})], held),
                     log_rmse(hybrid_forecast[range(known, {})], held),
                     log_rmse(log_counts[range(known - 1, -1)], held)};
  const char* names[] = {"Lotka-Volterra, forecast from 1916", "hybrid model, forecast from 1916",
                         "persistence: next year equals this year"};
  for (int i = 0; i < 3; ++i)
    std::printf("  log-RMSE 1917-1920  %-42s %.4f%s\n", names[i], errors[i],
                errors[i] <= *std::min_element(errors, errors + 3) ? "   best" : "");

  std::puts("\n(c) Saved and loaded in a second process");
  save(model_file, hybrid);
  std::printf("  %s: predictions %s\n", model_file,
              same_in_another_process(self, hybrid_values) ? "agree bit for bit" : "DIFFER");

  plot("out/lynx_hare.png", fit, short_fit, hybrid, years, counts, known);
  std::puts("\n(d) The plot is out/lynx_hare.png");
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count == 3 && std::strcmp(arguments[1], "--predict") == 0) return predict_saved(arguments[2]);
    run(arguments[0]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
