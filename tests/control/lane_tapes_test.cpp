// Reverse mode through loops in lanes: what the lanes record goes on tapes of whole packets, and every lane's
// gradient is bit for bit that of a single call.

#include "codegen/support/lanes.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Count {
  Array steps, x;
};

/// As many trips as the lane says; none where n is zero.
Array wander(const Array& n, const Array& x) {
  return while_loop([&](const Count& s) { return s.steps < n; },
                    [](const Count& s) {
                      return Count{s.steps + 1, sin(1.3 * s.x) + 0.1 * s.x * s.x[0]};
                    },
                    Count{0, x})
      .x;
}

Array trips(std::int64_t lanes, std::int64_t most) {
  std::vector<std::int64_t> n;
  for (std::int64_t i = 0; i < lanes; ++i) n.push_back(i * 7919 % (most + 1));
  return array(n);
}

Array starts(std::int64_t lanes, std::int64_t width = 3) {
  return reshape(cos(arange(static_cast<double>(lanes * width))), {lanes, width});
}

template <class F>
void expect_rows_alone(const F& f, const Array& n, const Array& x) {
  auto single = jit(f);
  auto all = jit(vmap(f))(n, x);
  for (std::int64_t i = 0; i < n.dim(0); ++i) {
    SCOPED_TRACE(i);
    expect_same_bits(Array(all[i]), single(n[i], x[i]));
  }
  expect_near(vmap(f)(n, x), all, 1e-12);  // op by op, without the fusions of a program
}

TEST(LaneTapes, GradientsAreThoseOfSingleLoops) {
  auto gradient = [](const Array& n, const Array& x) {
    return grad([&](const Array& y) { return sum(wander(n, y) * cos(y)); })(x);
  };
  for (std::int64_t lanes : {1, 5, 130}) expect_rows_alone(gradient, trips(lanes, 40), starts(lanes));
  expect_rows_alone(gradient, trips(40, 0), starts(40));  // no lane makes a step
}

TEST(LaneTapes, RunInPackets) {
  auto loss = [](const Array& n, const Array& x) {
    return sum(vmap([](const Array& k, const Array& y) { return sum(wander(k, y)); })(n, x));
  };
  auto gradient = jit(grad<1>(loss));
  Array n = trips(256, 60), x = starts(256);
  gradient(n, x);
  const std::int64_t before = detail::lane_counts().packet_steps;
  gradient(n, x);
  // Forwards and backwards; packets hold at least four lanes of doubles.
  EXPECT_LT(4 * (detail::lane_counts().packet_steps - before), 3 * sum(n).item<std::int64_t>());
}

TEST(LaneTapes, ArraysInMemory) {
  auto gradient = [](const Array& n, const Array& x) {
    return grad([&](const Array& y) { return sum(wander(n, y) * y); })(x);
  };
  expect_rows_alone(gradient, trips(37, 12), starts(37, 40));
  // A row is written a trip: the record of a large array that is updated in place.
  auto rows = [](const Array& n, const Array& x) {
    return grad([&](const Array& y) {
      return sum(
          square(while_loop([&](const Count& s) { return s.steps < n; },
                            [](const Count& s) {
                              return Count{s.steps + 1, s.x.at(s.steps).set(sin(s.x[s.steps + 1] * s.x[0]))};
                            },
                            Count{0, y})
                     .x));
    })(x);
  };
  expect_rows_alone(rows, trips(37, 20), starts(37, 40));
}

/// A Newton iteration in each step, as long as the lane's step takes.
Array implicit_steps(const Array& n, const Array& x) {
  return while_loop([&](const Count& s) { return s.steps < n; },
                    [](const Count& s) {
                      Array root = while_loop(
                          [&](const Array& z) { return sum(abs(z * z * z + z - s.x)) > 1e-9; },
                          [&](const Array& z) { return z - (z * z * z + z - s.x) / (3. * z * z + 1.); },
                          0.5 * s.x);
                      return Count{s.steps + 1, root + 0.3 * cos(s.x)};
                    },
                    Count{0, x})
      .x;
}

