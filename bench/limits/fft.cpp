// Bounds of fft/*: FFTW with plans that it has measured.
#include <fftw3.h>

#include <cmath>
#include <complex>
#include <cstddef>

#include "report.hpp"

namespace {

/// As Apsis' side has it: sin(0.37 j²) + i cos(0.11 j²), j modulo 4093.
template <class T>
std::vector<std::complex<T>> signal(std::size_t size) {
  std::vector<std::complex<T>> numbers(size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto j = static_cast<double>(i % 4093);
    numbers[i] = {static_cast<T>(std::sin(0.37 * j * j)), static_cast<T>(std::cos(0.11 * j * j))};
  }
  return numbers;
}

template <class T>
void report(const char* name, double seconds, const std::vector<std::complex<T>>& y) {
  const std::size_t n = y.size();
  limits::report(name, "us", seconds * 1e6,
                 {double(y[1].real()), double(y[n / 3].real()), double(y[n - 1].real())});
}

void measure(const char* name, int count, int length) {
  std::vector<std::complex<double>> x(std::size_t(count) * std::size_t(length)), y(x.size());
  auto *from = reinterpret_cast<fftw_complex*>(x.data()), *to = reinterpret_cast<fftw_complex*>(y.data());
  const fftw_plan plan = fftw_plan_many_dft(1, &length, count, from, nullptr, 1, length, to, nullptr, 1,
                                            length, FFTW_FORWARD, FFTW_MEASURE);
  // Measuring has overwritten it.
  const std::vector<std::complex<double>> given = signal<double>(x.size());
  std::copy(given.begin(), given.end(), x.begin());
  const double seconds = limits::median_seconds(31, [&] { fftw_execute(plan); });
  report(name, seconds, y);
  fftw_destroy_plan(plan);
}

void measure_float(const char* name, int count, int length) {
  std::vector<std::complex<float>> x(std::size_t(count) * std::size_t(length)), y(x.size());
  auto *from = reinterpret_cast<fftwf_complex*>(x.data()), *to = reinterpret_cast<fftwf_complex*>(y.data());
  const fftwf_plan plan = fftwf_plan_many_dft(1, &length, count, from, nullptr, 1, length, to, nullptr, 1,
                                              length, FFTW_FORWARD, FFTW_MEASURE);
  const std::vector<std::complex<float>> given = signal<float>(x.size());
  std::copy(given.begin(), given.end(), x.begin());
  const double seconds = limits::median_seconds(31, [&] { fftwf_execute(plan); });
  report(name, seconds, y);
  fftwf_destroy_plan(plan);
}

}  // namespace

int main() {
  measure("fft/1024", 1000, 1024);
  measure_float("fft/64-batch", 10000, 64);
  measure("fft/65536", 1, 65536);
}
