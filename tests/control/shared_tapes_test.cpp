// Directions of a derivative share the tape of a batch of loops: they go through its lists together, so that
// the lists have derivatives in turn, in every order of modes.

#include <functional>

#include <gtest/gtest.h>

#include <apsis/apsis.hpp>

namespace apsis::testing {
namespace {

struct Counted {
  Array i, b;
};

/// Of a state and a number by lane, which says how long loops of unknown length run.
using Loop = std::function<Array(const Array&, const Array&)>;

template <class Body>
Array times(const Array& count, const Array& b, const Body& body) {
  return while_loop([&](const Counted& s) { return s.i < count; },
                    [&](const Counted& s) {
                      return Counted{s.i + 1, body(s.b)};
                    },
                    Counted{0, b})
      .b;
}
template <class Body>
Array steps(std::int64_t n, const Array& b, const Body& body) {
  return fori_loop(
      0, n, [&](const Array&, const Array& c) { return body(c); }, b);
}
Array step(const Array& b) { return sin(b) * 1.1 + 0.1 * b * sum(b * b); }

std::vector<std::pair<const char*, Loop>> loops() {
  std::vector<std::pair<const char*, Loop>> all;
  all.emplace_back("while", [](const Array& x, const Array& n) { return times(n, x, step); });
  all.emplace_back("fori", [](const Array& x, const Array& n) { return steps(3, x * n, step); });
  all.emplace_back("scan", [](const Array& x, const Array& n) {
    return sum(scan(
                   [&](const Array& c, const Array& t) {
                     return std::pair{step(c) * t, c * c * t};
                   },
                   x, stack({n * 0.3, n * 0.1 + x[0], n * 0.2}))
                   .second,
               {.axis = 0});
  });
  all.emplace_back("while{while}", [](const Array& x, const Array& n) {
    return times(n, x, [&](const Array& b) { return times(n + 1, b, step); });
  });
  all.emplace_back("while{fori}", [](const Array& x, const Array& n) {
    return times(n, x, [&](const Array& b) { return steps(2, b, step); });
  });
  all.emplace_back("fori{while}", [](const Array& x, const Array& n) {
    return steps(2, x, [&](const Array& b) { return times(n, b, step); });
  });
  all.emplace_back("while{cond{while}}", [](const Array& x, const Array& n) {
    return times(n, x, [&](const Array& b) {
      return cond(
          b[0] > 0.6, [&](const Array& y) { return times(n, y, step); }, [](const Array& y) { return y * y; },
          b);
    });
  });
  all.emplace_back("solve", [](const Array& x, const Array& n) {
    auto field = [n](const Array&, const Array& y) { return 0.3 * n * y - 0.3 * y * y * y; };
    return diffeqsolve(ODETerm{field}, Tsit5{}, 0., 1., 0.1, x,
                       {.controller = PIDController{.rtol = 1e-3, .atol = 1e-5}})
        .ys[-1];
  });
  return all;
}

/// A sum over the lanes, of a state that they share and one of their own.
template <class Batch>
Array sum_over(const Batch& batch, const Array& x) {
  const Array z = batch(stack({x, x * 0.5, x + 0.1}), array({2., 0., 3.}));
  return sum(z * z * x) + sum(sin(z) * x[0]);
}

TEST(SharedTapes, OrdersOfModes) {
  const Array x = array({0.4, 0.7});
  for (const auto& [name, loop] : loops()) {
    SCOPED_TRACE(name);
    const Loop& f = loop;
    const auto alone = [&](const Array& p) {
      return sum_over(
          [&](const Array& xs, const Array& ns) {
            std::vector<Array> rows;
            for (int l = 0; l < 3; ++l) rows.push_back(f(xs[l], ns[l]));
            return stack(rows);
          },
          p);
    };
    for (const LaneLoops how : {LaneLoops::Automatic, LaneLoops::Lanes, LaneLoops::Lockstep}) {
      const auto batch = [&](const Array& p) {
        return sum_over([&](const Array& xs, const Array& ns) { return vmap(f, {.loops = how})(xs, ns); }, p);
      };
      const auto expect_same = [&](const char* order, const auto& of_batch, const auto& of_alone) {
        SCOPED_TRACE(order);
        const Array want = jit(of_alone)(x), scale = 1. + abs(want);
        EXPECT_LE(max(abs(jit(of_batch)(x) - want) / scale).template item<double>(), 1e-11);
        if (how != LaneLoops::Automatic) return;
        EXPECT_LE(max(abs(of_batch(x) - want) / scale).template item<double>(), 1e-11);
        DisableJit direct;
        EXPECT_LE(max(abs(of_batch(x) - want) / scale).template item<double>(), 1e-11);
      };
      const auto contracted = [](const auto& h) {
        return [h](const Array& p) { return sum(h(p) * array({{0.3, -1.2}, {0.7, 0.4}})); };
      };
      const auto second = hessian(alone);
      const auto third = grad(contracted(second));
      expect_same("jacrev(jacrev)", jacrev(jacrev(batch)), second);
      expect_same("grad(jacrev(jacrev))", grad(contracted(jacrev(jacrev(batch)))), third);
      if (how != LaneLoops::Automatic) continue;
      expect_same("jacrev(jacfwd)", jacrev(jacfwd(batch)), second);
      expect_same("grad(jacrev(jacfwd))", grad(contracted(jacrev(jacfwd(batch)))), third);
      expect_same("grad(hessian)", grad(contracted(hessian(batch))), third);
      const auto over = [](const auto& h) {
        return [h](const Array& p) { return vmap(h)(stack({p, p * 0.9})); };
      };
      expect_same("vmap(jacrev(jacfwd))", over(jacrev(jacfwd(batch))), over(second));
    }
  }
}

}  // namespace
}  // namespace apsis::testing
