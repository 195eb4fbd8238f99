// ops/*: single operations on large arrays.
#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

/// A few entries of a result.
std::vector<double> samples(const Array& y) {
  const std::int64_t step = y.size() / 8;
  return astype(ravel(y)(range(0, {}, step)), f64).to_vector<double>();
}

template <class F, class... A>
void measure(const char* name, const F& f, const A&... arguments) {
  const auto run = jit(f);
  Array y;
  const double spent = median_seconds([&] { y = run(arguments...); });
  report(name, "us", spent * 1e6, samples(y));
}

}  // namespace

void array_ops() {
  const Array key = random::key(7);
  measure(
      "ops/sort", [](const Array& x) { return sort(x); }, random::uniform(key, {1'000'000}, f64));

  const Array x = random::normal(key, {1000, 1000}, f32);
  const auto softmax_and_gradient =
      jit(value_and_grad([](const Array& at, const Array& weights) { return sum(weights * softmax(at)); }));
  std::vector<double> answer;
  const Array weights = cos(x);
  const double spent = median_seconds([&] {
    const auto [value, gradient] = softmax_and_gradient(x, weights);
    answer = {value.item<double>(), sum(square(gradient)).item<double>()};
  });
  report("ops/softmax", "us", spent * 1e6, answer);

  measure(
      "ops/segment-sum",
      [](const Array& values, const Array& ids) { return segment_sum(values, ids, {.segments = 1000}); },
      random::uniform(key, {1'000'000}, f32), random::randint(random::fold_in(key, 1), {1'000'000}, 0, 1000));
  measure(
      "ops/random-gamma", [](const Array& k) { return random::gamma(k, Array(2.5, f32), {1'000'000}, f32); },
      key);
}

}  // namespace bench
