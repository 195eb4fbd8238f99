// Lane programs, compiled, against the evaluator running lane after lane: the same bits for every packet
// width, chunk and thread.

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "apsis/base/error.hpp"
#include "codegen/compile/compile.hpp"
#include "codegen/support/lanes.hpp"
#include "control/common/regions.hpp"
#include "ops/lax.hpp"
#include "runtime/region.hpp"

namespace apsis::detail {
namespace {

using Arrays = std::vector<Array>;
using Body = std::function<Arrays(std::span<const Array>)>;

Aval f64s(const Shape& shape = {}) { return Aval(Dtype::F64, shape); }
Aval i64s(const Shape& shape = {}) { return Aval(Dtype::I64, shape); }

GraphRef graph_of(const std::vector<Aval>& inputs, const Body& body) {
  const Staged staged = stage_with(body, inputs, "test");
  EXPECT_TRUE(staged.captures.empty());
  return staged.graph;
}

/// while (condition(carry)) carry = body(consts, carry), with the consts before the carry.
Arrays loop(const std::vector<Aval>& consts, const std::vector<Aval>& carry, const Body& condition,
            const Body& body, std::span<const Array> operands, std::int64_t max_steps = -1) {
  std::vector<Aval> inputs = consts;
  inputs.insert(inputs.end(), carry.begin(), carry.end());
  WhileParams p;
  p.cond = graph_of(carry, condition);
  p.body = graph_of(inputs, body);
  p.body_consts = static_cast<std::int64_t>(consts.size());
  p.carries = static_cast<std::int64_t>(carry.size());
  p.max_steps = max_steps;
  return bind_all(while_op, make_params(p), operands);
}

struct LaneProgram {
  GraphRef region;
  std::vector<char> mapped;
  Arrays operands;  // mapped ones with the lanes in front
  std::int64_t lanes;

