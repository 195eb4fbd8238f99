// Algorithms of other fields: dynamic programming, graphs, searches; nests of
// loops whose lengths are data, with buffers of sizes around what fits registers. Known answers: plain C++
// beside them.

#include <algorithm>
#include <cmath>
#include <string>

#include "scenarios/ways.hpp"

namespace apsis::scenarios {
namespace {

TEST(Algorithms, PageRank) {
  // Links of a small web; a page without links goes anywhere.
  const int n = 24;
  std::vector<double> m(n * n, 0.);
  for (int j = 0; j < n; ++j) {
    std::vector<int> to;
    for (int k = 1; k <= j % 4; ++k) to.push_back((j * j + 3 * k + j / 2) % n);
    for (int i = 0; i < n; ++i)
      m[i * n + j] = to.empty() ? 1. / n : double(std::count(to.begin(), to.end(), i)) / double(to.size());
  }
  std::vector<double> plain(n, 1. / n);
  for (int it = 0; it < 300; ++it) {
    std::vector<double> next(n, 0.15 / n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) next[i] += 0.85 * m[i * n + j] * plain[j];
    plain = next;
  }
  struct Rank {
    Array r, change;
  };
  Array links = array(m, {n, n});
  auto rank = [&](const Array& damping) {
    auto step = [&](const Rank& s) {
      Array next = (1. - damping) / double(n) + damping * dot(links, s.r);
      return Rank{next, sum(abs(next - s.r))};
    };
    return while_loop([](const Rank& s) { return s.change > 1e-15; }, step, Rank{full({n}, 1. / n), 1.},
                      {.max_steps = 1000})
        .r;
  };
  expect_close(jit(rank)(0.85) * double(n), array(plain) * double(n), 1e-13);
  expect_all_ways([&](const Array& d) { return rank(d[0]); }, array({0.85}),
                  {.modes = 1e-8, .spread = 0.05, .lanes = {1, 9}});
}

TEST(Algorithms, Knapsack) {
  std::vector<int> weights = {12, 7, 11, 8, 9, 6, 7, 3, 5, 8},
                   values = {24, 13, 23, 15, 16, 11, 13, 5, 10, 17};
  const int capacity = 40;
  int best = 0;
  for (int set = 0; set < 1024; ++set) {
    int w = 0, v = 0;
    for (int i = 0; i < 10; ++i)
      if (set >> i & 1) w += weights[i], v += values[i];
    if (w <= capacity) best = std::max(best, v);
  }
  // By rows, and entry by entry in place: a nest whose inner loop runs down from the capacity to each weight.
  auto by_rows = [&](const Array& w, const Array& v) {
    auto take_item = [&](const Array& table, const std::pair<Array, Array>& item) {
      Array from = arange(capacity + 1) - item.first;
      return std::pair{maximum(table, where(from >= 0, table[maximum(from, 0)] + item.second, 0)), Nothing{}};
    };
    return scan(take_item, zeros({capacity + 1}, i64), std::pair{w, v}).first;
  };
  auto in_place = [&](const Array& w, const Array& v) {
    auto item = [&](const Array& i, const Array& table) {
      return fori_loop(
          0, capacity + 1 - w[i],
          [&](const Array& k, const Array& t) {
            Array c = capacity - k;
            return t.at(c).set(maximum(t[c], t[c - w[i]] + v[i]));
          },
          table);
    };
    return fori_loop(0, w.dim(0), item, zeros({capacity + 1}, i64));
  };
  Array w = astype(array(weights), i64), v = astype(array(values), i64);
  EXPECT_EQ(jit(by_rows)(w, v)[-1].item<int>(), best);
  EXPECT_TRUE(tree_equal(jit(by_rows)(w, v), jit(in_place)(w, v)));
  Array many = stack({w, flip(w), w + 1, w * 2, maximum(w - 3, 1)});
  for (LaneLoops loops : {LaneLoops::Automatic, LaneLoops::Lanes, LaneLoops::Lockstep}) {
    Array rows = jit(vmap(by_rows, {.in_axes = {0, {}}, .loops = loops}))(many, v);
    EXPECT_TRUE(tree_equal(rows, jit(vmap(in_place, {.in_axes = {0, {}}, .loops = loops}))(many, v)));
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(tree_equal(rows[i], by_rows(many[i], v))) << i;
  }
}

TEST(Algorithms, EditDistance) {
  auto plain = [](const std::string& a, const std::string& b) {
    std::vector<int> d(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) d[j] = int(j);
    for (std::size_t i = 1; i <= a.size(); ++i) {
      int corner = d[0];
      d[0] = int(i);
      for (std::size_t j = 1; j <= b.size(); ++j) {
        int old = d[j];
        d[j] = std::min({d[j] + 1, d[j - 1] + 1, corner + (a[i - 1] != b[j - 1])});
        corner = old;
      }
    }
    return d.back();
  };
  auto letters = [](const std::string& s) {
    return astype(array(std::vector<std::int8_t>(s.begin(), s.end())), i64);
  };
  auto distance = [](const Array& a, const Array& b,
                     const Array& length) {  // of the first `length` letters of b
    const std::int64_t n = b.dim(0);
    auto row = [&](const Array& above, const std::pair<Array, Array>& in) {
      const auto& [letter, i] = in;
      auto cell = [&](const Array& j, const Array& d) {
        Array change = above[j] + astype(letter != b[j], i64);
        return d.at(j + 1).set(minimum(minimum(d[j], above[j + 1]) + 1, change));
      };
      return std::pair{fori_loop(0, length, cell, zeros({n + 1}, i64).at(0).set(i + 1)), Nothing{}};
    };
    return scan(row, arange(n + 1), std::pair{a, arange(a.dim(0))}).first[length];
  };
  const std::string a = "intention of the nearest neighbours", b = "execution after neighbourhoods are";
  Array wa = letters(a), wb = letters(b);
  EXPECT_EQ(jit(distance)(wa, wb, array(34)).item<int>(), plain(a, b));
  Array lengths = array({34, 1, 17, 0, 25, 33, 8, 16, 12});
  for (LaneLoops loops : {LaneLoops::Automatic, LaneLoops::Lanes, LaneLoops::Lockstep}) {
    Array got = jit(vmap(distance, {.in_axes = {{}, {}, 0}, .loops = loops}))(wa, wb, lengths);
    for (int i = 0; i < 9; ++i)
      EXPECT_EQ(got[i].item<int>(), plain(a, b.substr(0, lengths[i].item<std::size_t>()))) << i;
  }
}

TEST(Algorithms, ShortestPathsSmoothed) {
  // Floyd and Warshall with a soft minimum: derivatives count how often an edge is used.
  const int n = 7;
  Array weights = 1. + abs(sin(reshape(arange(49.), {n, n}) * 1.7));
  auto soft = [](const Array& w, double t) {
    auto through = [&](const Array& k, const Array& d) {
      Array detour = expand_dims(d(range(), k), 1) + d[k];
      return t > 0 ? -t * logaddexp(-d / t, -detour / t) : minimum(d, detour);
    };
    return fori_loop(0, n, through, w);
  };
  std::vector<double> d = weights.to_vector<double>();
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) d[i * n + j] = std::min(d[i * n + j], d[i * n + k] + d[k * n + j]);
  expect_close(jit([&](const Array& w) { return soft(w, 0); })(weights), array(d, {n, n}), 1e-15);
  // Each path of the hard minimum counts its edges with ones.
  Array uses = jit(grad([&](const Array& w) { return soft(w, 0)(0, 5); }))(weights);
  EXPECT_NEAR(sum(uses * weights).item<double>(), d[5], 1e-13);
  expect_all_ways(
      [&](const Array& w) {
        return soft(reshape(w, {n, n}), 0.1)[0];
      },
      ravel(weights), {.modes = 1e-8});
}

TEST(Algorithms, CollatzInLanes) {
  auto flight = [](const Array& start) {
    struct State {
      Array n, steps, highest;
    };
    State s = while_loop([](const State& t) { return t.n != 1; },
                         [](const State& t) {
                           Array next = cond(
                               t.n % 2 == 0, [](const Array& n) { return n >> 1; },
                               [](const Array& n) { return 3 * n + 1; }, t.n);
                           return State{next, t.steps + 1, maximum(t.highest, next)};
                         },
                         State{start, array(std::int64_t{0}), start});
    return std::pair{s.steps, s.highest};
  };
  auto [steps, highest] = jit(vmap(flight))(arange(1, 1000));
  std::vector<std::int64_t> expected;
  for (std::int64_t k = 1; k < 1000; ++k) {
    std::int64_t count = 0;
    for (std::int64_t n = k; n != 1; n = n % 2 ? 3 * n + 1 : n / 2) ++count;
    expected.push_back(count);
  }
  EXPECT_EQ(steps.to_vector<std::int64_t>(), expected);
  EXPECT_EQ(highest[26].item<int>(), 9232);  // of 27
  EXPECT_TRUE(tree_equal(jit(vmap(flight, {.loops = LaneLoops::Lockstep}))(arange(1, 1000)).first, steps));
}

TEST(Algorithms, SievesAndSortsInBuffers) {
  // Nests with a buffer of 17 to 70: the inner loop's length is data of the outer one's, and of the lane.
  for (std::int64_t n : {16, 17, 40, 64, 65, 70}) {
    SCOPED_TRACE(n);
    auto sieve = [n](const Array& limit) {  // primes below the limit
      auto strike = [&](const Array& p, const Array& prime) {
        Array multiples = where(prime[p], (limit - 1) / p, 0);
        return fori_loop(
            2, astype(multiples, i64) + 1,
            [&](const Array& k, const Array& b) { return b.at(k * p).set(false); }, prime);
      };
      Array start = arange(n) >= 2 && arange(n) < limit;
      return fori_loop(2, limit, strike, start);
    };
    auto insertion_sort = [n](const Array& x) {
      struct Hole {
        Array at, row;
      };
      auto insert = [&](const Array& i, const Array& row) {
        Array value = row[i];
        Hole h = while_loop([&](const Hole& s) { return s.at > 0 && s.row[maximum(s.at - 1, 0)] > value; },
                            [](const Hole& s) {
                              return Hole{s.at - 1, s.row.at(s.at).set(s.row[s.at - 1])};
                            },
                            Hole{i, row});
        return h.row.at(h.at).set(value);
      };
      return fori_loop(1, n, insert, x);
    };
    Array limits = n - arange(7) * 2;
    Array xs = reshape(sin(arange(7. * double(n)) * 2.3), {7, n});
    for (LaneLoops loops : {LaneLoops::Automatic, LaneLoops::Lanes, LaneLoops::Lockstep}) {
      Array primes = jit(vmap(sieve, {.loops = loops}))(limits);
      for (int i = 0; i < 7; ++i)
        for (std::int64_t k = 0; k < n; ++k) {
          bool prime = k > 1 && k < n - 2 * i;
          for (std::int64_t d = 2; d * d <= k; ++d) prime = prime && k % d != 0;
          ASSERT_EQ(primes(i, k).item<bool>(), prime) << "lane " << i << " number " << k;
        }
      EXPECT_TRUE(tree_equal(jit(vmap(insertion_sort, {.loops = loops}))(xs), sort(xs)));
    }
    EXPECT_TRUE(tree_equal(jit(insertion_sort)(xs[3]), sort(xs[3])));
    if (n > 17) continue;
    // The derivative of sorting is a permutation, by loops as by the op.
    auto weighted = [&](const Array& x) { return dot(insertion_sort(x), arange(double(n))); };
    auto by_op = [&](const Array& x) { return dot(sort(x), arange(double(n))); };
    EXPECT_TRUE(tree_equal(jit(vmap(grad(weighted)))(xs), jit(vmap(grad(by_op)))(xs)));
    expect_all_ways(insertion_sort, xs[2], {.differences = 0, .lanes = {5}});
  }
}

TEST(Algorithms, RulesOfOnesOwn) {
  // log(1 + eˣ) with its own derivative, and a clipped gradient: as they come out under all transformations.
  auto softplus = custom_jvp([](const Array& x) { return log1p(exp(x)); },
                             [](const std::tuple<Array>& x, const std::tuple<Array>& dx) {
                               const auto& [v] = x;
                               return std::pair{logaddexp(v, 0.), std::get<0>(dx) * sigmoid(v)};
                             });
  expect_all_ways([&](const Array& x) { return sum(softplus(x) * x); }, array({-1., 0.5, 3.}),
                  {.second = true});
  EXPECT_EQ(jit(grad(softplus))(800.).item<double>(), 1);
  auto clipped = custom_vjp([](const Array& x) { return x * x; },
                            [](const Array& x) {
                              return std::pair{x * x, x};
                            },
                            [](const Array& x, const Array& g) { return clip(2. * x * g, -1., 1.); });
  auto train = [&](const Array& x) {
    return fori_loop(
        0, 5, [&](const Array&, const Array& v) { return v - 0.3 * grad(clipped)(v); }, x);
  };
  EXPECT_NEAR(jit(train)(3.).item<double>(), 1.5, 1e-15);
  expect_close(jit(vmap(train))(array({3., -3., 0.1})), array({1.5, -1.5, 0.1 * std::pow(0.4, 5)}), 1e-15);
}

TEST(Algorithms, Misuses) {
  Array x = arange(12.), board = zeros({3, 4});
  expect_misuse("[index] 4 is out of bounds for axis 1 of shape [3, 4]", [&] { board(0, 4); });
  expect_misuse("[index] 3 is out of bounds for axis 0 of shape [3, 4]",
                [&] { board.at(range(), newaxis, 2).set(board(3, range())); });
  expect_misuse("3 indices for shape [3, 4]", [&] { board(0, 1, 2); });
  expect_misuse("must agree", [&] { board(array({true, false}), 0); });
  expect_misuse("would make a shape that depends on values",
                [&] { jit([](const Array& v) { return v[v > 3.]; })(x); });
  expect_misuse("carry is i32[3,4] on entry and ~f64[3,4] on return", [&] {
    fori_loop(
        0, 3, [](const Array&, const Array& b) { return b * 0.5 + 1.; }, astype(board, i32));
  });
  expect_misuse("do not broadcast to the indexed shape [4]", [&] { board.at(0).set(array({1., 2.})); });
  expect_misuse("only one ellipsis", [&] { board(ellipsis, 0, ellipsis); });
  expect_misuse("axis 0 of shape [12] does not divide into 5 equal parts", [&] { split(x, 5); });
  expect_misuse("use grad or jacrev, or give it a custom_jvp", [&] {
    auto f = custom_vjp([](const Array& v) { return v * v; },
                        [](const Array& v) {
                          return std::pair{v * v, v};
                        },
                        [](const Array& v, const Array& g) { return 2. * v * g; });
    jacfwd([&](const Array& v) { return f(v); })(2.);
  });
  expect_misuse("while_loop", [&] {
    while_loop([](const Array& v) { return v.item<double>() < 3.; }, [](const Array& v) { return v + 1.; },
               0.);
  });
}

}  // namespace
}  // namespace apsis::scenarios
