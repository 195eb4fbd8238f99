// Loops over large arrays are shared out to threads in parts, which are what the whole is.

#include <string>

#include "codegen/compiled_equal.hpp"
#include "passes/pick_elements.hpp"

namespace apsis::detail {
namespace {

bool has_parts(std::string_view text, const CodegenOptions& options = {}) {
  return code_text(*parse_graph(text), options).find("apsis_share_loop") != std::string::npos;
}
void expect_parts(std::string_view text, bool parts = true) {
  expect_compiled_equal(text);
  EXPECT_EQ(has_parts(text), parts) << text;
}

constexpr const char* elementwise = R"((v0: f64[300007], v1: f64[300007], v2: f64[1]) {
  v3: f64[] = constant{dtype=f64, weak=false, bits=4602678819172646912, high_bits=0}
  v4: f64[300007] = broadcast_in_dim{shape=[300007], axes=[]}(v3)
  v5: f64[] = reshape{shape=[]}(v2)
  v6: f64[300007] = broadcast_in_dim{shape=[300007], axes=[]}(v5)
  v7: f64[300007] = mul(v0, v4)
  v8: f64[300007] = add(v7, v6)
  v9: f64[300007] = sub(v8, v1)
  return v9, v8
})";

TEST(LoopParts, OfVectorsWithElementsLeft) { expect_parts(elementwise); }

// Each part is whole vectors: the last one of others would read again what it has written, if the result is
// where the operand was.
TEST(LoopParts, OfPairsThatAreOverwritten) {
  expect_parts(R"((v0: f64[1000000,2]) {
    v1: f64[1000000,2] = mul(v0, v0)
    v2: f64[1000000,2] = sub(v1, v0)
    return v2
  })");
}

TEST(LoopParts, OnlyWhereThreadsMayBeUsed) {
  EXPECT_FALSE(has_parts(elementwise, {.parallel = false}));
  expect_parts(R"((v0: f64[3000]) {
    v1: f64[3000] = neg(v0)
    return v1
  })",
               false);
}

// Elements that are a line of the cache each take the time of the line.
TEST(LoopParts, OfElementsThatLieApart) {
  const auto of = [](const char* stride) {
    const std::string all = std::string("f32[40000,") + stride + "]";
    return "(v0: " + all +
           ") {\n v1: f32[40000,1] = slice{start=[0, 0], limit=[40000, 1], stride=[1, 1]}(v0)\n" +
           " v2: f32[40000,1] = neg(v1)\n return v2\n}";
  };
  expect_parts(of("16"));
  expect_parts(of("2"), false);
}

TEST(LoopParts, OfMatricesTransposedReversedAndFlat) {
  expect_parts(R"((v0: f32[1003,700], v1: f32[700,1003], v2: f32[700]) {
    v3: f32[1003,700] = transpose{permutation=[1, 0]}(v1)
    v4: f32[1003,700] = reverse{axes=[0, 1]}(v0)
    v5: f32[1003,700] = broadcast_in_dim{shape=[1003, 700], axes=[1]}(v2)
    v6: f32[1003,700] = add(v0, v3)
    v7: f32[1003,700] = mul(v4, v5)
    v8: f32[1003,700] = sub(v6, v7)
    return v8
  })");
  // Three long rows.
  expect_parts(R"((v0: f32[3,300001], v1: i32[3,300001]) {
    v2: f32[3,300001] = convert{dtype=f32, weak=false}(v1)
    v3: f32[3,300001] = add(v0, v2)
    return v3
  })");
}

TEST(LoopParts, OfElementsAtIndices) {
  const GraphRef given = parse_graph(R"((v0: f64[1000], v1: i64[200000,1], v2: f64[200000]) {
    v3: f64[200000] = gather{offset_dims=[], collapsed_slice_dims=[0], start_index_map=[0], operand_batching_dims=[], start_indices_batching_dims=[], slice_sizes=[1], mode=0}(v0, v1)
    v4: f64[200000] = mul(v3, v2)
    return v4
  })"),
                 graph = pick_elements(*given);
  std::vector<Array> inputs;
  for (ValueId v = 0; v < graph->input_count(); ++v) inputs.push_back(filled(graph->aval(v), v));
  InterpretScope reference;
  EXPECT_TRUE(same_bits(run(*compile(*graph), inputs)[0], interpret(*given, inputs)[0]));
  EXPECT_NE(code_text(*graph).find("apsis_share_loop"), std::string::npos);
}