  GraphRef graph() const {
    std::vector<Aval> avals;
    MapLanesParams p{region, lanes, {}};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      avals.push_back(operands[i].aval());
      p.in_axes.push_back(mapped[i] ? 0 : -1);
    }
    return graph_of(avals,
                    [&](std::span<const Array> in) { return bind_all(map_lanes_op, make_params(p), in); });
  }
};

template <class T>
Array filled(const Aval& aval, const std::function<T(std::int64_t)>& element) {
  Array a = allocate(aval);
  for (std::int64_t i = 0; i < aval.size(); ++i) mutable_data<T>(a)[i] = element(i);
  return a;
}

struct Setting {
  CodegenOptions options;
  std::string name;
};
std::vector<Setting> settings() {
  std::vector<Setting> list;
  for (int lanes : {1, 2, 4, 8, 16})
    for (bool parallel : {false, true})
      list.push_back({{.lanes = lanes, .parallel = parallel},
                      std::to_string(lanes) + (parallel ? " lanes on threads" : " lanes")});
  list.push_back({{.isa = Isa::Avx2}, "AVX2"});
  list.push_back({{.level = 0}, "level 0"});
  list.push_back({{.level = 2}, "level 2"});
  list.push_back({{}, "the default"});
  return list;
}

void expect_equal(const Array& got, const Array& expected, const std::string& where) {
  ASSERT_EQ(got.aval(), expected.aval()) << where;
  const auto* a = static_cast<const unsigned char*>(data_of(got));
  const auto* b = static_cast<const unsigned char*>(data_of(expected));
  const std::size_t size = item_size(got.dtype());
  for (std::int64_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(
        std::memcmp(a + i * static_cast<std::int64_t>(size), b + i * static_cast<std::int64_t>(size), size),
        0)
        << where << ", element " << i << " of " << to_string(got.aval());
}

/// Compiles the program in every setting and compares with the evaluator.
void check(const LaneProgram& program) {
  const GraphRef graph = program.graph();
  Arrays expected;
  {
    InterpretScope interpreted;
    expected = interpret(*graph, program.operands);
  }
  for (const Setting& s : settings()) {
    const Arrays got = run(*compile(*graph, s.options), program.operands);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      expect_equal(got[i], expected[i], s.name + ", output " + std::to_string(i));
  }
}

/// (rate, limit, y[3]) → rate·y summed up while y₀ stays below the limit: lanes differ in length.
GraphRef growth_region() {
  const auto shape3 = Shape{3};
  return graph_of({f64s(), f64s(), f64s(shape3)}, [&](std::span<const Array> in) {
    const Arrays operands = {in[0], in[1], lax::full({}, Dtype::I64, 0), in[2]};
    // The limit is carried along unchanged, so that the condition can read it.
    const Arrays carried = loop(
        {f64s()}, {f64s(), i64s(), f64s(shape3)},
        [&](std::span<const Array> c) {
          const Array first = lax::reshape(lax::slice(c[2], {0}, {1}), {});
          return Arrays{lax::lt(first, c[0])};
        },
        [&](std::span<const Array> c) {
          const Array rate = lax::broadcast_in_dim(c[0], shape3, {});
          const Array turned =
              lax::concatenate(Arrays{lax::slice(c[3], {1}, {3}), lax::slice(c[3], {0}, {1})}, 0);
          return Arrays{c[1], lax::add(c[2], lax::full({}, Dtype::I64, 1)), lax::fma(rate, turned, c[3])};
        },
        operands);
    const Array scaled =
        lax::mul(carried[2], lax::broadcast_in_dim(in[0], shape3, {}));  // reads an input after the loop
    return Arrays{scaled, carried[1], lax::div(carried[2], lax::broadcast_in_dim(in[1], shape3, {}))};
  });
}

LaneProgram growth(std::int64_t lanes) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> rate(0.01, 0.3), limit(0.5, 40);
  LaneProgram p{growth_region(), {1, 1, 1}, {}, lanes};
  p.operands = {
      filled<double>(f64s({lanes}), [&](std::int64_t) { return rate(random); }),
      filled<double>(f64s({lanes}), [&](std::int64_t) { return limit(random); }),  // some do not start at all
      filled<double>(f64s({lanes, 3}),
                     [&](std::int64_t i) { return 0.6 + 0.01 * static_cast<double>(i % 7); })};
  return p;
}

TEST(Lanes, RefilledLoopEqualsTheEvaluator) {
  for (std::int64_t lanes : {0, 1, 9, 700}) check(growth(lanes));
}

TEST(Lanes, PacketsAreRefilled) {
  const LaneProgram p = growth(100);
  const auto program = compile(*p.graph(), {.lanes = 4, .parallel = false});
  const std::int64_t steps = lane_counts().packet_steps, refills = lane_counts().refills;
  const Arrays out = run(*program, p.operands);
  std::int64_t trips = 0, longest = 0;
  for (std::int64_t i = 0; i < 100; ++i) {
    trips += static_cast<const std::int64_t*>(data_of(out[1]))[i];
    longest = std::max(longest, static_cast<const std::int64_t*>(data_of(out[1]))[i]);
  }
  const std::int64_t packet_steps = lane_counts().packet_steps - steps;
  EXPECT_GT(lane_counts().refills - refills, 20);
  EXPECT_GE(4 * packet_steps, trips);
  EXPECT_LT(4 * packet_steps, trips + 4 * 7 * longest);  // at most the ends of seven chunks are not full
}

TEST(Lanes, SharedOperandsAndSharedWork) {
  const GraphRef region = graph_of({f64s({3}), f64s(), f64s()}, [&](std::span<const Array> in) {
    const Array table = lax::mul(in[0], in[0]);  // the same for all lanes
    const Array bound = lax::reduce_sum(table, {0});
    const Arrays found = loop(
        {f64s()}, {f64s(), f64s()}, [&](std::span<const Array> c) { return Arrays{lax::lt(c[1], c[0])}; },
        [&](std::span<const Array> c) {
          return Arrays{c[1], lax::fma(c[2], c[0], lax::full({}, Dtype::F64, 0.5))};
        },
        Arrays{in[1], bound, in[2]});
    return Arrays{found[1], lax::add(found[0], in[2]), bound};
  });
  LaneProgram p{region, {0, 0, 1}, {}, 37};
  p.operands = {filled<double>(f64s({3}), [](std::int64_t i) { return 1.0 + static_cast<double>(i); }),
                filled<double>(f64s(), [](std::int64_t) { return 1.125; }),
                filled<double>(f64s({37}), [](std::int64_t i) { return 0.37 * static_cast<double>(i); })};
  check(p);
}

// Arrays too large for registers: made anew each trip, updated in place, and constant.
TEST(Lanes, ArraysInMemory) {
  const Shape big = {40};
  const GraphRef region = graph_of({f64s(big), f64s(big), i64s()}, [&](std::span<const Array> in) {
    const Array one = lax::full({}, Dtype::I64, 1);
    const Arrays found = loop(
        {f64s(big)}, {i64s(), f64s(big), f64s(big)},
        [&](std::span<const Array> c) { return Arrays{lax::gt(c[0], lax::full({}, Dtype::I64, 0))}; },
        [&](std::span<const Array> c) {
          const Array left = lax::sub(c[1], one);
          const Array anew = lax::fma(c[2], c[0], lax::reverse(c[2], {0}));
          const Array place = lax::dynamic_index(c[2], left);
          return Arrays{left, anew, lax::dynamic_update_index(c[3], place, left)};
        },
        Arrays{in[0], in[2], in[1], lax::full(big, Dtype::F64, -1)});
    return Arrays{found[1], found[2], lax::reduce_sum(found[1], {0})};
  });
  LaneProgram p{region, {1, 1, 1}, {}, 50};
  p.operands = {
      filled<double>(f64s({50, 40}), [](std::int64_t i) { return 0.001 * static_cast<double>(i % 91); }),
      filled<double>(f64s({50, 40}), [](std::int64_t i) { return 1 + 0.01 * static_cast<double>(i % 17); }),
      filled<std::int64_t>(i64s({50}), [](std::int64_t i) { return i * 7 % 23; })};
  check(p);
}

TEST(Lanes, WithoutALoop) {
  const GraphRef region =
      graph_of({Aval(Dtype::F32, {2}), Aval(Dtype::I32, {}), f64s({30})}, [&](std::span<const Array> in) {
        const Array big =
            lax::lt(lax::convert(in[1], Dtype::F32), lax::reshape(lax::slice(in[0], {1}, {2}), {}));
        return Arrays{lax::add(in[0], lax::broadcast_in_dim(lax::convert(in[1], Dtype::F32), {2}, {})), big,
                      lax::mul(in[2], in[2]), lax::full({3}, Dtype::I64, 4)};
      });
  for (std::int64_t lanes : {5, 64}) {
    LaneProgram p{region, {1, 1, 0}, {}, lanes};
    p.operands = {filled<float>(Aval(Dtype::F32, {lanes, 2}),
                                [](std::int64_t i) { return 0.5f * static_cast<float>(i); }),
                  filled<std::int32_t>(Aval(Dtype::I32, {lanes}),
                                       [](std::int64_t i) { return static_cast<std::int32_t>(i * i % 11); }),
                  filled<double>(f64s({30}), [](std::int64_t i) { return static_cast<double>(i); })};
    check(p);
  }
}

// A loop in the body, whose trips differ from lane to lane, and two loops one after the other.
TEST(Lanes, LoopsWithinAndBeside) {
  const auto positive = [&](std::span<const Array> c) {
    return Arrays{lax::gt(c[0], lax::full({}, Dtype::I64, 0))};
  };
  const auto collatz = [&](const Array& start) {
    return loop(
        {}, {i64s(), i64s()}, positive,
        [&](std::span<const Array> c) {
          return Arrays{lax::sub(c[0], lax::full({}, Dtype::I64, 1)), lax::add(c[1], lax::mul(c[0], c[0]))};
        },
        Arrays{start, start})[1];
  };
  const GraphRef region = graph_of({i64s(), i64s()}, [&](std::span<const Array> in) {
    const Arrays outer = loop(
        {}, {i64s(), i64s()}, positive,
        [&](std::span<const Array> c) {
          return Arrays{lax::sub(c[0], lax::full({}, Dtype::I64, 1)), lax::add(c[1], collatz(c[0]))};
        },
        Arrays{in[0], in[1]});
    return Arrays{outer[1], collatz(in[1])};
  });
  LaneProgram p{region, {1, 1}, {}, 41};
  p.operands = {filled<std::int64_t>(i64s({41}), [](std::int64_t i) { return i * 5 % 13; }),
                filled<std::int64_t>(i64s({41}), [](std::int64_t i) { return i * 3 % 8; })};
  check(p);
}

// A tape in each lane: lists that one map_lanes makes and another reads.
TEST(Lanes, ListsOfLanes) {
  const GraphRef forward = graph_of({i64s(), f64s()}, [&](std::span<const Array> in) {
    return loop(
        {}, {i64s(), f64s()},
        [&](std::span<const Array> c) { return Arrays{lax::gt(c[0], lax::full({}, Dtype::I64, 0))}; },
        [&](std::span<const Array> c) {
          const Array next = lax::fma(c[1], c[1], lax::full({}, Dtype::F64, -1.3));
          return Arrays{lax::sub(c[0], lax::full({}, Dtype::I64, 1)), next, c[1]};
        },
        Arrays{in[0], in[1]});
  });
  const std::int64_t lanes = 200;
  const std::vector<Aval> inputs = {i64s({lanes}), f64s({lanes})};
  const GraphRef graph = graph_of(inputs, [&](std::span<const Array> in) {
    const Arrays made = bind_all(map_lanes_op, make_params(MapLanesParams{forward, lanes, {0, 0}}), in);
    ScanParams scan;
    scan.body = graph_of({f64s(), f64s()},
                         [](std::span<const Array> c) { return Arrays{lax::fma(c[0], c[1], c[1])}; });
    scan.carries = 1;
    scan.length = -1;
    scan.reverse = true;
    AvalData list = *f64s();
    list.list = ListKind::One;
    const GraphRef backward = graph_of({f64s(), Aval(list)}, [&](std::span<const Array> s) {
      return bind_all(scan_op, make_params(scan), s);
    });
    const Arrays read = bind_all(map_lanes_op, make_params(MapLanesParams{backward, lanes, {0, 0}}),
                                 Arrays{made[1], made[2]});
    return Arrays{made[0], made[1], read[0]};
  });
  const Arrays operands = {
      filled<std::int64_t>(i64s({lanes}), [](std::int64_t i) { return i * 37 % 300; }),
      filled<double>(f64s({lanes}), [](std::int64_t i) { return 0.001 * static_cast<double>(i); })};
  Arrays expected;
  {
    InterpretScope interpreted;
    expected = interpret(*graph, operands);
  }
  for (const Setting& s : settings()) {
    const Arrays got = run(*compile(*graph, s.options), operands);
    for (std::size_t i = 0; i < got.size(); ++i)
      expect_equal(got[i], expected[i], s.name + ", output " + std::to_string(i));
  }
}

TEST(Lanes, BoundOfALoopIsAnError) {
  const GraphRef region = graph_of({i64s()}, [&](std::span<const Array> in) {
    return loop(
        {}, {i64s()},
        [&](std::span<const Array> c) { return Arrays{lax::gt(c[0], lax::full({}, Dtype::I64, 0))}; },
        [&](std::span<const Array> c) { return Arrays{lax::sub(c[0], lax::full({}, Dtype::I64, 1))}; },
        Arrays{in[0]}, 30);
  });
  LaneProgram p{region, {1}, {filled<std::int64_t>(i64s({300}), [](std::int64_t i) { return i % 31; })}, 300};
  check(p);
  mutable_data<std::int64_t>(p.operands[0])[177] = 31;
  for (const Setting& s : settings())
    EXPECT_THROW(run(*compile(*p.graph(), s.options), p.operands), Error) << s.name;
}

}  // namespace
}  // namespace apsis::detail
