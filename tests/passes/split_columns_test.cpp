// Elementwise code on columns put side by side is done column by column, with the same bits.

#include "passes/split_columns.hpp"

#include <algorithm>

#include "codegen/plan/in_place.hpp"
#include "passes/checked_pass.hpp"

namespace apsis::detail {
namespace {

GraphRef checked(std::string_view text) { return checked_pass(split_columns, text); }

int count_ops(const Graph& graph, std::string_view name) {
  return static_cast<int>(
      std::ranges::count_if(graph.eqns(), [&](const Eqn& e) { return e.op->name == name; }));
}

// Columns side by side are computed each for itself, forwards and backwards; other arrays are taken apart.
TEST(SplitColumns, OfElementwiseCode) {
  const GraphRef made = checked(R"((v0: f64[40,50,1], v1: f64[40,50,1], v2: f64[40,50,1], v3: f64[40,50,3]) {
    v4: f64[40,50,3] = concatenate{axis=2}(v0, v1, v2)
    v5: f64[40,50,3] = concatenate{axis=2}(v2, v0, v0)
    v6: f64[40,50,3] = reverse{axes=[2]}(v5)
    v7: f64[40,50,3] = sub(v4, v6)
    v8: f64[40,50,3] = mul(v7, v3)
    return v8
  })");
  EXPECT_EQ(count_ops(*made, "mul"), 3);
  EXPECT_EQ(count_ops(*made, "reverse"), 0);
  EXPECT_EQ(count_ops(*made, "concatenate"), 1);
}

// Columns that are read besides, and what would be more arrays to write than there are concatenations.
TEST(SplitColumns, ThatStayTogether) {
  EXPECT_EQ(count_ops(*checked(R"((v0: f64[2500,1], v1: f64[2500,1], v2: f64[2500,1]) {
    v3: f64[2500,3] = concatenate{axis=1}(v0, v1, v2)
    v4: f64[2500,3] = exp(v3)
    v5: f64[2500,3] = sin(v4)
    return v4, v5
  })"),
                      "exp"),
            1);
  EXPECT_EQ(count_ops(*checked(R"((v0: f64[2500,1], v1: f64[2500,1], v2: f64[2500,2]) {
    v3: f64[2500,2] = concatenate{axis=1}(v0, v1)
    v4: f64[2500,2] = reverse{axes=[1]}(v3)
    v5: f64[2500,2] = add(v4, v2)
    v6: f64[2] = reduce_sum{axes=[0]}(v3)
    return v5, v6
  })"),
                      "reverse"),
            0);
  EXPECT_EQ(count_ops(*checked(R"((v0: f64[2500,1], v1: f64[2500,1]) {
    v2: f64[5000,1] = concatenate{axis=0}(v0, v1)
    v3: f64[5000,1] = reverse{axes=[1]}(v2)
    v4: f64[2500,2] = concatenate{axis=1}(v0, v1)
    v5: f64[2500,2] = reverse{axes=[0, 1]}(v4)
    v6: f64[2500,2] = exp(v5)
    return v3, v6
  })"),
                      "exp"),
            1);
}

// Columns are read while others have been written: no input lies under the result.
TEST(SplitColumns, NoInputIsOverwritten) {
  const GraphRef made = parse_graph(R"((v0: f64[4096,2], v1: f64[4096,1], v2: f64[4096,1]) {
    v3: f64[4096,2] = concatenate{axis=1}(v1, v2)
    v4: f64[4096,2] = mul(v0, v3)
    return v4
  })");
  EXPECT_EQ(overwritable_inputs(*made)[0], -1);
}

}  // namespace
}  // namespace apsis::detail
