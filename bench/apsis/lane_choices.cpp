// lane-choices/*: programs that users write with a loop and run in a batch, in lanes, in lockstep and as vmap
// chooses: how much longer the choice takes than the better of both.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

template <class F>
double least_seconds(F&& f) {
  f();
  double least = 1e9, spent = 0;
  for (int n = 0; n < 3 || (spent < 0.25 && n < 200); ++n) {
    const double time = seconds(f);
    spent += time;
    least = std::min(least, time);
  }
  return least;
}

/// Times of all three; what is printed beside the row goes to stderr.
template <class F, class... A>
void compare(const char* name, const F& f, const A&... args) {
  const auto in = [&](LaneLoops loops) { return vmap(f, {.loops = loops}); };
  const auto time = [&](LaneLoops loops) {
    auto run = jit(in(loops));
    return least_seconds([&] { run(args...); });
  };
  const auto text = [&](LaneLoops loops) { return make_graph(in(loops), args...); };
  const std::string chosen = text(LaneLoops::Automatic);
  const bool lanes = chosen == text(LaneLoops::Lanes), lockstep = chosen == text(LaneLoops::Lockstep);
  const double in_lanes = time(LaneLoops::Lanes), in_lockstep = time(LaneLoops::Lockstep);
  const double ours = lanes ? in_lanes : lockstep ? in_lockstep : time(LaneLoops::Automatic);
  std::fprintf(stderr, "%-22s %-8s  lanes %9.3f ms  lockstep %9.3f ms  chosen %9.3f ms\n", name,
               lanes      ? "lanes"
               : lockstep ? "lockstep"
                          : "mixed",
               in_lanes * 1e3, in_lockstep * 1e3, ours * 1e3);
  report(std::string("lane-choices/") + name, "of the better", ours / std::min({in_lanes, in_lockstep, ours}),
         {});
}

Array keys(std::int64_t count) { return random::split(random::key(1), count); }
Array normal(const Shape& shape) { return random::normal(random::key(2), shape); }

Array log_density(const Array& x) {
  const Array d = x - array({1., -2.});
  return -0.5 * dot(d, dot(array({{2., 0.6}, {0.6, 1.}}), d));
}

