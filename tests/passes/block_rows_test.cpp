// Rows that are reduced and read again are done in blocks.

#include "passes/block_rows.hpp"

#include <algorithm>
#include <random>

#include "passes/checked_pass.hpp"

namespace apsis::detail {
namespace {

GraphRef checked(std::string_view text) { return checked_pass(block_rows, text); }

std::vector<const Eqn*> maps(const Graph& graph) {
  std::vector<const Eqn*> found;
  for (const Eqn& e : graph.eqns())
    if (e.op->kind == OpKind::MapLanes) found.push_back(&e);
  return found;
}

std::int64_t rows_in_block(const Eqn& map) {
  const Graph& body = *regions_of(map.params).at(0);
  return body.aval(body.input_count() - 1).shape()[0];
}

TEST(BlockRows, OfNormalizedRows) {
  const GraphRef made = checked(R"((v0: f64[2000,40], v1: f64[40]) {
    v2: f64[2000] = reduce_sum{axes=[1]}(v0)
    v3: f64[2000,40] = broadcast_in_dim{shape=[2000, 40], axes=[0]}(v2)
    v4: f64[2000,40] = sub(v0, v3)
    v5: f64[2000,40] = broadcast_in_dim{shape=[2000, 40], axes=[1]}(v1)
    v6: f64[2000,40] = mul(v4, v5)
    return v6, v2
  })");
  ASSERT_EQ(maps(*made).size(), 1u);
  EXPECT_EQ(rows_in_block(*maps(*made)[0]), 80);  // divides the rows
  for (const Eqn& e : made->eqns()) EXPECT_NE(e.op->kind, OpKind::Elementwise);
}

/// The gradient of traces: a mask by places of columns is made in each block, not read.
TEST(BlockRows, WithPlacesAlongOtherAxes) {
  const GraphRef made = checked(R"((v0: f64[5003,40]) {
    v1: i64[5003,40] = iota{dtype=i64, shape=[5003, 40], axis=1}()
    v2: i64[] = constant{dtype=i64, weak=false, bits=7, high_bits=0}
    v3: i64[5003,40] = broadcast_in_dim{shape=[5003, 40], axes=[]}(v2)
    v4: bool[5003,40] = lt(v1, v3)
    v5: f64[5003,40] = exp(v0)
    v6: f64[5003,40] = select(v4, v5, v0)
    v7: f64[5003] = reduce_sum{axes=[1]}(v6)
    v8: f64[5003,40] = broadcast_in_dim{shape=[5003, 40], axes=[0]}(v7)
    v9: f64[5003,40] = select(v4, v0, v8)
    return v9
  })");
  ASSERT_EQ(maps(*made).size(), 1u);
  EXPECT_EQ(regions_of(maps(*made)[0]->params).at(0)->input_count(), 1u);
}

TEST(BlockRows, WithRowsThatAreLeft) {
  const GraphRef made = checked(R"((v0: f32[5003,40]) {
    v1: f32[5003] = reduce_max{axes=[1]}(v0)
    v2: f32[5003,1] = reshape{shape=[5003, 1]}(v1)
    v3: f32[5003,40] = broadcast_in_dim{shape=[5003, 40], axes=[0, 1]}(v2)
    v4: f32[5003,40] = sub(v0, v3)
    v5: f32[5003,40] = exp(v4)
    return v5
  })");
  ASSERT_EQ(maps(*made).size(), 1u);
  EXPECT_EQ(rows_in_block(*maps(*made)[0]) % 8, 0);
}

TEST(BlockRows, OneByOneWhereTheyAreLong) {
  const GraphRef made = checked(R"((v0: f64[10,10000]) {
    v1: f64[10] = reduce_sum{axes=[1]}(v0)
    v2: f64[10,10000] = broadcast_in_dim{shape=[10, 10000], axes=[0]}(v1)
    v3: f64[10,10000] = sub(v0, v2)
    return v3
  })");
  ASSERT_EQ(maps(*made).size(), 1u);
  EXPECT_EQ(rows_in_block(*maps(*made)[0]), 1);
}

