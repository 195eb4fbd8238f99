// Reductions that fused loops accumulate: the same bits as by themselves, and no loop of their own.

#include <limits>

#include "codegen/compiled_equal.hpp"

namespace apsis::detail {
namespace {

/// reduce_max and the like over every dtype that an op takes, next to elementwise results of the same loop.
TEST(FusedReductions, OfEverySizeAndDtype) {
  for (const char* shape : {"17", "31", "1000", "9001", "5,7,11"}) {
    const bool cube = std::string_view(shape).find(',') != std::string_view::npos;
    const std::string axes = cube ? "{axes=[0, 1, 2]}" : "{axes=[0]}";
    for (const char* dtype : {"f64", "f32", "f16", "bf16", "i32", "i8", "u64", "u8"}) {
      const std::string s = dtype, t = s + "[" + shape + "]";
      expect_compiled_equal("(v0: " + t + ", v1: " + t + ") {\n v2: " + t + " = mul(v0, v1)\n v3: " + s +
                            "[] = reduce_max" + axes + "(v2)\n v4: " + s + "[] = reduce_min" + axes +
                            "(v2)\n v5: " + t + " = add(v2, v0)\n v6: " + s + "[] = reduce_min" + axes +
                            "(v1)\n return v3, v4, v5, v6\n}");
    }
    for (const char* dtype : {"bool", "i32", "i8", "u64"}) {
      const std::string s = dtype, t = s + "[" + shape + "]";
      expect_compiled_equal("(v0: " + t + ", v1: " + t + ") {\n v2: " + t + " = bit_xor(v0, v1)\n v3: " + s +
                            "[] = reduce_and" + axes + "(v2)\n v4: " + s + "[] = reduce_or" + axes +
                            "(v2)\n return v3, v4\n}");
    }
  }
}

TEST(FusedReductions, KeepZerosNansAndInfinities) {
  const GraphRef graph = parse_graph(R"((v0: f64[50], v1: f64[50]) {
    v2: f64[50] = mul(v0, v1)
    v3: f64[] = reduce_max{axes=[0]}(v2)
    v4: f64[] = reduce_min{axes=[0]}(v2)
    return v3, v4
  })");
  const double inf = std::numeric_limits<double>::infinity();
  const auto filled_with = [](double value) { return std::vector<double>(50, value); };
  const Array one = array(filled_with(1.));
  for (double all : {0., -0., inf, -inf, 3.}) {
    for (double odd : {0., -0., inf, -inf, std::nan("")}) {
      for (std::size_t at : {0u, 31u, 49u}) {
        std::vector<double> values = filled_with(all);
        values[at] = odd;
        const Array inputs[] = {array(values), one};
        expect_compiled_equal(*graph, inputs);
      }
    }
  }
}

TEST(FusedReductions, HaveNoLoopOfTheirOwn) {
  const char* const test = R"((v0: f32[1000], v1: f32[1000]) {
    v2: f32[1000] = add(v0, v1)
    v3: bool[1000] = ne(v2, v2)
    v4: bool[] = reduce_or{axes=[0]}(v3)
    v5: f32[] = reduce_max{axes=[0]}(v0)
    return v2, v4, v5
  })";
  expect_compiled_equal(test);
  EXPECT_EQ(compile(*parse_graph(test))->loops, 1);
}

TEST(FusedReductions, OfViewsAndRepeatedElements) {
  expect_compiled_equal(R"((v0: f64[20,30], v1: f64[], v2: f64[30,20]) {
    v3: f64[30,20] = transpose{permutation=[1, 0]}(v0)
    v4: f64[30,20] = broadcast_in_dim{shape=[30, 20], axes=[]}(v1)
    v5: f64[30,20] = maximum(v3, v2)
    v6: f64[] = reduce_max{axes=[0, 1]}(v3)
    v7: f64[] = reduce_min{axes=[0, 1]}(v4)
    v8: f64[] = reduce_max{axes=[0, 1]}(v5)
    v9: i64[30,20] = iota{dtype=i64, shape=[30, 20], axis=1}()
    v10: i64[] = reduce_max{axes=[0, 1]}(v9)
    v11: bool[30,20] = lt(v3, v5)
    v12: bool[] = reduce_or{axes=[0, 1]}(v11)
    v13: f64[30,20] = broadcast_in_dim{shape=[30, 20], axes=[]}(v8)
    v14: f64[30,20] = sub(v5, v13)
    return v6, v7, v8, v10, v12, v14
  })");
}

