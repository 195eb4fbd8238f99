#include "codegen/compiled_equal.hpp"

namespace apsis::detail {
namespace {

TEST(LoweringStraight, RegistersAndLoopsOfEverySize) {
  for (const char* shape :
       {"[]", "[0]", "[1]", "[3]", "[16]", "[17]", "[31]", "[4,9]", "[1000]", "[3,0,2]", "[5,7,11]"}) {
    for (const char* dtype : {"f64", "f32", "f16", "bf16", "i32", "i8", "u64"}) {
      std::string t = std::string(dtype) + shape;
      expect_compiled_equal("(v0: " + t + ", v1: " + t + ") {\n v2: " + t + " = mul(v0, v1)\n v3: " + t +
                            " = add(v2, v0)\n v4: " + t + " = maximum(v3, v1)\n return v4, v2, v0, v4\n}");
    }
  }
}

TEST(LoweringStraight, ConstantsSpreadOverArrays) {
  expect_compiled_equal(R"((v0: f64[40], v1: f64[]) {
    v2: f64[] = constant{dtype=f64, weak=false, bits=4611686018427387904, high_bits=0}
    v3: f64[40] = broadcast_in_dim{shape=[40], axes=[]}(v2)
    v4: f64[40] = mul(v0, v3)
    v5: f64[40] = broadcast_in_dim{shape=[40], axes=[]}(v1)
    v6: f64[40] = sub(v4, v5)
    v7: bool[40] = lt(v6, v0)
    v8: f64[40] = select(v7, v6, v5)
    return v8, v7, v3
  })");
}

TEST(LoweringStraight, ViewsAreReadInPlace) {
  expect_compiled_equal(R"((v0: f64[20,30], v1: f64[30,20], v2: f64[30], v3: f64[20]) {
    v4: f64[30,20] = transpose{permutation=[1, 0]}(v0)
    v5: f64[30,20] = add(v4, v1)
    v6: f64[30,20] = broadcast_in_dim{shape=[30, 20], axes=[0]}(v2)
    v7: f64[30,20] = broadcast_in_dim{shape=[30, 20], axes=[1]}(v3)
    v8: f64[30,20] = mul(v6, v7)
    v9: f64[30,20] = sub(v5, v8)
    v10: f64[30,20] = reverse{axes=[0, 1]}(v9)
    v11: f64[10,7] = slice{start=[1, 2], limit=[30, 16], stride=[3, 2]}(v10)
    v12: f64[70] = reshape{shape=[70]}(v11)
    v13: f64[70] = neg(v12)
    v14: f64[600] = reshape{shape=[600]}(v9)
    return v13, v10, v14, v4
  })");
}

TEST(LoweringStraight, SmallAndLargeArraysMix) {
  expect_compiled_equal(R"((v0: f64[4], v1: f64[50,4], v2: f64[200]) {
    v3: f64[4] = mul(v0, v0)
    v4: f64[50,4] = broadcast_in_dim{shape=[50, 4], axes=[1]}(v3)
    v5: f64[50,4] = sub(v1, v4)
    v6: f64[2,4] = slice{start=[3, 0], limit=[5, 4], stride=[1, 1]}(v5)
    v7: f64[2,2] = slice{start=[0, 1], limit=[2, 4], stride=[1, 2]}(v6)
    v8: f64[2,2] = transpose{permutation=[1, 0]}(v7)
    v9: f64[4] = reshape{shape=[4]}(v8)
    v10: f64[4] = add(v9, v0)
    v11: f64[200] = reshape{shape=[200]}(v5)
    v12: f64[200] = mul(v11, v2)
    v13: f64[] = reduce_sum{axes=[0]}(v12)
    v14: f64[200] = broadcast_in_dim{shape=[200], axes=[]}(v13)
    v15: f64[200] = div(v12, v14)
    return v10, v15, v13, v6
  })");
}

