// sparse/*: the sparse Jacobian of the Brusselator on a line of 10,000 cells.
#include <numbers>

#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

const std::int64_t cells = 10'000;

Array second(const Array& u, double end) {
  const Array ends = array({end}), wide = concatenate({ends, u, ends});
  return wide[range(0, -2)] - 2. * u + wide[range(2, {})];
}
Array field(const Array& y) {
  const Array u = y[range(0, cells)], v = y[range(cells, {})], reaction = u * u * v;
  const double factor = (cells + 1.) * (cells + 1.) / 50;
  return concatenate(
      {1. + reaction - 4. * u + factor * second(u, 1.), 3. * u - reaction + factor * second(v, 3.)});
}

Array state() {
  const Array x = arange(1., cells + 1.) / (cells + 1.);
  return concatenate({1. + sin(2 * std::numbers::pi * x), 3. - 0.5 * x});
}

/// The products with a vector at some places.
std::vector<double> answer(const SparsePattern& pattern, const Array& entries) {
  const Array product = sparse_operator(pattern, entries).mv(cos(arange(2. * cells)));
  return product[array({std::int64_t{0}, std::int64_t{1}, cells / 2, cells - 1, cells, 2 * cells - 1})]
      .to_vector<double>();
}

}  // namespace

void sparse() {
  const Array y = state();
  const SparsePattern pattern = jacobian_sparsity(field, y);
  const auto run =
      jit([&](const Array& at) { return sparse_jacobian(field, at, {.pattern = pattern}).entries(); });
  Array entries;
  const double spent = median_seconds([&] { entries = run(y); });
  report("sparse/jacobian", "us", spent * 1e6, answer(pattern, entries));
}

void sparse_first() {
  const Array y = state();
  warm_compiler();
  SparsePattern pattern;
  Array entries;
  const double spent = seconds([&] {
    pattern = jacobian_sparsity(field, y);
    const auto run =
        jit([&](const Array& at) { return sparse_jacobian(field, at, {.pattern = pattern}).entries(); });
    entries = block_until_ready(run(y));
  });
  report("sparse/first-call", "ms", spent * 1e3, answer(pattern, entries));
}

}  // namespace bench