TEST(LoopParts, OfElementsThatDependOnTheirPlace) {
  expect_parts(R"((v0: f64[300007]) {
    v1: f64[300007] = iota{dtype=f64, shape=[300007], axis=0}()
    v2: f64[300007] = add(v0, v1)
    return v2
  })");
  for (const char* axis : {"0", "1", "2"})
    for (const char* shape : {"[101,70,70]", "[60,60,100]", "[3,5,20011]"}) {
      const std::string all = std::string("f32") + shape, numbers = std::string("i32") + shape;
      expect_parts("(v0: " + all + ") {\n  v1: " + numbers + " = iota{dtype=i32, shape=" + shape +
                   ", axis=" + axis + "}()\n  v2: " + numbers + " = reverse{axes=[" + axis +
                   "]}(v1)\n  v3: " + all + " = convert{dtype=f32, weak=false}(v2)\n  v4: " + all +
                   " = mul(v0, v3)\n  v5: " + all + " = exp(v4)\n  return v5\n}");
    }
}

TEST(LoopParts, OfCopies) {
  // In one piece, and several.
  expect_parts(R"((v0: f32[1003,700], v1: f32[1003,700]) {
    v2: f32[2006,700] = concatenate{axis=0}(v0, v1)
    v3: f32[1003,1400] = concatenate{axis=1}(v0, v1)
    return v2, v3
  })");
  expect_parts(R"((v0: c128[300,701], v1: i8[3000,701]) {
    v2: c128[701,300] = transpose{permutation=[1, 0]}(v0)
    v3: i8[3000,701] = reverse{axes=[1]}(v1)
    return v2, v3
  })");
  expect_parts(R"((v0: f64[700,701], v1: f64[]) {
    v2: f64[703,704] = pad{low=[1, 2], high=[2, 1], interior=[0, 0]}(v0, v1)
    v3: f64[700,701,2] = broadcast_in_dim{shape=[700, 701, 2], axes=[0, 1]}(v0)
    v4: f64[700,1402] = reshape{shape=[700, 1402]}(v3)
    return v2, v4
  })");
  expect_parts(R"(() {
    v0: i64[1000,700] = iota{dtype=i64, shape=[1000, 700], axis=0}()
    return v0
  })");
}

TEST(LoopParts, OfRowsThatAreAddedUp) {
  for (const char* columns : {"10", "40", "300"}) {
    const std::string matrix = std::string("f64[20011,") + columns + "]";
    expect_parts("(v0: " + matrix + ", v1: " + matrix + ") {\n  v2: " + matrix +
                 " = mul(v0, v1)\n  v3: f64[20011] = reduce_sum{axes=[1]}(v2)\n"
                 "  v4: f64[20011] = reduce_max{axes=[1]}(v0)\n  return v3, v4\n}");
  }
}

// Reductions that come out the same in any order, of what the loop makes; with and without elements left.
TEST(LoopParts, OfExtremaOfAllElements) {
  for (const char* shape : {"1000003", "1001,1003", "2,1048576"})
    for (const char* dtype : {"f64", "f32", "bf16", "i32"}) {
      const std::string all = std::string(dtype) + "[" + shape + "]", one = std::string(dtype) + "[]",
                        truth = std::string("bool[") + shape + "]",
                        axes = std::string("{axes=[") +
                               (std::string_view(shape).find(',') != std::string_view::npos ? "0, 1" : "0") +
                               "]}";
      expect_parts("(v0: " + all + ", v1: " + all + ") {\n  v2: " + all + " = mul(v0, v1)\n  v3: " + one +
                   " = reduce_max" + axes + "(v2)\n  v4: " + all + " = sub(v0, v1)\n  v5: " + one +
                   " = reduce_min" + axes + "(v4)\n  v6: " + truth +
                   " = lt(v2, v4)\n  v7: bool[] = reduce_or" + axes + "(v6)\n  v8: bool[] = reduce_and" +
                   axes + "(v6)\n  v9: " + one + " = reduce_max" + axes +
                   "(v0)\n  return v3, v5, v7, v8, v4, v9\n}");
    }
}