/// Programs of many loops write equal ones once, as functions that return what they accumulate.
TEST(FusedReductions, InLoopsThatAreFunctions) {
  std::string text = "(v0: f64[100]) {\n";
  std::string v = "v0";
  int next = 1;
  for (int i = 0; i < 9; ++i) {
    const auto name = [&](int k) { return "v" + std::to_string(next + k); };
    text += " " + name(0) + ": f64[100] = mul(" + v + ", " + v + ")\n " + name(1) +
            ": f64[] = reduce_max{axes=[0]}(" + name(0) + ")\n " + name(2) +
            ": f64[100] = broadcast_in_dim{shape=[100], axes=[]}(" + name(1) + ")\n " + name(3) +
            ": f64[100] = div(" + name(0) + ", " + name(2) + ")\n";
    v = name(3);
    next += 4;
  }
  expect_compiled_equal(text + " return " + v + "\n}");
}

/// Dims as in the text form, "2, 3".
std::string listed(const std::vector<std::int64_t>& dims) {
  std::string text;
  for (std::int64_t n : dims) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return text;
}

/// Sums of what a loop makes, over each choice of axes, next to what it stores. Lengths are at and around
/// those where the order of sums changes, and where a vector is full.
TEST(FusedSums, OverEveryChoiceOfAxes) {
  const std::vector<std::int64_t> shapes[] = {
      {40},      {4101},     {12300},    {17, 19},    {300, 9},    {9, 300},      {4099, 5},  {5, 4099},
      {33, 130}, {3, 64, 5}, {5, 9, 32}, {6, 11, 96}, {2, 300, 3}, {2, 3, 5, 32}, {70, 1, 33}};
  for (const auto& shape : shapes) {
    for (unsigned chosen = 1; chosen < 1u << shape.size(); ++chosen) {
      std::vector<std::int64_t> axes, kept;
      for (std::size_t d = 0; d < shape.size(); ++d)
        (chosen >> d & 1 ? axes : kept).push_back(chosen >> d & 1 ? static_cast<std::int64_t>(d) : shape[d]);
      for (const char* dtype : {"f64", "f32", "bf16", "i32"}) {
        if (shape.size() > 2 && dtype[0] != 'f') continue;
        const std::string s = dtype, t = s + "[" + listed(shape) + "]", r = s + "[" + listed(kept) + "]",
                          over = "{axes=[" + listed(axes) + "]}";
        expect_compiled_equal("(v0: " + t + ", v1: " + t + ") {\n v2: " + t + " = mul(v0, v1)\n v3: " + r +
                              " = reduce_sum" + over + "(v2)\n v4: " + t + " = sub(v2, v0)\n v5: " + t +
                              " = mul(v4, v4)\n v6: " + r + " = reduce_sum" + over + "(v5)\n v7: " + r +
                              " = reduce_max" + over + "(v4)\n return v3, v4, v6, v7\n}");
      }
    }
  }
}

/// Lines between the terms of one another: all go through memory together, in blocks and groups of them.
TEST(FusedSums, OfLinesThatAlternate) {
  for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{
           {40, 3, 8}, {300, 2, 24}, {129, 2, 3, 32}, {520, 16, 16}, {70, 3, 128}, {16500, 2, 16}}) {
    const std::int64_t last = std::ssize(shape) - 1;
    const std::vector<std::int64_t> kept(shape.begin() + 1, shape.end() - 1);
    for (const char* dtype : {"f64", "f32", "f16", "i8"}) {
      const std::string s = dtype, t = s + "[" + listed(shape) + "]", r = s + "[" + listed(kept) + "]",
                        over = "{axes=[0, " + std::to_string(last) + "]}",
                        small = s + "[" + std::to_string(shape.back()) + "]";
      expect_compiled_equal(
          "(v0: " + t + ", v1: " + small + ") {\n v2: " + t + " = broadcast_in_dim{shape=[" + listed(shape) +
          "], axes=[" + std::to_string(last) + "]}(v1)\n v3: " + t + " = mul(v0, v2)\n v4: " + r +
          " = reduce_sum" + over + "(v3)\n v5: " + r + " = reduce_prod" + over + "(v2)\n v6: " + r +
          " = reduce_min" + over + "(v0)\n v7: " + t + " = add(v3, v0)\n return v4, v5, v6, v7\n}");
    }
  }
}

