// Loops whose body does not read all that it carries: of these results only those of the last iteration
// count.

#include <regex>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Attempt {
  Array length, point, value;
};

/// Halves a step until the value is less than before. Steps that are too long give infinite values.
Array search(const Array& x, const Array& first, const WhileOptions& options = {}) {
  auto attempt = [&](const Array& length) {
    const Array point = x - length * sinh(x);
    return Attempt{length, point, exp(point * point)};
  };
  return while_loop([&](const Attempt& a) { return !(a.value < exp(x * x)); },
                    [&](const Attempt& a) { return attempt(a.length * 0.5); }, attempt(first), options)
      .value;
}

TEST(LastResults, InfiniteAttemptsLeaveNoTrace) {
  for (double first : {0.25, 1., 4096., 1e30}) {
    SCOPED_TRACE(first);
    auto f = [=](const Array& x) { return search(x, first); };
    const double h = 1e-6, x = 1.3;
    const double difference = (f(array(x + h)).item<double>() - f(array(x - h)).item<double>()) / (2 * h);
    EXPECT_NEAR(grad(f)(array(x)).item<double>(), difference, 1e-8 * std::abs(difference));
    EXPECT_NEAR(jit(grad(f))(array(x)).item<double>(), difference, 1e-8 * std::abs(difference));
    auto [value, tangent] =
        jit([&](const Array& v) { return jvp(f, std::tuple{v}, std::tuple{array(1.)}); })(array(x));
    EXPECT_NEAR(tangent.item<double>(), difference, 1e-8 * std::abs(difference));
  }
}

TEST(LastResults, WithCheckpoints) {
  auto with = [](std::int64_t checkpoints, double first) {
    return [=](const Array& x) { return search(x, first, {.checkpoints = checkpoints}); };
  };
  const Array x = array(1.3);
  for (std::int64_t kept : {2, 3, 200})
    for (double first : {0.25, 1., 4096., 1e30}) {
      SCOPED_TRACE(std::to_string(kept) + " states, " + std::to_string(first));
      const auto few = with(kept, first), all = with(0, first);
      expect_near(jit(grad(few))(x), jit(grad(all))(x), 1e-13);
      expect_near(grad(few)(x), jit(grad(all))(x), 1e-13);
      expect_near(jit(grad(grad(few)))(x), jit(grad(grad(all)))(x), 1e-12);
      EXPECT_TRUE(isfinite(jit(grad(grad(few)))(x)).item<bool>());
    }
}

// The linear program itself, mapped and then transposed: there is a condition for each lane.
TEST(LastResults, OfPullBacksOfLanes) {
  const Array xs = linspace(0.5, 2., 5), firsts = exp(linspace(-3., 60., 5));
  auto tangents = [&](const Array& along) {
    auto lane = [](const Array& x, const Array& first, const Array& v) {
      auto f = [&](const Array& y) { return search(y, first, {.checkpoints = 3}); };
      return linearize(f, x).second(v);
    };
    return vmap(lane)(xs, firsts, along);
  };
  const Array weights = linspace(1., 2., 5);
  auto pulled = jit([&](const Array& w) { return linear_transpose(tangents, weights)(w); })(weights);
  const Array want =
      weights *
      jit(vmap(grad([](const Array& x, const Array& first) { return search(x, first); })))(xs, firsts);
  expect_near(pulled, want, 1e-13);
}

struct Rollout {
  Array scale, path, cost;
};

/// The cost of the first of ever smaller steps along which a path of 100 states stays finite.
Array rollout_search(const Array& p, bool of_path, std::int64_t checkpoints) {
  auto attempt = [&](const Array& scale) {
    auto step = [&](const Array& s, const Array& u) {
      const Array next = s * s * s * p * scale + u;
      return std::pair{next, next};
    };
    const Array path = scan(step, array(1.3), linspace(0., 0.1, 100)).second;
    return Rollout{scale, path, sum(path * path)};
  };
  Rollout end = while_loop([](const Rollout& r) { return !(r.cost < 10.); },
                           [&](const Rollout& r) { return attempt(r.scale * 0.5); }, attempt(array(64.)),
                           {.checkpoints = checkpoints});
  return of_path ? end.path[-1] + end.cost : end.cost;
}

