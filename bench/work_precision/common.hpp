#pragma once

// What the compiled sides share: how long a solve takes, and how it is told.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

template <class... P>
struct List {};

inline double square(double x) { return x * x; }
inline double three_halves(double x) { return x * std::sqrt(x); }

/// The least time of a call, of as many as fit into a fifth of a second, three at least.
template <class Call>
double seconds_of(const Call& call) {
  double least = 1e30, all = 0;
  for (int i = 0; i < 3 || (all < 0.2 && i < 1000); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    const double one = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    least = std::min(least, one);
    all += one;
  }
  return least;
}

/// One line of the result: run.py takes the error.
inline void tell(const char* problem, const char* side, double rtol, double seconds,
                 const std::vector<double>& y) {
  std::printf("{\"problem\": \"%s\", \"side\": \"%s\", \"rtol\": %g, \"seconds\": %.9g, \"y\": [", problem,
              side, rtol, seconds);
  for (std::size_t i = 0; i < y.size(); ++i) std::printf("%s%.17g", i ? ", " : "", y[i]);
  std::puts("]}");
  std::fflush(stdout);
}

/// The Brusselator on a line; see problems.py. u and v by turns.
struct Brusselator {
  static constexpr const char* name = "BRUSSELATOR_1D";
  static constexpr int points = 256, n = 2 * points;
  static constexpr double t0 = 0, t1 = 10, diffusion = 0.02, factor = diffusion * (points + 1) * (points + 1);
  static std::vector<double> rtols() { return {1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9}; }
  static std::vector<double> y0() {
    std::vector<double> y;
    for (int i = 1; i <= points; ++i) {
      y.push_back(1 + std::sin(2 * M_PI * i / (points + 1)));
      y.push_back(3);
    }
    return y;
  }
  static void slope(const double* y, double* dy) {
    for (int i = 0; i < points; ++i) {
      const double u = y[2 * i], v = y[2 * i + 1];
      const double ul = i > 0 ? y[2 * i - 2] : 1, ur = i < points - 1 ? y[2 * i + 2] : 1;
      const double vl = i > 0 ? y[2 * i - 1] : 3, vr = i < points - 1 ? y[2 * i + 3] : 3;
      dy[2 * i] = 1 + u * u * v - 4 * u + factor * (ul - 2 * u + ur);
      dy[2 * i + 1] = 3 * u - u * u * v + factor * (vl - 2 * v + vr);
    }
  }
};
