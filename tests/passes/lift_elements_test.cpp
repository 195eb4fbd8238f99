// Long computations of a loop's entries are made before it, those of its records after it, with the same
// bits.

#include "passes/lift_elements.hpp"

#include "ir/loop.hpp"
#include "passes/checked_pass.hpp"

namespace apsis::detail {
namespace {

GraphRef checked(std::string_view text) { return checked_pass(lift_elements, text); }

/// How many equations of the op the first loop's body has.
int in_loop(const Graph& graph, std::string_view name) {
  for (const Eqn& e : graph.eqns())
    if (is_loop(e)) return count_ops(*Loop(e).body, name);
  ADD_FAILURE() << "no loop in " << to_string(graph);
  return -1;
}

void expect_left(std::string_view text) {
  const GraphRef given = parse_graph(text);
  EXPECT_EQ(lift_elements(*given).get(), given.get()) << text;
}

TEST(LiftElements, OfNumbers) {
  const GraphRef made = checked(R"((v0: f64[], v1: f64[], v2: f64[40], v3: f64[40]) {
    v4: f64[], v5: f64[40], v6: f64[40] = scan{consts=1, carries=1, length=40, reverse=true, body=(v0: f64[], v1: f64[], v2: f64[], v3: f64[]) {
      v4: f64[] = mul(v2, v0)
      v5: f64[] = exp(v4)
      v6: f64[] = add(v5, v3)
      v7: f64[] = log1p(v5)
      v8: f64[] = mul(v1, v7)
      v9: f64[] = add(v8, v4)
      return v9, v6, v8
    }}(v0, v1, v2, v3)
    return v4, v5, v6
  })");
  for (const char* op : {"exp", "log1p"}) {
    EXPECT_EQ(in_loop(*made, op), 0) << to_string(*made);
    EXPECT_EQ(count_ops(*made, op), 1) << to_string(*made);
  }
  // What is cheap, and needed in both places, is in both.
  EXPECT_EQ(in_loop(*made, "mul"), 2) << to_string(*made);
}

TEST(LiftElements, OfPartsOfRows) {
  const GraphRef made = checked(R"((v0: f32[3], v1: f32[3], v2: f32[20,6]) {
    v3: f32[3], v4: f32[20,2] = scan{consts=1, carries=1, length=20, reverse=false, body=(v0: f32[3], v1: f32[3], v2: f32[6]) {
      v3: f32[3] = slice{start=[1], limit=[6], stride=[2]}(v2)
      v4: f32[1] = slice{start=[0], limit=[1], stride=[1]}(v2)
      v5: f32[] = reshape{shape=[]}(v4)
      v6: f32[3] = broadcast_in_dim{shape=[3], axes=[]}(v5)
      v7: f32[] = constant{dtype=f32, weak=false, bits=1056964608, high_bits=0}
      v8: f32[3] = broadcast_in_dim{shape=[3], axes=[]}(v7)
      v9: f32[3] = mul(v3, v8)
      v10: f32[3] = add(v9, v0)
      v11: f32[3] = tanh(v10)
      v12: f32[3] = sin(v6)
      v13: f32[3] = fma(v11, v12, v1)
      v14: f32[2] = slice{start=[0], limit=[2], stride=[1]}(v13)
      return v13, v14
    }}(v0, v1, v2)
    return v3, v4
  })");
  for (const char* op : {"tanh", "sin"}) EXPECT_EQ(in_loop(*made, op), 0) << to_string(*made);
}

/// How many arrays the first loop records.
std::size_t records(const Graph& graph) {
  for (const Eqn& e : graph.eqns())
    if (is_loop(e)) return e.result_count - Loop(e).carries;
  return 0;
}

TEST(LiftElements, OfRecords) {
  const GraphRef made = checked(R"((v0: f64[], v1: f64[], v2: f64[40]) {
    v3: f64[], v4: f64[40], v5: f64[40], v6: f64[40] = scan{consts=1, carries=1, length=40, reverse=false, body=(v0: f64[], v1: f64[], v2: f64[]) {
      v3: f64[] = mul(v1, v0)
      v4: f64[] = add(v3, v2)
      v5: f64[] = mul(v4, v4)
      v6: f64[] = log1p(v5)
      v7: f64[] = mul(v2, v2)
      v8: f64[] = atan2(v7, v5)
      v9: f64[] = fma(v6, v0, v8)
      v10: f64[] = neg(v9)
      return v4, v10, v4, v6
    }}(v0, v1, v2)
    return v3, v4, v5, v6
  })");
  for (const char* op : {"log1p", "atan2", "neg"}) {
    EXPECT_EQ(in_loop(*made, op), 0) << to_string(*made);
    EXPECT_EQ(count_ops(*made, op), 1) << to_string(*made);
  }
  EXPECT_EQ(records(*made), 2u) << to_string(*made);  // the carry, and its square
}

