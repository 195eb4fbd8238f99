// Pads that a fused loop reads: the evaluator's bits for every dtype, rank and way to pad, crop included.

#include <tuple>

#include "codegen/compiled_equal.hpp"

namespace apsis::detail {
namespace {

struct Padding {
  const char *from, *to, *low, *high;
};

constexpr Padding paddings[] = {
    {"40", "47", "3", "4"},
    {"40", "40", "1", "-1"},
    {"40", "33", "-9", "2"},
    {"1", "50", "49", "0"},
    {"60", "19", "-30", "-11"},
    {"20, 30", "23, 40", "1, 4", "2, 6"},
    {"20, 30", "20, 33", "0, 3", "0, 0"},
    {"20, 30", "31, 30", "11, 0", "0, 0"},
    {"20, 30", "18, 30", "-3, 0", "1, 0"},
    {"1, 30", "5, 35", "2, 5", "2, 0"},
    {"20, 1", "20, 17", "0, 8", "0, 8"},
    {"4, 5, 20", "6, 5, 23", "1, 0, -1", "1, 0, 4"},
    {"4, 5, 20", "4, 9, 20", "0, 3, 0", "0, 1, 0"},
};

std::string interior(const Padding& p) {
  std::string zeros = "0";
  for (const char* c = p.from; *c; ++c)
    if (*c == ',') zeros += ", 0";
  return zeros;
}

TEST(Padded, InLoops) {
  for (const Padding& p : paddings)
    for (const char* dtype : {"f64", "f32", "i64", "u32", "i8", "bool", "bf16"}) {
      const std::string s = dtype, from = s + "[" + p.from + "]", to = s + "[" + p.to + "]",
                        how = std::string("pad{low=[") + p.low + "], high=[" + p.high + "], interior=[" +
                              interior(p) + "]}",
                        add = s == "bool" ? "bit_xor" : "add";
      expect_compiled_equal("(v0: " + from + ", v1: " + to + ", v2: " + s + "[]) {\n v3: " + to + " = " +
                            how + "(v0, v2)\n v4: " + to + " = " + add + "(v3, v1)\n v5: " + from + " = " +
                            add + "(v0, v0)\n v6: " + to + " = " + how + "(v5, v2)\n v7: " + to + " = " +
                            add + "(v4, v6)\n return v7, v6\n}");
    }
}

/// Of views, of something that is the same everywhere, and of places; and what a sum reads.
TEST(Padded, OfEveryKindOfArray) {
  expect_compiled_equal(R"((v0: f64[30,20], v1: f64[20], v2: f64[], v3: f64[22,33]) {
    v4: f64[20,30] = transpose{permutation=[1, 0]}(v0)
    v5: f64[22,33] = pad{low=[1, 2], high=[1, 1], interior=[0, 0]}(v4, v2)
    v6: f64[20,30] = broadcast_in_dim{shape=[20, 30], axes=[0]}(v1)
    v7: f64[22,33] = pad{low=[0, 3], high=[2, 0], interior=[0, 0]}(v6, v2)
    v8: f64[20,30] = broadcast_in_dim{shape=[20, 30], axes=[]}(v2)
    v9: f64[22,33] = pad{low=[2, 1], high=[0, 2], interior=[0, 0]}(v8, v2)
    v10: f64[20,30] = iota{dtype=f64, shape=[20, 30], axis=1}()
    v11: f64[22,33] = pad{low=[1, 1], high=[1, 2], interior=[0, 0]}(v10, v2)
    v12: f64[22,33] = add(v5, v7)
    v13: f64[22,33] = mul(v9, v11)
    v14: f64[22,33] = sub(v12, v13)
    v15: f64[33] = reduce_sum{axes=[0]}(v14)
    v16: f64[] = reduce_max{axes=[0, 1]}(v12)
    v17: f64[10,30] = slice{start=[0, 0], limit=[20, 30], stride=[2, 1]}(v4)
    v18: f64[22,33] = pad{low=[5, 2], high=[7, 1], interior=[0, 0]}(v17, v2)
    v19: f64[22,33] = add(v18, v3)
    return v14, v15, v16, v19
  })");
}

TEST(Padded, HaveNoLoopOfTheirOwn) {
  const char* const test = R"((v0: f64[98], v1: f64[]) {
    v2: f64[100] = pad{low=[0], high=[2], interior=[0]}(v0, v1)
    v3: f64[100] = pad{low=[1], high=[1], interior=[0]}(v0, v1)
    v4: f64[100] = pad{low=[2], high=[0], interior=[0]}(v0, v1)
    v5: f64[100] = add(v2, v3)
    v6: f64[100] = add(v5, v4)
    return v6
  })";
  expect_compiled_equal(test);
  EXPECT_EQ(compile(*parse_graph(test))->loops, 1);
}

/// Where most rows have no element of what is padded, they are written without reading: columns side by side
/// in a corner, between edges, of no element, with fillings that differ.
TEST(Padded, RowsWithoutElements) {
  for (const char* dtype : {"f64", "f32", "i64", "u8", "bool", "f16"})
    for (const auto& [rows, low, high] : {std::tuple{"3", "0", "13"}, std::tuple{"3", "7", "6"},
                                          std::tuple{"1", "15", "0"}, std::tuple{"0", "9", "7"}})
      for (const auto& [columns, left, right] : {std::tuple{"1", "0", "18"}, std::tuple{"1", "17", "1"},
                                                 std::tuple{"5", "3", "11"}, std::tuple{"0", "4", "15"}}) {
        const std::string s = dtype, from = s + "[9," + rows + "," + columns + "]", to = s + "[9,16,19]",
                          op = s == "bool" ? "bit_xor" : "add";
        const auto how = [&](const char* a, const char* b) {
          return std::string("pad{low=[0, ") + low + ", " + a + "], high=[0, " + high + ", " + b +
                 "], interior=[0, 0, 0]}";
        };
        expect_compiled_equal("(v0: " + from + ", v1: " + from + ", v2: " + s + "[], v3: " + s +
                              "[]) {\n v4: " + to + " = " + how(left, right) + "(v0, v2)\n v5: " + to +
                              " = " + how(right, left) + "(v1, v3)\n v6: " + to + " = " + op +
                              "(v4, v5)\n return v6\n}");
      }
}

/// What is read backwards, of narrow arrays and of wide ones, at either end.
TEST(Padded, OfReversedRows) {
  for (const char* dtype : {"f64", "f32", "i64", "i16", "u8", "f16"})
    for (const auto& [columns, left, right] :
         {std::tuple{"3", "0", "37"}, std::tuple{"3", "36", "1"}, std::tuple{"39", "1", "0"}}) {
      const std::string s = dtype, from = s + "[50," + columns + "]", to = s + "[50,40]";
      expect_compiled_equal("(v0: " + from + ", v1: " + to + ", v2: " + s + "[]) {\n v3: " + from +
                            " = reverse{axes=[1]}(v0)\n v4: " + to + " = pad{low=[0, " + left +
                            "], high=[0, " + right + "], interior=[0, 0]}(v3, v2)\n v5: " + to +
                            " = add(v4, v1)\n return v5\n}");
    }
}

}  // namespace
}  // namespace apsis::detail