TEST(LoweringStraight, IotaIsComputedWhereItIsRead) {
  expect_compiled_equal(R"((v0: f32[6,40]) {
    v1: f32[6,40] = iota{dtype=f32, shape=[6, 40], axis=1}()
    v2: f32[6,40] = iota{dtype=f32, shape=[6, 40], axis=0}()
    v3: f32[6,40] = mul(v1, v2)
    v4: f32[6,40] = reverse{axes=[1]}(v1)
    v5: f32[6,40] = sub(v3, v4)
    v6: f32[6,40] = add(v5, v0)
    v7: i32[3] = iota{dtype=i32, shape=[3], axis=0}()
    return v6, v1, v7
  })");
}

TEST(LoweringStraight, MovesOfElements) {
  expect_compiled_equal(R"((v0: f64[10,8], v1: f64[3,8], v2: i64[], v3: i64[], v4: f64[]) {
    v5: f64[13,8] = concatenate{axis=0}(v0, v1)
    v6: f64[2,3] = dynamic_slice{sizes=[2, 3]}(v5, v2, v3)
    v7: f64[5,6] = dynamic_slice{sizes=[5, 6]}(v5, v3, v2)
    v8: f64[5,6] = neg(v7)
    v9: f64[13,8] = dynamic_update_slice(v5, v8, v2, v3)
    v10: f64[13,8] = dynamic_update_slice(v9, v6, v3, v2)
    v11: f64[20] = broadcast_in_dim{shape=[20], axes=[]}(v4)
    v12: f64[1] = broadcast_in_dim{shape=[1], axes=[]}(v4)
    v13: f64[21] = concatenate{axis=0}(v12, v11)
    v14: f64[12,10] = pad{low=[1, 1], high=[1, 1], interior=[0, 0]}(v0, v4)
    return v10, v6, v9, v13, v14
  })");
}

TEST(LoweringStraight, ComplexArraysAreMoved) {
  expect_compiled_equal(R"((v0: c64[20], v1: c128[4,5], v2: c128[]) {
    v3: c64[20] = reverse{axes=[0]}(v0)
    v4: c128[5,4] = transpose{permutation=[1, 0]}(v1)
    v5: c128[5,4] = broadcast_in_dim{shape=[5, 4], axes=[]}(v2)
    v6: c128[10,4] = concatenate{axis=0}(v4, v5)
    v7: c128[2,4] = slice{start=[0, 0], limit=[6, 4], stride=[3, 1]}(v6)
    return v3, v6, v7, v2
  })");
}

TEST(LoweringStraight, ReductionsOfEveryLength) {
  for (int n : {1, 2, 15, 16, 17, 63, 255, 256, 300, 4095, 4096, 4097, 9000}) {
    std::string length = std::to_string(n);
    for (std::string dtype : {"f64", "f32", "f16", "i32"}) {
      expect_compiled_equal("(v0: " + dtype + "[3," + length + "], v1: " + dtype + "[" + length + ",3]) {\n" +
                            " v2: " + dtype + "[3] = reduce_sum{axes=[1]}(v0)\n v3: " + dtype +
                            "[3] = reduce_sum{axes=[0]}(v1)\n" + " v4: " + dtype +
                            "[] = reduce_max{axes=[0, 1]}(v0)\n v5: " + dtype + "[" + length +
                            "] = reduce_sum{axes=[0]}(v0)\n" + " v6: " + dtype + "[3," + length +
                            "] = transpose{permutation=[1, 0]}(v1)\n v7: " + dtype +
                            "[] = reduce_sum{axes=[0, 1]}(v6)\n return v2, v3, v4, v5, v7\n}");
    }
  }
}

