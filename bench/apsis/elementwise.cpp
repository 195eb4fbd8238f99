// elementwise/*: a fused elementwise expression, in the cache, beyond it and far beyond it.
#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

void measure(const char* name, std::size_t n) {
  std::vector<float> columns[4];
  for (auto& column : columns) column.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double u = static_cast<double>(i) / static_cast<double>(n);
    const double values[4] = {2 * u - 1, 1.5 - u, 0.5 * u, 2 * u * u};
    for (int k = 0; k < 4; ++k) columns[k][i] = static_cast<float>(values[k]);
  }
  Array a = array(columns[0]), b = array(columns[1]), c = array(columns[2]), d = array(columns[3]), y;
  auto f = jit([](const Array& p, const Array& q, const Array& r, const Array& s) {
    return tanh(p * q + r) * exp(-s);
  });
  const auto call = [&] { y = f(a, b, c, d); };
  const double spent = n < 100'000 ? seconds_per_call(call) : median_seconds(call);
  auto out = y.span<float>();
  report(name, "ns/element", spent * 1e9 / static_cast<double>(n),
         {out[0], out[1], out[n / 3], out[n / 2], out[n - 1]});
}

}  // namespace

void elementwise() {
  measure("elementwise/f32-1e4", 10'000);
  measure("elementwise/f32-1e6", 1'000'000);
  measure("elementwise/f32-1e7", 10'000'000);
}

}  // namespace bench
