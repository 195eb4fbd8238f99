// What packets of lanes do at branches and in loops within loops, counted.

#include <atomic>
#include <regex>

#include "apsis/ops/extend.hpp"
#include "codegen/support/lanes.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

/// The identity, as kernels that count their calls, from any thread. On an array that all lanes share: one
/// call however many lanes run.
template <int number>
std::atomic<std::int64_t> calls = 0;

void same_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) { out.push_back(in[0]); }

template <int number>
void count_call(const Params&, std::span<const Array> in, std::span<Array> out) {
  ++calls<number>;
  std::memcpy(mutable_data<char>(out[0]), data_of(in[0]), in[0].aval().bytes());
}

void counted_batch(const BatchRule&) { FAIL() << "the array is shared"; }

template <int number>
const Op counted_op = {.name = number == 0 ? "test.counted_0" : "test.counted_1",
                       .kind = OpKind::Index,
                       .shape = same_shape,
                       .evaluate = count_call<number>,
                       .batch = counted_batch,
                       .version = 1};
template <int number>
Array counted(const Array& x) {
  return bind1(counted_op<number>, {}, {x});
}

struct Climb {
  Array steps, x;
};

TEST(LanePackets, BranchWhenAllLanesAgree) {
  const Array shared = array({1., 2., 0.5});
  auto climb = [&](const Array& x, const Array& split) {
    return while_loop([](const Climb& s) { return s.x < 100.; },
                      [&](const Climb& s) {
                        Array next = cond(
                            s.x > split, [&](const Array& v) { return v * 1.5 + counted<0>(shared)[0]; },
                            [&](const Array& v) { return v + counted<1>(shared)[1]; }, s.x);
                        return Climb{s.steps + 1, next};
                      },
                      Climb{0, x})
        .x;
  };
  auto single = jit(climb);
  auto many = jit(vmap(climb, {.in_axes = {0, {}}, .loops = LaneLoops::Lanes}));
  const Array xs = linspace(1., 40., 50);
  struct Run {
    std::int64_t first, second, steps;
  };
  auto run = [&](double split) {
    const std::int64_t before[] = {calls<0>, calls<1>, detail::lane_counts().packet_steps};
    const Array got = many(xs, split);
    const Run found{calls<0> - before[0], calls<1> - before[1],
                    detail::lane_counts().packet_steps - before[2]};
    for (std::int64_t i = 0; i < xs.size(); ++i) expect_same_bits(Array(got[i]), single(xs[i], split));
    return found;
  };
  // Each branch runs in the steps in which some lane takes it, and in no other.
  const Run none = run(1e9), all = run(-1e9), some = run(20.);
  EXPECT_EQ(none.first, 0);
  EXPECT_EQ(none.second, none.steps);
  EXPECT_EQ(all.first, all.steps);
  EXPECT_EQ(all.second, 0);
  EXPECT_GT(some.first, 0);
  EXPECT_GT(some.second, 0);
  EXPECT_LE(some.first, some.steps);
  EXPECT_LE(some.second, some.steps);
  EXPECT_GT(some.first + some.second, some.steps);
}

/// Implicit Euler for y' = -y³, each step's equation solved by Newton's method.
Array implicit(const Array& stiffness, const Array& y0) {
  auto step = [&](const Array& y) {
    return while_loop([&](const Array& z) { return abs(z + 0.1 * stiffness * z * z * z - y) > 1e-12; },
                      [&](const Array& z) {
                        return z - (z + 0.1 * stiffness * z * z * z - y) / (1. + 0.3 * stiffness * z * z);
                      },
                      y);
  };
  return while_loop([](const Climb& s) { return s.x > 0.05; },
                    [&](const Climb& s) {
                      return Climb{s.steps + 1, step(s.x)};
                    },
                    Climb{0, y0})
      .x;
}

TEST(LanePackets, RunLoopsWithinLoopsTogether) {
  const Array stiffness = linspace(5., 400., 37), y0 = linspace(0.01, 2., 37);
  const Array got = expect_compiled_as_interpreted(vmap(implicit), stiffness, y0);
  for (std::int64_t i = 0; i < y0.size(); ++i) expect_same_bits(Array(got[i]), implicit(stiffness[i], y0[i]));
  // The only division is Newton's.
  const std::string code = lower(vmap(implicit), stiffness, y0).compile().code_text();
  EXPECT_TRUE(std::regex_search(code, std::regex("fdiv <[0-9]+ x double>")));
  EXPECT_EQ(code.find("fdiv double"), std::string::npos);

  auto loss = [](const Array& s, const Array& y) { return square(implicit(s, y)); };
  const Array slopes = jit(vmap(grad(loss)))(stiffness, y0);
  for (std::int64_t i = 0; i < y0.size(); ++i)
    expect_same_bits(Array(slopes[i]), grad(loss)(stiffness[i], y0[i]));
}

