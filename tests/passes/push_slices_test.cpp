// What nobody reads of an array is not made, and what is read is the same.

#include "passes/push_slices.hpp"

#include <algorithm>
#include <random>
#include <string>

#include "passes/checked_pass.hpp"

namespace apsis::detail {
namespace {

GraphRef checked(std::string_view text) { return checked_pass(push_slices, text); }

TEST(PushSlices, OfAConcatenationTakesTheParts) {
  const GraphRef made = checked(R"((v0: f64[50], v1: f64[70]) {
    v2: f64[120] = concatenate{axis=0}(v0, v1)
    v3: f64[120] = sin(v2)
    v4: f64[50] = slice{start=[0], limit=[50], stride=[1]}(v3)
    v5: f64[50] = slice{start=[70], limit=[120], stride=[1]}(v3)
    v6: f64[50] = mul(v4, v5)
    return v6
  })");
  EXPECT_EQ(count_ops(*made, "concatenate"), 0);
  EXPECT_EQ(count_ops(*made, "sin"), 2);
  EXPECT_EQ(count_ops(*made, "slice"), 1);
}

// Of three parts: the end of the first, the second, the beginning of the third.
TEST(PushSlices, AcrossParts) {
  const GraphRef made = checked(R"((v0: f64[2,40], v1: f64[2,5], v2: f64[2,60]) {
    v3: f64[2,105] = concatenate{axis=1}(v0, v1, v2)
    v4: f64[2,105] = exp(v3)
    v5: f64[2,10] = slice{start=[0, 36], limit=[2, 64], stride=[1, 3]}(v4)
    v6: f64[2,1] = slice{start=[0, 43], limit=[2, 44], stride=[1, 1]}(v4)
    v7: f64[2,1] = slice{start=[0, 104], limit=[2, 105], stride=[1, 1]}(v4)
    return v5, v6, v7
  })");
  EXPECT_EQ(count_ops(*made, "concatenate"), 1);
  EXPECT_EQ(count_ops(*made, "exp"), 3);
}

// Columns of what was put side by side and became one axis, and every third entry of what was one.
TEST(PushSlices, ThroughReshapesOfTwoAxes) {
  const GraphRef made = checked(R"((v0: f64[60,1], v1: f64[60,1], v2: f64[180]) {
    v3: f64[60,2] = concatenate{axis=1}(v0, v1)
    v4: f64[120] = reshape{shape=[120]}(v3)
    v5: f64[120] = sin(v4)
    v6: f64[60,2] = reshape{shape=[60, 2]}(v5)
    v7: f64[60,1] = slice{start=[0, 1], limit=[60, 2], stride=[1, 1]}(v6)
    v8: f64[180] = exp(v2)
    v9: f64[60,3] = reshape{shape=[60, 3]}(v8)
    v10: f64[20,1] = slice{start=[1, 2], limit=[60, 3], stride=[3, 1]}(v9)
    v11: f64[1,1] = slice{start=[7, 0], limit=[8, 1], stride=[1, 1]}(v9)
    return v7, v10, v11
  })");
  EXPECT_EQ(count_ops(*made, "concatenate"), 0);
  EXPECT_EQ(made->aval(made->definition(made->outputs()[0])->first_result).size(), 60);
  EXPECT_EQ(count_ops(*made, "exp"), 2);
  for (const Eqn& e : made->eqns()) EXPECT_LE(made->aval(e.first_result).size(), 60) << to_string(*made);
  // Rows of several columns, and steps that are no columns, are parts of the whole.
  EXPECT_EQ(count_ops(*checked(R"((v0: f64[180]) {
    v1: f64[180] = sin(v0)
    v2: f64[60,3] = reshape{shape=[60, 3]}(v1)
    v3: f64[60,2] = slice{start=[0, 0], limit=[60, 2], stride=[1, 1]}(v2)
    v4: f64[60,3] = reshape{shape=[60, 3]}(v0)
    v5: f64[60,3] = cos(v4)
    v6: f64[180] = reshape{shape=[180]}(v5)
    v7: f64[90] = slice{start=[0], limit=[180], stride=[2]}(v6)
    return v3, v7
  })"),
                      "slice"),
            2);
}

