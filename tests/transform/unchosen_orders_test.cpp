// A branch that was not chosen leaves no trace in derivatives of any order, by any nesting of modes: eager,
// compiled and under vmap.

#include <functional>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

using Function = std::function<Array(const Array&)>;

Function derivative(const Function& f, bool forward) {
  if (forward) return [f](const Array& x) { return jacfwd(f)(x); };
  return [f](const Array& x) { return jacrev(f)(x); };
}

/// Orders 1 to 3 in all orders of nesting, at a scalar.
void expect_orders(const Function& f, double at, const std::vector<double>& wanted) {
  for (int modes = 0; modes < 8; ++modes) {
    Function d = f;
    for (std::size_t order = 0; order < wanted.size(); ++order) {
      SCOPED_TRACE("order " + std::to_string(order + 1) +
                   ", forward where the bit is set: " + std::to_string(modes));
      d = derivative(d, modes >> order & 1);
      const Array x = array(at), want = array(wanted[order]);
      expect_near(d(x), want);
      expect_near(jit(d)(x), want);
      expect_near(jit(vmap(d))(stack({x, x})), stack({want, want}));
    }
  }
}

/// The same of the sum over a batch: conditions differ by lane, and x is one of several.
void expect_sums(const Function& f, double at, double elsewhere, double first, double second) {
  auto total = [f](const Array& x) { return sum(vmap(f)(x)); };
  const Array x = array({elsewhere, at});
  for (const Array& slope : {grad(total)(x), jit(grad(total))(x)}) expect_near(slope[1], array(first));
  auto along = [&](const Array& v) { return jvp(grad(total), v, array({0., 1.})).second[1]; };
  expect_near(along(x), array(second));
  expect_near(jit(along)(x), array(second));
  auto twice = [&](const Array& v) { return grad([&](const Array& u) { return grad(total)(u)[1]; })(v)[1]; };
  expect_near(twice(x), array(second));
  expect_near(jit(twice)(x), array(second));
}

/// The derivatives at the numbers x, which those of the batch equal in lanes and in lockstep, compiled or
/// not.
Array gradients_of_batch(const Function& f, const Array& x) {
  std::vector<Array> slopes;
  for (std::int64_t i = 0; i < x.size(); ++i) slopes.push_back(grad(f)(x[i]));
  const Array expected = stack(slopes);
  for (const LaneLoops loops : {LaneLoops::Lanes, LaneLoops::Lockstep}) {
    const auto total = [&](const Array& z) { return sum(vmap(f, {.loops = loops})(z)); };
    expect_near(grad(total)(x), expected);
    expect_near(jit(grad(total))(x), expected);
  }
  return expected;
}

Array positive(const Array& x) { return x > 0.; }

TEST(UnchosenOrders, ChoicesAmongChoices) {
  auto f = [](const Array& x) {
    const Array s = where(positive(x), sqrt(x), 0.);
    return where(x > 1., s * s, s);
  };
  expect_orders(f, 0., {0., 0., 0.});
  expect_orders(f, 4., {1., 0., 0.});
  expect_sums(f, 0., 4., 0., 0.);
  auto sums = [](const Array& x) {
    return where(positive(x), sqrt(x), 0.) + where(x > 1., sqrt(x) * 2., x) + x * x;
  };
  expect_orders(sums, 0., {1., 2., 0.});
  expect_sums(sums, 0., 4., 1., 2.);
  expect_orders([](const Array& x) { return where(x > 0., x * log(x), x); }, 0., {1., 0., 0.});
  expect_orders([](const Array& x) { return where(x == 0., 1., sin(x) / x); }, 0., {0., 0., 0.});
}

