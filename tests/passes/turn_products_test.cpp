// Products take the order of axes in which they are read.

#include "passes/turn_products.hpp"

#include <algorithm>

#include "passes/checked_pass.hpp"

namespace apsis::detail {
namespace {

int transposes_left(std::string_view text) {
  const GraphRef made = checked_pass(turn_products, text);
  return static_cast<int>(std::ranges::count_if(
      made->eqns(), [](const Eqn& e) { return std::string_view(e.op->name) == "transpose"; }));
}

TEST(TurnProducts, SmallAndLarge) {
  EXPECT_EQ(transposes_left(R"((v0: f64[5,7], v1: f64[7,9]) {
    v2: f64[5,9] = dot_general{contract_a=[1], contract_b=[0], batch_a=[], batch_b=[], k_ordered=false}(v0, v1)
    v3: f64[9,5] = transpose{permutation=[1, 0]}(v2)
    return v3
  })"),
            0);
  EXPECT_EQ(transposes_left(R"((v0: f32[40,50], v1: f32[60,50]) {
    v2: f32[40,60] = dot_general{contract_a=[1], contract_b=[1], batch_a=[], batch_b=[], k_ordered=false}(v0, v1)
    v3: f32[60,40] = transpose{permutation=[1, 0]}(v2)
    return v3
  })"),
            0);
}

// A batch, and two free axes of one operand.
TEST(TurnProducts, OfABatch) {
  EXPECT_EQ(transposes_left(R"((v0: f64[3,5,7], v1: f64[7,3,2,4]) {
    v2: f64[3,5,2,4] = dot_general{contract_a=[2], contract_b=[0], batch_a=[0], batch_b=[1], k_ordered=false}(v0, v1)
    v3: f64[3,2,4,5] = transpose{permutation=[0, 2, 3, 1]}(v2)
    return v3
  })"),
            0);
}

TEST(TurnProducts, NotOfOtherOrdersOrReaders) {
  EXPECT_EQ(transposes_left(R"((v0: f64[3,5,7], v1: f64[7,3,2,4]) {
    v2: f64[3,5,2,4] = dot_general{contract_a=[2], contract_b=[0], batch_a=[0], batch_b=[1], k_ordered=false}(v0, v1)
    v3: f64[3,4,2,5] = transpose{permutation=[0, 3, 2, 1]}(v2)
    return v3
  })"),
            1);
  EXPECT_EQ(transposes_left(R"((v0: f64[5,7], v1: f64[7,9]) {
    v2: f64[5,9] = dot_general{contract_a=[1], contract_b=[0], batch_a=[], batch_b=[], k_ordered=false}(v0, v1)
    v3: f64[9,5] = transpose{permutation=[1, 0]}(v2)
    return v3, v2
  })"),
            1);
}

}  // namespace
}  // namespace apsis::detail