/// A pad that only crops is a slice, too; what is taken of a pad is padded less.
TEST(PushSlices, OfPads) {
  const GraphRef made = checked(R"((v0: f64[50], v1: f64[50,9], v2: f64[]) {
    v3: f64[54] = pad{low=[1], high=[3], interior=[0]}(v0, v2)
    v4: f64[54] = pad{low=[4], high=[0], interior=[0]}(v0, v2)
    v5: f64[54] = add(v3, v4)
    v6: f64[50] = pad{low=[-2], high=[-2], interior=[0]}(v5, v2)
    v7: f64[60,9] = pad{low=[5, 0], high=[5, 0], interior=[0, 0]}(v1, v2)
    v8: f64[20,3] = slice{start=[0, 4], limit=[20, 7], stride=[1, 1]}(v7)
    return v6, v8
  })");
  EXPECT_EQ(count_ops(*made, "slice"), 0);
  EXPECT_EQ(count_ops(*made, "pad"), 3);
  EXPECT_EQ(count_ops(*made, "add"), 1);
  // Of the padding alone; every other element.
  const GraphRef other = checked(R"((v0: f64[50], v1: f64[]) {
    v2: f64[90] = pad{low=[30], high=[10], interior=[0]}(v0, v1)
    v3: f64[20] = slice{start=[5], limit=[25], stride=[1]}(v2)
    v4: f64[30] = slice{start=[25], limit=[85], stride=[2]}(v2)
    return v3, v4
  })");
  EXPECT_EQ(count_ops(*other, "slice"), 1);
  EXPECT_EQ(count_ops(*other, "pad"), 1);
  EXPECT_EQ(count_ops(*other, "broadcast_in_dim"), 1);
}

/// A filter of a large array with zeros around it reads the array, not a copy; where something is around each
/// row, if the rows leave the cache and few parts are read. What something else reads is made.
TEST(PushSlices, OfLargePadsInLoops) {
  const auto filtered = [](const char* outputs) {
    return std::string(R"((v0: f64[5000], v1: f64[]) {
      v2: f64[5004] = pad{low=[2], high=[2], interior=[0]}(v0, v1)
      v3: f64[5002] = slice{start=[0], limit=[5002], stride=[1]}(v2)
      v4: f64[5002] = slice{start=[1], limit=[5003], stride=[1]}(v2)
      v5: f64[5002] = slice{start=[2], limit=[5004], stride=[1]}(v2)
      v6: f64[5002] = fma(v3, v4, v5)
      return )") +
           outputs + "\n}";
  };
  const auto crops = [](const GraphRef& made) {
    EXPECT_EQ(count_ops(*made, "slice"), 0);
    return count_ops(*made, "pad");
  };
  EXPECT_EQ(crops(checked(filtered("v6"))), 3);
  EXPECT_EQ(count_ops(*checked(filtered("v6, v2")), "slice"), 3);
  EXPECT_EQ(count_ops(*checked(filtered("v6, v4")), "slice"), 3);
  EXPECT_EQ(crops(checked(R"((v0: f32[98,100], v1: f32[]) {
    v2: f32[100,100] = pad{low=[1, 0], high=[1, 0], interior=[0, 0]}(v0, v1)
    v3: f32[98,100] = slice{start=[0, 0], limit=[98, 100], stride=[1, 1]}(v2)
    v4: f32[98,100] = slice{start=[2, 0], limit=[100, 100], stride=[1, 1]}(v2)
    v5: f32[98,100] = sub(v3, v4)
    return v5
  })")),
            2);
  EXPECT_EQ(count_ops(*checked(R"((v0: f32[100,98], v1: f32[]) {
    v2: f32[100,100] = pad{low=[0, 1], high=[0, 1], interior=[0, 0]}(v0, v1)
    v3: f32[100,98] = slice{start=[0, 0], limit=[100, 98], stride=[1, 1]}(v2)
    v4: f32[100,98] = slice{start=[0, 2], limit=[100, 100], stride=[1, 1]}(v2)
    v5: f32[100,98] = sub(v3, v4)
    return v5
  })"),
                      "slice"),
            2);
  EXPECT_EQ(crops(checked(R"((v0: f64[1000,298], v1: f64[]) {
    v2: f64[1000,300] = pad{low=[0, 1], high=[0, 1], interior=[0, 0]}(v0, v1)
    v3: f64[1000,298] = slice{start=[0, 0], limit=[1000, 298], stride=[1, 1]}(v2)
    v4: f64[1000,298] = slice{start=[0, 2], limit=[1000, 300], stride=[1, 1]}(v2)
    v5: f64[1000,298] = sub(v3, v4)
    return v5
  })")),
            2);
}

