// What is gathered of a computed array is computed of what is gathered, with the same bits.

#include "passes/push_gathers.hpp"

#include <string>

#include "passes/checked_pass.hpp"

namespace apsis::detail {
namespace {

GraphRef checked(const std::string& text) { return checked_pass(push_gathers, text); }
/// A gather of whole rows, whose axes are `offset` in the result.
std::string gather(const char* array, const char* indices, const char* offset, const char* sizes,
                   int mode = 0, const char* indexed = "0") {
  return std::string("gather{offset_dims=[") + offset + "], collapsed_slice_dims=[" + indexed +
         "], start_index_map=[" + indexed + "], operand_batching_dims=[], start_indices_batching_dims=[], " +
         "slice_sizes=[" + sizes + "], mode=" + std::to_string(mode) + "}(" + array + ", " + indices + ")";
}
/// The elements of the largest array that an elementwise equation makes.
std::int64_t largest(const Graph& graph) {
  std::int64_t most = 0;
  for (const Eqn& e : graph.eqns())
    if (e.op->kind == OpKind::Elementwise) most = std::max(most, graph.aval(e.first_result).size());
  return most;
}

// A standardised table: by column, by row, by a number, each repeated.
TEST(PushGathers, OfElementwiseCode) {
  const GraphRef made = checked(
      "(v0: f64[90,7], v1: i64[5,4,1], v2: f64[7], v3: f64[90], v4: f64[], v5: f64[90,1]) {\n"
      "  v6: f64[90,7] = broadcast_in_dim{shape=[90, 7], axes=[1]}(v2)\n"
      "  v7: f64[90,7] = broadcast_in_dim{shape=[90, 7], axes=[0]}(v3)\n"
      "  v8: f64[90,7] = broadcast_in_dim{shape=[90, 7], axes=[]}(v4)\n"
      "  v9: f64[90,7] = broadcast_in_dim{shape=[90, 7], axes=[0, 1]}(v5)\n"
      "  v10: f64[90,7] = sub(v0, v6)\n"
      "  v11: f64[90,7] = mul(v10, v7)\n"
      "  v12: f64[90,7] = exp(v11)\n"
      "  v13: f64[90,7] = fma(v12, v8, v9)\n"
      "  v14: f64[5,7,4] = " +
      gather("v13", "v1", "1", "1, 7") + "\n  return v14\n}");
  EXPECT_EQ(largest(*made), 140) << to_string(*made);
  EXPECT_EQ(count_ops(*made, "gather"), 3) << to_string(*made);
}

TEST(PushGathers, OfSeveralGathers) {
  const GraphRef made = checked(
      "(v0: f32[400], v1: i64[40,1], v2: i64[60,1]) {\n"
      "  v3: f32[400] = tanh(v0)\n  v4: f32[400] = neg(v3)\n"
      "  v5: f32[40] = " +
      gather("v4", "v1", "", "1") + "\n  v6: f32[60] = " + gather("v3", "v2", "", "1") +
      "\n  return v5, v6\n}");
  EXPECT_EQ(largest(*made), 60) << to_string(*made);
}

// Each square reads the one before twice: it is computed once for the gather all the same.
TEST(PushGathers, OfAValueThatIsReadTwice) {
  std::string text = "(v0: f64[4000], v1: i64[1,1]) {\n  v2: f64[4000] = sin(v0)\n";
  for (int v = 3; v < 43; ++v)
    text += "  v" + std::to_string(v) + ": f64[4000] = mul(v" + std::to_string(v - 1) + ", v" +
            std::to_string(v - 1) + ")\n";
  const GraphRef made =
      checked(text + "  v43: f64[1] = " + gather("v42", "v1", "", "1") + "\n  return v43\n}");
  EXPECT_EQ(largest(*made), 1) << to_string(*made);
  EXPECT_EQ(made->eqns().size(), 42u) << to_string(*made);
}

TEST(PushGathers, OfPartsOfRows) {
  const GraphRef made = checked(
      "(v0: f64[300,12], v1: i64[9,1]) {\n"
      "  v2: f64[300,3] = slice{start=[0, 2], limit=[300, 11], stride=[1, 4]}(v0)\n"
      "  v3: f64[3,9] = " +
      gather("v2", "v1", "0", "1, 3") + "\n  return v3\n}");
  EXPECT_EQ(made->aval(made->eqns()[0].first_result).shape(), (Shape{12, 9})) << to_string(*made);
}

TEST(PushGathers, AcrossRows) {
  const GraphRef made = checked(
      "(v0: f64[5,6,80], v1: i64[2,3,1]) {\n"
      "  v2: f64[80,5,6] = transpose{permutation=[2, 0, 1]}(v0)\n"
      "  v3: f64[2,5,3,6] = " +
      gather("v2", "v1", "1, 3", "1, 5, 6") +
      "\n  v4: f64[6,80,5] = transpose{permutation=[1, 2, 0]}(v0)\n"
      "  v5: f64[6,5,2,3] = " +
      gather("v4", "v1", "0, 1", "6, 1, 5", 0, "1") + "\n  return v3, v5\n}");
  EXPECT_EQ(made->eqns()[0].op->name, std::string_view("gather")) << to_string(*made);
}

// One element of each row; and rows of what has another shape where it is computed.
TEST(PushGathers, OfElementsAndOfOtherShapes) {
  const auto program = [](const std::string& more) {
    return "(v0: f64[30,50], v1: i64[30,2,1], v2: i64[4,1], v3: f64[30]) {\n"
           "  v4: f64[30,50] = exp(v0)\n  v5: f64[30,50] = broadcast_in_dim{shape=[30, 50], axes=[0]}(v3)\n"
           "  v6: f64[30,50] = mul(v4, v4)\n  v7: f64[30,2] = gather{offset_dims=[], "
           "collapsed_slice_dims=[1], start_index_map=[1], operand_batching_dims=[0], "
           "start_indices_batching_dims=[0], slice_sizes=[1, 1], mode=0}(v6, v1)\n"
           "  v8: f64[150,10] = reshape{shape=[150, 10]}(v4)\n  v9: f64[4,10] = " +
           gather("v8", "v2", "1", "1, 10") + "\n" + more;
  };
  const GraphRef made = checked(program("  return v7, v9\n}"));
  EXPECT_EQ(largest(*made), 60) << to_string(*made);
  // A column that is repeated has no rows in another shape.
  const GraphRef whole =
      checked(program("  v10: f64[30,50] = sub(v6, v5)\n"
                      "  v11: f64[150,10] = reshape{shape=[150, 10]}(v10)\n"
                      "  v12: f64[4,10] = " +
                      gather("v11", "v2", "1", "1, 10") + "\n  return v7, v9, v12\n}"));
  EXPECT_EQ(largest(*whole), 1500) << to_string(*whole);
}

// Rows out of bounds that are filled; what is read as a whole, too; most of an array.
TEST(PushGathers, LeavesOthers) {
  const auto program = [](const char* count, int mode, const char* more) {
    return std::string("(v0: f64[100], v1: i64[") + count + ",1]) {\n  v2: f64[100] = exp(v0)\n  v3: f64[" +
           count + "] = " + gather("v2", "v1", "", "1", mode) + "\n  return v3" + more + "\n}";
  };
  for (const std::string& text :
       {program("10", 1, ""), program("10", 2, ""), program("10", 0, ", v2"), program("60", 0, "")}) {
    const GraphRef given = parse_graph(text);
    EXPECT_EQ(push_gathers(*given).get(), given.get()) << text;
  }
  EXPECT_EQ(largest(*checked(program("10", 0, ""))), 10);
}

}  // namespace
}  // namespace apsis::detail
