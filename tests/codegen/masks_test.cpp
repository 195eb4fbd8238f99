// Masks of vectors that take several registers: the evaluator's bits, and on processors where a mask is a
// vector of lanes, a mask for each register.

#include <string>

#include "codegen/compiled_equal.hpp"

namespace apsis::detail {
namespace {

/// Comparisons of doubles, what is made of masks alone, a mask that numbers of four bytes meet, one that is
/// stored, one that is counted, and one that is loaded.
constexpr const char* masks =
    R"((v0: f64[5003], v1: f64[5003], v2: f32[5003], v3: bool[5003], v4: i64[5003], v5: f64[1]) {
  v6: bool[5003] = lt(v0, v1)
  v7: bool[5003] = gt(v0, v1)
  v8: bool[5003] = bit_xor(v6, v3)
  v9: bool[5003] = bit_and(v8, v7)
  v10: bool[5003] = bit_not(v9)
  v11: f64[5003] = select(v10, v0, v1)
  v12: f32[5003] = neg(v2)
  v13: f32[5003] = select(v8, v2, v12)
  v14: bool[5003] = lt(v2, v13)
  v15: bool[5003] = bit_or(v14, v10)
  v16: i64[5003] = select(v15, v4, v4)
  v17: i64[5003] = convert{dtype=i64, weak=false}(v11)
  v18: i64[5003] = add(v16, v17)
  v19: f64[5003] = convert{dtype=f64, weak=false}(v18)
  v20: f64[] = reshape{shape=[]}(v5)
  v21: f64[5003] = broadcast_in_dim{shape=[5003], axes=[]}(v20)
  v22: bool[5003] = lt(v21, v19)
  v23: f64[5003] = select(v22, v21, v19)
  v24: i64[5003] = convert{dtype=i64, weak=false}(v15)
  return v11, v13, v15, v18, v23, v24
})";

TEST(Masks, OfSeveralRegisters) { expect_compiled_equal(masks); }

TEST(Masks, InReductions) {
  expect_compiled_equal(R"((v0: f64[70001], v1: f64[70001], v2: f32[70001]) {
    v3: bool[70001] = lt(v0, v1)
    v4: bool[70001] = bit_not(v3)
    v5: f32[70001] = neg(v2)
    v6: bool[70001] = lt(v5, v2)
    v7: bool[70001] = bit_and(v4, v6)
    v8: bool[] = reduce_or{axes=[0]}(v7)
    v9: bool[] = reduce_and{axes=[0]}(v7)
    v10: i64[70001] = convert{dtype=i64, weak=false}(v7)
    v11: i64[] = reduce_sum{axes=[0]}(v10)
    v12: f64[70001] = select(v7, v0, v1)
    v13: f64[] = reduce_max{axes=[0]}(v12)
    return v8, v9, v11, v13
  })");
}

// LLVM would pack the masks of two registers into one before it combines them.
TEST(Masks, OneForEachRegister) {
  const GraphRef graph = parse_graph(R"((v0: f64[8192], v1: f64[8192]) {
    v2: bool[8192] = lt(v0, v1)
    v3: bool[8192] = eq(v0, v1)
    v4: bool[8192] = bit_or(v2, v3)
    v5: f64[8192] = select(v4, v0, v1)
    v6: f64[8192] = exp(v5)
    return v6
  })");
  EXPECT_EQ(code_text(*graph, {.isa = Isa::Avx2}).find("or <8 x i1>"), std::string::npos);
}

}  // namespace
}  // namespace apsis::detail