// Parts of one operand each are there, however much they have in common.
TEST(PushSlices, OfOnePartEachAreFree) {
  const GraphRef made = checked(R"((v0: f64[], v1: f64[100]) {
    v2: f64[1] = reshape{shape=[1]}(v0)
    v3: f64[102] = concatenate{axis=0}(v2, v1, v2)
    v4: f64[98] = slice{start=[1], limit=[99], stride=[1]}(v3)
    v5: f64[98] = slice{start=[3], limit=[101], stride=[1]}(v3)
    v6: f64[98] = sub(v5, v4)
    return v6
  })");
  EXPECT_EQ(count_ops(*made, "concatenate"), 0);
  // Across two of them a slice has to be made.
  const GraphRef across = checked(R"((v0: f64[], v1: f64[100]) {
    v2: f64[1] = reshape{shape=[1]}(v0)
    v3: f64[102] = concatenate{axis=0}(v2, v1, v2)
    v4: f64[100] = slice{start=[0], limit=[100], stride=[1]}(v3)
    v5: f64[100] = slice{start=[2], limit=[102], stride=[1]}(v3)
    v6: f64[100] = sub(v5, v4)
    return v6
  })");
  EXPECT_EQ(count_ops(*across, "concatenate"), 1);
}

TEST(PushSlices, ThroughViews) {
  const GraphRef made = checked(R"((v0: f64[30,40], v1: f64[40], v2: f64[]) {
    v3: f64[40,30] = transpose{permutation=[1, 0]}(v0)
    v4: f64[40,30] = broadcast_in_dim{shape=[40, 30], axes=[0]}(v1)
    v5: f64[40,30] = broadcast_in_dim{shape=[40, 30], axes=[]}(v2)
    v6: f64[40,30] = fma(v3, v4, v5)
    v7: f64[40,30] = reverse{axes=[0]}(v6)
    v8: f64[40,1,30] = reshape{shape=[40, 1, 30]}(v7)
    v9: f64[13,1,1] = slice{start=[1, 0, 4], limit=[40, 1, 5], stride=[3, 1, 1]}(v8)
    v10: f64[40,1,2] = slice{start=[0, 0, 7], limit=[40, 1, 20], stride=[1, 1, 12]}(v8)
    return v9, v10
  })");
  EXPECT_EQ(count_ops(*made, "fma"), 2);
  for (const Eqn& e : made->eqns()) {
    if (std::string_view(e.op->name) == "fma") {
      EXPECT_LE(made->aval(e.first_result).size(), 80);
    }
  }
}

// Columns of rows that are gathered are gathered of the column, other parts of a table that is not larger.
TEST(PushSlices, OfGatheredRows) {
  const auto program = [](const char* rows, const char* part) {
    return std::string("(v0: f64[") + rows +
           ",8], v1: i64[40,1]) {\n  v2: f64[40,8] = gather{offset_dims=[1], "
           "collapsed_slice_dims=[0], start_index_map=[0], operand_batching_dims=[], "
           "start_indices_batching_dims=[], "
           "slice_sizes=[1, 8], mode=0}(v0, v1)\n  v3: f64[40,1] = slice{start=[0, 5], limit=[40, 6], "
           "stride=[1, 1]}(v2)\n  "
           "v4: f64[20," +
           part + "] = slice{start=[1, 0], limit=[40, " + part + "], stride=[2, 1]}(v2)\n  return v3, v4\n}";
  };
  const auto gathered = [](const Graph& graph) {
    std::int64_t elements = 0;
    for (const Eqn& e : graph.eqns())
      if (e.op->name == std::string_view("gather")) elements += graph.aval(e.first_result).size();
    return elements;
  };
  EXPECT_EQ(gathered(*checked(program("30", "3"))), 40 + 60);
  EXPECT_EQ(gathered(*checked(program("3000", "1"))), 40 + 20);
  EXPECT_EQ(gathered(*checked(program("3000", "3"))), 320);
}