TEST(LastResults, OfLargeStatesThatOverflow) {
  for (auto [of_path, kept] : {std::pair{false, 0}, {true, 0}, {false, 2}, {true, 4}}) {
    auto alone = [=](const Array& p) { return rollout_search(p, of_path, kept); };
    auto repeated = [=](const Array& p) {
      return fori_loop(
          0, 3, [=](const Array&, const Array& q) { return 1. + 0.01 * alone(q); }, p);
    };
    auto check = [](const auto& f) {
      const double h = 1e-6, above = f(array(1.1 + h)).template item<double>(),
                   below = f(array(1.1 - h)).template item<double>(), difference = (above - below) / (2 * h);
      // The difference is rounded by some units of the values' last place over h.
      const double tolerance = 1e-7 * std::abs(difference) + 4 * 0x1p-52 * std::abs(above) / h;
      EXPECT_NEAR(jit(grad(f))(array(1.1)).template item<double>(), difference, tolerance);
      EXPECT_NEAR(grad(f)(array(1.1)).template item<double>(), difference, tolerance);
    };
    check(alone);
    check(repeated);
  }
}

TEST(LastResults, LanesWithOtherNumbersOfAttempts) {
  const Array xs = linspace(0.5, 2., 9), firsts = exp(linspace(-3., 60., 9));
  for (std::int64_t kept : {0, 2, 5}) {
    auto f = [=](const Array& x, const Array& first) { return search(x, first, {.checkpoints = kept}); };
    auto single = jit(grad(f));
    const Array got = jit(vmap(grad(f)))(xs, firsts);
    for (std::int64_t i = 0; i < 9; ++i) expect_same_bits(Array(got[i]), single(xs[i], firsts[i]));
    EXPECT_TRUE(all(isfinite(got)).item<bool>());
  }
}

/// The same where the points are vectors, and the values sums and products.
Array vector_search(const Array& x, const Array& first, const WhileOptions& options) {
  const Array mixed = array({{1., 0.2}, {-0.3, 0.5}});
  auto value = [&](const Array& p) { return exp(sum(p * p)) + sum(square(dot(mixed, p * p))); };
  auto attempt = [&](const Array& length) {
    const Array point = x - length * sinh(x);
    return Attempt{length, point, value(point)};
  };
  const Array here = value(x);
  return while_loop([&](const Attempt& a) { return !(a.value < here); },
                    [&](const Attempt& a) { return attempt(a.length * 0.5); }, attempt(first), options)
      .value;
}

// The first attempt stands before the loop, which is a program of its own for the lanes.
TEST(LastResults, OfSumsOverLanes) {
  const Array firsts = exp(linspace(-3., 60., 5)), xs = linspace(0.5, 2., 5),
              rows = stack({xs, 0.5 * xs}, -1);
  for (std::int64_t kept : {0, 2}) {
    auto f = [=](const Array& x, const Array& first) { return search(x, first, {.checkpoints = kept}); };
    auto g = [=](const Array& x, const Array& first) {
      return vector_search(x, first, {.checkpoints = kept});
    };
    auto check = [&](const auto& one, const Array& x) {
      auto total = [&](const Array& v) { return sum(vmap(one)(v, firsts)); };
      const Array want = jit(vmap(grad(one)))(x, firsts);
      EXPECT_TRUE(all(isfinite(want)).template item<bool>());
      expect_near(jit(grad(total))(x), want, 1e-12);
      expect_near(grad(total)(x), want, 1e-12);
    };
    check(f, xs);
    check(g, rows);
  }
}