TEST(LoweringStraight, ContractionsInTheOrderOfTheEvaluator) {
  for (std::string dtype : {"f64", "f32", "bf16", "i32", "bool"}) {
    auto contract = [&](std::string a, std::string b, std::string out, std::string params) {
      expect_compiled_equal("(v0: " + dtype + a + ", v1: " + dtype + b + ") {\n v2: " + dtype + out +
                            " = dot_general{" + params + ", k_ordered=false}(v0, v1)\n return v2\n}");
    };
    contract("[20,30]", "[30]", "[20]", "contract_a=[1], contract_b=[0], batch_a=[], batch_b=[]");
    contract("[12,18]", "[18,15]", "[12,15]", "contract_a=[1], contract_b=[0], batch_a=[], batch_b=[]");
    contract("[18,12]", "[15,18]", "[12,15]", "contract_a=[0], contract_b=[1], batch_a=[], batch_b=[]");
    // Rows of a matrix times a vector: whole blocks, blocks that overlap, columns left over, batches,
    // strides.
    contract("[70,9]", "[9]", "[70]", "contract_a=[1], contract_b=[0], batch_a=[], batch_b=[]");
    contract("[5,64]", "[64]", "[5]", "contract_a=[1], contract_b=[0], batch_a=[], batch_b=[]");
    contract("[31]", "[21,31]", "[21]", "contract_a=[0], contract_b=[1], batch_a=[], batch_b=[]");
    contract("[3,19,6]", "[3,6]", "[3,19]", "contract_a=[2], contract_b=[1], batch_a=[0], batch_b=[0]");
    contract("[2,8]", "[33,8]", "[2,33]", "contract_a=[1], contract_b=[1], batch_a=[], batch_b=[]");
    contract("[40]", "[40]", "[]", "contract_a=[0], contract_b=[0], batch_a=[], batch_b=[]");
    contract("[5,3,7]", "[5,7,2]", "[5,3,2]", "contract_a=[2], contract_b=[1], batch_a=[0], batch_b=[0]");
    contract("[6,5,4]", "[4,6,8]", "[5,8]", "contract_a=[0, 2], contract_b=[1, 0], batch_a=[], batch_b=[]");
    contract("[6]", "[7]", "[6,7]", "contract_a=[], contract_b=[], batch_a=[], batch_b=[]");
    contract("[2,100,100]", "[100,40]", "[2,100,40]",
             "contract_a=[2], contract_b=[0], batch_a=[], batch_b=[]");
  }
}

TEST(LoweringStraight, ProgramsThatRepeatAFunctionHoldOneCopy) {
  for (int uses : {2, 5}) {
    // Of several sizes, so that no loop is like another.
    std::string inputs, equations, results;
    for (int k = 0; k < uses; ++k) {
      const std::string type = ": f64[" + std::to_string(100 + k) + "]", in = "v" + std::to_string(k),
                        out = "v" + std::to_string(uses + k), comma = k ? ", " : "";
      inputs += comma + in + type;
      equations += " " + out + type + " = logaddexp(" + in + ", " + in + ")\n";
      results += comma + out;
    }
    const std::string text = "(" + inputs + ") {\n" + equations + " return " + results + "\n}";
    expect_compiled_equal(text);
    const std::string code = code_text(*parse_graph(text), {.lanes = 4}),
                      call = "call <4 x double> @logaddexp.f64";
    int calls = 0;
    for (auto at = code.find(call); at != std::string::npos; at = code.find(call, at + 1)) ++calls;
    EXPECT_EQ(calls, uses > 4 ? uses : 0) << code;
  }
}

TEST(LoweringStraight, EqualLoopsAreWrittenOnce) {
  for (int loops : {2, 3}) {
    std::string text = "(v0: f64[100]) {\n";
    for (int k = 0; k < loops; ++k)
      text += " v" + std::to_string(k + 1) + ": f64[100] = logaddexp(v" + std::to_string(k) + ", v" +
              std::to_string(k) + ")\n";
    text += " return v" + std::to_string(loops) + "\n}";
    expect_compiled_equal(text);
    const std::string code = code_text(*parse_graph(text));
    EXPECT_EQ(code.find("define internal void @loop(") != std::string::npos, loops == 3) << code;
  }
}