TEST(PushSlices, IsNotMoreWork) {
  // A stencil, whose slices have most elements in common; and an array that is read as a whole.
  const GraphRef stencil = checked(R"((v0: f64[100]) {
    v1: f64[100] = sin(v0)
    v2: f64[98] = slice{start=[0], limit=[98], stride=[1]}(v1)
    v3: f64[98] = slice{start=[2], limit=[100], stride=[1]}(v1)
    v4: f64[98] = sub(v3, v2)
    return v4
  })");
  EXPECT_EQ(count_ops(*stencil, "sin"), 1);
  const GraphRef whole = checked(R"((v0: f64[100]) {
    v1: f64[100] = sin(v0)
    v2: f64[10] = slice{start=[0], limit=[10], stride=[1]}(v1)
    return v1, v2
  })");
  EXPECT_EQ(count_ops(*whole, "sin"), 1);
}

TEST(PushSlices, OfNothing) {
  checked(R"((v0: f64[100]) {
    v1: f64[100] = sin(v0)
    v2: f64[0] = slice{start=[0], limit=[0], stride=[1]}(v1)
    v3: f64[5] = slice{start=[10], limit=[15], stride=[1]}(v1)
    return v2, v3
  })");
}

// The whole of a part is asked for beside a part of it.
TEST(PushSlices, WholeAndPartOfAnOperand) {
  checked(R"((v0: f64[50], v1: f64[50]) {
    v2: f64[50] = cos(v0)
    v3: f64[100] = concatenate{axis=0}(v2, v1)
    v4: f64[50] = slice{start=[0], limit=[50], stride=[1]}(v3)
    v5: f64[20] = slice{start=[10], limit=[30], stride=[1]}(v2)
    v6: f64[10] = slice{start=[5], limit=[15], stride=[1]}(v5)
    return v4, v5, v6
  })");
}

// A negation is made again for a part that is read with something around it.
TEST(PushSlices, OfANegationInAPad) {
  const GraphRef made = checked(R"((v0: f64[5000], v1: f64[5000], v2: f64[]) {
    v3: f64[5000] = mul(v0, v1)
    v4: f64[5000] = neg(v3)
    v5: f64[4999] = slice{start=[0], limit=[4999], stride=[1]}(v3)
    v6: f64[5000] = pad{low=[1], high=[0], interior=[0]}(v5, v2)
    v7: f64[4999] = slice{start=[1], limit=[5000], stride=[1]}(v4)
    v8: f64[5000] = pad{low=[0], high=[1], interior=[0]}(v7, v2)
    v9: f64[5000] = add(v4, v6)
    v10: f64[5000] = add(v9, v8)
    return v10
  })");
  EXPECT_EQ(count_ops(*made, "neg"), 2);
}

/// The gradient of differences times a number: no memory holds the products.
TEST(PushSlices, OfAProductWithANumber) {
  const GraphRef made = checked(R"((v0: f64[5000]) {
    v1: f64[] = constant{dtype=f64, weak=false, bits=4602678819172646912, high_bits=0}
    v2: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v3: f64[5000] = broadcast_in_dim{shape=[5000], axes=[]}(v1)
    v4: f64[5000] = sin(v0)
    v5: f64[5000] = mul(v3, v4)
    v6: f64[4999] = slice{start=[1], limit=[5000], stride=[1]}(v5)
    v7: f64[5000] = pad{low=[0], high=[1], interior=[0]}(v6, v2)
    v8: f64[5000] = sub(v5, v7)
    return v8, v4
  })");
  EXPECT_EQ(count_ops(*made, "sin"), 1);
  EXPECT_EQ(count_ops(*made, "mul"), 2);
}

// Of a pad: inside of the array, outside, across both borders with steps.
TEST(PushSlices, OfAPad) {
  const GraphRef made = checked(R"((v0: f64[30,40], v1: f64[]) {
    v2: f64[40,50] = pad{low=[4, 2], high=[6, 8], interior=[0, 0]}(v0, v1)
    v3: f64[5,20] = slice{start=[5, 5], limit=[10, 25], stride=[1, 1]}(v2)
    v4: f64[4,20] = slice{start=[0, 5], limit=[4, 25], stride=[1, 1]}(v2)
    v5: f64[13,17] = slice{start=[1, 1], limit=[40, 50], stride=[3, 3]}(v2)
    return v3, v4, v5
  })");
  EXPECT_EQ(count_ops(*made, "pad"), 1);
  EXPECT_EQ(count_ops(*made, "slice"), 2);
  EXPECT_EQ(count_ops(*made, "broadcast_in_dim"), 1);
}