// The condition under which the first attempt counts goes out of calls, branches and lanes.
TEST(LastResults, ThroughRegions) {
  auto attempt = [](const Array& x, const Array& length) {
    const Array point = x - length * sinh(x);
    return Attempt{length, point, exp(point * point)};
  };
  const Array x = array(1.3), want = grad([](const Array&v) { return search(v, 1e20); })(x);
  for (std::int64_t kept : {0, 3}) {
    auto loop = [=](const Array& v, const Attempt& start) {
      return while_loop([=](const Attempt& a) { return !(a.value < exp(v * v)); },
                        [=](const Attempt& a) { return attempt(v, a.length * 0.5); }, start,
                        {.checkpoints = kept})
          .value;
    };
    auto called = [&](const Array& v) { return jit(loop)(v, attempt(v, 1e20)); };
    auto chosen = [&](const Array& v) {
      return cond(
          v > 1., loop, [](const Array& u, const Attempt& a) { return u + a.value; }, v, attempt(v, 1e20));
    };
    auto again = [&](const Array& v) { return checkpoint(loop)(v, attempt(v, 1e20)); };
    auto in_lanes = [&](const Array& v) { return sum(vmap(again)(stack({v, v}))) * 0.5; };
    expect_near(jit(grad(called))(x), want, 1e-12);
    expect_near(jit(grad(chosen))(x), want, 1e-12);
    expect_near(jit(grad(again))(x), want, 1e-12);
    expect_near(jit(grad(in_lanes))(x), want, 1e-12);
    expect_near(grad(chosen)(x), want, 1e-12);
  }
}

/// The total over lanes, in lockstep or in lanes, has the gradients of the single calls.
template <class F>
void check_gradient_of_lanes(const F& one, const Array& xs, const Array& firsts, double tolerance = 1e-12) {
  const Array want = jit(vmap(grad(one)))(xs, firsts);
  EXPECT_TRUE(all(isfinite(want)).template item<bool>());
  for (LaneLoops loops : {LaneLoops::Automatic, LaneLoops::Lanes, LaneLoops::Lockstep}) {
    SCOPED_TRACE(static_cast<int>(loops));
    auto total = [&](const Array& v) { return sum(vmap(one, {.loops = loops})(v, firsts)); };
    expect_near(jit(grad(total))(xs), want, tolerance);
    expect_near(grad(total)(xs), want, tolerance);
  }
}

TEST(LastResults, OfLanesInLockstep) {
  const Array firsts = exp(linspace(-3., 60., 5)), xs = linspace(0.5, 2., 5),
              rows = stack({xs, 0.5 * xs}, -1);
  for (std::int64_t kept : {0, 2}) {
    SCOPED_TRACE(kept);
    auto f = [=](const Array& x, const Array& first) { return search(x, first, {.checkpoints = kept}); };
    auto g = [=](const Array& x, const Array& first) {
      return vector_search(x, first, {.checkpoints = kept});
    };
    check_gradient_of_lanes(f, xs, firsts);
    check_gradient_of_lanes(g, rows, firsts);
  }
}

/// Attempts that are loops themselves, of known length with a state of `size` elements, or of unknown length.
Array path_search(const Array& p, const Array& first, std::int64_t size, bool known, bool of_path) {
  auto attempt = [&](const Array& scale) {
    auto next = [&](const Array& s, const Array& u) { return s * s * s * p * scale + u; };
    Array path;
    if (known) {
      auto step = [&](const Array& s, const Array& u) { return std::pair{next(s, u), next(s, u)}; };
      path = scan(step, linspace(0.5, 0.6, size), linspace(0.1, 0.2, 12)).second;
    } else {
      struct State {
        Array s, n;
      };
      path = while_loop([](const State& s) { return s.n < 12.; },
                        [&](const State& s) {
                          return State{next(s.s, 0.01 * s.n), s.n + 1.};
                        },
                        State{linspace(0.5, 0.6, size), 0.})
                 .s;
    }
    return Rollout{scale, path, sum(path * path)};
  };
  const double bound = 0.5 * static_cast<double>(size);
  Rollout end = while_loop([&](const Rollout& r) { return !(r.cost < 10. * bound); },
                           [&](const Rollout& r) { return attempt(r.scale * 0.5); }, attempt(first));
  return of_path ? sum(end.path) + end.cost : end.cost;
}

