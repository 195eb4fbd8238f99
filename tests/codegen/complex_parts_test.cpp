// Complex results whose parts are written where the numbers lie, compiled at every width, against the
// evaluator.

#include "codegen/compiled_equal.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

template <class F, class... A>
void expect_graph_compiled_equal(const F& f, const A&... args) {
  const StagedCall call = staged_call(f, args...);
  detail::expect_compiled_equal(*call.graph, call.inputs);
}

Array numbers(const Shape& shape, Dtype dtype, std::uint64_t seed) {
  const Array re = random::normal(random::key(seed), shape, f64),
              im = random::normal(random::key(seed + 1), shape, f64);
  return astype(complex(re, im), dtype);
}

TEST(ComplexParts, ProductsAndFunctions) {
  const auto f = [](const Array& a, const Array& b) { return exp(a * b); };
  for (const Dtype dtype : {c64, c128})
    for (const Shape& shape :
         std::vector<Shape>{{}, {1}, {17}, {40}, {1000}, {4099}, {3, 50}, {50, 3}, {7, 1, 33}})
      expect_graph_compiled_equal(f, numbers(shape, dtype, 1), numbers(shape, dtype, 3));
}

TEST(ComplexParts, BesidesOtherResults) {
  const Array a = numbers({300}, c128, 5), x = real(numbers({300}, c128, 7));
  expect_graph_compiled_equal(
      [](const Array& z, const Array& r) {
        const Array re = sin(r), im = cos(r) + imag(z);
        const Array w = complex(re, im);
        return std::tuple{re, w, sum(re), w * 2., im, w};
      },
      a, x);
  expect_graph_compiled_equal([](const Array& r) { return std::tuple{complex(sin(r), sin(r)), sin(r)}; }, x);
  expect_graph_compiled_equal([](const Array& r) { return complex(flip(r), exp(r)); }, x);
  expect_graph_compiled_equal([](const Array& z) { return transpose(reshape(exp(z), {20, 15})); }, a);
}

TEST(ComplexParts, UpdatedAndReadAgain) {
  const Array x = real(numbers({300}, c128, 9));
  expect_graph_compiled_equal(
      [](const Array& r) {
        const Array re = sin(r), w = complex(re, cos(r)).at(0).set(3.);
        return std::tuple{w, re + 1., sum(re)};
      },
      x);
}

TEST(ComplexParts, CarriedByLoops) {
  const Array a = numbers({100}, c128, 11), b = numbers({100}, c128, 13);
  expect_graph_compiled_equal(
      [](const Array& z, const Array& c) {
        return fori_loop(
            0, 5, [&](const Array&, const Array& w) { return w * w / (1. + abs(w)) + c; }, z);
      },
      a, b);
}

}  // namespace
}  // namespace apsis::testing
