// sequential_map against vmap, and associative_scan against the loop it stands for.

#include <gtest/gtest.h>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Pair {
  Array a, b;
};

Array rows(std::int64_t n) { return sin(reshape(arange(static_cast<double>(3 * n)), {n, 3})); }

TEST(SequentialMap, IsVmap) {
  auto f = [](const Array& x) { return Pair{cumsum(x) * x[0], exp(x[1])}; };
  for (std::int64_t n : {1, 4, 7})
    for (std::int64_t block : {0, 1, 2, 3, 7, 9}) {
      SCOPED_TRACE(std::to_string(n) + " entries in blocks of " + std::to_string(block));
      Array xs = rows(n);
      Pair want = vmap(f)(xs);
      expect_near(sequential_map(f, xs, {.batch_size = block}), want);
      auto mapped = [&](const Array& x) { return sequential_map(f, x, {.batch_size = block}); };
      expect_near(jit(mapped)(xs), want);
      auto loss = [&](const Array& x) {
        Pair p = mapped(x);
        return sum(p.a) + sum(p.b * p.b);
      };
      auto want_loss = [&](const Array& x) {
        Pair p = vmap(f)(x);
        return sum(p.a) + sum(p.b * p.b);
      };
      expect_near(grad(loss)(xs), grad(want_loss)(xs));
    }
  Pair none = sequential_map(f, rows(0), {.batch_size = 2});
  EXPECT_EQ(none.a.shape(), (Shape{0, 3}));
}

TEST(SequentialMap, TakesTreesAndCaptures) {
  Array k = array(3.);
  auto f = [&k](const std::pair<Array, Array>& x) { return k * x.first + x.second; };
  std::pair xs{rows(5), arange(5.)};
  expect_near(sequential_map(f, xs, {.batch_size = 2}), vmap(f)(xs));
}

// e0 ∘ e1 ∘ … one after the other.
template <class T, class F>
std::vector<T> prefixes(const F& f, const std::vector<T>& entries) {
  std::vector<T> out{entries[0]};
  for (std::size_t i = 1; i < entries.size(); ++i) out.push_back(f(out.back(), entries[i]));
  return out;
}

TEST(AssociativeScan, InEveryDtype) {
  for (int d = 0; d < dtype_count; ++d) {
    Dtype dtype = static_cast<Dtype>(d);
    auto check = [dtype](const auto& combine) {
      for (std::int64_t n : {0, 1, 2, 3, 8, 13}) {
        SCOPED_TRACE(std::string(name_of(dtype)) + " " + std::to_string(n));
        // Small whole numbers: every order of summation gives the same.
        Array xs = astype(arange(static_cast<double>(n)) % 4., dtype);
        Array got = associative_scan(combine, xs);
        ASSERT_EQ(got.dtype(), dtype);
        if (n > 0) expect_same_bits(got, stack(prefixes(combine, unstack(xs))));
      }
    };
    if (dtype == Dtype::Bool)
      check([](const Array& a, const Array& b) { return logical_or(a, b); });
    else if (is_complex(dtype))
      check([](const Array&, const Array& b) { return b; });  // complex numbers cannot be added yet
    else
      check([](const Array& a, const Array& b) { return a + b; });
  }
}

// Affine maps under composition: associative, not commutative.
Pair then(const Pair& f, const Pair& g) { return {g.a * f.a, g.a * f.b + g.b}; }

TEST(AssociativeScan, ComposesInOrder) {
  for (std::int64_t n : {1, 2, 5, 8, 11}) {
    SCOPED_TRACE(n);
    Pair steps{0.5 + rows(n), rows(n) * 2.};
    std::vector<Pair> entries;
    for (std::int64_t i = 0; i < n; ++i) entries.push_back({steps.a[i], steps.b[i]});
    auto want = [&](const std::vector<Pair>& all) {
      std::vector<Array> a, b;
      for (const Pair& p : all) a.push_back(p.a), b.push_back(p.b);
      return Pair{stack(a), stack(b)};
    };
    expect_near(associative_scan(&then, steps), want(prefixes(&then, entries)));
    std::vector<Pair> backwards(entries.rbegin(), entries.rend());
    backwards = prefixes(&then, backwards);
    Pair reversed = want({backwards.rbegin(), backwards.rend()});
    expect_near(associative_scan(&then, steps, {.reverse = true}), reversed);
    Pair across{transpose(steps.a), transpose(steps.b)};
    Pair by_column = associative_scan(&then, across, {.axis = -1});
    expect_near(Pair{transpose(by_column.a), transpose(by_column.b)}, want(prefixes(&then, entries)));
    expect_near(jit([](const Pair& s) { return associative_scan(&then, s); })(steps),
                want(prefixes(&then, entries)));
  }
}

TEST(AssociativeScan, IsDifferentiatedAndMapped) {
  auto loss = [](const Array& x) {
    Pair p = associative_scan(&then, Pair{0.5 + 0.1 * x, x * x});
    return sum(sin(p.b)) + sum(p.a);
  };
  expect_derivatives(loss, cos(arange(7.)), 1e-7);
  Array many = rows(4);
  auto scan_row = [](const Array& x) { return associative_scan(&then, Pair{0.5 + x, x}); };
  Pair mapped = vmap(scan_row)(many);
  for (std::int64_t i = 0; i < 4; ++i) {
    Pair one = scan_row(many[i]);
    expect_near(Pair{mapped.a[i], mapped.b[i]}, one);
  }
}

}  // namespace
}  // namespace apsis::testing