// By ranges of columns, or of what is before them; few columns by parts of their terms.
TEST(LoopParts, OfColumnsThatAreAddedUp) {
  const auto down = [](const std::string& dtype, const std::string& rows, const std::string& columns) {
    const std::string matrix = dtype + "[" + rows + "," + columns + "]", sums = dtype + "[" + columns + "]";
    return "(v0: " + matrix + ", v1: " + sums + ") {\n  v2: " + matrix + " = broadcast_in_dim{shape=[" +
           rows + ", " + columns + "], axes=[1]}(v1)\n  v3: " + matrix + " = mul(v0, v2)\n  v4: " + sums +
           " = reduce_sum{axes=[0]}(v3)\n  v5: " + sums + " = reduce_max{axes=[0]}(v0)\n  v6: " + sums +
           " = reduce_sum{axes=[0]}(v0)\n  return v4, v5, v6, v3\n}";
  };
  for (const char* dtype : {"f64", "f32", "bf16"})
    for (const char* columns : {"256", "700", "1027"}) expect_parts(down(dtype, "5003", columns));
  expect_parts(down("f64", "12", "300001"));
  for (const char* columns : {"20", "100", "255"}) expect_compiled_equal(down("f32", "20011", columns));
  expect_parts("(v0: f64[20011,255]) {\n  v1: f64[255] = reduce_sum{axes=[0]}(v0)\n  return v1\n}");
  expect_parts("(v0: f64[5011,255]) {\n  v1: f64[255] = reduce_sum{axes=[0]}(v0)\n  return v1\n}", false);
  for (const char* columns : {"3", "16", "130"}) {
    const std::string last = std::string(columns) + "]", all = "f32[12007,20," + last,
                      sums = "f32[12007," + last;
    expect_parts("(v0: " + all + ") {\n  v1: " + all + " = exp(v0)\n  v2: " + sums +
                 " = reduce_sum{axes=[1]}(v1)\n  v3: " + sums +
                 " = reduce_min{axes=[1]}(v0)\n  return v2, v3\n}");
  }
}

// Few sums over many terms, which lie between those of the others: by parts of the terms, and parts of these.
TEST(LoopParts, OfFewSums) {
  const auto sums = [](const std::string& dtype, const std::string& shape, const std::string& axes,
                       const std::string& kept) {
    const std::string all = dtype + "[" + shape + "]", few = dtype + "[" + kept + "]";
    return "(v0: " + all + ", v1: " + all + ") {\n  v2: " + all + " = mul(v0, v1)\n  v3: " + few +
           " = reduce_sum{axes=[" + axes + "]}(v2)\n  v4: " + few + " = reduce_sum{axes=[" + axes +
           "]}(v0)\n  return v3, v4, v2\n}";
  };
  for (const char* dtype : {"f64", "f32", "bf16"}) {
    expect_compiled_equal(sums(dtype, "5003,16,16", "0, 2", "16"));
    expect_compiled_equal(sums(dtype, "300003,2", "0", "2"));
    expect_parts(sums(dtype, "900003,2", "0", "2"));
    expect_compiled_equal(sums(dtype, "5003,4,15", "0, 2", "4"));  // rows that no part ends with
  }
  expect_parts(sums("f64", "5003,16,16", "0, 2", "16"));
  expect_parts(sums("f64", "2,5,100007", "2", "2, 5"));
  // Enough sums for ranges of them, but fewer than are in some cache lines.
  for (const char* kept : {"100", "215"})
    expect_parts(sums("f64", "100," + std::string(kept) + ",105", "0, 2", kept));
  // More parts than there are bits to tell them by: several for each thread's turn, and some left over.
  expect_parts(sums("f64", "39062,16,16", "0, 2", "16"));
}

TEST(LoopParts, OfAllElementsThatAreAddedUp) {
  expect_parts(R"((v0: f64[1500007], v1: f64[1500007]) {
    v2: f64[1500007] = mul(v0, v1)
    v3: f64[] = reduce_sum{axes=[0]}(v2)
    v4: f64[] = reduce_sum{axes=[0]}(v0)
    return v3, v4, v2
  })");
  // Whole parts only; of halves, which are added up in f32.
  expect_parts(R"((v0: f16[1024,1024]) {
    v1: f16[1024,1024] = tanh(v0)
    v2: f16[] = reduce_sum{axes=[0, 1]}(v1)
    return v2
  })");
  // Numbers that are where they are.
  expect_parts(R"((v0: f64[1500007]) {
    v1: f64[1500007] = iota{dtype=f64, shape=[1500007], axis=0}()
    v2: f64[1500007] = mul(v0, v1)
    v3: f64[] = reduce_sum{axes=[0]}(v2)
    return v3
  })");
}

// An array is written where one was that is read no more.
TEST(LoopParts, InPlace) {
  const char* const text = R"((v0: f64[400000]) {
    v1: f64[400000] = tanh(v0)
    v2: f64[200000] = slice{start=[0], limit=[200000], stride=[1]}(v1)
    v3: f64[200000] = slice{start=[200000], limit=[400000], stride=[1]}(v1)
    v4: f64[200000] = mul(v2, v3)
    v5: f64[] = reduce_sum{axes=[0]}(v4)
    v6: f64[400000] = broadcast_in_dim{shape=[400000], axes=[]}(v5)
    v7: f64[400000] = sub(v1, v6)
    return v7
  })";
  expect_parts(text);
}

}  // namespace
}  // namespace apsis::detail