// With every stride and start there is.
TEST(PushSlices, OfPadsWithSteps) {
  for (int stride = 1; stride < 5; ++stride)
    for (int start = 0; start < 44; start += 3)
      for (int limit = start + 1; limit <= 44; limit += 5) {
        const int count = (limit - start + stride - 1) / stride;
        checked(
            "(v0: f64[35], v1: f64[]) {\n v2: f64[44] = pad{low=[4], high=[5], interior=[0]}(v0, v1)\n"
            " v3: f64[" +
            std::to_string(count) + "] = slice{start=[" + std::to_string(start) + "], limit=[" +
            std::to_string(limit) + "], stride=[" + std::to_string(stride) + "]}(v2)\n return v3\n}");
        if (HasFailure()) return;
      }
}

/// Differences of differences: `order` of them.
std::string differences(int order, int n) {
  std::string text = "(v0: f64[" + std::to_string(n) + "]) {\n";
  int of = 0, next = 1;
  for (int k = 0; k < order; ++k) {
    const std::string length = std::to_string(n - k), less = std::to_string(n - k - 1);
    for (const std::string& range : {"{start=[1], limit=[" + length, "{start=[0], limit=[" + less})
      text += " v" + std::to_string(next++) + ": f64[" + less + "] = slice" + range + "], stride=[1]}(v" +
              std::to_string(of) + ")\n";
    text += " v" + std::to_string(next) + ": f64[" + less + "] = sub(v" + std::to_string(next - 2) + ", v" +
            std::to_string(next - 1) + ")\n";
    of = next++;
  }
  return text + " return v" + std::to_string(of) + "\n}";
}

// What costs little is computed again, but not more and more often.
TEST(PushSlices, OfDifferencesOfDifferences) {
  EXPECT_EQ(count_ops(*checked(differences(2, 200)), "sub"), 3);
  EXPECT_EQ(count_ops(*checked(differences(3, 200)), "sub"), 6);
  for (int order : {4, 5, 8, 12}) EXPECT_LE(count_ops(*checked(differences(order, 200)), "sub"), 3 * order);
}

// Only where elementwise code reads the slices, and neither of what takes long nor of what is made anyway.
TEST(PushSlices, ComputesLittleAgain) {
  const auto subs = [](const std::string& op, const std::string& after, const std::string& results) {
    return count_ops(*checked("(v0: f64[200]) {\n v1: f64[200] = " + op + "\n" +
                              " v2: f64[199] = slice{start=[1], limit=[200], stride=[1]}(v1)\n"
                              " v3: f64[199] = slice{start=[0], limit=[199], stride=[1]}(v1)\n" +
                              after + " return " + results + "\n}"),
                     op.substr(0, op.find('(')));
  };
  const std::string product = " v4: f64[199] = mul(v2, v3)\n";
  EXPECT_EQ(subs("add(v0, v0)", product, "v4"), 2);
  EXPECT_EQ(subs("exp(v0)", product, "v4"), 1);
  EXPECT_EQ(subs("add(v0, v0)", product, "v4, v1"), 1);
  EXPECT_EQ(subs("add(v0, v0)", product, "v4, v3"), 1);
  EXPECT_EQ(subs("add(v0, v0)", " v4: f64[398] = concatenate{axis=0}(v2, v3)\n", "v4"), 1);
}

// What is read several times is computed once for each part, and of what few elements become it does not
// matter.
TEST(PushSlices, CountsWhatIsComputedAgainOnce) {
  const GraphRef made = checked(R"((v0: f64[2000], v1: f64[]) {
    v2: f64[2000] = mul(v0, v0)
    v3: f64[2000] = fma(v2, v0, v2)
    v4: f64[2000] = fma(v3, v2, v3)
    v5: f64[2000] = fma(v4, v3, v2)
    v6: f64[1999] = slice{start=[1], limit=[2000], stride=[1]}(v5)
    v7: f64[1999] = slice{start=[0], limit=[1999], stride=[1]}(v5)
    v8: f64[1999] = sub(v6, v7)
    v9: f64[4] = slice{start=[0], limit=[4], stride=[1]}(v5)
    v10: f64[9] = pad{low=[5], high=[0], interior=[0]}(v9, v1)
    return v8, v10
  })");
  EXPECT_EQ(count_ops(*made, "mul"), 3);
  EXPECT_EQ(count_ops(*made, "fma"), 9);
}