// A sum of all elements is part of the loop that makes them; so that loop stays outside.
TEST(BlockRows, LeavesTheEndToSums) {
  const GraphRef made = checked(R"((v0: f64[2000,40]) {
    v1: f64[2000] = reduce_sum{axes=[1]}(v0)
    v2: f64[2000,40] = broadcast_in_dim{shape=[2000, 40], axes=[0]}(v1)
    v3: f64[2000,40] = sub(v0, v2)
    v4: f64[2000,40] = mul(v3, v3)
    v5: f64[2000] = reduce_sum{axes=[1]}(v4)
    v6: f64[2000,40] = broadcast_in_dim{shape=[2000, 40], axes=[0]}(v5)
    v7: f64[2000,40] = div(v3, v6)
    v8: f64[] = reduce_sum{axes=[0, 1]}(v7)
    return v8
  })");
  ASSERT_EQ(maps(*made).size(), 1u);
  for (ValueId v : regions_of(maps(*made)[0]->params)[0]->outputs())
    EXPECT_EQ(regions_of(maps(*made)[0]->params)[0]->aval(v).rank(), 1);
}

void expect_unchanged(std::string_view text) {
  checked(text);
  const GraphRef given = parse_graph(text);
  EXPECT_EQ(block_rows(*given).get(), given.get()) << text;
}

TEST(BlockRows, NotOfWhatIsReadOnceOrSmall) {
  // In the cache.
  expect_unchanged(R"((v0: f64[100,40]) {
    v1: f64[100] = reduce_sum{axes=[1]}(v0)
    v2: f64[100,40] = broadcast_in_dim{shape=[100, 40], axes=[0]}(v1)
    v3: f64[100,40] = sub(v0, v2)
    return v3
  })");
  // Read once.
  expect_unchanged(R"((v0: f64[2000,40]) {
    v1: f64[2000,40] = exp(v0)
    v2: f64[2000] = reduce_sum{axes=[1]}(v1)
    return v2
  })");
  // Columns.
  expect_unchanged(R"((v0: f64[2000,40]) {
    v1: f64[40] = reduce_sum{axes=[0]}(v0)
    v2: f64[2000,40] = broadcast_in_dim{shape=[2000, 40], axes=[1]}(v1)
    v3: f64[2000,40] = sub(v0, v2)
    return v3
  })");
  // Sums of rows, as a row.
  expect_unchanged(R"((v0: f64[300,300]) {
    v1: f64[300] = reduce_sum{axes=[1]}(v0)
    v2: f64[300,300] = broadcast_in_dim{shape=[300, 300], axes=[1]}(v1)
    v3: f64[300,300] = sub(v0, v2)
    return v3
  })");
}

/// Forms of the rows of v0.
constexpr const char* quadratic_forms = R"((v0: f64[10243,32], v1: f64[32,32]) {
  v2: f64[10243,32] = dot_general{contract_a=[1], contract_b=[0], batch_a=[], batch_b=[], k_ordered=false}(v0, v1)
  v3: f64[10243] = dot_general{contract_a=[1], contract_b=[1], batch_a=[0], batch_b=[0], k_ordered=false}(v2, v0)
  return v3
})";

