// Loops of unknown length in loops of known length that carry a large buffer: the tape has the lists of what
// the inner loops read beside what is stacked, not the buffer in each iteration.

#include "control/nested_steps.hpp"
#include "control/peak_memory.hpp"
#include "runtime/region.hpp"

namespace apsis::testing {
namespace {

constexpr std::int64_t lengths[] = {0, 1, 2, 9};

TEST(ScanTapes, DerivativesAreThoseOfTheUnrolledProgram) {
  each_nested_step([](const Step& step, std::int64_t size) {
    for (std::int64_t n : lengths) {
      SCOPED_TRACE(n);
      const auto loop = fixed_loop_of(step, size, n);
      const auto unrolled = [&](const Array& x) {
        State s{0, x, broadcast_to(x, {size})};
        for (std::int64_t k = 0; k < n; ++k) s = step(s);
        return Array(s.buffer[s.i] + s.x);
      };
      const Array x = array(0.3), slope = grad(unrolled)(x);
      expect_near(jit(grad(loop))(x), slope, 1e-12);
      expect_near(jit(grad(loop))(astype(x, f32)), slope, 1e-5);
    }
    expect_derivatives(fixed_loop_of(step, size, 6), array(0.3), 1e-7);
  });
}

// A smaller buffer is recorded as a whole, and the inner loops run again: in the same order.
TEST(ScanTapes, TheBitsAreThoseOfLoopsThatRunAgain) {
  each_nested_step([](const Step& step, std::int64_t size) {
    const Array x = array(0.3);
    const auto again = grad(fixed_loop_of(step, 200, 9)), listed = grad(fixed_loop_of(step, size, 9));
    EXPECT_EQ(make_graph(again, x).find("list<list<"), std::string::npos);
    EXPECT_NE(make_graph(listed, x).find("list<list<"), std::string::npos);
    const Array slope = jit(again)(x);
    expect_same_bits(jit(listed)(x), slope);
    expect_same_bits(listed(x), slope);
    detail::InterpretScope interpreted;
    expect_same_bits(listed(x), slope);
  });
}

TEST(ScanTapes, PassOverNoBuffer) {
  const Array x = array(0.3), starts = cos(arange(8.));
  const auto plain =
      grad(fixed_loop_of([](const State& s) { return put(s, sin(s.buffer[s.i]) * s.x); }, entries, 9));
  each_nested_step([&](const Step& step, std::int64_t) {
    const auto gradient = grad(fixed_loop_of(step, 40 * entries, 9));
    EXPECT_EQ(passes(gradient, x), passes(plain, x));
  });
}

TEST(ScanTapes, MemoryIsThatOfAFewBuffers) {
  constexpr std::int64_t size = 40 * entries, buffer = 8 * size;
  const auto buffers = [=](const Step& step, std::int64_t n) {
    const auto gradient = jit(grad(fixed_loop_of(step, size, n)));
    return peak_of_first([&] { gradient(array(0.3)); }) / buffer;
  };
  each_nested_step([&](const Step& step, std::int64_t) { EXPECT_LE(buffers(step, 200), 4); });
  // What the test would see: a buffer that is needed whole.
  const Step all = [](const State& s) { return put(s, 0.001 * sum(sin(s.buffer))); };
  EXPECT_GE(buffers(all, 200), 200);
}

TEST(ScanTapes, LanesAreSingleCalls) {
  each_nested_step([](const Step& step, std::int64_t size) {
    const auto loop = fixed_loop_of(step, size, 7);
    const auto gradient = grad(loop);
    const auto curvature = grad(gradient);
    const Array x = cos(arange(9.));
    const auto check = [&](const auto& f, const Array& starts) {
      const auto single = jit(f);
      const Array all = jit(vmap(f))(starts);
      for (std::int64_t i = 0; i < 9; ++i) expect_same_bits(Array(all[i]), single(starts[i]));
      return all;
    };
    check(loop, x);
    const Array slopes = check(gradient, x);
    check(gradient, astype(x, f32));
    check(curvature, x);
    // In one program, and with a program for each loop: then the lists go from one to the other.
    const auto total = [&](const Array& y) { return sum(vmap(loop)(y)); };
    expect_same_bits(jit(grad(total))(x), slopes);
    expect_same_bits(grad(total)(x), slopes);
  });
}

// Stacked entries and results beside the lists, in both directions; a pull-back called twice, and in a batch.
TEST(ScanTapes, StacksAndListsSideBySide) {
  const Array factors = cos(arange(9.)), x = array(0.3);
  for (bool reverse : {false, true}) {
    const auto each = [](const State& s, const Array& factor) {
      const Array sum = repeat(s.i % 4, s.x, [&](const Array& j, const Array& a) {
        return a + factor * sin(s.buffer[s.i - j]) * a;
      });
      return std::pair{put(s, sum), Array(0.5 * sum * factor)};
    };
    const auto loop = [&](const Array& y, const Array& f) {
      auto [end, rows] = scan(each, State{0, y, broadcast_to(y, {entries})}, f, {.reverse = reverse});
      return std::pair{Array(end.buffer[9]), rows};
    };
    const auto unrolled = [&](const Array& y, const Array& f) {
      State s{0, y, broadcast_to(y, {entries})};
      std::vector<Array> rows(9);
      for (std::int64_t k = 0; k < 9; ++k) {
        const std::int64_t i = reverse ? 8 - k : k;
        std::tie(s, rows[static_cast<std::size_t>(i)]) = each(s, f[i]);
      }
      return std::pair{Array(s.buffer[9]), stack(rows)};
    };
    const auto loss_of = [](const auto& f) {
      return [f](const Array& y, const Array& g) {
        const auto [end, rows] = f(y, g);
        return end + sum(rows * sin(rows));
      };
    };
    const auto [by_x, by_factors] = jit(grad<0, 1>(loss_of(loop)))(x, factors);
    const auto [plain_x, plain_factors] = grad<0, 1>(loss_of(unrolled))(x, factors);
    expect_near(by_x, plain_x, 1e-12);
    expect_near(by_factors, plain_factors, 1e-12);

    auto [value, pull] = vjp(loss_of(loop), x, factors);
    const auto [once_x, once_factors] = pull(array(1.));
    const auto [twice_x, twice_factors] = pull(array(2.));
    expect_same_bits(once_x, by_x);
    expect_same_bits(twice_factors, Array(2. * once_factors));
    const Array both = vmap([pull = pull](const Array& c) { return std::get<1>(pull(c)); })(array({1., 2.}));
    expect_same_bits(Array(both[0]), once_factors);
    expect_same_bits(Array(both[1]), twice_factors);
  }
}

}  // namespace
}  // namespace apsis::testing
