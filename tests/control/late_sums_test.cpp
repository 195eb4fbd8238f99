// Gradients of weights that a scan uses in each iteration: products of all iterations, computed after the
// loop.

#include <gtest/gtest.h>

#include <apsis/apsis.hpp>

namespace apsis {
namespace {

struct Weights {
  Array in, hidden, bias;
};
struct Case {
  Weights w;
  Array xs, h0;
};
Case make_case(std::int64_t length, std::int64_t batch) {
  const auto [a, b, c, d, e] = random::split<5>(random::key(length));
  return {{random::normal(a, {40, 33}) / 6, random::normal(b, {40, 40}) / 6, random::normal(c, {40}) / 4},
          random::normal(d, {length, batch, 33}),
          random::normal(e, {batch, 40})};
}
/// `hidden` is used twice in an iteration, `in` once.
Array step(const Weights& w, const Array& h, const Array& x) {
  const Array inner = tanh(matmul(x, transpose(w.in)) + matmul(h, w.hidden) + w.bias);
  return tanh(matmul(inner, transpose(w.hidden)) + x(0, 0) * h);
}
Array looped(const Case& c) {
  return sum(square(scan(
                        [&](const Array& h, const Array& x) {
                          const Array next = step(c.w, h, x);
                          return std::pair(next, sum(next));
                        },
                        c.h0, c.xs)
                        .first));
}
Array unrolled(const Case& c) {
  Array h = c.h0;
  for (std::int64_t t = 0; t < c.xs.dim(0); ++t) h = step(c.w, h, c.xs[t]);
  return sum(square(h));
}

// Sums of as many products as there are iterations and rows, in another order: a thousand roundings of the
// largest.
template <class T>
void expect_near(const T& got, const T& want) {
  const std::vector<Array> a = tree_leaves(got), b = tree_leaves(want);
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_LE(max(abs(a[i] - b[i])).template item<double>(),
              1000 * 0x1p-52 * max(abs(b[i])).template item<double>())
        << i;
}

TEST(LateSums, GradientsAreThoseOfTheIterationsOneByOne) {
  for (std::int64_t length : {1, 2, 9})
    for (std::int64_t batch : {1, 8}) {
      const Case c = make_case(length, batch);
      expect_near(jit(grad(looped))(c), jit(grad(unrolled))(c));
      expect_near(grad(looped)(c), jit(grad(looped))(c));
    }
}

TEST(LateSums, OfNoIterationAreZero) {
  const Case c = make_case(0, 8);
  const Weights w = grad(looped)(c).w;
  for_each_leaf(w, [](const Array& x) { EXPECT_EQ(max(abs(x)).item<double>(), 0); });
}

TEST(LateSums, HaveDerivativesOfTheirOwn) {
  const Case c = make_case(5, 4);
  auto length_of = [](auto f) {
    return [f](const Case& at) {
      const Weights w = grad(f)(at).w;
      return sum(square(w.in)) + sum(sin(w.hidden)) + sum(w.bias);
    };
  };
  expect_near(jit(grad(length_of(looped)))(c), jit(grad(length_of(unrolled)))(c));
}

TEST(LateSums, OfABatchAreThoseOfEachMember) {
  const Case c = make_case(6, 4);
  const Array starts = stack({c.h0, 0.5 * c.h0, c.h0 + 0.1});
  auto slope = [&](const Array& h0) { return grad(looped)(Case{c.w, c.xs, h0}).w; };
  const Weights many = jit(vmap(slope))(starts);
  for (int i = 0; i < 3; ++i)
    expect_near(tree_map([&](const Array& x) { return x[i]; }, many), jit(slope)(starts[i]));
}

}  // namespace
}  // namespace apsis
