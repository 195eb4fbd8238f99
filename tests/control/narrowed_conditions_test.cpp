// Gradients of loops that choose by `where`, whose results are chosen by `where` too: a cotangent that counts
// in some places comes to count in fewer with each iteration.

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Two {
  Array a, b;
};

/// A loop of choices among what it carries and what it captures.
Array choices(const Array& x, const Array& trips) {
  return fori_loop(
      0, trips, [&](const Array&, const Array& s) { return where(s > 0.7892, 0.75 * s, x); }, x);
}
/// Two carries that take turns, each chosen elsewhere.
Two turns(const Array& x, const Array& trips) {
  return fori_loop(
      0, trips,
      [&](const Array&, const Two& s) {
        return Two{where(s.b > 0.3, 0.75 * s.b, x), 0.5 * s.a};
      },
      Two{x, 2. * x});
}

const Array xs = array({-0.9, -1.8, 0.85, 1.9, 0.2});

template <class F>
void expect_slopes(const F& f) {
  for (const std::int64_t trips : {0, 1, 2, 5}) {
    SCOPED_TRACE(trips);
    const auto loss = [&](const Array& x) { return sum(sin(f(x, array(trips)))); };
    Array expected;
    {
      DisableJit direct;
      expected = grad(loss)(xs);
    }
    expect_near(jit(grad(loss))(xs), expected);
    expect_near(grad(loss)(xs), expected);
    const auto batch = [&](const Array& z) { return sum(vmap(loss)(z)); };
    for (const std::int64_t lanes : {1, 3})
      expect_near(jit(grad(batch))(broadcast_to(xs, {lanes, 5})), broadcast_to(expected, {lanes, 5}));
    expect_near(jit(jacrev(grad(loss)))(xs), jit(jacfwd(jacfwd(loss)))(xs));
  }
}

TEST(NarrowedConditions, OfWhere) {
  expect_slopes([](const Array& x, const Array& n) { return where(x < 1., choices(x, n), x); });
  expect_slopes([](const Array& x, const Array& n) { return where(x > 0., x, choices(x, n)); });
}

TEST(NarrowedConditions, OfUnions) {
  expect_slopes([](const Array& x, const Array& n) {
    const Two end = turns(x, n);
    return where(x < 1., end.a, x) + where(x > -1., end.b, 2. * x);
  });
}

TEST(NarrowedConditions, OfBranchesByLane) {
  expect_slopes([](const Array& x, const Array& n) {
    return cond(
        x[0] > 0.0123, [](const Array& y, const Array&) { return y; }, choices, x, n);
  });
}

}  // namespace
}  // namespace apsis::testing
