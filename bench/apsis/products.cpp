// products/*: products of square matrices through a jitted call.
#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

/// n by n; the same numbers in peers/products.py and limits/products.cpp.
Array waves(std::int64_t n, double step, Dtype dtype) {
  return astype(reshape(sin(arange(static_cast<double>(n * n)) * step), {n, n}), dtype);
}

void measure(const char* name, std::int64_t n, Dtype dtype) {
  const Array a = waves(n, 0.37, dtype), b = waves(n, 0.73, dtype);
  const auto product = jit([](const Array& p, const Array& q) { return matmul(p, q); });
  Array y;
  const double spent = seconds_per_call([&] { y = product(a, b); });
  const Array diagonal = astype(apsis::diagonal(y), f64);
  report(name, "ns", spent * 1e9, {sum(diagonal).item<double>(), sum(square(diagonal)).item<double>()});
}

}  // namespace

void products() {
  measure("products/f32-16", 16, f32);
  measure("products/f32-64", 64, f32);
  measure("products/f32-256", 256, f32);
  measure("products/f32-1024", 1024, f32);
  measure("products/f64-1024", 1024, f64);
}

}  // namespace bench
