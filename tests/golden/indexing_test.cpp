// The public functions that move elements, and matmul, give JAX's values and
// gradients, edge cases included.
#include "apsis/ops/convert.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/ops/sort.hpp"
#include "golden/suite.hpp"

namespace {

using namespace apsis;
using golden::Arrays;
using golden::Case;
using golden::Family;
using golden::numbers;
using golden::Runner;

template <class F>
Runner one(F f) {
  return [f](const Case& c, std::span<const Array> x) { return Arrays{f(c, x)}; };
}

Family sorting() {
  std::map<std::string, Runner> f;
  f["sort"] = one([](const Case& c, auto x) { return sort(x[0], static_cast<int>(numbers(c, "axis")[0])); });
  f["argsort"] =
      one([](const Case& c, auto x) { return argsort(x[0], static_cast<int>(numbers(c, "axis")[0])); });
  f["sort_pairs"] = [](const Case&, std::span<const Array> x) { return sort(x); };
  // Indices are i64 here, i32 there.
  f["searchsorted"] = one([](const Case& c, auto x) {
    return astype(searchsorted(x[0], x[1], c.text.at("side") == "right"), i32);
  });
  return {"sort", 0, 0, f, 25};
}

IndexMode mode(const Case& c) { return c.text.at("mode") == "clip" ? IndexMode::Clip : IndexMode::Fill; }

Family index() {
  std::map<std::string, Runner> f;
  f["take"] = one([](const Case& c, auto x) { return x[0].at(x[1]).get(mode(c)); });
  f["at_set"] = one([](const Case& c, auto x) { return x[0].at(x[1]).set(x[2], mode(c)); });
  f["at_add"] = one([](const Case& c, auto x) { return x[0].at(x[1]).add(x[2], mode(c)); });
  f["at_mul"] = one([](const Case& c, auto x) { return x[0].at(x[1]).multiply(x[2], mode(c)); });
  f["at_min"] = one([](const Case& c, auto x) { return x[0].at(x[1]).min(x[2], mode(c)); });
  f["at_max"] = one([](const Case& c, auto x) { return x[0].at(x[1]).max(x[2], mode(c)); });
  f["take_pairs"] = one([](const Case& c, auto x) { return x[0].at(x[1], x[2]).get(mode(c)); });
  f["add_pairs"] = one([](const Case& c, auto x) { return x[0].at(x[1], x[2]).add(x[3], mode(c)); });
  f["take_along_axis"] = one([](const Case&, auto x) { return take_along_axis(x[0], x[1], 1); });
  return {"index", 1e-15, 1e-6, f, 190};
}

Family dot() {
  std::map<std::string, Runner> f;
  f["matmul"] = one([](const Case&, auto x) { return matmul(x[0], x[1]); });
  return {"dot", 1e-13, 1e-5, f, 14};
}

Family shape() {
  std::map<std::string, Runner> f;
  f["tril"] = one([](const Case&, auto x) { return tril(x[0]); });
  f["triu"] = one([](const Case&, auto x) { return triu(x[0], 1); });
  f["repeat"] = one([](const Case&, auto x) { return repeat(x[0], 2, 1); });
  f["tile"] = one([](const Case& c, auto x) { return tile(x[0], Dims(numbers(c, "repeats"))); });
  f["roll"] = one([](const Case&, auto x) { return roll(roll(x[0], 1, 0), -2, 1); });
  return {"shape", 0, 0, f, 10};
}

class GoldenIndexing : public testing::TestWithParam<Family (*)()> {};

TEST_P(GoldenIndexing, equal_jax) { golden::check_family(GetParam()()); }

INSTANTIATE_TEST_SUITE_P(files, GoldenIndexing, testing::Values(sorting, index, dot, shape),
                         [](const auto& info) { return std::string(info.param().file); });

}  // namespace
