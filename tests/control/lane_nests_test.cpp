// Nests of loops and branches that lanes leave at their own pace, around arrays of sizes at which lanes hold
// them in registers or in memory: an inner loop works on a home of its own, not on that of lanes that have
// left.

#include <functional>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Counted {
  Array i, b;
};

using Nest = std::function<Array(const Array&, const Array&)>;

template <class Body>
Array times(const Array& count, const Array& b, const Body& body) {
  return while_loop([&](const Counted& s) { return s.i < count; },
                    [&](const Counted& s) {
                      return Counted{s.i + 1, body(s.b, s.i)};
                    },
                    Counted{0, b})
      .b;
}
template <class Body>
Array steps(std::int64_t n, const Array& b, const Body& body) {
  return fori_loop(
      0, n, [&](const Array& i, const Array& c) { return body(c, i); }, b);
}

Array anew(const Array& b, const Array&) {
  return sin(b) * 0.9 + 0.1 * sum(b * b) / static_cast<double>(b.size());
}
Array in_part(const Array& b, const Array& i) { return b.at(i % 5).set(cos(b[(i + 2) % 5])); }

/// Loops whose trips are the same for all lanes inside of loops and branches where they are not.
std::vector<std::pair<const char*, Nest>> nests() {
  std::vector<std::pair<const char*, Nest>> all;
  for (const auto inner : {anew, in_part}) {
    const auto fixed = [=](const Array& b, const Array&) { return steps(3, b, inner); };
    all.emplace_back("while{fori}", [=](const Array& x, const Array& n) { return times(n, x, fixed); });
    all.emplace_back("fori{while{fori}}", [=](const Array& x, const Array& n) {
      return steps(4, x, [&](const Array& b, const Array&) { return times(n, b, fixed); });
    });
    all.emplace_back("while{while{fori}}", [=](const Array& x, const Array& n) {
      return times(Array(3), x, [&](const Array& b, const Array& i) { return times(n - i, b, fixed); });
    });
    all.emplace_back("fori{while{cond{fori}}}", [=](const Array& x, const Array& n) {
      return steps(3, x, [&](const Array& b, const Array&) {
        return times(n, b, [&](const Array& c, const Array& i) {
          return cond(
              c[0] > 0.2, [&](const Array& y) { return fixed(y, i); },
              [&](const Array& y) { return y * 0.9 + 0.05; }, c);
        });
      });
    });
    all.emplace_back("scan{while{fori}}", [=](const Array& x, const Array& n) {
      return scan(
                 [&](const Array& b, const Array& k) {
                   const Array r = times(n, b + 0.1 * k, fixed);
                   return std::pair{r, r[0]};
                 },
                 x, arange(4.))
          .first;
    });
    all.emplace_back("cond{fori}", [=](const Array& x, const Array& n) {
      return cond(
          n > 2, [&](const Array& y) { return fixed(y, n); }, [](const Array& y) { return y * 2.; }, x);
    });
    all.emplace_back("cond{while{fori}} of two", [=](const Array& x, const Array& n) {
      const Array y = x * 0.5;
      const auto [a, b] = cond(
          n > 2,
          [&](const Array& p, const Array& q) {
            return std::pair{times(n, p, fixed), fixed(q, n)};
          },
          [&](const Array& p, const Array& q) {
            return std::pair{fixed(q, n), times(n, p, fixed)};
          },
          x, y);
      return a + 2. * b;
    });
  }
  return all;
}

/// Lanes at their own pace and in lockstep against calls of their own; twice, for what is left in memory.
void expect_lanes_alone(const Nest& f, const Array& xs, const Array& counts) {
  const auto single = jit(f);
  const auto lanes = jit(vmap(f, {.loops = LaneLoops::Lanes})),
             lockstep = jit(vmap(f, {.loops = LaneLoops::Lockstep}));
  for (int call = 0; call < 2; ++call) {
    const Array at_own_pace = lanes(xs, counts), together = lockstep(xs, counts);
    for (std::int64_t i = 0; i < counts.dim(0); ++i) {
      SCOPED_TRACE(i);
      const Array alone = single(Array(xs[i]), Array(counts[i]));
      expect_same_bits(Array(at_own_pace[i]), alone);
      expect_near(Array(together[i]), alone, 1e-12);
    }
  }
}

Array counts() { return array({1, 2, 3, 0, 5, 4, 1, 7, 2, 0, 6}); }
Array start(std::int64_t size) { return sin(reshape(arange(11. * static_cast<double>(size)), {11, size})); }

TEST(LaneNests, AreSingleCalls) {
  for (const std::int64_t size : {5, 17, 64, 200})
    for (const auto& [name, nest] : nests()) {
      SCOPED_TRACE(std::string(name) + " of " + std::to_string(size));
      expect_lanes_alone(nest, start(size), counts());
    }
}

