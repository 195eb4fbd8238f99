// Loops over arrays whose last axis is short, where rows are walked several at once, and over arrays of which
// one is read across the others, where squares are turned in registers.

#include <array>
#include <string>

#include "codegen/compiled_equal.hpp"

namespace apsis::detail {
namespace {

std::string shaped(const std::string& dtype, std::initializer_list<std::int64_t> shape) {
  return dtype + to_string(Dims(shape));
}

constexpr const char* dtypes[] = {"f64", "f32", "f16", "bf16", "i32", "i8", "u64"};

/// Elements, a number a row, a row for all, places: each with the others.
TEST(ShortAxes, OfEverySizeAndDtype) {
  for (const std::string dtype : dtypes)
    for (std::int64_t rows : {7, 8, 31, 130})
      for (std::int64_t n : {2, 3, 5, 16, 17}) {
        const std::string t = shaped(dtype, {rows, n}), to = "shape=" + to_string(Dims{rows, n});
        expect_compiled_equal(
            "(v0: " + t + ", v1: " + shaped(dtype, {rows}) + ", v2: " + shaped(dtype, {n}) +
                ") {\n v3: " + t + " = broadcast_in_dim{" + to + ", axes=[0]}(v1)\n v4: " + t +
                " = broadcast_in_dim{" + to + ", axes=[1]}(v2)\n v5: " + t + " = iota{dtype=" + dtype + ", " +
                to + ", axis=1}()\n v6: " + t + " = mul(v0, v3)\n v7: " + t + " = add(v6, v4)\n v8: " + t +
                " = add(v7, v5)\n v9: " + dtype + "[] = reduce_max{axes=[0, 1]}(v8)\n return v8, v9, v6\n}",
            static_cast<std::uint64_t>(rows * 100 + n));
      }
}

/// Code too long to be written several times: short rows of a wider array, of which several are a vector.
TEST(ShortAxes, LongBodies) {
  for (const std::string dtype : {"f64", "f32"})
    for (std::int64_t rows : {3, 9, 40})
      for (std::int64_t n : {2, 4, 8}) {
        const std::int64_t wide = 4 * n;
        const std::string t = shaped(dtype, {rows, n}), whole = shaped(dtype, {rows, wide}),
                          to = "shape=" + to_string(Dims{rows, n});
        const auto part = [&](std::int64_t k) {
          return "slice{start=" + to_string(Dims{0, k * n}) +
                 ", limit=" + to_string(Dims{rows, (k + 1) * n}) + ", stride=[1, 1]}(v0)";
        };
        expect_compiled_equal(
            "(v0: " + whole + ", v1: " + shaped(dtype, {2 * rows}) + ", v2: " + shaped(dtype, {n}) +
                ") {\n v3: " + t + " = " + part(0) + "\n v4: " + t + " = " + part(2) + "\n v5: " + t +
                " = tanh(v3)\n v6: " + t + " = exp(v4)\n v7: " + shaped(dtype, {rows}) +
                " = slice{start=[1], limit=" + to_string(Dims{2 * rows}) + ", stride=[2]}(v1)\n v8: " + t +
                " = broadcast_in_dim{" + to + ", axes=[0]}(v7)\n v9: " + t + " = broadcast_in_dim{" + to +
                ", axes=[1]}(v2)\n v10: " + t + " = iota{dtype=" + dtype + ", " + to + ", axis=1}()\n v11: " +
                t + " = reverse{axes=[1]}(v3)\n v12: " + t + " = fma(v5, v6, v8)\n v13: " + t +
                " = fma(v9, v10, v11)\n v14: " + t + " = tanh(v13)\n v15: " + t +
                " = atan2(v12, v14)\n v16: " + t + " = tanh(v15)\n v17: " + whole +
                " = concatenate{axis=1}(v16, v13, v15, v12)\n return v16, v15, v17\n}",
            static_cast<std::uint64_t>(rows * 100 + n));
      }
}

/// Elements backwards, columns, numbers of every other row.
TEST(ShortAxes, WithGaps) {
  for (const std::string dtype : dtypes)
    for (std::int64_t n : {2, 3, 5}) {
      const std::string t = shaped(dtype, {40, n}), column = shaped(dtype, {40});
      expect_compiled_equal("(v0: " + t + ", v1: " + shaped(dtype, {n, 40}) + ", v2: " + shaped(dtype, {80}) +
                            ") {\n v3: " + t + " = transpose{permutation=[1, 0]}(v1)\n v4: " + t +
                            " = reverse{axes=[0, 1]}(v0)\n v5: " + column +
                            " = slice{start=[0], limit=[80], stride=[2]}(v2)\n v6: " + t +
                            " = broadcast_in_dim{shape=" + to_string(Dims{40, n}) +
                            ", axes=[0]}(v5)\n v7: " + t + " = mul(v0, v6)\n v8: " + t +
                            " = add(v7, v4)\n v9: " + t + " = mul(v0, v3)\n return v8, v9\n}");
    }
}

/// Elements apart in rows apart, near enough that vectors hold several of them, and too far.
TEST(ShortAxes, ApartInBothDirections) {
  for (const std::string dtype : {"f64", "f32", "bf16", "i8", "u64", "bool"})
    for (std::int64_t n : {3, 7, 14})
      for (std::int64_t by : {2, 3, 5, 9}) {
        const std::string t = shaped(dtype, {40, n}), wide = shaped(dtype, {80, n * by});
        const auto part = [&](std::int64_t first) {
          return "slice{start=" + to_string(Dims{first % 2, first}) +
                 ", limit=" + to_string(Dims{80, n * by}) + ", stride=" + to_string(Dims{2, by}) + "}(v0)";
        };
        const std::string both = dtype == "bool" ? "bit_xor" : "mul";
        expect_compiled_equal("(v0: " + wide + ", v1: " + t + ", v2: " + wide + ") {\n v3: " + t + " = " +
                                  part(0) + "\n v4: " + t + " = " + part(by - 1) + "\n v5: " + t + " = " +
                                  both + "(v1, v3)\n v6: " + t + " = " + both + "(v5, v4)\n v7: bool" +
                                  to_string(Dims{40, n}) + " = ne(v1, v6)\n v8: " + t +
                                  " = select(v7, v6, v4)\n return v6, v8\n}",
                              static_cast<std::uint64_t>(n * 10 + by));
      }
}

/// One axis, with elements apart by more and less than vectors hold.
TEST(LongAxes, Apart) {
  for (const std::string dtype : {"f64", "f32", "bf16", "i8", "bool"})
    for (std::int64_t by : {2, 4, 6, 8, 11, 40}) {
      const std::string t = shaped(dtype, {77});
      const std::string both = dtype == "bool" ? "bit_xor" : "mul";
      expect_compiled_equal(
          "(v0: " + shaped(dtype, {77, by}) + ", v1: " + t + ") {\n v2: " + shaped(dtype, {77, 1}) +
          " = slice{start=" + to_string(Dims{0, by - 1}) + ", limit=" + to_string(Dims{77, by}) +
          ", stride=[1, 1]}(v0)\n v3: " + t + " = reshape{shape=[77]}(v2)\n v4: " + t + " = " + both +
          "(v1, v3)\n return v4\n}");
    }
}

/// Rows backwards, and elements that are far apart.
TEST(LongAxes, BackwardsAndApart) {
  for (const std::string dtype : dtypes)
    for (std::int64_t n : {5, 33, 64, 1000}) {
      const std::string t = shaped(dtype, {n});
      expect_compiled_equal("(v0: " + t + ", v1: " + shaped(dtype, {n, 7}) + ") {\n v2: " + t +
                            " = reverse{axes=[0]}(v0)\n v3: " + shaped(dtype, {n, 1}) +
                            " = slice{start=[0, 4], limit=" + to_string(Dims{n, 5}) +
                            ", stride=[1, 1]}(v1)\n v4: " + t + " = reshape{shape=" + to_string(Dims{n}) +
                            "}(v3)\n v5: " + t + " = mul(v2, v4)\n v6: " + t +
                            " = add(v5, v0)\n return v6\n}");
    }
}

/// Bodies of which two or four vectors go side by side: whole arrays, and rows that are a little longer or
/// shorter than these are, with a number a row and a row for all.
TEST(LongAxes, SeveralVectorsAnIteration) {
  for (const std::string dtype : {"f64", "f32"})
    for (const auto& [rows, n] : {std::pair<std::int64_t, std::int64_t>{1, 2047},
                                  {1, 2048},
                                  {1, 2061},
                                  {64, 33},
                                  {40, 65},
                                  {33, 127},
                                  {20, 130},
                                  {2, 2000}}) {
      const std::string t = shaped(dtype, {rows, n}), to = "shape=" + to_string(Dims{rows, n});
      expect_compiled_equal("(v0: " + t + ", v1: " + shaped(dtype, {rows}) + ", v2: " + shaped(dtype, {n}) +
                                ") {\n v3: " + t + " = broadcast_in_dim{" + to +
                                ", axes=[0]}(v1)\n v4: " + t + " = broadcast_in_dim{" + to +
                                ", axes=[1]}(v2)\n v5: " + t + " = fma(v0, v3, v4)\n v6: " + t +
                                " = tanh(v5)\n v7: " + t + " = mul(v6, v0)\n return v7\n}",
                            static_cast<std::uint64_t>(rows * 100 + n));
    }
}

/// So long a body that two vectors go side by side from 16,384 elements on.
TEST(LongAxes, LongBodies) {
  for (const std::string dtype : {"f64", "f32", "bf16", "i32", "i8", "bool"}) {
    const std::string t = shaped(dtype, {16411});
    const std::string first = dtype == "bool" ? "bit_xor" : "mul",
                      second = dtype == "bool" ? "bit_or" : "maximum";
    std::string text = "(v0: " + t + ", v1: " + t + ") {\n";
    for (int k = 2; k < 60; k += 2) {
      const std::string last = "v" + std::to_string(k - 1), made = "v" + std::to_string(k);
      text += made + ": " + t + " = " + first + "(" + last + ", v0)\n v" + std::to_string(k + 1) + ": " + t +
              " = " + second + "(" + made + ", v1)\n";
    }
    expect_compiled_equal(text + " return v59\n}");
  }
}

TEST(ShortAxes, WithinOuterAxes) {
  expect_compiled_equal(R"((v0: f64[5,40,3], v1: f64[40,3], v2: f64[5,40], v3: f64[5,3]) {
    v4: f64[5,40,3] = broadcast_in_dim{shape=[5, 40, 3], axes=[1, 2]}(v1)
    v5: f64[5,40,3] = broadcast_in_dim{shape=[5, 40, 3], axes=[0, 1]}(v2)
    v6: f64[5,40,3] = broadcast_in_dim{shape=[5, 40, 3], axes=[0, 2]}(v3)
    v7: f64[5,40,3] = sub(v0, v4)
    v8: f64[5,40,3] = mul(v7, v5)
    v9: f64[5,40,3] = add(v8, v6)
    v10: bool[5,40,3] = lt(v9, v0)
    v11: f64[5,40,3] = select(v10, v9, v6)
    return v11, v10
  })");
}

TEST(ShortAxes, RepeatedElements) {
  for (const char* dtype : {"f64", "f32", "bf16", "i8", "bool", "c64", "c128"})
    for (std::int64_t count : {2, 3, 5, 16, 20})
      expect_compiled_equal("(v0: " + shaped(dtype, {37}) + ") {\n v1: " + shaped(dtype, {37, count}) +
                            " = broadcast_in_dim{shape=[37, " + std::to_string(count) +
                            "], axes=[0]}(v0)\n v2: " + shaped(dtype, {37 * count}) + " = reshape{shape=[" +
                            std::to_string(37 * count) + "]}(v1)\n return v2\n}");
}

/// One array, or two, read across the others: with numbers by row and by column, places, and gaps.
TEST(TurnedArrays, OfEverySizeAndDtype) {
  for (const std::string dtype : {"f64", "f32", "bf16", "i32", "i8", "u64", "bool"})
    for (std::int64_t rows : {8, 17, 40})
      for (std::int64_t n : {9, 16, 35}) {
        const std::string t = shaped(dtype, {rows, n}), to = "shape=" + to_string(Dims{rows, n}),
                          turned = shaped(dtype, {n, rows});
        const std::string both = dtype == "bool" ? "bit_xor" : "mul",
                          other = dtype == "bool" ? "bit_or" : "add";
        expect_compiled_equal(
            "(v0: " + t + ", v1: " + turned + ", v2: " + shaped(dtype, {rows}) +
                ", v3: " + shaped(dtype, {n}) + ", v4: " + turned + ") {\n v5: " + t +
                " = transpose{permutation=[1, 0]}(v1)\n v6: " + t + " = broadcast_in_dim{" + to +
                ", axes=[0]}(v2)\n v7: " + t + " = broadcast_in_dim{" + to + ", axes=[1]}(v3)\n v8: " + t +
                " = transpose{permutation=[1, 0]}(v4)\n v9: " + t + " = " + both + "(v0, v5)\n v10: " + t +
                " = " + other + "(v9, v6)\n v11: " + t + " = " + both + "(v10, v7)\n v12: " + t + " = " +
                other + "(v11, v8)\n v13: i64[" + std::to_string(rows) + "," + std::to_string(n) +
                "] = iota{dtype=i64, " + to + ", axis=0}()\n v14: i64[" + std::to_string(rows) + "," +
                std::to_string(n) + "] = add(v13, v13)\n return v12, v9, v14\n}",
            static_cast<std::uint64_t>(rows * 100 + n));
      }
}

TEST(TurnedArrays, OfSeveralAxes) {
  for (const char* permutation : {"[2, 0, 1]", "[1, 2, 0]", "[2, 1, 0]", "[0, 2, 1]", "[1, 0, 2]"}) {
    std::int64_t from[3];
    const std::int64_t shape[] = {19, 20, 21};
    for (int d = 0; d < 3; ++d) from[permutation[1 + 3 * d] - '0'] = shape[d];
    expect_compiled_equal(
        "(v0: f64[19,20,21], v1: " + shaped("f64", {from[0], from[1], from[2]}) +
        ") {\n v2: f64[19,20,21] = transpose{permutation=" + permutation +
        "}(v1)\n v3: f64[19,20,21] = iota{dtype=f64, shape=[19, 20, 21], axis=1}()\n v4: "
        "f64[19,20,21] = mul(v0, v2)\n v5: f64[19,20,21] = add(v4, v3)\n v6: f64[] = "
        "reduce_min{axes=[0, 1, 2]}(v5)\n v7: f64[19,20,21] = reverse{axes=[1, 2]}(v2)\n v8: "
        "f64[19,20,21] = add(v7, v0)\n return v5, v6, v8\n}");
  }
}

/// Columns side by side: stacked, joined, backwards, and broadcast.
TEST(ShortAxes, InterleavedColumns) {
  for (const char* dtype : {"f64", "f32", "bf16", "i8", "bool", "c64"})
    for (std::int64_t rows : {1, 8, 9, 40, 130}) {
      const std::string one = shaped(dtype, {rows, 1}), two = shaped(dtype, {rows, 2});
      expect_compiled_equal("(v0: " + one + ", v1: " + two + ", v2: " + one + ") {\n v3: " + two +
                            " = reverse{axes=[0, 1]}(v1)\n v4: " + shaped(dtype, {rows, 4}) +
                            " = concatenate{axis=1}(v0, v3, v2)\n v5: " + shaped(dtype, {rows, 2}) +
                            " = concatenate{axis=1}(v2, v0)\n v6: " + shaped(dtype, {rows, 9}) +
                            " = concatenate{axis=1}(v4, v1, v2, v1)\n return v4, v5, v6\n}");
    }
}

/// Columns of a padding value beside those of an array.
TEST(ShortAxes, PadsOfColumns) {
  for (const char* dtype : {"f64", "f32", "bf16", "i8", "bool", "c64"})
    for (std::int64_t rows : {1, 8, 40, 131})
      for (const auto& [low, n, high] :
           {std::array<std::int64_t, 3>{0, 1, 2}, {1, 1, 1}, {2, 3, 0}, {0, 5, 4}, {0, 2, 0}}) {
        const std::string in = shaped(dtype, {rows, n}), out = shaped(dtype, {rows, low + n + high});
        expect_compiled_equal("(v0: " + in + ", v1: " + dtype + "[]) {\n v2: " + in +
                              " = reverse{axes=[0]}(v0)\n v3: " + out +
                              " = pad{low=" + to_string(Dims{0, low}) + ", high=" + to_string(Dims{0, high}) +
                              ", interior=[0, 0]}(v2, v1)\n return v3\n}");
      }
}

/// A pad: slabs around the array, nothing of it left, elements apart; and what the pad is a part of.
TEST(ShortAxes, Pads) {
  const struct {
    Dims low, high, interior;
  } pads[] = {{{1, 2}, {3, 0}, {0, 0}},   {{-1, 0}, {0, -2}, {0, 0}}, {{2, 0}, {-8, 1}, {0, 0}},
              {{0, 1}, {2, -1}, {1, 3}},  {{-7, 1}, {2, 1}, {0, 0}},  {{-3, -4}, {1, 0}, {2, 1}},
              {{0, 40}, {60, 0}, {0, 0}}, {{0, 0}, {-7, 5}, {0, 0}}};
  for (const char* dtype : {"f64", "bf16", "i8", "bool", "c64", "c128"})
    for (const auto& p : pads) {
      const std::int64_t n[] = {7, 9};
      std::int64_t m[2];
      for (std::size_t d = 0; d < 2; ++d) m[d] = p.low[d] + p.high[d] + n[d] + (n[d] - 1) * p.interior[d];
      const std::string to = shaped(dtype, {m[0], m[1]}), turned = shaped(dtype, {m[1], m[0]});
      expect_compiled_equal("(v0: " + shaped(dtype, {7, 9}) + ", v1: " + dtype + "[]) {\n v2: " + to +
                            " = pad{low=" + to_string(p.low) + ", high=" + to_string(p.high) +
                            ", interior=" + to_string(p.interior) + "}(v0, v1)\n v3: " + turned +
                            " = transpose{permutation=[1, 0]}(v2)\n return v3, v2\n}");
    }
}

}  // namespace
}  // namespace apsis::detail