TEST(UnchosenOrders, Loops) {
  auto loop = [](const Array& x) {
    return fori_loop(
        0, 3, [](const Array&, const Array& y) { return sqrt(y) + y; }, x);
  };
  expect_orders([=](const Array& x) { return where(x > 0., loop(x), x * 3.); }, 0., {3., 0., 0.});
  auto chosen = [=](const Array& x) {
    const Array s = where(x > 0., loop(x), x * 3.);
    return where(x > 1., s * s, s);
  };
  expect_orders(chosen, 0., {3., 0., 0.});
  auto within = [](const Array& x) {
    return fori_loop(
        0, 3,
        [](const Array&, const Array& y) {
          const Array s = where(y > 0., sqrt(y), y * 2.);
          return where(y > 1., s * s, s);
        },
        x);
  };
  expect_orders(within, 0., {8., 0., 0.});
  auto until = [](const Array& x) {
    return where(x > 0.,
                 while_loop([](const Array& y) { return y < 10.; },
                            [](const Array& y) { return sqrt(y) + y + 1.; }, x),
                 x * x + x);
  };
  expect_orders(until, 0., {1., 2., 0.});
  auto scanned = [](const Array& x) {
    const auto r = scan(
        [](const Array& c, const Array& u) {
          const Array s = where(c > 0., sqrt(c), c * 2.);
          return std::pair{s + u * c, s};
        },
        x, array({0., 0., 1.}));
    return r.first + sum(r.second);
  };
  expect_orders(scanned, 0., {26., 0., 0.});
}

// Two states of one loop, each chosen where the other is not.
TEST(UnchosenOrders, StatesOfOneLoop) {
  auto f = [](const Array& x) {
    using State = std::pair<Array, Array>;
    const State s = fori_loop(
        0, 3,
        [](const Array&, const State& y) {
          return State{sqrt(y.first) + y.first, sqrt(-y.second) + y.second};
        },
        State{x, x});
    const Array a = where(x > 0., s.first, x * 3.), b = where(x < 0., s.second, x * 5.);
    return where(x > 1., a * b, a + b);
  };
  expect_orders(f, 0., {8., 0., 0.});
}

TEST(UnchosenOrders, Branches) {
  auto f = [](const Array& x) {
    const Array s = cond(
        x > 0., [](const Array& y) { return sqrt(y); }, [](const Array& y) { return y * 2.; }, x);
    return where(x > 1., s * s, s);
  };
  expect_orders(f, 0., {2., 0., 0.});
}

// A large array has readers that count everywhere and others that were not chosen: both add to one sum.
TEST(UnchosenOrders, ReadersOfALargeArray) {
  const auto roots = [](const Array& v) {
    return fori_loop(
        0, 3, [&](const Array& i, const Array& s) { return s + sqrt(v[i]); }, array(0.));
  };
  const auto of_loop = [=](const Array& v, const Array& chosen) {
    return sum(v * v) + where(chosen, roots(v), 0.);
  };
  const auto of_branch = [](const Array& v, const Array& chosen) {
    const Array r = cond(
        chosen, [](const Array& a) { return sum(a); }, [](const Array& a) { return sum(sqrt(a)); }, v);
    return sum(v * v) + where(chosen, r, 0.);
  };
  const auto of_call = [](const Array& v, const Array& chosen) {
    return sum(v * v) + where(chosen, checkpoint([](const Array& a) { return sum(sqrt(a)); })(v), 0.);
  };
  const auto within_loop = [=](const Array& v, const Array& chosen) {
    return fori_loop(
        0, 2,
        [&](const Array& i, const Array& s) {
          return s + v[i] * v[i] + sum(v) + where(chosen, roots(v), 0.);
        },
        array(0.));
  };
  const auto on_repeated = [](const auto& f) {
    return [f](const Array& x) { return f(broadcast_to(x, {64}) * linspace(1., 2., 64), x > 0.); };
  };
  const double squares = 2. * sum(square(linspace(1., 2., 64))).item<double>();
  expect_orders(on_repeated(of_loop), 0., {0., squares});
  expect_orders(on_repeated(of_branch), 0., {0., squares});
  expect_orders(on_repeated(of_call), 0., {0., squares});
  expect_orders(on_repeated(within_loop), 0., {192., 2. * (1. + 64. * 64. / 63. / 63.)});
}

// A derivative that is NaN where c is not above 0.5.
Array steep(const Array& x, const Array& c) { return 0.5 * sqrt(where(c > 0.5, 1., 0.) * (1.25 + x * x)); }

