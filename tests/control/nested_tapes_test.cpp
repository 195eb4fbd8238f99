// Loops of unknown length within one another that read or update parts of a large buffer carried by the
// outermost: its tape has the lists of what the inner loops read, not the buffer in each iteration.

#include <functional>

#include "control/buffer_loop.hpp"
#include "control/passes.hpp"

namespace apsis::testing {
namespace {

struct Inner {
  Array j, a;
};
struct Updating {
  Array j, buffer;
};
struct Both {
  Array j, a, buffer;
};

/// a after n iterations of `step(j, a)`, or fewer if a grows large.
template <class F>
Array repeat(const Array& n, const Array& a, F&& step) {
  return while_loop([&](const Inner& t) { return (t.j < n) & (t.a < 30.); },
                    [&](const Inner& t) {
                      return Inner{t.j + 1, step(t.j, t.a)};
                    },
                    Inner{0, a})
      .a;
}

struct Named {
  const char* name;
  Step step;
  std::int64_t size = entries;  // of the buffer: lists of lists of lists pay later
};

/// Steps of a loop over a State with a buffer of one axis. Their inner loops have different lengths, some
/// none.
const Named steps[] = {
    {"reads",
     [](const State& s) {
       return put(s, repeat(s.i % 4, s.x, [&](const Array& j, const Array& a) {
                    return a + 0.25 * sin(s.buffer[s.i - j]) * s.x;
                  }));
     }},
    {"reads where it has come to",
     [](const State& s) {
       return put(s, repeat(s.i % 5, s.x, [&](const Array& j, const Array& a) {
                    return cos(s.buffer[s.i - j] * a) * s.buffer[s.i];
                  }));
     }},
    {"updates",
     [](const State& s) {
       const Array n = s.i % 3 + 1;
       const Updating end =
           while_loop([&](const Updating& t) { return t.j < n; },
                      [&](const Updating& t) {
                        const Array at = s.i + t.j;
                        return Updating{t.j + 1, t.buffer.at(at + 1).set(sin(t.buffer[at]) * s.x + 0.4)};
                      },
                      Updating{0, s.buffer});
       return State{s.i + n, s.x, end.buffer};
     }},
    {"updates and sums up",
     [](const State& s) {
       const Both end =
           while_loop([&](const Both& t) { return t.j < s.i % 3; },
                      [&](const Both& t) {
                        const Array at = s.i - t.j, old = t.buffer[at];
                        return Both{t.j + 1, t.a + 0.1 * old, t.buffer.at(at).set(sin(old) + 0.2 * s.x)};
                      },
                      Both{0, s.x, s.buffer});
       return State{s.i + 1, s.x, end.buffer.at(s.i + 1).set(end.a)};
     }},
    {"three loops",
     [](const State& s) {
       const auto inner = [&](const Array& k, const Array& a) {
         return repeat(k, a, [&](const Array& j, const Array& b) {
           return sin(s.buffer[s.i - j] * b) + 0.5 * s.buffer[s.i - k];
         });
       };
       return put(s, repeat(s.i % 4, s.x, inner));
     },
     40 * entries},
    {"three loops, the innermost of known length",
     [](const State& s) {
       const auto inner = [&](const Array& k, const Array& a) {
         return fori_loop(
             0, 3, [&](const Array& j, const Array& b) { return sin(s.buffer[s.i - j - k] * b) + 0.1 * a; },
             a);
       };
       return put(s, repeat(s.i % 4, s.x, inner));
     }},
    {"two loops side by side",
     [](const State& s) {
       const auto product = [&](const Array& j, const Array& a) { return a * cos(s.buffer[s.i - j]); };
       const auto sum = [&](const Array& j, const Array& a) { return a + 0.2 * square(s.buffer[s.i - j]); };
       return put(s, sin(repeat(s.i % 3, s.x, product) + repeat((s.i + 1) % 4, s.x, sum)));
     }},
    {"a function called",
     [](const State& s) {
       const auto product = jit([](const Array& b, const Array& i, const Array& x) {
         return repeat(i % 3, x, [&](const Array& j, const Array& a) { return a * cos(b[i - j]); });
       });
       return put(s, product(s.buffer, s.i, s.x));
     }},
};

void each_step(const std::function<void(const Step&, std::int64_t)>& test) {
  for (const Named& each : steps) {
    SCOPED_TRACE(each.name);
    test(each.step, each.size);
  }
}

TEST(NestedTapes, DerivativesAreThoseOfTheUnrolledProgram) {
  each_step([](const Step& step, std::int64_t size) {
    const Called loop = loop_of(step, size);
    const auto slope_of = jit(gradient_of(loop));
    for (std::int64_t n : {0, 1, 2, 9}) {
      SCOPED_TRACE(n);
      const auto unrolled = [&](const Array& x) {
        State s{0, x, broadcast_to(x, {size})};
        while (s.i.item<std::int64_t>() < n) s = step(s);
        return Array(s.buffer[n] + s.x);
      };
      const Array x = array(0.3), slope = grad(unrolled)(x);
      expect_near(slope_of(Array(n), x), slope, 1e-12);
      expect_near(slope_of(Array(n), astype(x, f32)), slope, 1e-5);
    }
    expect_derivatives([&](const Array& x) { return loop(Array(6), x); }, array(0.3), 1e-7);
  });
}

// A smaller buffer is recorded as a whole, and the inner loops run again: in the same order.
TEST(NestedTapes, TheBitsAreThoseOfLoopsThatRunAgain) {
  each_step([](const Step& step, std::int64_t size) {
    const Array n(9), x = array(0.3);
    const Called again = gradient_of(loop_of(step, 400)), listed = gradient_of(loop_of(step, size));
    EXPECT_EQ(make_graph(again, n, x).find("list<list<"), std::string::npos);
    EXPECT_NE(make_graph(listed, n, x).find("list<list<"), std::string::npos);
    expect_same_bits(jit(listed)(n, x), jit(again)(n, x));
  });
}

TEST(NestedTapes, PassOverNoBuffer) {
  const Array n = array({5, 9, 23, 1, 5, 16, 2, 30}), x = cos(arange(8.));
  const Called plain = loop_of([](const State& s) { return put(s, sin(s.buffer[s.i]) * s.x); }, entries);
  const std::ptrdiff_t single = passes(gradient_of(plain), n[0], x[0]),
                       lanes = passes(vmap(gradient_of(plain)), n, x);
  each_step([&](const Step& step, std::int64_t size) {
    const Called run = loop_of(step, size), gradient = gradient_of(run);
    EXPECT_EQ(passes(run, n[0], x[0]), 1);
    EXPECT_EQ(passes(gradient, n[0], x[0]), single);
    EXPECT_EQ(passes(vmap(run), n, x), passes(vmap(plain), n, x));
    EXPECT_EQ(passes(vmap(gradient), n, x), lanes);
  });
}

TEST(NestedTapes, LanesAreSingleCalls) {
  each_step([](const Step& step, std::int64_t size) {
    const Called run = loop_of(step, size), gradient = gradient_of(run), curvature = gradient_of(gradient);
    const Array n = array({0, 9, 3, 1, 5, 6, 2, 7, 4}), x = cos(arange(9.));
    const auto check = [&](const Called& f, const Array& starts) {
      const auto single = jit(f);
      const Array all = jit(vmap(f))(n, starts);
      for (std::int64_t i = 0; i < 9; ++i) expect_same_bits(Array(all[i]), single(n[i], starts[i]));
      return all;
    };
    const Array slopes = check(gradient, x);
    check(gradient, astype(x, f32));
    check(curvature, x);
    // The same number of outer iterations in all lanes.
    const auto alike = [&](const Array& y) { return gradient(Array(7), y); };
    const auto single = jit(alike);
    const Array all = jit(vmap(alike))(x);
    for (std::int64_t i = 0; i < 9; ++i) expect_same_bits(Array(all[i]), single(x[i]));
    // In one program, and with a program for each loop: then the lists go from one to the other.
    const auto total = [&](const Array& y) { return sum(vmap(run)(n, y)); };
    expect_same_bits(jit(grad(total))(x), slopes);
    expect_same_bits(grad(total)(x), slopes);
  });
}

TEST(NestedTapes, BoundsOfInnerLoopsHold) {
  const auto gradient = [](std::int64_t max_steps) {
    const Step step = [=](const State& s) {
      return put(s, while_loop([&](const Inner& t) { return t.j < s.i % 5; },
                               [&](const Inner& t) {
                                 return Inner{t.j + 1, t.a * cos(s.buffer[s.i - t.j])};
                               },
                               Inner{0, s.x}, {.max_steps = max_steps})
                        .a);
    };
    return gradient_of(loop_of(step, entries));
  };
  const Array n(9), x = array(0.3);
  const Array slope = jit(gradient(4))(n, x);
  EXPECT_THROW(jit(gradient(3))(n, x), Error);
  EXPECT_THROW(jit(vmap(gradient(3)))(array({1, 9, 3}), cos(arange(3.))), Error);
  expect_same_bits(jit(gradient(4))(n, x), slope);
}

}  // namespace
}  // namespace apsis::testing