TEST(LaneNests, DerivativesAreThoseOfSingleCalls) {
  for (const std::int64_t size : {5, 20})
    for (const auto& [name, nest] : nests()) {
      SCOPED_TRACE(std::string(name) + " of " + std::to_string(size));
      const auto loss = [&nest = nest](const Array& x, const Array& n) { return sum(sin(nest(x, n))); };
      expect_lanes_alone(grad(loss), start(size), counts());
      if (size > 5) continue;
      expect_lanes_alone(jacfwd(nest), start(size), counts());
      expect_lanes_alone(jacrev(nest), start(size), counts());
    }
}

// What a branch updates where it is, an array that all lanes share included, the other branches still read.
TEST(LaneNests, BranchesLeaveSharedArraysAlone) {
  const auto f = [](const Array& x, const Array& n) {
    const Array table = cumsum(x) * 0.5;
    return vmap([&](const Array& k) {
      return cond(
          k % 2 == 0, [](const Array& t) { return sum(t.at(0).set(100.) * t); },
          [](const Array& t) { return sum(steps(2, t, anew)); }, table);
    })(n);
  };
  const Array x = linspace(0.1, 1., 40);
  const Array all = jit(f)(x, counts());
  for (std::int64_t i = 0; i < counts().dim(0); ++i)
    expect_near(Array(all[i]), f(x, Array(counts()[range(i, i + 1)]))[0], 1e-12);
}

struct Pair {
  Array shared, own, sum;
};

// One loop over elements makes an array that lanes share and one that they do not: what is made of the first
// stays shared.
TEST(LaneNests, SharedCarriesBesideOwn) {
  const Array table = linspace(0., 1., 20);
  const Nest f = [&](const Array& x, const Array& n) {
    return times(n, x, [&](const Array& b, const Array&) {
      const Pair p = fori_loop(
          0, 3,
          [](const Array&, const Pair& q) {
            const Array shared = cumsum(q.shared * 0.5);
            return Pair{shared, q.own * 0.9 + shared, q.sum + shared[3]};
          },
          Pair{table, b, array(0.)});
      return p.own + p.sum;
    });
  };
  expect_lanes_alone(f, start(20), counts());
}

// A trip makes the carry the same in all lanes; with none it is what each began with.
TEST(LaneNests, CarriesThatATripMakesAlike) {
  const Array x = start(4);
  const auto alike = [](const Array& b, const Array&) { return full(b.shape(), 0.5); };
  const auto counted = [&](const Array& b, const Array& n) { return times(n, b, alike); };
  const auto scanned = [&](std::int64_t n) {
    return [&, n](const Array& b) {
      return scan(
                 [&](const Array& c, const Array& e) {
                   return std::pair{alike(c, e), sum(c)};
                 },
                 b, zeros({n}))
          .first;
    };
  };
  for (const LaneLoops loops : {LaneLoops::Automatic, LaneLoops::Lanes, LaneLoops::Lockstep})
    for (const std::int64_t trips : {0, 1, 2}) {
      const Array expected = trips == 0 ? x : full(x.shape(), 0.5);
      expect_same_bits(jit(vmap(counted, {.in_axes = {0, {}}, .loops = loops}))(x, array(trips)), expected);
      expect_same_bits(jit(vmap(scanned(trips), {.loops = loops}))(x), expected);
    }
}

// Pull-backs of a batch of loops, more of them than the batch has lanes, and fewer.
TEST(LaneNests, MoreCotangentsThanLanes) {
  const auto run = [](const Array& x) {
    return while_loop([](const Counted& s) { return sum(s.b) < 10.; },
                      [&](const Counted& s) {
                        return Counted{s.i + 1, s.b * 1.3 + 0.1 * cos(x)};
                      },
                      Counted{0, stack({x + 1., x + 2., x})})
        .b;
  };
  const auto sums = [&](const Array& x) { return sum(vmap(run)(x), {.axis = 1}); };
  const std::vector<std::function<Array(const Array&)>> functions{
      [&](const Array& x) {
        return concatenate({sums(x), sums(x)});
      },
      [&](const Array& x) { return vmap(run)(x); },
      [&](const Array& x) { return outer(sums(x), x); },
      [&](const Array& x) { return sums(x)[range(0, 1)]; },
      [&](const Array& x) {  // a solve of three numbers a lane, each lane with its own number of steps
        return vmap([](const Array& y) {
          const auto field = [](const Array&, const Array& s) { return sin(s) - 0.2 * s; };
          return diffeqsolve(ODETerm{field}, Tsit5{}, 0., 1. + y, 0.25, stack({y, y + 1., y + 2.})).ys[-1];
        })(x);
      },
  };
  for (const auto& f : functions)
    for (const std::int64_t lanes : {1, 3, 20}) {
      SCOPED_TRACE(lanes);
      const Array x = linspace(0.1, 1.3, lanes);
      const auto total = [&](const Array& y) { return sum(sin(f(y))) + sum(f(y)) * sum(y); };
      const Array expected = jit(jacfwd(f))(x);
      const auto backwards = jit(jacrev(f));
      for (int call = 0; call < 2; ++call) expect_near(backwards(x), expected, 1e-12);
      expect_near(jit(hessian(total))(x), jit(jacfwd(jacfwd(total)))(x), 1e-10);
    }
}

}  // namespace
}  // namespace apsis::testing