// Chosen by element after a branch, what comes before it is not.
TEST(UnchosenOrders, ElementsOfBranches) {
  const auto f = [](const Array& x, const Array& by) {
    const Array u = cond(
        by > 0., [](const Array& a) { return a * 2.; },
        [](const Array& a) { return where(a > 10., a, a * 3.); }, steep(x, x));
    return sum(where(x > 0.5, u, x));
  };
  const Array x = array({0.2, 0.7, 3.});
  for (const double by : {1., -1.}) {
    const auto slope = [&](const Array& v) {
      return grad([&](const Array& u) { return f(u, array(by)); })(v);
    };
    const Array roots = sqrt(1.25 + x * x), want = where(x > 0.5, (by > 0. ? 1. : 1.5) * x / roots, 1.);
    expect_near(slope(x), want);
    expect_near(jit(slope)(x), want);
    expect_near(jit(vmap(slope))(stack({x, x})), stack({want, want}));
  }
}

// What a loop captures, starts from and goes on from, in lanes and in lockstep, with trips by lane and
// without.
TEST(UnchosenOrders, LoopsOfBatches) {
  for (int kind = 0; kind < 12; ++kind) {
    SCOPED_TRACE(kind);
    const auto f = [&](const Array& c) {
      const Array v = 0.3 + c * arange(4.), a = steep(v, c), trips = astype(c * 0. + 3., i64);
      using State = std::pair<Array, Array>;
      const State end = while_loop(
          [&](const State& s) {
            const Array more = s.first < (kind & 1 ? array(3) : trips);
            return kind & 2 ? more && mean(s.second) < 2. : more;
          },
          [&](const State& s) {
            const Array next = kind < 4 ? a : kind < 8 ? s.second + 0.625 : steep(s.second, c) * cos(c);
            return State{s.first + 1, next};
          },
          State{array(0), a});
      return sum(where(c > 0.5, end.second, v));
    };
    const Array x = array({0.2, 0.9, 0.3});
    const auto batch = [&](LaneLoops loops) {
      return [&f, loops](const Array& z) { return vmap(f, {.loops = loops})(z); };
    };
    const Array slopes = stack({grad(f)(x[0]), grad(f)(x[1]), grad(f)(x[2])});
    EXPECT_EQ(slopes[0].item<double>(), 6.);
    for (const LaneLoops loops : {LaneLoops::Lanes, LaneLoops::Lockstep}) {
      const auto total = [&](const Array& z) { return sum(batch(loops)(z)); };
      expect_near(grad(total)(x), slopes);
      expect_near(jit(grad(total))(x), slopes);
      expect_near(diag(jit(jacrev(batch(loops)))(x)), slopes);
    }
    const auto in_lanes = batch(LaneLoops::Lanes);
    const Array curvature = jit(jacfwd(jacfwd(in_lanes)))(x);
    expect_near(jit(jacrev(jacfwd(in_lanes)))(x), curvature);
    expect_near(jit(jacrev(jacrev(in_lanes)))(x), curvature);
  }
}

// Branches in a loop in a loop, of which some neither read what the loop carries nor what others read; in
// arrays of more than 256 bytes, whose cotangents are added up in place, and in small ones.
TEST(UnchosenOrders, BranchesInLoopsOfBatches) {
  for (int kind = 0; kind < 24; ++kind) {
    SCOPED_TRACE(kind);
    const std::int64_t n = kind & 1 ? 65 : 5;
    const auto f = [&](const Array& c) {
      return sum(fori_loop(
          0, 3,
          [&](const Array& i, const Array& b) {
            const Array start = b + c;
            const auto body = [&](const Array& k, const Array& s) {
              const Array first = kind & 2 ? k % 2 == 0 : mean(s) > 0.7;
              if (kind & 4) return where(first, b, steep(s, c));
              return cond(
                  first, [&](const Array&) { return b; },
                  [&](const Array& z) { return steep(kind < 16 ? z : b, c); }, s);
            };
            if (kind & 8) return where(c > 0.5, fori_loop(0, 3, body, start), start);
            using State = std::pair<Array, Array>;
            const auto next = [&](const State& s) { return State{s.first + 1, body(s.first, s.second)}; };
            const auto more = [&](const State& s) { return s.first < (kind < 16 ? i : array(2)); };
            return where(c > 0.5, while_loop(more, next, State{array(0), start}).second, start);
          },
          full({n}, 0.5)));
    };
    const Array x = array({0.2, 0.6, 0.9});
    EXPECT_EQ(gradients_of_batch(f, x)[0].item<double>(), 3. * static_cast<double>(n));
  }
}

