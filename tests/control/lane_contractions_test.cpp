// Products inside loops of lanes: lanes, lockstep and single calls give the same bits, at the lengths and
// numbers of results around which the code changes, with matrices that the lanes share and with their own.

#include "codegen/compile/compile.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

std::int64_t occurrences(const std::string& text, const std::string& what) {
  std::int64_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

struct Steps {
  Array count, x;
};

/// x <- scaled tanh(up · tanh(down · x)), as often as the lane asks for.
Array iterate(const Array& times, const Array& x, const Array& down, const Array& up) {
  return while_loop([&](const Steps& s) { return s.count < times; },
                    [&](const Steps& s) {
                      const Array inner = tanh(matmul(down, s.x));
                      return Steps{s.count + 1, tanh(matmul(up, inner)) * 0.75 + s.x * 0.125};
                    },
                    Steps{0, x})
      .x;
}

void check(Dtype dtype, std::int64_t n, std::int64_t inner, bool shared) {
  SCOPED_TRACE(std::to_string(n) + " and " + std::to_string(inner) + (shared ? ", shared" : ""));
  const std::int64_t lanes = 21;
  const auto draw = [&](std::int64_t seed, Shape shape) {
    return random::uniform(random::key(seed), shape, dtype, -0.5, 0.5);
  };
  const Array times = array({3, 0, 1, 5, 2, 2, 7, 1, 0, 4, 3, 3, 6, 1, 2, 5, 4, 0, 1, 2, 3});
  const Array xs = draw(1, {lanes, n});
  const Array down = shared ? draw(2, {inner, n}) : draw(2, {lanes, inner, n}),
              up = shared ? draw(3, {n, inner}) : draw(3, {lanes, n, inner});
  const auto many = [&](LaneLoops loops) {
    VmapOptions options{.in_axes = {0, 0, {}, {}}, .loops = loops};
    if (!shared) options = {.loops = loops};
    return jit(vmap(iterate, options))(times, xs, down, up);
  };
  const Array in_lanes = many(LaneLoops::Lanes);
  expect_same_bits(in_lanes, many(LaneLoops::Lockstep));
  const auto one = jit(iterate);
  for (std::int64_t i = 0; i < lanes; ++i)
    expect_same_bits(Array(in_lanes[i]),
                     one(times[i], xs[i], shared ? down : Array(down[i]), shared ? up : Array(up[i])));
}

TEST(LaneContractions, GiveTheBitsOfSingleCalls) {
  for (Dtype dtype : {f32, f64})
    for (bool shared : {true, false})
      for (std::int64_t n : {31, 32, 37, 48})
        for (std::int64_t inner : {17, 32, 40}) check(dtype, n, inner, shared);
}

// On the way back the products for the matrices wait for some iterations; the sums are those of the
// evaluator, which runs lane after lane and adds at once.
TEST(LaneContractions, GradientsOfSharedMatricesAreSummedInOrder) {
  const Array times = array({3, 0, 40, 5, 2, 33, 7, 1, 0, 4, 3, 17, 6, 1, 2, 5, 4, 0, 1, 2, 3});
  for (Dtype dtype : {f32, f64})
    for (auto [n, inner] : {std::pair{5, 7}, {17, 3}, {4, 64}, {33, 20}}) {
      SCOPED_TRACE(to_string(dtype) + ", " + std::to_string(n) + " and " + std::to_string(inner));
      const auto draw = [&](std::int64_t seed, Shape shape) {
        return random::uniform(random::key(seed), shape, dtype, -0.5, 0.5);
      };
      const Array xs = draw(1, {times.size(), n}), down = draw(2, {inner, n}), up = draw(3, {n, inner});
      const auto loss = [&](const Array& d, const Array& u) {
        // Once an iteration, and twice.
        const auto twice = [&](const Array& x, const Array& a, const Array& b) {
          return tanh(matmul(b, tanh(matmul(a, x)))) * 0.75 + x * 0.125;
        };
        const auto one = [&](const Array& count, const Array& x) {
          const Array far = while_loop([&](const Steps& s) { return s.count < count; },
                                       [&](const Steps& s) {
                                         return Steps{s.count + 1, twice(twice(s.x, d, u) + s.x, d, u)};
                                       },
                                       Steps{0, x})
                                .x;
          return sum(far * iterate(count, x, d, u));
        };
        return mean(vmap(one, {.loops = LaneLoops::Lanes})(times, xs));
      };
      const auto gradients = expect_compiled_as_interpreted(jit(grad<0, 1>(loss)), down, up);
      // Tapes that leave their program.
      expect_near(grad<0, 1>(loss)(down, up), gradients, dtype == f32 ? 1e-4 : 1e-12);
      // Both matrices in both loops.
      const std::string code = detail::code_text(*staged_call(grad<0, 1>(loss), down, up).graph);
      EXPECT_EQ(occurrences(code, "call void @outer"), 2 * 2) << code;
    }
}

}  // namespace
}  // namespace apsis::testing