TEST(LoweringStraight, EqualCopiesInAnotherOrderAreWrittenOnce) {
  for (const char* type : {"f32", "f64", "i8", "bool"}) {
    const std::string t = type;
    const auto text = [&](const std::string& rows, const std::string& columns) {
      const std::string in = t + "[" + rows + "," + columns + "]", out = t + "[" + columns + "," + rows + "]";
      return "(v0: " + in + ", v1: " + in + ") {\n v2: " + out +
             " = transpose{permutation=[1, 0]}(v0)\n v3: " + out +
             " = transpose{permutation=[1, 0]}(v1)\n return v2, v3\n}";
    };
    expect_compiled_equal(text("67", "64"));
    const std::string code = code_text(*parse_graph(text("64", "64"))),
                      definition = "define internal void @copy";
    const auto first = code.find(definition);
    EXPECT_NE(first, std::string::npos) << code;
    EXPECT_EQ(code.find(definition, first + 1), std::string::npos) << code;
    EXPECT_EQ(code_text(*parse_graph(text("6", "7"))).find(definition), std::string::npos);
  }
}

TEST(LoweringStraight, WhatOneLaterLoopReadsIsMadeThere) {
  const char* const text = R"((v0: f32[64,64], v1: f32[64,64], v2: f32[64,64]) {
    v3: f32[] = constant{dtype=f32, weak=false, bits=1063675494, high_bits=0}
    v4: f32[64,64] = broadcast_in_dim{shape=[64, 64], axes=[]}(v3)
    v5: f32[64,64] = mul(v4, v2)
    v6: f32[64,64] = dot_general{contract_a=[1], contract_b=[0], batch_a=[], batch_b=[], k_ordered=false}(v0, v1)
    v7: f32[64,64] = sub(v5, v6)
    return v7
  })";
  expect_compiled_equal(text);
  EXPECT_EQ(compile(*parse_graph(text))->loops, 1);
  // Not where that loop would read two arrays more, or where something else reads it.
  const char* const kept = R"((v0: f32[64,64], v1: f32[64,64], v2: f32[64,64]) {
    v3: f32[64,64] = mul(v1, v2)
    v4: f32[64,64] = exp(v2)
    v5: f32[64,64] = dot_general{contract_a=[1], contract_b=[0], batch_a=[], batch_b=[], k_ordered=false}(v0, v4)
    v6: f32[64,64] = sub(v3, v5)
    v7: f32[64,64] = mul(v6, v4)
    return v7
  })";
  expect_compiled_equal(kept);
  EXPECT_EQ(compile(*parse_graph(kept))->loops, 2);
}

TEST(LoweringStraight, LongProgramsKeepSmallArraysInMemory) {
  GraphBuilder b;
  Aval aval(f64, {16});
  ValueId x = b.input(aval), y = b.input(aval), v = x;
  for (int i = 0; i < 4000; ++i) {
    const ValueId operands[] = {v, i % 3 ? y : x};
    b.append(*find_op(i % 2 ? "mul" : "sub"), {}, operands, {&v, 1});
  }
  GraphRef graph = b.finish({&v, 1});
  const Array inputs[] = {filled(aval, 1), filled(aval, 2)};
  expect_compiled_equal(*graph, inputs);
  EXPECT_LT(compile(*graph)->code_bytes, 100000u);
}

TEST(LoweringStraight, LongChainsAreCutIntoSeveralLoops) {
  GraphBuilder b;
  Aval aval(f64, {100});
  ValueId x = b.input(aval), y = b.input(aval), v = x;
  for (int i = 0; i < 1000; ++i) {
    const ValueId operands[] = {v, i % 3 ? y : x};
    b.append(*find_op(i % 2 ? "mul" : "sub"), {}, operands, {&v, 1});
  }
  GraphRef graph = b.finish({&v, 1});
  const Array inputs[] = {filled(aval, 1), filled(aval, 2)};
  expect_compiled_equal(*graph, inputs);
  EXPECT_GT(compile(*graph)->loops, 1);
}

}  // namespace
}  // namespace apsis::detail