// Branches by lane that hold loops and branches of their own: in lockstep they are calls, which hand out what
// they combined.
TEST(UnchosenOrders, NestsInBranchesOfBatches) {
  for (int kind = 0; kind < 16; ++kind) {
    SCOPED_TRACE(kind);
    const std::int64_t n = kind & 1 ? 65 : 5;
    const auto f = [&](const Array& c) {
      const Array v = 0.375 + c * arange(static_cast<double>(n)) / static_cast<double>(n);
      const auto body = [&](const Array&, const Array& b) {
        const auto other = [&](const Array& z) {
          if (kind & 2) return sin(z);
          return where(c > 0.8,
                       fori_loop(
                           0, 2, [&](const Array&, const Array& q) { return sin(q) + z; }, z),
                       z);
        };
        const auto first = [&](const Array& z) {
          if (kind & 4) return steep(z, c);
          return switch_(1,
                         std::tuple{[&](const Array& q) { return q * b; },
                                    [&](const Array& q) { return steep(steep(q, c) + z, c); }},
                         z);
        };
        return cond(kind & 8 ? mean(b) + c > 0.7 : c > 0.3, first, other, b);
      };
      return mean(where(c > 0.5, fori_loop(0, 3, body, v), v));
    };
    const Array x = array({0.2, 0.4, 0.6, 0.9});
    EXPECT_TRUE(all(isfinite(gradients_of_batch(f, x))).item<bool>());
  }
}

using State = std::pair<Array, Array>;

/// Three trips of a loop: of known length, over entries, of unknown length. The step is given an entry, or
/// `start`.
Array loop_of_kind(int kind, const Array& start,
                   const std::function<Array(const Array&, const Array&)>& step) {
  if (kind == 0)
    return fori_loop(
        0, 3, [&](const Array&, const Array& q) { return step(q, start); }, start);
  if (kind == 1)
    return scan(
               [&](const Array& q, const Array& x) {
                 return State{step(q, x), q};
               },
               start, stack({start, 2. * start, sin(start)}))
        .first;
  const auto more = [&](const State& s) { return s.first < 3 && mean(s.second) < 20.; };
  return while_loop(
             more,
             [&](const State& s) {
               return State{s.first + 1, step(s.second, start)};
             },
             State{array(0), start})
      .second;
}

/// First and second derivatives of a batch, which are those of its single calls. The first number chooses
/// nothing.
void expect_curvatures(const Function& f, const Array& x) {
  gradients_of_batch(f, x);
  std::vector<Array> single;
  const auto twice = grad([&](const Array& z) { return grad(f)(z); });
  for (std::int64_t i = 0; i < x.size(); ++i) single.push_back(twice(x[i]));
  EXPECT_EQ(single[0].item<double>(), 0.);
  const auto total = [&](const Array& z) { return sum(vmap(f)(z)); };
  const auto of_batch = grad([&](const Array& z) { return sum(grad(total)(z)); });
  for (const Array& found : {of_batch(x), jit(of_batch)(x), jit(vmap(twice))(x)})
    expect_near(found, stack(single));
}

// What a loop records for its way back is one more thing that a lane may not have chosen: in arrays, in lists
// of loops of unknown length, and beside the entries that a scan was given.
TEST(UnchosenOrders, RecordsOfLoopsOfBatches) {
  for (int kind = 0; kind < 12; ++kind) {
    SCOPED_TRACE(kind);
    const auto f = [&](const Array& c) {
      const Array start = 0.375 + c * arange(65.) / 65.;
      const auto step = [&](const Array& q, const Array& x) -> Array {
        if (kind % 4 == 1) return where(q > 0.4, steep(q, c), 2. * q) + x;
        if (kind % 4 == 2)
          return cond(
              c < 0.7, [&](const Array& z) { return steep(z, c) + x; }, [](const Array& z) { return 2. * z; },
              q);
        return kind % 4 == 3 ? steep(q, c) * x : steep(q, c) + x;
      };
      const Array end = where(c > 0.55, loop_of_kind(kind / 4, start, step), start);
      return mean(end) + end[1];
    };
    expect_curvatures(f, array({0.2, 0.6, 0.9}));
  }
}