/// Lines whose ends are within vectors of terms: of arrays without gaps and with them, of what is the same
/// along one of the axes, and of places.
TEST(FusedSums, OfLinesThatVectorsCross) {
  for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{
           {3, 1, 11}, {40, 3, 11}, {6, 10, 2, 33}, {500, 2, 9}, {5, 30, 14}, {3, 2, 1501}}) {
    const std::int64_t last = std::ssize(shape) - 1;
    std::vector<std::int64_t> kept(shape.begin() + 1, shape.end() - 1), from = shape, start(shape.size(), 0),
                                                                        limit, stride(shape.size(), 1);
    from.back() += 5;
    start.back() = 2;
    for (std::size_t d = 0; d < shape.size(); ++d) limit.push_back(start[d] + shape[d]);
    for (const std::string s : {"f64", "f32", "i32", "bf16"}) {
      const std::string t = s + "[" + listed(shape) + "]", r = s + "[" + listed(kept) + "]",
                        over = "{axes=[0, " + std::to_string(last) + "]}",
                        repeat = "broadcast_in_dim{shape=[" + listed(shape) + "], axes=[",
                        place = "iota{dtype=" + s + ", shape=[" + listed(shape) + "], axis=";
      std::string text = "(v0: " + t + ", v1: " + s + "[" + std::to_string(shape.back()) + "], v2: " + s +
                         "[" + std::to_string(shape[0]) + "], v3: " + s + "[" + listed(from) +
                         "]) {\n v4: " + t + " = " + repeat + std::to_string(last) + "]}(v1)\n v5: " + t +
                         " = " + repeat + "0]}(v2)\n v6: " + t + " = slice{start=[" + listed(start) +
                         "], limit=[" + listed(limit) + "], stride=[" + listed(stride) + "]}(v3)\n v7: " + t +
                         " = " + place + "0}()\n v8: " + t + " = " + place + std::to_string(last) + "}()\n";
      int next = 9;
      std::string outputs;
      const auto add = [&](const std::string& op, int a, int b, const std::string& sum) {
        text += " v" + std::to_string(next) + ": " + t + " = " + op + "(v" + std::to_string(a) + ", v" +
                std::to_string(b) + ")\n v" + std::to_string(next + 1) + ": " + r + " = " + sum + over +
                "(v" + std::to_string(next) + ")\n";
        outputs += (outputs.empty() ? "v" : ", v") + std::to_string(next + 1);
        next += 2;
      };
      add("mul", 0, 0, "reduce_sum");
      add("mul", 0, 4, "reduce_sum");
      add("sub", 5, 6, "reduce_sum");
      add("mul", 7, 6, "reduce_max");
      add("add", 8, 5, "reduce_sum");
      add("mul", 4, 5, "reduce_min");
      add("mul", 7, 8, "reduce_sum");
      expect_compiled_equal(text + " return " + outputs + (shape[0] % 2 ? ", v9\n}" : "\n}"));
    }
  }
}

/// Operands that are broadcast, transposed, a part of an array, or made of nothing; sums of a long body.
TEST(FusedSums, OfEveryKindOfOperand) {
  for (const char* over : {"0", "1", "0, 1"}) {
    const std::string axes = "{axes=[" + std::string(over) + "]}", r = std::string("f64[") +
                                                                       (over[1]          ? ""
                                                                        : over[0] == '0' ? "96"
                                                                                         : "70") +
                                                                       "]";
    std::string text = R"((v0: f64[96,70], v1: f64[96], v2: f64[70], v3: f64[75,200], v4: f64[]) {
      v5: f64[70,96] = transpose{permutation=[1, 0]}(v0)
      v6: f64[70,96] = broadcast_in_dim{shape=[70, 96], axes=[1]}(v1)
      v7: f64[70,96] = broadcast_in_dim{shape=[70, 96], axes=[0]}(v2)
      v8: f64[70,96] = slice{start=[3, 4], limit=[73, 196], stride=[1, 2]}(v3)
      v9: f64[70,96] = iota{dtype=f64, shape=[70, 96], axis=0}()
      v10: f64[70,96] = broadcast_in_dim{shape=[70, 96], axes=[]}(v4)
)";
    int next = 11;
    std::string outputs;
    const auto add = [&](const std::string& body) {
      text += "      v" + std::to_string(next) + ": f64[70,96] = " + body + "\n";
      text += "      v" + std::to_string(next + 1) + ": " + r + " = reduce_sum" + axes + "(v" +
              std::to_string(next) + ")\n";
      outputs += (outputs.empty() ? "v" : ", v") + std::to_string(next + 1);
      next += 2;
    };
    add("mul(v6, v7)");
    add("mul(v5, v6)");
    add("add(v5, v7)");
    add("mul(v8, v6)");
    add("mul(v9, v7)");
    add("mul(v10, v10)");
    add("sin(v6)");
    add("exp(v5)");
    expect_compiled_equal(text + "      return " + outputs + "\n}");
  }
}

