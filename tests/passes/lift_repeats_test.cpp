// What is the same for repeated elements is computed once, and comes out the same.

#include "passes/lift_repeats.hpp"

#include <algorithm>

#include "passes/checked_pass.hpp"

namespace apsis::detail {
namespace {

GraphRef checked(std::string_view text) { return checked_pass(lift_repeats, text); }

/// Elements of the results of all equations with this op.
std::int64_t elements_of(const Graph& graph, std::string_view name) {
  std::int64_t elements = 0;
  for (const Eqn& e : graph.eqns())
    if (e.op->name == name) elements += graph.aval(e.first_result).size();
  return elements;
}

TEST(LiftRepeats, ComputesWhatIsRepeated) {
  const GraphRef made = checked(R"((v0: f64[20], v1: f64[20], v2: f64[], v3: f64[30,20]) {
    v4: f64[30,20] = broadcast_in_dim{shape=[30, 20], axes=[1]}(v0)
    v5: f64[30,20] = broadcast_in_dim{shape=[30, 20], axes=[1]}(v1)
    v6: f64[30,20] = broadcast_in_dim{shape=[30, 20], axes=[]}(v2)
    v7: f64[30,20] = fma(v4, v5, v6)
    v8: f64[30,20] = sin(v7)
    v9: f64[30,20] = mul(v8, v3)
    return v8, v9
  })");
  EXPECT_EQ(elements_of(*made, "fma"), 20);
  EXPECT_EQ(elements_of(*made, "sin"), 20);
  EXPECT_EQ(elements_of(*made, "mul"), 600);
}

/// What a program computes of constants of an array's shape: the parts of a real divisor, say.
TEST(LiftRepeats, ComputesWithNumbersOnce) {
  const GraphRef made = checked(R"((v0: f64[], v1: f64[30,20]) {
    v2: f64[30,20] = broadcast_in_dim{shape=[30, 20], axes=[]}(v0)
    v3: f64[30,20] = abs(v2)
    v4: bool[30,20] = gt(v3, v2)
    v5: f64[30,20] = select(v4, v3, v2)
    v6: f64[30,20] = mul(v5, v1)
    return v6, v5
  })");
  EXPECT_EQ(elements_of(*made, "abs"), 1);
  EXPECT_EQ(elements_of(*made, "gt"), 1);
  EXPECT_EQ(elements_of(*made, "select"), 1);
  EXPECT_EQ(elements_of(*made, "mul"), 600);
}

TEST(LiftRepeats, LeavesWhatIsRepeatedInSeveralWays) {
  const char* const text = R"((v0: f64[30], v1: f64[30]) {
    v2: f64[30,30] = broadcast_in_dim{shape=[30, 30], axes=[1]}(v0)
    v3: f64[30,30] = broadcast_in_dim{shape=[30, 30], axes=[0]}(v1)
    v4: f64[30,30] = mul(v2, v3)
    return v4
  })";
  const GraphRef given = parse_graph(text);
  EXPECT_EQ(lift_repeats(*given).get(), given.get());
  checked(text);
}

/// An image of twice the size, and the gradient by the small one: additions of what is repeated.
TEST(LiftRepeats, OfRepetitionsOfRepetitions) {
  const GraphRef made = checked(R"((v0: f64[20,17], v1: f64[]) {
    v2: f64[20,2,17] = broadcast_in_dim{shape=[20, 2, 17], axes=[0, 2]}(v0)
    v3: f64[40,17] = reshape{shape=[40, 17]}(v2)
    v4: f64[40,17,3] = broadcast_in_dim{shape=[40, 17, 3], axes=[0, 1]}(v3)
    v5: f64[40,51] = reshape{shape=[40, 51]}(v4)
    v6: f64[40,51] = broadcast_in_dim{shape=[40, 51], axes=[]}(v1)
    v7: f64[40,51] = mul(v5, v6)
    v8: f64[40,17,3] = reshape{shape=[40, 17, 3]}(v7)
    v9: f64[40,17] = reduce_sum{axes=[2]}(v8)
    v10: f64[20,2,17] = reshape{shape=[20, 2, 17]}(v9)
    v11: f64[20,17] = reduce_sum{axes=[1]}(v10)
    return v5, v11
  })");
  EXPECT_EQ(elements_of(*made, "mul"), 340);
  EXPECT_EQ(elements_of(*made, "reduce_sum"), 0);
  EXPECT_EQ(elements_of(*made, "broadcast_in_dim"), 340 * 6 + 340) << "the image once, the number";
}

/// Long sums keep their order, and sums of half floats their precision.
TEST(LiftRepeats, LeavesLongSums) {
  const GraphRef made = checked(R"((v0: f32[40], v1: bf16[40], v2: i32[40], v3: f32[40,1]) {
    v4: f32[16,40] = broadcast_in_dim{shape=[16, 40], axes=[1]}(v0)
    v5: f32[40] = reduce_sum{axes=[0]}(v4)
    v6: bf16[3,40] = broadcast_in_dim{shape=[3, 40], axes=[1]}(v1)
    v7: bf16[40] = reduce_sum{axes=[0]}(v6)
    v8: i32[3,40] = broadcast_in_dim{shape=[3, 40], axes=[1]}(v2)
    v9: i32[40] = reduce_sum{axes=[0]}(v8)
    v10: f32[40,5] = broadcast_in_dim{shape=[40, 5], axes=[0, 1]}(v3)
    v11: f32[40] = reduce_sum{axes=[1]}(v10)
    v12: f32[5] = reduce_sum{axes=[0]}(v10)
    return v5, v7, v9, v11, v12
  })");
  EXPECT_EQ(elements_of(*made, "reduce_sum"), 40 + 40 + 5);
}

}  // namespace
}  // namespace apsis::detail
