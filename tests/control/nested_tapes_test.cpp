// Loops of unknown length within one another that read or update parts of a large buffer carried by the
// outermost: its tape has the lists of what the inner loops read, not the buffer in each iteration.

#include "control/nested_steps.hpp"

namespace apsis::testing {
namespace {

TEST(NestedTapes, DerivativesAreThoseOfTheUnrolledProgram) {
  each_nested_step([](const Step& step, std::int64_t size) {
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
  each_nested_step([](const Step& step, std::int64_t size) {
    const Array n(9), x = array(0.3);
    const Called again = gradient_of(loop_of(step, 200)), listed = gradient_of(loop_of(step, size));
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
  each_nested_step([&](const Step& step, std::int64_t size) {
    const Called run = loop_of(step, size), gradient = gradient_of(run);
    EXPECT_EQ(passes(run, n[0], x[0]), 1);
    EXPECT_EQ(passes(gradient, n[0], x[0]), single);
    EXPECT_EQ(passes(vmap(run), n, x), passes(vmap(plain), n, x));
    EXPECT_EQ(passes(vmap(gradient), n, x), lanes);
  });
}

TEST(NestedTapes, LanesAreSingleCalls) {
  each_nested_step([](const Step& step, std::int64_t size) {
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