TEST(LaneTapes, OfLoopsWithinLoops) {
  auto value = [](const Array& n, const Array& x) { return implicit_steps(n, x); };
  auto gradient = [](const Array& n, const Array& x) {
    return grad([&](const Array& y) { return sum(implicit_steps(n, y) * y); })(x);
  };
  expect_rows_alone(value, trips(45, 9), starts(45));
  expect_rows_alone(gradient, trips(45, 9), starts(45));
  expect_rows_alone(gradient, trips(20, 5), starts(20, 30));
}

TEST(LaneTapes, WithBranches) {
  auto fork = [](const Array& n, const Array& x) {
    return while_loop([&](const Count& s) { return s.steps < n; },
                      [](const Count& s) {
                        Array next = cond(
                            s.x[0] > 0.2, [](const Array& y) { return y * cos(y); },
                            [](const Array& y) {
                              return fori_loop(
                                  0, 3, [](const Array&, const Array& z) { return 0.5 * z + sin(z) + 0.1; },
                                  y);
                            },
                            s.x);
                        return Count{s.steps + 1, next};
                      },
                      Count{0, x})
        .x;
  };
  auto gradient = [&](const Array& n, const Array& x) {
    return grad([&](const Array& y) { return sum(fork(n, y) * y); })(x);
  };
  expect_rows_alone(fork, trips(40, 15), starts(40));
  expect_rows_alone(gradient, trips(40, 15), starts(40));
}

TEST(LaneTapes, TwoLoopsInARow) {
  auto twice = [](const Array& n, const Array& x) {
    return grad([&](const Array& y) { return sum(wander(n, wander(n + 2, y)) * y); })(x);
  };
  expect_rows_alone(twice, trips(33, 11), starts(33));
}

TEST(LaneTapes, SecondDerivatives) {
  auto curvature = [](const Array& n, const Array& x) {
    auto along = [&](const Array& z) {
      return sum(grad([&](const Array& y) { return sum(wander(n, y)); })(z));
    };
    return grad(along)(x);
  };
  expect_rows_alone(curvature, trips(19, 8), starts(19));
  auto forward = [](const Array& n, const Array& x) {
    return jvp(grad([&](const Array& y) { return sum(wander(n, y)); }), x, cos(x)).second;
  };
  expect_rows_alone(forward, trips(19, 8), starts(19));
}

TEST(LaneTapes, OfLanesWithinLanes) {
  auto gradient = [](const Array& n, const Array& x) {
    return grad([&](const Array& y) { return sum(wander(n, y)); })(x);
  };
  Array n = trips(12, 9), x = reshape(starts(60), {5, 12, 3});
  Array all = jit(vmap(vmap(gradient), {.in_axes = {{}, 0}}))(n, x);
  auto single = jit(gradient);
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t j = 0; j < 12; ++j) expect_same_bits(Array(all(i, j)), single(n[j], x(i, j)));
}

TEST(LaneTapes, SharedOperandsSumOverLanes) {
  auto total = [](const Array& w, const Array& n, const Array& x) {
    auto lane = [&](const Array& k, const Array& y) {
      return sum(while_loop([&](const Count& s) { return s.steps < k; },
                            [&](const Count& s) {
                              return Count{s.steps + 1, sin(w * s.x)};
                            },
                            Count{0, y})
                     .x);
    };
    return sum(vmap(lane)(n, x));
  };
  Array n = trips(50, 17), x = starts(50), w = array({0.7, 1.1, -0.4});
  Array got = jit(grad(total))(w, n, x);
  auto loss = [&](const Array& v) { return total(v, n, x); };
  expect_near(got, differences(loss, w, 2e-4), 1e-8);
  expect_same_bits(got, expect_compiled_as_interpreted(grad(loss), w));
}

}  // namespace
}  // namespace apsis::testing