TEST(BlockRows, OfProductsThatAreReadAgain) {
  const GraphRef forms = checked(quadratic_forms);
  ASSERT_EQ(maps(*forms).size(), 1u);
  EXPECT_EQ(rows_in_block(*maps(*forms)[0]), 512);
  // Three rows by themselves would be added up in another order.
  int left = 0;
  for (const Eqn& e : forms->eqns())
    if (e.op->kind == OpKind::Contract) {
      EXPECT_EQ(forms->aval(e.first_result).shape()[0], 515);
      ++left;
    }
  EXPECT_EQ(left, 2);
  // Two layers, and a sum of what is between them.
  const GraphRef layers = checked(R"((v0: f32[30000,40], v1: f32[24,40], v2: f32[24], v3: f32[24,3]) {
    v4: f32[30000,24] = dot_general{contract_a=[1], contract_b=[1], batch_a=[], batch_b=[], k_ordered=false}(v0, v1)
    v5: f32[30000,24] = broadcast_in_dim{shape=[30000, 24], axes=[1]}(v2)
    v6: f32[30000,24] = add(v4, v5)
    v7: f32[30000,24] = tanh(v6)
    v8: f32[30000,3] = dot_general{contract_a=[1], contract_b=[0], batch_a=[], batch_b=[], k_ordered=false}(v7, v3)
    v9: f32[24] = reduce_sum{axes=[0]}(v7)
    return v8, v9
  })");
  ASSERT_EQ(maps(*layers).size(), 1u);
  for (const Eqn& e : layers->eqns()) EXPECT_NE(e.op->kind, OpKind::Contract);
  // A batch of products.
  const GraphRef batch = checked(R"((v0: f64[3000,9,9], v1: f64[3000,9,9], v2: f64[3000,9]) {
    v3: f64[3000,9,9] = dot_general{contract_a=[2], contract_b=[1], batch_a=[0], batch_b=[0], k_ordered=false}(v0, v1)
    v4: f64[3000,9] = dot_general{contract_a=[2], contract_b=[1], batch_a=[0], batch_b=[0], k_ordered=false}(v3, v2)
    return v4
  })");
  EXPECT_EQ(maps(*batch).size(), 0u);  // 1.9 MB stay in the cache
}

TEST(BlockRows, NotOfProductsThatAreSmallOrReadOnce) {
  std::string text = quadratic_forms;
  for (std::size_t at; (at = text.find("10243")) != std::string::npos;) text.replace(at, 5, "2000");
  expect_unchanged(text);
  // Read by a product of all rows alone.
  expect_unchanged(R"((v0: f64[20000,32], v1: f64[32,32]) {
    v2: f64[20000,32] = dot_general{contract_a=[1], contract_b=[0], batch_a=[], batch_b=[], k_ordered=false}(v0, v1)
    v3: f64[32,32] = dot_general{contract_a=[0], contract_b=[0], batch_a=[], batch_b=[], k_ordered=false}(v2, v0)
    return v3
  })");
  // A matrix that would be copied too often.
  expect_unchanged(R"((v0: f32[5000,200], v1: f32[200,200], v2: f32[200,2]) {
    v3: f32[5000,200] = dot_general{contract_a=[1], contract_b=[0], batch_a=[], batch_b=[], k_ordered=false}(v0, v1)
    v4: f32[5000,2] = dot_general{contract_a=[1], contract_b=[0], batch_a=[], batch_b=[], k_ordered=false}(v3, v2)
    return v4
  })");
}

TEST(BlockRows, InLoops) {
  const GraphRef made = checked(R"((v0: f64[2000,40]) {
    v1: f64[2000,40] = scan{consts=0, carries=1, length=3, reverse=false, body=(v0: f64[2000,40]) {
      v1: f64[2000] = reduce_sum{axes=[1]}(v0)
      v2: f64[2000,40] = broadcast_in_dim{shape=[2000, 40], axes=[0]}(v1)
      v3: f64[2000,40] = sub(v0, v2)
      v4: f64[2000,40] = tanh(v3)
      return v4
    }}(v0)
    return v1
  })");
  for (const Eqn& e : made->eqns()) {
    if (e.op->kind == OpKind::Scan) {
      EXPECT_EQ(maps(*regions_of(e.params)[0]).size(), 1u);
    }
  }
}