TEST(UnchosenOrders, RecordsOfNestsOfBatches) {
  for (int kind = 0; kind < 9; ++kind) {
    SCOPED_TRACE(kind);
    const auto f = [&](const Array& c) {
      const Array start = 0.375 + c * arange(65.) / 65.;
      const auto inner = [&](const Array& q, const Array& x) { return 0.5 * steep(q, c) + 0.25 * q * x; };
      const auto outer = [&](const Array& q, const Array& x) { return loop_of_kind(kind % 3, q, inner) * x; };
      const Array end = where(c > 0.55, loop_of_kind(kind / 3, start, outer), start);
      return mean(end) + end[1];
    };
    expect_curvatures(f, array({0.2, 0.6, 0.9}));
  }
}

// Conditions by lane behind the axis of the cotangents that a Jacobian is made of, through calls, loops that
// are linear, parts and paddings.
// What an inner loop writes and does not read counts as long as no iteration has written it; what the array
// that it reads gets is added to a sum that the outer loop has begun.
TEST(UnchosenOrders, WritesInNestsThatReadALargeArray) {
  using Arrays = std::vector<Array>;
  for (const std::int64_t size : {3, 59}) {
    auto f = [size](const Array& x) {
      const Array trips = where(x > 0.5, 3, 2), zero = array(std::int64_t{0});
      const auto steep = [&](const Array& v) { return 0.5 * sqrt(where(x > 0.25, 1., 0.) * (1.25 + v * v)); };
      const auto inner = [&](const Array& b, const Array& from) {
        return fori_loop(
            0, trips, [&](const Array&, const Array&) { return sin(mean(b * b)); }, from);
      };
      const auto middle = [&](const Array& b, const Array& from) {
        return while_loop([&](const Arrays& s) { return s[0] < trips; },
                          [&](const Arrays& s) {
                            return Arrays{s[0] + 1, steep(inner(b, s[1]))};
                          },
                          Arrays{zero, from})[1];
      };
      const Arrays end = fori_loop(
          0, trips,
          [&](const Array&, const Arrays& s) {
            return Arrays{s[0] + sin(s[1]), where(x > 0.25, middle(s[0], s[1]), s[1])};
          },
          Arrays{linspace(0.5, 1.5, size) * x, array(0.25)});
      return mean(end[0]);
    };
    const Array slopes = gradients_of_batch(f, array({0.75, 0.125, 0.375, 0.25}));
    EXPECT_NEAR(slopes[1].item<double>(), 1., 1e-14);  // of the mean of the first carry alone
    EXPECT_NEAR(slopes[3].item<double>(), 1., 1e-14);
  }
}

TEST(UnchosenOrders, JacobiansOfGradientsOfBatches) {
  for (int kind = 0; kind < 16; ++kind) {
    SCOPED_TRACE(kind);
    const std::int64_t n = kind & 1 ? 65 : 5;
    const auto f = [&](const Array& c) {
      const Array v = 0.375 + c * arange(static_cast<double>(n)) / static_cast<double>(n);
      const auto inner = [&](const Array& z) {
        const auto body = [&](const Array&, const Array& s) {
          return kind < 4 ? -s : kind < 8 ? roll(s, 2, 0) : kind < 12 ? pad(s, {1}, {-1}) : sin(s);
        };
        return steep(fori_loop(0, 4, body, z), c);
      };
      const Array w = where(c > 0.5, kind & 2 ? checkpoint(inner)(v) : inner(v), v);
      return stack({mean(w), w[1]});
    };
    const Array x = array({0.2, 0.9, -0.3});
    const auto batch = [&](const Array& z) { return sum(vmap(f)(z), {.axis = 0}); };
    Array wanted = zeros({2, 3, 3});
    for (int lane = 0; lane < 3; ++lane)
      wanted = wanted.at(range(0, 2), lane, lane).set(jacfwd(jacfwd(f))(x[lane]));
    EXPECT_TRUE(all(isfinite(wanted)).item<bool>());
    expect_near(jit(jacrev(jacrev(batch)))(x), wanted);
    expect_near(jit(jacrev(jacfwd(batch)))(x), wanted);
    expect_near(jit(jacfwd(jacrev(batch)))(x), wanted);
    expect_near(jacrev(jacrev(batch))(x), wanted);
  }
}

