// Elementwise ops take the shape in which what they read needs no copy, and come out the same.

#include "passes/keep_views.hpp"

#include <algorithm>

#include "passes/checked_pass.hpp"

namespace apsis::detail {
namespace {

GraphRef checked(std::string_view text) { return checked_pass(keep_views, text); }

Shape shape_of(const Graph& graph, std::string_view name) {
  const auto found = std::ranges::find_if(graph.eqns(), [&](const Eqn& e) { return e.op->name == name; });
  return found == graph.eqns().end() ? Shape() : graph.aval(found->first_result).shape();
}

/// A difference from an image of twice the size, its squares' sum and the gradient by the small one.
TEST(KeepViews, BeforeAxesArePutTogether) {
  const GraphRef made = checked(R"((v0: f64[40,30], v1: f64[80,60], v2: f64[60]) {
    v3: f64[40,2,30,2] = broadcast_in_dim{shape=[40, 2, 30, 2], axes=[0, 2]}(v0)
    v4: f64[80,60] = reshape{shape=[80, 60]}(v3)
    v5: f64[80,60] = sub(v4, v1)
    v6: f64[80,60] = broadcast_in_dim{shape=[80, 60], axes=[1]}(v2)
    v7: f64[80,60] = mul(v5, v6)
    v8: f64[] = reduce_sum{axes=[0, 1]}(v7)
    v9: f64[60] = reduce_sum{axes=[0]}(v7)
    v10: f64[80,30,2] = reshape{shape=[80, 30, 2]}(v5)
    v11: f64[80,30] = reduce_sum{axes=[2]}(v10)
    v12: f64[40,2,30] = reshape{shape=[40, 2, 30]}(v11)
    v13: f64[40,30] = reduce_sum{axes=[1]}(v12)
    return v7, v8, v9, v13
  })");
  EXPECT_EQ(shape_of(*made, "sub"), (Shape{40, 2, 30, 2}));
  EXPECT_EQ(shape_of(*made, "mul"), (Shape{40, 2, 30, 2}));
  EXPECT_EQ(shape_of(*made, "reduce_sum"), Shape{});
}

/// Blocks of an image in another order: rows are long.
TEST(KeepViews, OfTransposes) {
  const GraphRef made = checked(R"((v0: f32[3,4,2,64], v1: f32[12,128]) {
    v2: f32[4,3,2,64] = transpose{permutation=[1, 0, 2, 3]}(v0)
    v3: f32[12,128] = reshape{shape=[12, 128]}(v2)
    v4: f32[12,128] = add(v3, v1)
    v5: f32[12] = reduce_max{axes=[1]}(v4)
    return v4, v5
  })");
  EXPECT_EQ(shape_of(*made, "add"), (Shape{4, 3, 2, 64}));
}

/// Depth becomes space and back, with several readers of the view between; another reader of it needs the
/// copy.
TEST(KeepViews, OfViewsThatAreReadTwice) {
  const std::string start = R"((v0: f64[40,16,16]) {
    v1: f64[40,16,2,8] = reshape{shape=[40, 16, 2, 8]}(v0)
    v2: f64[40,2,16,8] = transpose{permutation=[0, 2, 1, 3]}(v1)
    v3: f64[40,32,8] = reshape{shape=[40, 32, 8]}(v2)
    v4: f64[40,32,8] = sin(v3)
    v5: f64[40,32,8] = mul(v4, v3)
)";
  const GraphRef made = checked(start + R"(    v6: f64[40,2,16,8] = reshape{shape=[40, 2, 16, 8]}(v5)
    v7: f64[40,16,2,8] = transpose{permutation=[0, 2, 1, 3]}(v6)
    v8: f64[40,16,16] = reshape{shape=[40, 16, 16]}(v7)
    return v8
  })");
  EXPECT_EQ(shape_of(*made, "mul"), (Shape{40, 16, 2, 8}));
  EXPECT_EQ(count_ops(*made, "transpose"), 0);
  const GraphRef kept =
      checked(start + "    v6: f64[40,32] = reduce_max{axes=[2]}(v3)\n    return v5, v6\n  }");
  EXPECT_EQ(shape_of(*kept, "mul"), (Shape{40, 32, 8}));
}

