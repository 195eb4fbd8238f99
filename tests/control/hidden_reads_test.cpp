// Branches and inner loops that read parts of a large buffer carried by the loop around them, or update
// parts: neither the tape nor the cotangents have the buffer in each iteration.

#include <functional>

#include "control/buffer_loop.hpp"
#include "control/passes.hpp"
#include "ops/lax.hpp"

namespace apsis::testing {
namespace {

Array window(const State& s, std::int64_t n) {
  const Array start[] = {detail::lax::convert(s.i, i64)};
  return sum(square(detail::lax::dynamic_slice(s.buffer, start, {n}))) / 30. + s.x;
}

struct Named {
  const char* name;
  Step step;
};

/// Steps of a loop over a State with a buffer of one axis.
const Named steps[] = {
    {"one branch reads",
     [](const State& s) {
       return put(s, cond(
                         s.i % 3 == 0, [&] { return sin(s.buffer[s.i]) * s.x; }, [&] { return 0.5 * s.x; }));
     }},
    {"branches read differently",
     [](const State& s) {
       const auto entry = [&] { return cos(s.buffer[s.i]) * s.buffer[s.i - 1] + s.x; };
       return put(s, switch_(s.i % 3,
                             std::tuple{[&] { return window(s, 5); }, entry, [&] { return window(s, 30); }}));
     }},
    {"branches update",
     [](const State& s) {
       const auto set = [&](const Array& b) { return Array(b.at(s.i + 1).set(sin(b[s.i] + s.x))); };
       const auto add = [&](const Array& b) { return Array(b.at(s.i + 1).add(0.5 * b[s.i] * s.x + 1.)); };
       return State{s.i + 1, s.x, cond(s.i % 3 == 0, set, add, s.buffer)};
     }},
    {"the buffer is updated first",
     [](const State& s) {
       const Array next = s.buffer.at(s.i + 1).set(sin(s.buffer[s.i]) + s.x);
       const auto older = [&] { return 0.3 * sin(s.buffer[s.i - 2]) + s.x; };
       return State{s.i + 1, cond(s.i % 2 == 0, older, [&] { return 0.9 * s.x; }), next};
     }},
    {"an inner loop reads",
     [](const State& s) {
       const auto add = [&](const Array& j, const Array& a) {
         return a + 0.25 * sin(s.buffer[s.i - j]) * s.x;
       };
       return put(s, fori_loop(0, 4, add, Array(s.x)));
     }},
    {"a branch of an inner loop",
     [](const State& s) {
       const auto add = [&](const Array& j, const Array& a) {
         return cond(
             j < s.i, [&](const Array& v) { return v + 0.25 * sin(s.buffer[s.i - j] * v); },
             [](const Array& v) { return 0.5 * v; }, a);
       };
       return put(s, fori_loop(0, 4, add, Array(s.x)));
     }},
    {"an inner loop of a branch",
     [](const State& s) {
       const auto times = [&](const Array& j, const Array& a) { return a * cos(s.buffer[s.i - j]); };
       const auto product = [&] { return fori_loop(0, 3, times, Array(s.x)); };
       return put(s, cond(s.i % 2 == 1, product, [&] { return s.buffer[s.i] * s.x; }));
     }},
    {"a function called in a branch",
     [](const State& s) {
       const auto read = jit([](const Array& b, const Array& i) { return sin(b[i]); });
       return put(s, cond(
                         s.i % 3 < 2, [&] { return read(s.buffer, s.i) + s.x; }, [&] { return 0.5 * s.x; }));
     }},
};

void each_step(const std::function<void(const Step&)>& test) {
  for (const Named& each : steps) {
    SCOPED_TRACE(each.name);
    test(each.step);
  }
}

TEST(HiddenReads, DerivativesAreThoseOfTheUnrolledProgram) {
  each_step([](const Step& step) {
    const Called loop = loop_of(step, 100);
    const auto slope_of = jit(gradient_of(loop));
    for (std::int64_t n : {0, 1, 2, 9}) {
      SCOPED_TRACE(n);
      const auto unrolled = [&](const Array& x) {
        State s{0, x, broadcast_to(x, {100})};
        for (std::int64_t k = 0; k < n; ++k) {
          s = step(s);
          s.i = Array(k + 1);
        }
        return Array(s.buffer[n] + s.x);
      };
      const Array x = array(0.3), slope = grad(unrolled)(x);
      expect_near(slope_of(Array(n), x), slope, 1e-12);
      expect_near(slope_of(Array(n), astype(x, f32)), slope, 1e-5);
    }
    expect_derivatives([&](const Array& x) { return loop(Array(6), x); }, array(0.3), 1e-7);
  });
}

TEST(HiddenReads, PullBacksMayBeCalledAgain) {
  each_step([](const Step& step) {
    const auto ends = [&](const Array& b) {
      const State start{0, array(0.4), b};
      return while_loop([](const State& s) { return s.i < 20; }, step, start).buffer;
    };
    const Array start = sin(arange(64.)), one = cos(arange(64.)), other = sin(arange(64.) * 0.7);
    const auto twice = jit([&](const Array& b, const Array& u, const Array& v) {
      auto [end, pull] = vjp(ends, b);
      return std::tuple(end, std::get<0>(pull(u)), std::get<0>(pull(v)));
    });
    const auto once =
        jit([&](const Array& b, const Array& u) { return std::get<0>(vjp(ends, b).second(u)); });
    const auto [end, first, second] = twice(start, one, other);
    expect_same_bits(first, once(start, one));
    expect_same_bits(second, once(start, other));
    // On a cotangent that is given up.
    Array given = cos(arange(64.));
    expect_same_bits(once(start, std::move(given)), first);
  });
}

TEST(HiddenReads, LanesAreSingleCalls) {
  each_step([](const Step& step) {
    const Called run = loop_of(step, 100), gradient = gradient_of(run), curvature = gradient_of(gradient);
    const Array n = array({0, 9, 23, 1, 5, 16, 2, 30, 4, 11, 38}), x = cos(arange(11.));
    const auto check = [&](const Called& f, const Array& starts) {
      const auto single = jit(f);
      const Array all = jit(vmap(f))(n, starts);
      for (std::int64_t i = 0; i < 11; ++i) expect_same_bits(Array(all[i]), single(n[i], starts[i]));
    };
    check(run, x);
    check(gradient, x);
    check(gradient, astype(x, f32));
    check(curvature, x);
    const auto lockstep = [&](const Array& y) {
      return sum(vmap(run, {.loops = LaneLoops::Lockstep})(n, y));
    };
    expect_near(jit(grad(lockstep))(x), vmap(gradient)(n, x), 1e-12);
  });
}

TEST(HiddenReads, PassOverNoBuffer) {
  const Array n = array({5, 9, 23, 1, 5, 16, 2, 30}), x = cos(arange(8.));
  // Those of a loop that reads where everybody sees it: the start's, the cotangent's, and what lanes do where
  // they enter and leave.
  const Called plain = loop_of([](const State& s) { return put(s, sin(s.buffer[s.i]) * s.x); }, entries);
  const std::ptrdiff_t single = passes(gradient_of(plain), n[0], x[0]),
                       lanes = passes(vmap(gradient_of(plain)), n, x);
  EXPECT_EQ(single, 2);
  each_step([&](const Step& step) {
    const Called run = loop_of(step, entries), gradient = gradient_of(run);
    EXPECT_EQ(passes(run, n[0], x[0]), 1);
    EXPECT_EQ(passes(gradient, n[0], x[0]), single);
    EXPECT_EQ(passes(vmap(run), n, x), passes(vmap(plain), n, x));
    EXPECT_EQ(passes(vmap(gradient), n, x), lanes);
  });
  // What the test would see: a buffer that is needed whole.
  const Step all = [](const State& s) {
    const auto total = [&] { return sum(sin(s.buffer)); };
    return State{s.i + 1, s.x, s.buffer.at(s.i).set(cond(s.i % 3 == 0, total, [&] { return s.x; }))};
  };
  EXPECT_GT(passes(gradient_of(loop_of(all, entries)), n[0], x[0]), single + 2);
}

}  // namespace
}  // namespace apsis::testing