/// Of terms that are the same along some of the axes, and of nothing else.
TEST(FusedSums, OfRepeatedElements) {
  for (const char* axes : {"0", "1", "0, 1", "0, 2", "1, 2", "0, 1, 2"})
    for (const char* from : {"[3]{axes=[0]}", "[32]{axes=[2]}", "[5]{axes=[1]}", "[]{axes=[]}"}) {
      const std::string source(from), shape = source.substr(0, source.find(']') + 1),
                                      how = source.substr(source.find('{') + 1);
      const std::int64_t sizes[] = {3, 5, 32};
      std::vector<std::int64_t> kept;
      for (int d = 0; d < 3; ++d)
        if (std::string_view(axes).find(static_cast<char>('0' + d)) == std::string_view::npos)
          kept.push_back(sizes[d]);
      const std::string r = "f64[" + listed(kept) + "]";
      expect_compiled_equal("(v0: f64" + shape +
                            ") {\n v1: f64[3,5,32] = broadcast_in_dim{shape=[3, 5, 32], " + how +
                            "(v0)\n v2: " + r + " = reduce_sum{axes=[" + axes +
                            "]}(v1)\n v3: f64[3,5,32] = sin(v1)\n v4: " + r + " = reduce_sum{axes=[" + axes +
                            "]}(v3)\n return v2, v4\n}");
    }
}

TEST(FusedSums, HaveNoLoopOfTheirOwn) {
  for (const char* test : {R"((v0: f32[1000], v1: f32[1000]) {
    v2: f32[1000] = mul(v0, v1)
    v3: f32[] = reduce_sum{axes=[0]}(v2)
    v4: f32[1000] = add(v0, v1)
    v5: f32[] = reduce_sum{axes=[0]}(v4)
    return v3, v4, v5
  })",
                           R"((v0: f32[50,40], v1: f32[40]) {
    v2: f32[50,40] = broadcast_in_dim{shape=[50, 40], axes=[1]}(v1)
    v3: f32[50,40] = mul(v0, v2)
    v4: f32[40] = reduce_sum{axes=[0]}(v3)
    return v4
  })"}) {
    expect_compiled_equal(test);
    EXPECT_EQ(compile(*parse_graph(test))->loops, 1);
  }
}

/// What is summed keeps the zeros' signs, and sums with one term give it back.
/// Lines of few terms, which vectors of lines go through, or vectors along them.
TEST(FusedSums, OfShortLines) {
  for (const std::string dtype : {"f64", "f32", "i8"})
    for (const int lines : {1, 7, 21})
      for (const int terms : {4, 5, 8, 11, 15, 16, 30}) {
        const std::string rows = std::to_string(lines), n = std::to_string(terms),
                          one = dtype + "[" + rows + "]", all = dtype + "[" + rows + "," + n + "]";
        expect_compiled_equal("(v0: " + all + ", v1: " + one + ", v2: " + dtype + "[" + n +
                              "]) {\n v3: " + all + " = broadcast_in_dim{shape=[" + rows + ", " + n +
                              "], axes=[0]}(v1)\n v4: " + all + " = broadcast_in_dim{shape=[" + rows + ", " +
                              n + "], axes=[1]}(v2)\n v5: " + all + " = mul(v0, v3)\n v6: " + all +
                              " = add(v5, v4)\n v7: " + one + " = reduce_sum{axes=[1]}(v6)\n v8: " + one +
                              " = reduce_max{axes=[1]}(v0)\n v9: " + one +
                              " = reduce_min{axes=[1]}(v6)\n v10: " + one +
                              " = reduce_prod{axes=[1]}(v0)\n v11: " + all + " = sub(v0, v3)\n v12: " + one +
                              " = reduce_max{axes=[1]}(v11)\n return v7, v8, v9, v10, v11, v12\n}");
      }
}

