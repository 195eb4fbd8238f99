// linalg/*: many small systems of equations at once, and a large one.
#include <cmath>

#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

/// Waves of all frequencies: sin(0.37 j²), j modulo 4096.
Array waves(const Shape& shape) {
  std::vector<double> numbers(static_cast<std::size_t>(shape.product()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto j = static_cast<double>(i % 4096);
    numbers[i] = std::sin(0.37 * j * j);
  }
  return array(numbers, shape);
}

template <class F>
void measure(const char* name, const F& f, const Array& a, const Array& b) {
  const auto solver = jit(f);
  Array x;
  const double spent = median_seconds([&] { x = solver(a, b); });
  const Array flat = reshape(x, {-1});
  std::vector<double> answer;
  for (std::int64_t i : {std::int64_t{1}, flat.size() / 3, flat.size() - 1})
    answer.push_back(flat[i].item<double>());
  report(name, "us", spent * 1e6, answer);
}

Array by_cholesky(const Array& a, const Array& b) {
  return linalg::cho_solve(linalg::cho_factor(a, {.lower = true}), b);
}

}  // namespace

void linear_algebra() {
  const auto solve = [](const Array& a, const Array& b) { return linalg::solve(a, b); };
  measure("linalg/solve-3x3", vmap(solve), waves({86268, 3, 3}) + 2 * eye(3), waves({86268, 3}));
  for (const std::int64_t n : {6, 8}) {
    // Symmetric, and positive by the diagonal.
    const Array half = waves({10000, n, n}), a = (half + matrix_transpose(half)) / 2 + double(n) * eye(n);
    measure(n == 6 ? "linalg/cholesky-6x6" : "linalg/cholesky-8x8", vmap(by_cholesky), a, waves({10000, n}));
  }
  measure("linalg/solve-1024", solve, waves({1024, 1024}) + 40 * eye(1024), waves({1024}));
}

}  // namespace bench