TEST(KeepViews, TransposesThatAreTakenBack) {
  const GraphRef made = checked(R"((v0: f64[5,20,30], v1: f64[]) {
    v2: f64[5,30,20] = transpose{permutation=[0, 2, 1]}(v0)
    v3: f64[5,30,20] = broadcast_in_dim{shape=[5, 30, 20], axes=[]}(v1)
    v4: f64[5,30,20] = sin(v2)
    v5: f64[5,30,20] = mul(v4, v3)
    v6: f64[5,20,30] = transpose{permutation=[0, 2, 1]}(v5)
    return v6
  })");
  EXPECT_EQ(shape_of(*made, "sin"), (Shape{5, 20, 30}));
  EXPECT_EQ(shape_of(*made, "transpose"), Shape{});
  // All axes change their places.
  const GraphRef turned = checked(R"((v0: f64[5,20,30], v1: f64[5,20,30]) {
    v2: f64[20,30,5] = transpose{permutation=[1, 2, 0]}(v0)
    v3: f64[20,30,5] = transpose{permutation=[1, 2, 0]}(v1)
    v4: f64[20,30,5] = sub(v2, v3)
    v5: f64[5,20,30] = transpose{permutation=[2, 0, 1]}(v4)
    return v5
  })");
  EXPECT_EQ(shape_of(*turned, "sub"), (Shape{5, 20, 30}));
}

/// Channels that become pixels, and back: short rows, of which two follow each other in memory.
TEST(KeepViews, OfShortRowsInWholeVectors) {
  const GraphRef made = checked(R"((v0: f64[5,8,8,16]) {
    v1: f64[5,8,8,2,2,4] = reshape{shape=[5, 8, 8, 2, 2, 4]}(v0)
    v2: f64[5,8,2,8,2,4] = transpose{permutation=[0, 1, 3, 2, 4, 5]}(v1)
    v3: f64[5,16,16,4] = reshape{shape=[5, 16, 16, 4]}(v2)
    v4: f64[5,16,16,4] = sin(v3)
    return v4
  })");
  EXPECT_EQ(shape_of(*made, "sin"), (Shape{5, 8, 2, 8, 2, 4}));
  const GraphRef taken_back = checked(R"((v0: f64[5,8,8,16]) {
    v1: f64[5,8,8,2,2,4] = reshape{shape=[5, 8, 8, 2, 2, 4]}(v0)
    v2: f64[5,8,2,8,2,4] = transpose{permutation=[0, 1, 3, 2, 4, 5]}(v1)
    v3: f64[5,16,16,4] = reshape{shape=[5, 16, 16, 4]}(v2)
    v4: f64[5,16,16,4] = sin(v3)
    v5: f64[5,8,2,8,2,4] = reshape{shape=[5, 8, 2, 8, 2, 4]}(v4)
    v6: f64[5,8,8,2,2,4] = transpose{permutation=[0, 1, 3, 2, 4, 5]}(v5)
    v7: f64[5,8,8,16] = reshape{shape=[5, 8, 8, 16]}(v6)
    return v7
  })");
  EXPECT_EQ(shape_of(*taken_back, "transpose"), Shape{});
}

/// Transposed products of columns and rows: gradients of products with vectors.
TEST(KeepViews, TransposesOfWhatIsRepeated) {
  const GraphRef made = checked(R"((v0: f64[20], v1: f64[30], v2: f64[30,20]) {
    v3: f64[20,30] = broadcast_in_dim{shape=[20, 30], axes=[0]}(v0)
    v4: f64[20,30] = broadcast_in_dim{shape=[20, 30], axes=[1]}(v1)
    v5: f64[20,30] = mul(v3, v4)
    v6: f64[30,20] = transpose{permutation=[1, 0]}(v5)
    v7: f64[30,20] = sub(v2, v6)
    return v7
  })");
  EXPECT_EQ(shape_of(*made, "mul"), (Shape{30, 20}));
}

TEST(KeepViews, LeavesTransposesThatStay) {
  for (const char* text : {R"((v0: f64[20,30]) {
         v1: f64[30,20] = transpose{permutation=[1, 0]}(v0)
         v2: f64[30,20] = sin(v1)
         return v2
       })",
                           R"((v0: f64[20,20]) {
         v1: f64[20,20] = transpose{permutation=[1, 0]}(v0)
         v2: f64[20,20] = add(v1, v0)
         v3: f64[20,20] = transpose{permutation=[1, 0]}(v2)
         return v3
       })",
                           R"((v0: f64[20,30]) {
         v1: f64[30,20] = transpose{permutation=[1, 0]}(v0)
         v2: f64[30,20] = sin(v1)
         v3: f64[20,30] = transpose{permutation=[1, 0]}(v2)
         v4: f64[] = reduce_sum{axes=[0, 1]}(v2)
         return v3, v4
       })"}) {
    const GraphRef given = parse_graph(text);
    EXPECT_EQ(keep_views(*given).get(), given.get()) << text;
    checked(text);
  }
}

}  // namespace
}  // namespace apsis::detail