/// A program of `rows` rows: elementwise equations, sums and maxima of rows and columns, repeated again,
/// reshapes, products.
std::string random_program(std::mt19937_64& random, std::int64_t rows, std::int64_t columns) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::string dtype = below(2) ? "f64" : "f32", r = std::to_string(rows), c = std::to_string(columns);
  const std::string matrix = dtype + "[" + r + "," + c + "]", column = dtype + "[" + r + "]",
                    row = dtype + "[" + c + "]";
  std::vector<std::size_t> matrices{0, 1}, column_vectors{2}, row_vectors{3};
  const std::string few = dtype + "[" + r + ",4]";
  std::string text = "(v0: " + matrix + ", v1: " + matrix + ", v2: " + column + ", v3: " + row +
                     ", v4: " + dtype + "[" + c + ",4], v5: " + dtype + "[4," + c + "]) {\n";
  std::size_t next = 6;
  const auto add = [&](std::vector<std::size_t>& to, const std::string& type, const std::string& made) {
    text += "  v" + std::to_string(next) + ": " + type + " = " + made + "\n";
    to.push_back(next++);
  };
  // One of the last three.
  const auto any = [&](const std::vector<std::size_t>& of) {
    return "v" + std::to_string(of[of.size() - 1 - below(std::min<std::size_t>(of.size(), 3))]);
  };
  const auto product = [&](const std::string& in_b, const std::string& batch) {
    return "dot_general{contract_a=[1], contract_b=[" + in_b + "], batch_a=[" + batch + "], batch_b=[" +
           batch + "], k_ordered=false}(";
  };
  const std::string repeated = "broadcast_in_dim{shape=[" + r + ", " + c + "], axes=[";
  for (std::size_t k = 0; k < 14; ++k) switch (below(10)) {
      case 0:
        add(matrices, matrix, (below(2) ? "tanh(" : "neg(") + any(matrices) + ")");
        break;
      case 1:
        add(matrices, matrix, "sub(" + any(matrices) + ", " + any(matrices) + ")");
        break;
      case 2:
        add(column_vectors, column,
            (below(2) ? "reduce_max" : "reduce_sum") + std::string("{axes=[1]}(") + any(matrices) + ")");
        break;
      case 3:
        add(matrices, matrix, repeated + "0]}(" + any(column_vectors) + ")");
        break;
      case 4:
        add(row_vectors, row, "reduce_max{axes=[0]}(" + any(matrices) + ")");
        break;
      case 5:
        add(matrices, matrix, repeated + "1]}(" + any(row_vectors) + ")");
        break;
      case 6:
        add(column_vectors, column, "mul(" + any(column_vectors) + ", " + any(column_vectors) + ")");
        break;
      case 7:
        add(matrices, matrix, "add(" + any(matrices) + ", " + any(matrices) + ")");
        break;
      case 8:
        text +=
            "  v" + std::to_string(next) + ": " + few + " = " + product("0", "") + any(matrices) + ", v4)\n";
        ++next;
        add(matrices, matrix, product("0", "") + "v" + std::to_string(next - 1) + ", v5)");
        break;
      case 9:
        add(column_vectors, column, product("1", "0") + any(matrices) + ", " + any(matrices) + ")");
        break;
    }
  // What was made last, so that little is left out.
  return text + "  return v" + std::to_string(matrices.back()) + ", v" +
         std::to_string(column_vectors.back()) + ", v" + std::to_string(row_vectors.back()) + ", " +
         any(matrices) + "\n}";
}

TEST(BlockRows, OfRandomPrograms) {
  constexpr std::uint64_t first = 4100, count = 400;
  int blocked = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::int64_t sizes[][2] = {{2000, 70}, {1999, 71}, {380, 380}, {50003, 3}, {16, 9000}, {10001, 60}};
    const auto& size = sizes[seed % 6];
    const GraphRef given = parse_graph(random_program(random, size[0], size[1])), made = block_rows(*given);
    verify(*made);
    if (made.get() == given.get()) continue;
    ++blocked;
    std::vector<Array> inputs;
    for (ValueId v = 0; v < given->input_count(); ++v) inputs.push_back(filled(given->aval(v), seed + v));
    InterpretScope reference;
    const std::vector<Array> want = interpret(*given, inputs), got = interpret(*made, inputs);
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_TRUE(same_bits(got[i], want[i])) << to_string(*given) << to_string(*made);
  }
  EXPECT_GT(blocked, 30);
}

}  // namespace
}  // namespace apsis::detail