// The same through loops over large arrays, whose way back counts for a lane if it does for any tangent.
TEST(UnchosenOrders, JacobiansOfLoopsOfBatches) {
  for (int kind = 0; kind < 12; ++kind) {
    SCOPED_TRACE(kind);
    const auto f = [&](const Array& c) {
      const Array start = c + arange(65.) / 650.;
      const auto step = [&](const Array& q, const Array& x) {
        return kind % 2 ? steep(q, c) * x : sqrt(where(q > 0.5, 1., 0.) * q);
      };
      const Array end = where(c > 0.5, loop_of_kind(kind / 4, start, step), start);
      return mean(end) + end[1];
    };
    const Array x = array({0.4, 0.9, 0.3});
    const auto batch = [&](const Array& z) {
      return vmap(f, {.loops = kind & 2 ? LaneLoops::Lockstep : LaneLoops::Automatic})(z);
    };
    Array wanted = zeros({3, 3, 3});
    for (int lane = 0; lane < 3; ++lane) wanted = wanted.at(lane, lane, lane).set(jacfwd(jacfwd(f))(x[lane]));
    EXPECT_TRUE(all(isfinite(wanted)).item<bool>());
    expect_near(jit(jacrev(jacfwd(batch)))(x), wanted);
    expect_near(jit(jacrev(jacrev(batch)))(x), wanted);
    const auto slopes = [&](const Array& z) { return sum(jacfwd(batch)(z)); };
    expect_near(grad(slopes)(x), sum(wanted, {.axis = {0, 1}}));
    expect_near(jit(grad(slopes))(x), sum(wanted, {.axis = {0, 1}}));
  }
}

// Parts of an array of which only some were chosen.
/// Infinite slopes where `by` is not above 0.25, and chosen only where it is.
Array steep_if(const Array& x, const Array& by) {
  return where(by > 0.25, sqrt(where(by > 0.25, 1., 0.) * (1.25 + x * x)), x);
}

// What chooses is read from, or written to, an array at a place that each lane has of its own. The Hessian of
// a batch's sum has the second derivatives of its lanes on its diagonal.
TEST(UnchosenOrders, PlacesByLane) {
  const auto ramp = [](const Array& x) { return (0.375 + 0.25 * arange(5.)) * x; };
  const auto place = [](const Array& x) { return astype(abs(x) * 3., i64) % 5; };
  const Function functions[] = {
      [&](const Array& x) {
        const Array y = ramp(x), by = y[place(x)];
        return sum(steep_if(y * cos(by), by));
      },
      [&](const Array& x) {  // a row of a matrix
        const Array y = outer(ramp(x), ramp(x) + 0.5), row = y[place(x)];
        return sum(steep_if(row * cos(row[1]), row[2]));
      },
      [&](const Array& x) {  // a column
        const Array y = outer(ramp(x), ramp(x) + 0.5), column = y(range(), place(x));
        return sum(steep_if(column * cos(column), column));
      },
      [&](const Array& x) {
        const Array y = ramp(x), z = y.at(place(x)).set(x * x), by = z[1];
        return sum(steep_if(z * cos(by), by));
      },
      [&](const Array& x) {
        const Array y = ramp(x), z = y.at(stack({place(x), place(x + 0.5)})).add(sin(x)), by = z[place(x)];
        return sum(steep_if(z, by) * steep_if(by, z[0]));
      },
      [&](const Array& x) {
        const Array y = ramp(x), z = take_along_axis(y, stack({place(x), place(2. * x)}), 0);
        return sum(steep_if(z * cos(z[0]), z[1]));
      },
      [&](const Array& x) {
        const Array y = ramp(x), by = y[place(x)];
        return sum(fori_loop(
            0, place(x) % 3 + 1, [&](const Array&, const Array& z) { return steep_if(z * cos(by), by); }, y));
      },
  };
  const Array x = array({-1.7, -0.4, 0.3, 0.7, 1.2});
  int number = 0;
  for (const Function& f : functions) {
    SCOPED_TRACE("function " + std::to_string(number++));
    std::vector<Array> seconds;
    for (std::int64_t i = 0; i < x.size(); ++i) seconds.push_back(jacfwd(jacfwd(f))(x[i]));
    const Array expected = diag(stack(seconds));
    const auto total = [&](const Array& v) { return sum(vmap(f)(v)); };
    for (int modes = 0; modes < 4; ++modes) {
      SCOPED_TRACE("forward where the bit is set: " + std::to_string(modes));
      const Function h = derivative(derivative(total, modes & 1), modes >> 1 & 1);
      expect_near(h(x), expected);
      expect_near(jit(h)(x), expected);
    }
  }
}