struct Chain {
  Array at, value;
};
void samplers() {
  compare(
      "metropolis",
      [](const Array& key) {
        const auto step = [&](const Array& i, const Chain& c) {
          auto [a, b] = random::split<2>(random::fold_in(key, i));
          const Array tried = c.at + 1.5 * random::normal(a, {2}), value = log_density(tried);
          const Array yes = log(random::uniform(b)) < value - c.value;
          return Chain{where(yes, tried, c.at), where(yes, value, c.value)};
        };
        return fori_loop(0, 200, step, Chain{zeros({2}), log_density(zeros({2}))}).at;
      },
      keys(500));
  // A regression with 200 observations: its density is a product with data that all chains share.
  const Array data = normal({200, 10});
  const auto fit = [data](const Array& x) { return -sum(log1p(exp(-dot(data, x)))) - 0.5 * sum(x * x); };
  compare(
      "metropolis-data",
      [fit](const Array& key) {
        const auto step = [&](const Array& i, const Chain& c) {
          auto [a, b] = random::split<2>(random::fold_in(key, i));
          const Array tried = c.at + 0.1 * random::normal(a, {10}), value = fit(tried);
          const Array yes = log(random::uniform(b)) < value - c.value;
          return Chain{where(yes, tried, c.at), where(yes, value, c.value)};
        };
        return fori_loop(0, 50, step, Chain{zeros({10}), fit(zeros({10}))}).at;
      },
      keys(256));
  struct Particle {
    Array x, p;
  };
  compare(
      "hmc",
      [](const Array& key) {
        const auto draw = [&](const Array& i, const Array& x) {
          auto [a, b, c] = random::split<3>(random::fold_in(key, i));
          const auto leap = [](const Array&, const Particle& q) {
            const auto slope = grad(log_density);
            const Array half = q.p + 0.15 * slope(q.x), x = q.x + 0.3 * half;
            return Particle{x, half + 0.15 * slope(x)};
          };
          const Particle s{x, random::normal(a, {2})};
          const Particle e = fori_loop(0, random::randint(c, {}, 3, 12), leap, s);
          const Array gain = log_density(e.x) - 0.5 * dot(e.p, e.p) - log_density(s.x) + 0.5 * dot(s.p, s.p);
          return where(log(random::uniform(b)) < gain, e.x, x);
        };
        return fori_loop(0, 50, draw, zeros({2}));
      },
      keys(256));
  compare(
      "gibbs",
      [](const Array& key) {
        const auto step = [&](const Array& i, const Array& x) {
          const Array e = random::normal(random::fold_in(key, i), {2});
          const Array first = 0.8 * x[1] + 0.6 * e[0];
          return stack({first, 0.8 * first + 0.6 * e[1]});
        };
        return fori_loop(0, 200, step, zeros({2}));
      },
      keys(1000));
  struct Try {
    Array key, x, done;
  };
  compare(
      "rejection",
      [](const Array& key) {
        const auto step = [](const Try& s) {
          auto [next, a, b] = random::split<3>(s.key);
          const Array x = 3. * random::uniform(a);
          return Try{next, x, random::uniform(b) < exp(-x * x)};
        };
        return while_loop([](const Try& s) { return !s.done; }, step, Try{key, 0., false}).x;
      },
      keys(10'000));
}

struct Root {
  Array x, last, steps;
};
void roots() {
  compare(
      "newton",
      [](const Array& a) {
        const auto step = [&](const Root& s) {
          return Root{s.x - (s.x * s.x * s.x - a) / (3. * s.x * s.x), s.x, s.steps + 1};
        };
        return while_loop([](const Root& s) { return abs(s.x - s.last) > 1e-12 * abs(s.x); }, step,
                          Root{1., 0., 0})
            .x;
      },
      exp(linspace(-8., 8., 10'000)));
  compare(
      "bisection",
      [](const Array& a) {
        const auto step = [&](const Array&, const Chain& s) {
          const Array middle = 0.5 * (s.at + s.value), above = middle - 0.5 * sin(middle) > a;
          return Chain{where(above, s.at, middle), where(above, middle, s.value)};
        };
        return fori_loop(0, 50, step, Chain{0., 10.}).at;
      },
      linspace(0., 6., 10'000));
  compare(
      "mandelbrot",
      [](const Array& cx, const Array& cy) {
        struct Z {
          Array x, y, n;
        };
        return while_loop([](const Z& z) { return (z.x * z.x + z.y * z.y < 4.) & (z.n < 200); },
                          [&](const Z& z) {
                            return Z{z.x * z.x - z.y * z.y + cx, 2. * z.x * z.y + cy, z.n + 1};
                          },
                          Z{0., 0., 0})
            .n;
      },
      tile(linspace(-2., 1., 128), {128}), repeat(linspace(-1., 1., 128), 128, 0));
  compare(
      "collatz",
      [](const Array& n) {
        struct S {
          Array n, steps;
        };
        return while_loop([](const S& s) { return s.n > 1; },
                          [](const S& s) {
                            return S{where((s.n & 1) == 0, s.n >> 1, 3 * s.n + 1), s.steps + 1};
                          },
                          S{n, 0})
            .steps;
      },
      arange(1, 10'001));
  compare(
      "random-walk",
      [](const Array& key) {
        struct S {
          Array x, n;
        };
        return while_loop([](const S& s) { return abs(s.x) < 5.; },
                          [&](const S& s) {
                            return S{s.x + random::normal(random::fold_in(key, s.n), {}), s.n + 1};
                          },
                          S{0., 0})
            .n;
      },
      keys(2000));
}

void solves() {
  const auto solve = [](const auto& field, const Array& y) {
    return diffeqsolve(ODETerm{field}, Tsit5{}, 0., 5., 0.01, y,
                       {.controller = PIDController{.rtol = 1e-6, .atol = 1e-6}})
        .ys[-1];
  };
  compare(
      "lorenz",
      [=](const Array& y) {
        return solve(
            [](const Array&, const Array& v) {
              return stack({10. * (v[1] - v[0]), v[0] * (28. - v[2]) - v[1], v[0] * v[1] - 8. / 3. * v[2]});
            },
            y);
      },
      normal({500, 3}));
  compare(
      "ring-of-100",
      [=](const Array& y) {
        return solve(
            [](const Array&, const Array& v) { return roll(v, 1, 0) + roll(v, -1, 0) - 2. * v - v * v * v; },
            y);
      },
      normal({128, 100}));
  for (const std::int64_t width : {32, 128, 512}) {
    const Array in = 0.3 * random::normal(random::key(3), {width, 4}),
                out = 0.1 * random::normal(random::key(4), {4, width});
    const Array middle = random::normal(random::key(5), {width, width}) / std::sqrt(double(width));
    compare(("neural-ode-" + std::to_string(width)).c_str(),
            [=](const Array& y) {
              return solve(
                  [=](const Array&, const Array& v) { return dot(out, tanh(dot(middle, tanh(dot(in, v))))); },
                  y);
            },
            normal({64, 4}));
  }
  compare(
      "heat-1000",
      [](const Array& y) {
        return fori_loop(
            0, 100,
            [](const Array&, const Array& v) { return v + 0.2 * (roll(v, 1, 0) + roll(v, -1, 0) - 2. * v); },
            y);
      },
      normal({64, 1000}));
}

void structures() {
  const std::int64_t depth = 12;
  const Array thresholds = normal({1 << depth});
  compare(
      "tree-walk",
      [=](const Array& x) {
        struct S {
          Array node;
        };
        return while_loop(
                   [=](const S& s) { return (s.node < (1 << depth) - 1) & (thresholds[s.node] > -1.5); },
                   [=](const S& s) {
                     return S{2 * s.node + where(x[s.node % 8] < thresholds[s.node], 1, 2)};
                   },
                   S{0})
            .node;
      },
      normal({4096, 8}));
  compare(
      "edit-distance",
      [](const Array& a, const Array& b) {
        const std::int64_t n = b.dim(0);
        const auto row = [&](const Array& i, const Array& above) {
          const auto cell = [&](const Array& j, const Array& now) {
            const Array change = above[j] + where(a[i] == b[j], 0, 1);
            return now.at(j + 1).set(minimum(change, minimum(above[j + 1], now[j]) + 1));
          };
          return fori_loop(0, n, cell, above.at(0).set(i + 1));
        };
        return fori_loop(0, a.dim(0), row, arange(n + 1))[-1];
      },
      random::randint(random::key(1), {256, 24}, 0, 4), random::randint(random::key(2), {256, 24}, 0, 4));
  compare(
      "knapsack",
      [](const Array& weights, const Array& values) {
        const Array place = arange(65);
        const auto item = [&](const Array& best, const Chain& x) {
          const Array with = where(place >= x.at, take(best, maximum(place - x.at, 0), 0) + x.value, 0.);
          const Array next = maximum(best, with);
          return std::pair(next, Array(next[64]));
        };
        return scan(item, zeros({65}), Chain{weights, values}).first[64];
      },
      random::randint(random::key(1), {256, 20}, 1, 16), random::uniform(random::key(2), {256, 20}));
  compare(
      "particle-filter",
      [](const Array& key, const Array& seen) {
        const auto step = [&](const Chain& s, const Array& y) {
          auto [a, b] = random::split<2>(random::fold_in(key, astype(s.value, i64)));
          const Array moved = 0.9 * s.at + 0.5 * random::normal(a, {64});
          const Array weights = exp(-0.5 * square(y - moved)), sums = cumsum(weights);
          const Array at = (random::uniform(b) + arange(64)) / 64. * sums[63];
          const Array next = moved[clip(searchsorted(sums, at), 0, 63)];
          return std::pair(Chain{next, s.value + 1.}, mean(next));
        };
        return scan(step, Chain{zeros({64}), 0.}, seen).second;
      },
      keys(64), normal({64, 30}));
}

void sequences() {
  for (const std::int64_t hidden : {16, 64, 256}) {
    const nn::LSTMCell cell = nn::make_lstm_cell({.in = 8, .hidden = hidden}, random::key(0));
    compare(("lstm-" + std::to_string(hidden)).c_str(),
            [=](const Array& xs) {
              return scan(
                         [&](const nn::LSTMState& s, const Array& x) {
                           const nn::LSTMState next = cell(x, s);
                           return std::pair(next, Array(next.h[0]));
                         },
                         cell.init_state(), xs)
                  .second;
            },
            normal({64, 30, 8}));
  }
  compare(
      "kalman",
      [](const Array& seen) {
        const Array f = array({{1., 0.1}, {0., 1.}});
        struct S {
          Array x, p;
        };
        const auto step = [&](const S& s, const Array& y) {
          const Array x = dot(f, s.x), p = matmul(f, matmul(s.p, transpose(f))) + 0.01 * eye(2);
          const Array gain = p(range(), 0) / (p(0, 0) + 0.1);
          const S next{x + gain * (y - x[0]), p - gain(range(), newaxis) * p(0, range())};
          return std::pair(next, Array(next.x[0]));
        };
        return scan(step, S{zeros({2}), eye(2)}, seen).second;
      },
      normal({500, 100}));
}

void matrices() {
  struct S {
    Array v, value, last;
  };
  const auto dominant = [](const Array& a) {
    const auto step = [&](const S& s) {
      const Array w = dot(a, s.v), length = sqrt(sum(w * w));
      return S{w / length, length, s.value};
    };
    return while_loop([](const S& s) { return abs(s.value - s.last) > 1e-9 * s.value; }, step,
                      S{full({a.dim(0)}, 1.), 1., 0.})
        .value;
  };
  for (const std::int64_t n : {6, 24, 64}) {
    const Array a = normal({n <= 6 ? 500 : 64, n, n});
    compare(("power-iteration-" + std::to_string(n)).c_str(), dominant, matmul(a, swapaxes(a, 1, 2)));
  }
  struct Cg {
    Array x, r, p, size;
  };
  for (const std::int64_t n : {50, 200, 1200}) {
    const Array g = normal({n, n}), a = matmul(g, transpose(g)) / double(n) + eye(n);
    compare(("conjugate-grad-" + std::to_string(n)).c_str(),
            [a](const Array& b) {
              const auto step = [&](const Cg& s) {
                const Array q = dot(a, s.p), alpha = s.size / dot(s.p, q), r = s.r - alpha * q,
                            size = dot(r, r);
                return Cg{s.x + alpha * s.p, r, r + size / s.size * s.p, size};
              };
              return while_loop([](const Cg& s) { return s.size > 1e-12; }, step,
                                Cg{zeros({b.dim(0)}), b, b, dot(b, b)})
                  .x;
            },
            normal({64, n}));
  }
  const Array data = normal({200, 10}), labels = astype(data(range(), 0) > 0., f64);
  compare(
      "logistic-descent",
      [=](const Array& start) {
        const auto loss = [&](const Array& w) {
          const Array z = dot(data, w);
          return mean(log1p(exp(z)) - labels * z) + 0.01 * sum(w * w);
        };
        const auto step = [&](const Chain& s) {
          const Array g = grad(loss)(s.at);
          return Chain{s.at - 0.5 * g, sum(g * g)};
        };
        return while_loop([](const Chain& s) { return s.value > 1e-6; }, step, Chain{start, 1.}).at;
      },
      normal({64, 10}));
}

}  // namespace

void lane_choices() {
  samplers();
  roots();
  solves();
  structures();
  sequences();
  matrices();
}

}  // namespace bench