/// Code on parts of arrays that get smaller, along one axis or two, elementwise and not.
std::string random_stencil(std::uint32_t seed) {
  std::mt19937_64 random(seed);
  const auto one_of = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  struct Made {
    int number;
    std::int64_t rows, columns;
  };
  const std::string type = one_of(2) ? "f32" : "f64";
  std::vector<Made> all = {{0, 40 + one_of(30), 40 + one_of(30)}};
  const auto typed = [&](std::int64_t rows, std::int64_t columns) {
    return type + "[" + std::to_string(rows) + "," + std::to_string(columns) + "]";
  };
  std::string lines = "(v0: " + typed(all[0].rows, all[0].columns) + ") {\n";
  int next = 1;
  const auto line = [&](std::int64_t rows, std::int64_t columns, const std::string& what) {
    lines += " v" + std::to_string(next) + ": " + typed(rows, columns) + " = " + what + "\n";
    return Made{next++, rows, columns};
  };
  const auto part = [&](const Made& of, std::int64_t rows, std::int64_t columns) {
    const std::int64_t row = one_of(of.rows - rows + 1), column = one_of(of.columns - columns + 1);
    return line(rows, columns,
                "slice{start=[" + std::to_string(row) + ", " + std::to_string(column) + "], limit=[" +
                    std::to_string(row + rows) + ", " + std::to_string(column + columns) +
                    "], stride=[1, 1]}(v" + std::to_string(of.number) + ")");
  };
  const char* ops[] = {"add", "sub", "mul", "maximum"};
  for (int n = 0; n < 9; ++n) {
    const Made a =
        all[all.size() - 1 - static_cast<std::size_t>(one_of(std::min<std::int64_t>(2, std::ssize(all))))];
    const Made b = one_of(4) ? a : all[static_cast<std::size_t>(one_of(std::ssize(all)))];
    const std::int64_t rows = std::min(a.rows, b.rows) - one_of(2),
                       columns = std::min(a.columns, b.columns) - one_of(3);
    const Made x = part(a, rows, columns), y = part(b, rows, columns);
    const auto pair = "(v" + std::to_string(x.number) + ", v" + std::to_string(y.number) + ")";
    all.push_back(line(rows, columns, ops[one_of(4)] + pair));
    if (one_of(6) == 0) all.push_back(line(rows, columns, "exp(v" + std::to_string(all.back().number) + ")"));
    if (one_of(8) == 0)
      all.push_back(line(rows, columns, "reverse{axes=[1]}(v" + std::to_string(all.back().number) + ")"));
  }
  std::string results = "v" + std::to_string(all.back().number);
  if (one_of(3) == 0)
    results += ", v" + std::to_string(all[static_cast<std::size_t>(one_of(std::ssize(all)))].number);
  return lines + " return " + results + "\n}";
}

// A negation is made again for its slices, and the pad of all of it reads the whole.
TEST(PushSlices, OfAPadOfAllOfWhatIsMadeAgain) {
  const GraphRef made = checked(R"((v0: f64[80000], v1: f64[]) {
    v2: f64[80000] = neg(v0)
    v3: f64[80002] = pad{low=[1], high=[1], interior=[0]}(v2, v1)
    v4: f64[80000] = slice{start=[0], limit=[80000], stride=[1]}(v3)
    v5: f64[80000] = slice{start=[2], limit=[80002], stride=[1]}(v3)
    v6: f64[80000] = mul(v4, v5)
    v7: f64[79999] = slice{start=[0], limit=[79999], stride=[1]}(v2)
    v8: f64[79999] = slice{start=[1], limit=[80000], stride=[1]}(v2)
    v9: f64[79999] = mul(v7, v8)
    return v6, v9
  })");
  EXPECT_EQ(count_ops(*made, "pad"), 2);
  EXPECT_EQ(count_ops(*made, "neg"), 3);
}

TEST(PushSlices, RandomStencils) {
  int again = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const std::string text = random_stencil(seed);
    const GraphRef given = parse_graph(text), made = checked(text);
    again += made->eqns().size() > given->eqns().size();
    if (HasFailure()) break;
  }
  EXPECT_GT(again, 8);
}

}  // namespace
}  // namespace apsis::detail
