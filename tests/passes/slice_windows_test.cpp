// Gathers of windows become slices side by side or gathers of rows, with the same bits.

#include "passes/slice_windows.hpp"

#include <string>

#include "apsis/apsis.hpp"
#include "codegen/staged_compiled_equal.hpp"
#include "passes/checked_pass.hpp"

namespace apsis::detail {
namespace {

using testing::expect_graph_compiled_equal;

GraphRef checked(std::string_view text) { return checked_pass(slice_windows, text); }

/// Places first + i · row + k · column of an array of `size`: of `columns` by 100 elements.
std::string program(std::int64_t size, std::int64_t first, std::int64_t row, std::int64_t column,
                    std::int64_t columns, bool puts) {
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  const std::string window = "[100," + number(columns) + "]", whole = "f64[" + number(size) + "]";
  const auto constant = [&](const char* name, std::int64_t n) {
    return std::string("    ") + name + ": i64[] = constant{dtype=i64, weak=false, bits=" + number(n) +
           ", high_bits=0}\n";
  };
  std::string text = "(v0: " + whole + ", v1: f64" + window + ") {\n";
  text += constant("v2", row) + constant("v3", column) + constant("v4", first);
  text += "    v5: i64[100] = iota{dtype=i64, shape=[100], axis=0}()\n";
  text += "    v6: i64[100] = broadcast_in_dim{shape=[100], axes=[]}(v2)\n    v7: i64[100] = mul(v5, v6)\n";
  const std::string c = "[" + number(columns) + "]";
  text += "    v8: i64" + c + " = iota{dtype=i64, shape=" + c + ", axis=0}()\n";
  text += "    v9: i64" + c + " = broadcast_in_dim{shape=" + c + ", axes=[]}(v3)\n    v10: i64" + c +
          " = mul(v8, v9)\n";
  const std::string shape = "{shape=[100, " + number(columns) + "], axes=";
  text += "    v11: i64" + window + " = broadcast_in_dim" + shape + "[0]}(v7)\n";
  text += "    v12: i64" + window + " = broadcast_in_dim" + shape + "[1]}(v10)\n";
  text += "    v13: i64" + window + " = add(v11, v12)\n";
  text += "    v14: i64" + window + " = broadcast_in_dim" + shape + "[]}(v4)\n";
  text += "    v15: i64" + window + " = add(v13, v14)\n";
  text +=
      "    v16: i64[100," + number(columns) + ",1] = reshape{shape=[100, " + number(columns) + ", 1]}(v15)\n";
  const std::string places =
      "{offset_dims=[], collapsed_slice_dims=[0], start_index_map=[0], operand_batching_dims=[], "
      "start_indices_batching_dims=[], slice_sizes=[1], mode=0";
  if (puts) {
    text += "    v17: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}\n";
    text += "    v18: " + whole + " = broadcast_in_dim{shape=[" + number(size) + "], axes=[]}(v17)\n";
    text += "    v19: " + whole + " = scatter" + places +
            ", kind=1, unique=false}(v18, v16, v1)\n    return v19\n  }";
  } else {
    text += "    v17: f64" + window + " = gather" + places + "}(v0, v16)\n    v18: f64" + window +
            " = mul(v17, v1)\n    v19: f64[100] = reduce_sum{axes=[1]}(v18)\n    return v19\n  }";
  }
  return text;
}

TEST(SliceWindows, OfFewColumns) {
  for (const bool puts : {false, true})
    for (const auto& [first, row, column, columns] : std::vector<std::array<std::int64_t, 4>>{
             {0, 1, 1, 8}, {3, 1, 1, 2}, {0, 3, 2, 5}, {7, 4, 1, 6}, {1, 1, 10, 3}}) {
      const std::int64_t size = first + 99 * row + (columns - 1) * column + 1;
      for (const std::int64_t more : {0, 5}) {
        const GraphRef made = checked(program(size + more, first, row, column, columns, puts));
        EXPECT_EQ(count_ops(*made, puts ? "scatter" : "gather"), 0);
        EXPECT_EQ(count_ops(*made, puts ? "pad" : "slice"), columns);
      }
      // Not all places are the array's.
      EXPECT_EQ(count_ops(*checked(program(size - 1, first, row, column, columns, puts)),
                          puts ? "scatter" : "gather"),
                1);
    }
}

TEST(SliceWindows, OfRows) {
  const GraphRef made = checked(program(5 + 99 * 3 + 40, 2, 3, 1, 40, true));
  EXPECT_EQ(count_ops(*made, "slice"), 1);
  EXPECT_EQ(count_ops(*made, "scatter"), 1);
  // Columns that are apart stay as they are, and what is gathered.
  EXPECT_EQ(count_ops(*checked(program(2 + 99 * 3 + 2 * 39 + 1, 2, 3, 2, 40, true)), "slice"), 0);
  EXPECT_EQ(count_ops(*checked(program(5 + 99 * 3 + 40, 2, 3, 1, 40, false)), "slice"), 0);
}

TEST(SliceWindows, OfIndices) {
  const auto windows = [](const Array& x, std::int64_t width, std::int64_t step) {
    const std::int64_t n = x.size();
    const std::int64_t rows = (n - width) / step + 1;
    const Array at = expand_dims(arange(rows) * step, {1}) + arange(width);
    return std_(x[at], {.axis = 1});
  };
  for (const Dtype dtype : {f32, f64})
    for (const std::int64_t n : {40, 97, 1001})
      for (const std::int64_t width : {2, 5, 8, 20})
        for (const std::int64_t step : {1, 3}) {
          const Array x = filled({dtype, {n}}, 3);
          const auto f = [&](const Array& a) { return windows(a, width, step); };
          expect_graph_compiled_equal(f, x);
          expect_graph_compiled_equal(grad([&](const Array& a) { return sum(f(a) * f(a)); }), x);
        }
  // From the end, of a batch, in a loop, of integers.
  const Array x = filled({f64, {200}}, 4), rows = filled({f64, {3, 200}}, 5), whole = filled({i64, {200}}, 6);
  expect_graph_compiled_equal(
      [](const Array& a) { return a[expand_dims(arange(50), {1}) + arange(4) - 100]; }, x);
  const auto smooth = [](const Array& a) {
    return sum(a[expand_dims(arange(197), {1}) + arange(4)], {.axis = 1});
  };
  expect_graph_compiled_equal(vmap(smooth), rows);
  expect_graph_compiled_equal(vmap(grad([&](const Array& a) { return sum(square(smooth(a))); })), rows);
  expect_graph_compiled_equal(smooth, whole);
  expect_graph_compiled_equal(
      [&](const Array& a) {
        return fori_loop(
            0, 3, [&](const Array&, const Array& s) { return pad(smooth(s), {0}, {3}) * .25; }, a);
      },
      x);
}

}  // namespace
}  // namespace apsis::detail