TEST(LanePackets, MultiplyByWideMatricesThemselves) {
  // 6400 multiply-adds: a call of a kernel elsewhere, in lanes a part of the program, forwards and backwards.
  const Array w = reshape(cos(arange(6400.)), {80, 80}) * 0.1, xs = reshape(sin(arange(880.)), {11, 80});
  auto settle = [](const Array& m, const Array& x) {
    return while_loop([](const Array& v) { return sum(v * v) > 0.5; },
                      [&](const Array& v) { return 0.5 * v + 0.1 * tanh(matmul(m, v)); }, x);
  };
  auto slope = grad<0, 1>([&](const Array& m, const Array& x) { return sum(settle(m, x) * x); });
  auto many = vmap(settle, {.in_axes = {{}, 0}});
  auto slopes = vmap(slope, {.in_axes = {{}, 0}});
  const Array ends = expect_compiled_as_interpreted(many, w, xs);
  auto [by_w, by_x] = expect_compiled_as_interpreted(slopes, w, xs);
  for (std::int64_t i = 0; i < xs.dim(0); ++i) {
    auto [single_w, single_x] = slope(w, xs[i]);
    expect_near(Array(ends[i]), settle(w, xs[i]), 1e-13);
    expect_near(Array(by_w[i]), single_w, 1e-13);
    expect_near(Array(by_x[i]), single_x, 1e-13);
  }
  EXPECT_EQ(lower(slopes, w, xs).compile().code_text().find("apsis_call_kernel"), std::string::npos);
}

TEST(LanePackets, MoveLargeArraysOfLanes) {
  // Arrays in memory, as lanes come and go one by one: in lengths that fill registers and in others.
  for (std::int64_t size : {17, 24, 32, 61, 64, 131}) {
    SCOPED_TRACE(size);
    auto grow = [](const Array& bound, const Array& x) {
      return while_loop([&](const Array& v) { return sum(v) < bound; },
                        [](const Array& v) { return v * 1.25 + roll(v, 1, 0) * 0.25; }, x);
    };
    auto check = [&](const Array& x) {
      const Array bounds = astype(square(arange(double(x.dim(0)))) * 3., x.dtype());
      const Array got = expect_compiled_as_interpreted(vmap(grow), bounds, x);
      for (std::int64_t i = 0; i < x.dim(0); ++i) expect_same_bits(Array(got[i]), grow(bounds[i], x[i]));
      auto slope = grad<1>([&](const Array& b, const Array& v) { return sum(square(grow(b, v))); });
      const Array slopes = jit(vmap(slope))(bounds, x);
      for (std::int64_t i = 0; i < x.dim(0); ++i) expect_same_bits(Array(slopes[i]), slope(bounds[i], x[i]));
    };
    const Array x = reshape(linspace(0.001, 0.5, 39 * size), {39, size});
    check(x);
    check(astype(x, f32));
  }
}

TEST(LanePackets, ShareTheCodeThatMovesLargeArrays) {
  using Two = std::pair<Array, Array>;
  auto grow = [](const Array& bound, const Array& x, const Array& y) {
    return while_loop([&](const Two& v) { return sum(v.first) + sum(v.second) < bound; },
                      [](const Two& v) { return Two(v.first * 1.25, v.second * 1.5 + 0.25); }, Two(x, y));
  };
  const Array x = ones({20, 100}), y = ones({20, 300}), bounds = arange(20.) * 1e4;
  const std::string code = lower(vmap(grow), bounds, x, y).compile().code_text();
  const auto count = [&](const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = code.find(what); at != std::string::npos; at = code.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("define internal void @side_by_side("), 1u);
  EXPECT_EQ(count("define internal void @apart("), 1u);
  EXPECT_GE(count("call void @side_by_side("), 2u);
  EXPECT_GE(count("call void @apart("), 2u);
}

struct Growth {
  Array y, steps, shared;
};

TEST(LanePackets, AccumulateTheExtremaOfLargeArrays) {
  // Each lane ends when its own greatest element has grown large; another array is the same in all lanes, and
  // goes through the same loops.
  const Array table = linspace(0.5, 1.5, 40);
  auto grow = [&](const Array& y0) {
    Growth end =
        while_loop([](const Growth& g) { return max(abs(g.y)) < 50.; },
                   [&](const Growth& g) {
                     Growth inner = fori_loop(
                         0, 3,
                         [&](const Array&, const Growth& k) {
                           Array y = k.y * 1.25 + table * 0.01, t = k.shared * 0.5 + table;
                           return Growth{y, k.steps + any(y > t), t + min(t)};
                         },
                         Growth{g.y, g.steps, table});
                     return Growth{inner.y + max(inner.shared), inner.steps + all(inner.y > -20.), g.shared};
                   },
                   Growth{y0, 0, table});
    return stack({sum(end.y), astype(end.steps, f64)});
  };
  const Array starts = outer(linspace(-3., 2., 23), table);
  expect_compiled_as_interpreted(jit(vmap(grow, {.loops = LaneLoops::Lanes})), starts);
  expect_compiled_as_interpreted(jit(vmap(grow)), starts);
}

}  // namespace
}  // namespace apsis::testing