TEST(LastResults, OfLanesWhoseAttemptsAreLoops) {
  const Array firsts = array({0.25, 4., 64., 1024., 1e6}), ps = linspace(0.8, 1.2, 5);
  for (std::int64_t size : {2, 100})
    for (bool known : {true, false})
      for (bool of_path : {false, true}) {
        SCOPED_TRACE(std::to_string(size) + (known ? ", known" : ", unknown") + (of_path ? ", path" : ""));
        check_gradient_of_lanes(
            [=](const Array& p, const Array& first) { return path_search(p, first, size, known, of_path); },
            ps, firsts, 1e-11);
      }
}

// A carry that keeps what it was where nothing new is chosen, in a loop that is not batched.
TEST(LastResults, KeptWhereNothingIsChosen) {
  struct Best {
    Array step, value, at;
  };
  auto best = [](const Array& x) {
    return fori_loop(
        0, 40,
        [&](const Array&, const Best& b) {
          const Array at = x - b.step * sinh(x), value = exp(at * at),
                      take = value < exp(x * x) && b.step > 1e-3;
          return Best{0.5 * b.step, where(take, value, b.value), where(take, at, b.at)};
        },
        Best{array(1e20), exp(x * x), x});
  };
  auto f = [&](const Array& x) { return best(x).value + sin(best(x).at); };
  const double h = 1e-6, x = 1.3;
  const double difference = (f(array(x + h)).item<double>() - f(array(x - h)).item<double>()) / (2 * h);
  EXPECT_NEAR(jit(grad(f))(array(x)).item<double>(), difference, 1e-7 * std::abs(difference));
  EXPECT_NEAR(grad(f)(array(x)).item<double>(), difference, 1e-7 * std::abs(difference));
}

TEST(LastResults, OfScans) {
  // `last` is written and never read; `sum` is read.
  struct Carry {
    Array sum, last;
  };
  for (std::int64_t kept : {0, 2, 7}) {
    auto f = [=](const Array& xs, const Array& start) {
      auto step = [](const Carry& c, const Array& x) {
        return std::pair{Carry{c.sum + x, sin(x) * c.sum + exp(x * x)}, x * 2.};
      };
      auto [end, ys] = scan(step, Carry{start, start * 5.}, xs, {.checkpoints = kept});
      return end.sum * 0.5 + end.last + sum(ys);
    };
    const Array xs = array({30., -40., 0.25}), start = array(0.75);
    auto [by_xs, by_start] = jit(grad<0, 1>(f))(xs, start);
    const double total = 0.75 + 30. - 40., slope = std::cos(0.25) * total + 0.5 * std::exp(0.0625);
    expect_near(by_xs, array({std::sin(0.25) + 2.5, std::sin(0.25) + 2.5, slope + 2.5}));
    expect_near(by_start, array(std::sin(0.25) + 0.5));
    auto [of_none, start_alone] = jit(grad<0, 1>(f))(zeros({0}), start);
    EXPECT_EQ(of_none.size(), 0);
    expect_near(start_alone, array(5.5));
    // Reverse over reverse, against differences of the gradient.
    auto slope_at = [&](const Array& s) { return sum(grad(f)(xs(range(2, 3)), s)); };
    const double h = 1e-6;
    const double difference =
        (slope_at(array(0.75 + h)).item<double>() - slope_at(array(0.75 - h)).item<double>()) / (2 * h);
    EXPECT_NEAR(jit(grad(slope_at))(start).item<double>(), difference, 1e-8);
  }
}

}  // namespace
}  // namespace apsis::testing
