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

// A Jacobian of three lanes, transposed, and its trace; what is small along the columns is made of numbers.
TEST(SplitColumns, OfSmallMatrices) {
  const GraphRef made = checked(R"((v0: f64[700,3], v1: f64[3], v2: f64[700]) {
    v3: f64[700,3] = broadcast_in_dim{shape=[700, 3], axes=[1]}(v1)
    v4: f64[700,3] = broadcast_in_dim{shape=[700, 3], axes=[0]}(v2)
    v5: f64[700,3] = mul(v0, v3)
    v6: f64[700,3] = sub(v4, v5)
    v7: f64[700,3,1] = reshape{shape=[700, 3, 1]}(v5)
    v8: f64[700,3,1] = reshape{shape=[700, 3, 1]}(v6)
    v9: f64[700,3,3] = concatenate{axis=2}(v7, v8, v7)
    v10: f64[700,3,3] = transpose{permutation=[0, 2, 1]}(v9)
    v11: f64[700,3,3] = broadcast_in_dim{shape=[700, 3, 3], axes=[0, 1]}(v0)
    v12: f64[700,3,3] = add(v10, v11)
    v13: f64[700] = reduce_sum{axes=[1, 2]}(v12)
    v14: f64[700,3] = reduce_sum{axes=[1]}(v12)
    v15: f64[700,3] = mul(v14, v0)
    return v12, v13, v15
  })");
  EXPECT_EQ(count_ops(*made, "transpose"), 0);
  EXPECT_EQ(count_ops(*made, "reduce_sum"), 0);
  EXPECT_EQ(count_ops(*made, "concatenate"), 2);
}

// A matrix put together of numbers, times another, turned, and times a vector: zeros start the sums.
TEST(SplitColumns, OfSmallProducts) {
  const GraphRef made =
      checked(R"((v0: f64[2500,1,1], v1: f64[2500,1,1], v2: f64[2500,2,3], v3: f64[2500,3]) {
    v4: f64[2500,1,2] = concatenate{axis=2}(v0, v1)
    v5: f64[2500,1,2] = reverse{axes=[2]}(v4)
    v6: f64[2500,2,2] = concatenate{axis=1}(v4, v5)
    v7: f64[2500,2,3] = dot_general{contract_a=[2], contract_b=[1], batch_a=[0], batch_b=[0], k_ordered=false}(v6, v2)
    v8: f64[2500,3,2] = dot_general{contract_a=[1], contract_b=[1], batch_a=[0], batch_b=[0], k_ordered=false}(v7, v6)
    v9: f64[2500,2] = dot_general{contract_a=[1], contract_b=[1], batch_a=[0], batch_b=[0], k_ordered=false}(v8, v3)
    return v9
  })");
  EXPECT_EQ(count_ops(*made, "dot_general"), 0);
  EXPECT_EQ(count_ops(*made, "fma"), 12 + 12 + 6);
  // Rows of columns are columns.
  EXPECT_EQ(count_ops(*checked(R"((v0: f64[2500,1], v1: f64[2500,1]) {
    v2: f64[2500,2] = concatenate{axis=1}(v0, v1)
    v3: f64[2500,2] = concatenate{axis=1}(v1, v0)
    v4: f64[2500,1,2] = reshape{shape=[2500, 1, 2]}(v2)
    v5: f64[2500,1,2] = reshape{shape=[2500, 1, 2]}(v3)
    v6: f64[2500,2,2] = concatenate{axis=1}(v4, v5)
    return v6
  })"),
                      "concatenate"),
            1);
}

// Rows of matrices with something around them, every second column of those, and rows of them.
TEST(SplitColumns, OfPadsAndSlices) {
  const GraphRef made = checked(R"((v0: f32[900,2,2], v1: f32[], v2: f32[900,4]) {
    v3: f32[900,2,2] = exp(v0)
    v4: f32[900,3,4] = pad{low=[0, 1, 0], high=[0, 0, 1], interior=[0, 0, 1]}(v3, v1)
    v5: f32[900,3,4] = broadcast_in_dim{shape=[900, 3, 4], axes=[0, 2]}(v2)
    v6: f32[900,3,4] = mul(v4, v5)
    v7: f32[900,2,2] = slice{start=[0, 1, 0], limit=[900, 3, 4], stride=[1, 1, 2]}(v6)
    v8: f32[900,1,1] = slice{start=[0, 2, 3], limit=[900, 3, 4], stride=[1, 1, 1]}(v6)
    v9: f32[900] = reshape{shape=[900]}(v8)
    v10: f32[900,4] = reshape{shape=[900, 4]}(v7)
    v11: f32[900,4] = reverse{axes=[1]}(v10)
    return v11, v9
  })");
  EXPECT_EQ(count_ops(*made, "pad"), 0);
  EXPECT_EQ(count_ops(*made, "mul"), 5);  // of what is read
  EXPECT_EQ(count_ops(*made, "concatenate"), 1);
}

// Places in columns of two arrays of more axes; the whole is read by something else, a view of an input too.
TEST(SplitColumns, OfSeveralLeadingAxes) {
  const GraphRef made = checked(R"((v0: f64[40,50,3], v1: f64[40,50]) {
    v2: f64[40,50,3,3] = broadcast_in_dim{shape=[40, 50, 3, 3], axes=[0, 1, 2]}(v0)
    v3: f64[40,50,3,3] = broadcast_in_dim{shape=[40, 50, 3, 3], axes=[0, 1, 3]}(v0)
    v4: f64[40,50,3,3] = mul(v2, v3)
    v5: f64[40,50,3,3] = broadcast_in_dim{shape=[40, 50, 3, 3], axes=[0, 1]}(v1)
    v6: f64[40,50,3,3] = add(v4, v5)
    v7: f64[50,40,3,3] = transpose{permutation=[1, 0, 2, 3]}(v6)
    v8: f64[40,3,3] = reduce_max{axes=[1]}(v2)
    return v7, v8
  })");
  EXPECT_EQ(count_ops(*made, "add"), 9);
  EXPECT_EQ(count_ops(*made, "reduce_max"), 1);
}

// Rows that are repeated or joined as wholes, masks that would be stored, and what is only scaled by rows.
TEST(SplitColumns, LeavesWhatStaysInRows) {
  for (const char* text : {R"((v0: f64[2500,8], v1: f64[2500,8]) {
         v2: f64[2500,8] = exp(v0)
         v3: f64[2500,16] = concatenate{axis=1}(v2, v1)
         v4: f64[2500,16] = sin(v3)
         return v4
       })",
                           R"((v0: f64[2500,3], v1: f64[2500]) {
         v2: f64[2500,3] = broadcast_in_dim{shape=[2500, 3], axes=[0]}(v1)
         v3: f64[2500,3] = mul(v0, v2)
         return v3
       })",
                           R"((v0: f64[4096]) {
         v1: f64[1,4096] = broadcast_in_dim{shape=[1, 4096], axes=[1]}(v0)
         v2: f64[4096,1] = reshape{shape=[4096, 1]}(v1)
         return v2
       })",
                           R"((v0: f64[2500,3]) {
         v1: f64[2500,3] = reverse{axes=[1]}(v0)
         v2: bool[2500,3] = lt(v1, v0)
         return v2
       })"}) {
    const GraphRef given = parse_graph(text);
    EXPECT_EQ(split_columns(*given).get(), given.get()) << text;
  }
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
