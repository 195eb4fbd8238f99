// usage: bench_apsis GROUP      prints the group's rows, a JSON object a line; exits with 3 for a group it
// does not know
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench.hpp"

namespace bench {

void report(const std::string& name, const char* unit, double value, const std::vector<double>& answer,
            double limit) {
  std::printf("{\"name\": \"%s\", \"unit\": \"%s\", \"value\": %.9g, ", name.c_str(), unit, value);
  if (limit > 0) std::printf("\"limit\": %.9g, ", limit);
  std::printf("\"answer\": [");
  for (std::size_t i = 0; i < answer.size(); ++i) std::printf("%s%.17g", i ? ", " : "", answer[i]);
  std::printf("]}\n");
  std::fflush(stdout);
}

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void warm_compiler() {
  auto other = apsis::jit([](const apsis::Array& x) { return cos(x) * 2 - x; });
  other(apsis::linspace(0., 6., 7));
}

bool all_threads() {
  const char* threads = std::getenv("BENCH_THREADS");
  return threads && std::strcmp(threads, "all") == 0;
}

}  // namespace bench

int main(int argc, char** argv) {
  const struct {
    const char* name;
    void (*run)();
  } groups[] = {
      {"call", bench::call},
      {"chains", bench::chains},
      {"chain-5000", bench::chain_5000},
      {"cold-process", bench::cold_process},
      {"second-process", bench::second_process},
      {"loops", bench::loops},
      {"loop-costs", bench::loop_costs},
      {"lane-choices", bench::lane_choices},
      {"check-costs", bench::check_costs},
      {"compile-costs", bench::compile_costs},
      {"save-costs", bench::save_costs},
      {"lorenz", bench::lorenz},
      {"lorenz-first", bench::lorenz_first},
      {"lorenz-grad-first", bench::lorenz_grad_first},
      {"ensemble", bench::ensemble},
      {"straggler", bench::straggler},
      {"ensemble-grad", bench::ensemble_grad},
      {"neural-ode", bench::neural_ode},
      {"neural-ode-first", bench::neural_ode_first},
      {"train", bench::train},
      {"train-first", bench::train_first},
      {"elementwise", bench::elementwise},
      {"arrays", bench::arrays},
      {"array-programs", bench::array_programs},
      {"products", bench::products},
      {"fft", bench::fft},
      {"linalg", bench::linear_algebra},
      {"conv", bench::convolutions},
      {"ops", bench::array_ops},
      {"shared", bench::shared},
      {"noise", bench::noise},
      {"brusselator", bench::brusselator},
      {"robertson", bench::robertson},
      {"robertson-first", bench::robertson_first},
      {"robertson-ensemble", bench::robertson_ensemble},
      {"pollution", bench::pollution},
      {"pleiades", bench::pleiades},
      {"levenberg", bench::levenberg},
      {"sparse", bench::sparse},
      {"sparse-first", bench::sparse_first},
      {"cde", bench::cde},
      {"complex", bench::complex_numbers},
  };
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s GROUP\n", argv[0]);
    return 2;
  }
  for (const auto& group : groups) {
    if (std::strcmp(group.name, argv[1]) != 0) continue;
    group.run();
    return 0;
  }
  return 3;
}