/// Lines side by side whose partial results are many instructions: the code of one line is in a loop.
TEST(FusedSums, WriteTheCodeOfOneLine) {
  const auto count = [](const std::string& text, std::string_view what) {
    int found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
  };
  for (const std::string dtype : {"f64", "f32"})
    for (const std::string lines : {"8", "21"})
      for (const std::string terms : {"100", "256"}) {
        const std::string one = dtype + "[" + lines + "]", all = dtype + "[" + lines + "," + terms + "]";
        const std::string program =
            "(v0: " + all + ", v1: " + one + ") {\n v2: " + all + " = broadcast_in_dim{shape=[" + lines +
            ", " + terms + "], axes=[0]}(v1)\n v3: " + all + " = sub(v0, v2)\n v4: " + one +
            " = reduce_max{axes=[1]}(v3)\n v5: " + all + " = broadcast_in_dim{shape=[" + lines + ", " +
            terms + "], axes=[0]}(v4)\n v6: " + all + " = sub(v3, v5)\n v7: " + one +
            " = reduce_sum{axes=[1]}(v6)\n return v3, v4, v6, v7\n}";
        expect_compiled_equal(program);
        constexpr int most = 60;  // written line after line they are over 100
        EXPECT_LT(count(code_text(*parse_graph(program), {.level = 1}), " fsub "), most) << program;
      }
}

TEST(FusedSums, OfShortLinesWithGaps) {
  for (const std::string dtype : {"f64", "f32"})
    for (const std::string terms : {"6", "12", "40"}) {
      const std::string t = terms;
      expect_compiled_equal(
          "(v0: " + dtype + "[5,9," + t + "], v1: " + dtype + "[" + t + ",5,9]) {\n v2: " + dtype + "[4,4," +
          t + "] = slice{start=[1, 0, 0], limit=[5, 8, " + t + "], stride=[1, 2, 1]}(v0)\n v3: " + dtype +
          "[4,4] = reduce_sum{axes=[2]}(v2)\n v4: " + dtype + "[4,4] = reduce_max{axes=[2]}(v2)\n v5: " +
          dtype + "[5,9," + t + "] = transpose{permutation=[1, 2, 0]}(v1)\n v6: " + dtype + "[5,9," + t +
          "] = mul(v0, v5)\n v7: " + dtype + "[5,9] = reduce_sum{axes=[2]}(v6)\n v8: " + dtype + "[5,9," + t +
          "] = reverse{axes=[2]}(v0)\n v9: " + dtype + "[5,9] = reduce_sum{axes=[2]}(v8)\n v10: " + dtype +
          "[9," + t + "] = reduce_max{axes=[0]}(v0)\n return v3, v4, v7, v9, v10\n}");
    }
}

/// What comes out the same in any order goes down all columns at once.
TEST(FusedReductions, DownColumns) {
  for (const std::string dtype : {"f64", "f32", "bf16", "i32"})
    for (const std::string columns : {"300", "517"}) {
      const std::string all = dtype + "[40," + columns + "]", one = dtype + "[" + columns + "]";
      expect_compiled_equal(
          "(v0: " + all + ", v1: " + one + ") {\n v2: " + all + " = broadcast_in_dim{shape=[40, " + columns +
          "], axes=[1]}(v1)\n v3: " + all + " = mul(v0, v2)\n v4: " + one +
          " = reduce_max{axes=[0]}(v3)\n v5: " + one + " = reduce_min{axes=[0]}(v0)\n v6: " + all +
          " = add(v3, v0)\n v7: " + one + " = reduce_max{axes=[0]}(v6)\n v8: bool[40," + columns +
          "] = lt(v0, v3)\n v9: bool[" + columns + "] = reduce_and{axes=[0]}(v8)\n v10: bool[" + columns +
          "] = reduce_or{axes=[0]}(v8)\n v11: " + one +
          " = reduce_sum{axes=[0]}(v0)\n return v4, v5, v6, v7, v9, v10, v11\n}");
    }
}

TEST(FusedSums, KeepZeros) {
  const GraphRef graph = parse_graph(R"((v0: f64[40,20], v1: f64[40,20]) {
    v2: f64[40,20] = mul(v0, v1)
    v3: f64[40] = reduce_sum{axes=[1]}(v2)
    v4: f64[40,20] = add(v0, v0)
    v5: f64[20] = reduce_sum{axes=[0]}(v4)
    v6: f64[] = reduce_prod{axes=[0, 1]}(v1)
    return v3, v5, v6
  })");
  for (double all : {0., -0.}) {
    const Array inputs[] = {lax::full({40, 20}, Dtype::F64, all), lax::full({40, 20}, Dtype::F64, 1.)};
    expect_compiled_equal(*graph, inputs);
  }
}

}  // namespace
}  // namespace apsis::detail
