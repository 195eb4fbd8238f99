// elementwise/*: a fused elementwise expression over a million elements.
#include "bench.hpp"

namespace bench {

using namespace apsis;

void elementwise() {
  const std::size_t n = 1'000'000;
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
  double spent = median_seconds([&] { y = f(a, b, c, d); });
  auto out = y.span<float>();
  report("elementwise/f32-1e6", "ns/element", spent * 1e9 / static_cast<double>(n),
         {out[0], out[1], out[n / 3], out[n / 2], out[n - 1]});
}

}  // namespace bench
