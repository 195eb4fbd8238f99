// fft/*: complex transforms, one by one and many at once.
#include <cmath>

#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

/// Waves of all frequencies: the real part sin(0.37 j²), the imaginary part cos(0.11 j²), j modulo 4093.
template <class Number>
Array signal(const Shape& shape) {
  std::vector<Number> numbers(static_cast<std::size_t>(shape.product()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto j = static_cast<double>(i % 4093);
    using Part = decltype(numbers[i].real);
    numbers[i] = {static_cast<Part>(std::sin(0.37 * j * j)), static_cast<Part>(std::cos(0.11 * j * j))};
  }
  return array(numbers, shape);
}

void measure(const char* name, const Array& x) {
  const auto transform = jit([](const Array& a) { return fft::fft(a); });
  Array y;
  const double spent = median_seconds([&] { y = transform(x); });
  const Array real = reshape(astype(y, f64), {-1});
  std::vector<double> answer;
  for (std::int64_t i : {std::int64_t{1}, real.size() / 3, real.size() - 1})
    answer.push_back(real[i].item<double>());
  report(name, "us", spent * 1e6, answer);
}

}  // namespace

void fft() {
  measure("fft/1024", signal<complex128>({1000, 1024}));
  measure("fft/64-batch", signal<complex64>({10000, 64}));
  measure("fft/65536", signal<complex128>({65536}));
}

}  // namespace bench