// What the carry needs stays, and what is recorded of it is recorded.
TEST(LiftElements, OfSomeRecords) {
  const GraphRef made = checked(R"((v0: f32[2], v1: f32[30,2]) {
    v2: f32[2], v3: f32[30,2], v4: f32[30] = scan{consts=0, carries=1, length=30, reverse=true, body=(v0: f32[2], v1: f32[2]) {
      v2: f32[2] = tanh(v0)
      v3: f32[2] = add(v2, v1)
      v4: f32[2] = exp(v2)
      v5: f32[2] = sin(v1)
      v6: f32[2] = mul(v4, v5)
      v7: f32[1] = slice{start=[1], limit=[2], stride=[1]}(v6)
      v8: f32[] = reshape{shape=[]}(v7)
      return v3, v6, v8
    }}(v0, v1)
    return v2, v3, v4
  })");
  EXPECT_EQ(in_loop(*made, "tanh"), 1) << to_string(*made);
  for (const char* op : {"exp", "sin", "slice"}) EXPECT_EQ(in_loop(*made, op), 0) << to_string(*made);
  EXPECT_EQ(records(*made), 1u) << to_string(*made);
}

TEST(LiftElements, InRegions) {
  const GraphRef made = checked(R"((v0: f64[30,20], v1: f64[]) {
    v2: f64[], v3: f64[30] = scan{consts=0, carries=1, length=30, reverse=false, body=(v0: f64[], v1: f64[20]) {
      v2: f64[], v3: f64[20] = scan{consts=0, carries=1, length=20, reverse=false, body=(v0: f64[], v1: f64[]) {
        v2: f64[] = sin(v1)
        v3: f64[] = fma(v0, v2, v1)
        return v3, v3
      }}(v0, v1)
      return v2, v2
    }}(v1, v0)
    return v2, v3
  })");
  EXPECT_EQ(in_loop(*Loop(made->eqns()[0]).body, "sin"), 0) << to_string(*made);
}

TEST(LiftElements, LeavesOthers) {
  // What is short; of the carry; of larger entries; in few iterations; by lane.
  expect_left(R"((v0: f64[], v1: f64[40]) {
    v2: f64[] = scan{consts=0, carries=1, length=40, reverse=false, body=(v0: f64[], v1: f64[]) {
      v2: f64[] = mul(v1, v1)
      v3: f64[] = exp(v0)
      v4: f64[] = add(v3, v2)
      return v4
    }}(v0, v1)
    return v2
  })");
  expect_left(R"((v0: f64[9], v1: f64[40,9]) {
    v2: f64[9] = scan{consts=0, carries=1, length=40, reverse=false, body=(v0: f64[9], v1: f64[9]) {
      v2: f64[9] = exp(v1)
      v3: f64[9] = add(v0, v2)
      return v3
    }}(v0, v1)
    return v2
  })");
  const std::string few = R"((v0: f64[], v1: f64[3]) {
    v2: f64[] = scan{consts=0, carries=1, length=3, reverse=false, body=(v0: f64[], v1: f64[]) {
      v2: f64[] = exp(v1)
      v3: f64[] = add(v0, v2)
      return v3
    }}(v0, v1)
    return v2
  })";
  expect_left(few);
  expect_left(R"((v0: f64[8], v1: f64[8,40]) {
    v2: f64[8] = map_lanes{lanes=8, nest=[], in_axes=[0, 0], region=(v0: f64[], v1: f64[40]) {
      v2: f64[] = scan{consts=0, carries=1, length=40, reverse=false, body=(v0: f64[], v1: f64[]) {
        v2: f64[] = exp(v1)
        v3: f64[] = add(v0, v2)
        return v3
      }}(v0, v1)
      return v2
    }}(v0, v1)
    return v2
  })");
}

}  // namespace
}  // namespace apsis::detail