// The vmap of a gradient, where the same condition is computed twice: two tracers of one value are one
// condition.
TEST(UnchosenOrders, EqualConditionsUnderVmap) {
  struct State {
    Array x, mean;
  };
  const auto f = [](const Array& v) {
    const Array start = (0.375 + 0.06 * arange(20.)) * v[2], by = sin(v[1]);
    const auto made = fori_loop(
        0, 2,
        [&](const Array&, const State& s) {
          const Array root = 0.5 * sqrt(where(by > 0.25, 1., 0.) * (1.25 + s.x * s.x));
          return State{root, sin(mean(s.x * s.x))};
        },
        State{start, by});
    const State chosen{where(by > 0.25, made.x, start), where(by > 0.25, made.mean, by)};
    const auto [end, entries] = scan(
        [](const State& s, const Array& x) {
          const State next = cond(
              Array(1.75) > 0.5,
              [](const State& z) {
                return State{sin(z.x), z.mean + 0.5};
              },
              [](const State& z) {
                return State{cos(z.x), z.mean};
              },
              s);
          return std::pair{next, sin(x)};
        },
        chosen, arange(4.));
    return mean(end.x) + entries[0];
  };
  const Array x = array({{0.3, -1., 0.7}, {0.3, 0.2, -0.4}, {0.1, 1., 0.7}});
  const Array expected = stack({grad(f)(x[0]), grad(f)(x[1]), grad(f)(x[2])});
  for (const LaneLoops loops : {LaneLoops::Automatic, LaneLoops::Lanes, LaneLoops::Lockstep}) {
    expect_near(vmap(grad(f), {.loops = loops})(x), expected);
    expect_near(jit(vmap(grad(f), {.loops = loops}))(x), expected);
  }
}

TEST(UnchosenOrders, PartsOfArrays) {
  auto f = [](const Array& x) {
    const Array s = sqrt(stack({x, x + 1.}));
    return where(x > 0., s[0], 0.) + s[1];
  };
  expect_orders(f, 0., {0.5, -0.25, 0.375});
  expect_sums(f, 0., 4., 0.5, -0.25);
  auto deeper = [](const Array& x) {
    const Array s = sqrt(stack({sqrt(x), x + 1., x + 4.}) * 4.);
    return s[2] + where(x > 0., s[0] * s[1], 0.) + s(range(1, 2))[0];
  };
  expect_orders(deeper, 0., {1.5, -0.5 - 1. / 16., 0.75 + 0.75 / 32.});
  auto elements = [](const Array& x) {
    const Array v = stack({x, x + 1., x - 1.}), s = where(v > 0., sqrt(v), v * v);
    return sum(where(v > 1., s * s, s * v));
  };
  expect_orders(elements, 0., {4.5, -5.25, 11.625});
}

// A loop's body knows the condition of the choice around it as a value of its own, beside that of its
// cotangents. The array is so large that the sum of its cotangents is handed from loop to loop.
TEST(UnchosenOrders, LoopsUnderAConditionInLoops) {
  auto f = [](const Array& x) {
    const Array start = x * ones({40});
    const auto within = [&] {
      return fori_loop(
          0, 2, [&](const Array&, const Array& v) { return sqrt(where(x > 0., 1., 0.) * (v + 1.)) * x; },
          start);
    };
    return mean(fori_loop(
        0, 2, [&](const Array&, const Array& y) { return y + where(x > 0.5, within(), start); }, start));
  };
  expect_orders(f, -0.75, {3., 0., 0.});
}

// One choice for a product, and choices by element for its factors.
TEST(UnchosenOrders, Products) {
  const Array m = array({{1., 0.}, {2., 3.}});
  auto whole = [=](const Array& x) { return sum(where(x > 0., dot(m, sqrt(stack({x, x + 1.}))), 0.)); };
  expect_orders(whole, 0., {0., 0., 0.});
  auto factors = [](const Array& x) {
    const Array v = stack({x, x + 1.}), s = where(v > 0., sqrt(v), v);
    return dot(s, s) + dot(s, array({2., 3.}));
  };
  expect_orders(factors, 0., {4.5, 1.25, 1.125});
}

}  // namespace
}  // namespace apsis::testing
