// Apsis' side of the benchmark: what every group shares. The protocol is in bench/README.md.
#pragma once

#include <chrono>
#include <string>
#include <vector>
#include <apsis/apsis.hpp>

namespace bench {

// The groups: each measures its rows and reports them.
void call();
void chains();
void chain_5000();
void cold_process();
void second_process();
void loops();
void loop_costs();
void lane_choices();
void check_costs();
void compile_costs();
void save_costs();
void lorenz();
void lorenz_first();
void lorenz_grad_first();
void ensemble();
void straggler();
void ensemble_grad();
void neural_ode();
void neural_ode_first();
void train();
void train_first();
void elementwise();
void arrays();
void array_programs();
void products();
void fft();
void linear_algebra();
void convolutions();
void shared();
void noise();
void brusselator();
void robertson();
void robertson_first();
void robertson_ensemble();
void pollution();
void pleiades();
void levenberg();
void sparse();
void sparse_first();
void cde();
void complex_numbers();
void array_ops();

/// Prints one line of the protocol; `limit` is given where the row's bound is a figure of our own.
void report(const std::string& name, const char* unit, double value, const std::vector<double>& answer,
            double limit = 0);

double median(std::vector<double> values);

/// Compiles some other function, so that a first call measures itself and not the compiler's own start.
void warm_compiler();

/// True when BENCH_THREADS asks for all threads.
bool all_threads();

template <class F>
double seconds(F&& f) {
  auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Median over repeated calls after one that warms up: at least 3, then until `budget` seconds are spent or
/// 101 are done.
template <class F>
double median_seconds(F&& f, double budget = 1.0) {
  f();
  std::vector<double> times;
  for (double spent = 0; times.size() < 3 || (spent < budget && times.size() < 101); spent += times.back()) {
    times.push_back(seconds(f));
  }
  return median(times);
}

/// Seconds a call in a steady stream of calls, for calls too short to be timed alone: median of 7 streams of
/// 0.05 s.
template <class F>
double seconds_per_call(F&& f) {
  int count = 16;
  while (seconds([&] {
           for (int i = 0; i < count; ++i) f();
         }) < 0.05)
    count *= 2;
  std::vector<double> rates;
  for (int k = 0; k < 7; ++k)
    rates.push_back(seconds([&] {
                      for (int i = 0; i < count; ++i) f();
                    }) /
                    count);
  return median(rates);
}

}  // namespace bench
