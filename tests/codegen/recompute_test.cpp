// Cheap results that later loops read are computed again there: the same bits, and no memory for them.

#include "codegen/staged_compiled_equal.hpp"

namespace apsis::testing {
namespace {

std::int64_t scratch_bytes(std::string_view text) {
  return detail::compile(*detail::parse_graph(text))->scratch_bytes;
}

// Deviations from the means of columns, of which the sums of squares and then products are made.
constexpr const char* deviations = R"((v0: f64[200,300]) {
  v1: f64[300] = reduce_sum{axes=[0]}(v0)
  v2: f64[200,300] = broadcast_in_dim{shape=[200, 300], axes=[1]}(v1)
  v3: f64[200,300] = sub(v0, v2)
  v4: f64[200,300] = mul(v3, v3)
  v5: f64[300] = reduce_sum{axes=[0]}(v4)
  v6: f64[200,300] = broadcast_in_dim{shape=[200, 300], axes=[1]}(v5)
  v7: f64[200,300] = mul(v3, v6)
  v8: f64[300] = reduce_sum{axes=[0]}(v7)
  v9: f64[200,300] = broadcast_in_dim{shape=[200, 300], axes=[1]}(v8)
  v10: f64[200,300] = add(v7, v9)
  return v10
})";

TEST(Recompute, WhatIsCheap) {
  detail::expect_compiled_equal(deviations);
  EXPECT_LT(scratch_bytes(deviations), 200 * 300 * 8);
}

// The gradient of a gather of many elements: indices from the end are counted once for each loop.
TEST(Recompute, IndicesOfWhatIsPut) {
  constexpr std::int64_t count = (1 << 22) + 64;
  const auto f = [](const Array& x, const Array& i) {
    return grad([&](const Array& a) { return sum(square(a[i])); })(x);
  };
  const StagedCall call = staged_call(f, sin(arange(double(count))), arange(count) * 7919 % count - 5);
  const auto program = detail::compile(*call.graph);
  EXPECT_LT(program->scratch_bytes, 2 * count * 8);
  EXPECT_TRUE(detail::same_bits(detail::run(*program, call.inputs)[0],
                                detail::interpret(*call.graph, call.inputs)[0]));
}

TEST(Recompute, NotWhatIsCostlyNorReadAsAWhole) {
  std::string costly = deviations;
  costly.replace(costly.find("sub(v0, v2)"), 11, "atan2(v0, v2)");
  detail::expect_compiled_equal(costly);
  EXPECT_GE(scratch_bytes(costly), 200 * 300 * 8);
  std::string whole = deviations;
  whole.replace(whole.find("add(v7, v9)"), 11,
                "add(v7, v9)\n  v11: f64[300,200] = reshape{shape=[300, 200]}(v3)\n"
                "  v12: f64[300,200] = exp(v11)");
  whole.replace(whole.find("return v10"), 10, "return v10, v12");
  detail::expect_compiled_equal(whole);
}

// Inputs that lie under outputs of their kind are not read after those.
TEST(Recompute, BesidesOtherResults) {
  const Array x = detail::filled({f64, {200, 300}}, 3), y = detail::filled({f32, {400, 300}}, 4);
  expect_graph_compiled_equal(
      [](const Array& a) {
        const Array d = a - sum(a, {.axis = 0}), s = sum(d * d, {.axis = 0});
        const Array first = d * s, second = d + sum(first, {.axis = 0});
        return std::tuple{first, second, sum(second), max(d, {.axis = 0})};
      },
      x);
  expect_graph_compiled_equal(
      [](const Array& a) {
        const auto f = [](const Array& v) { return sum(square(var(v, {.axis = 0}))); };
        return std::pair{grad(f)(a),
                         grad([](const Array& v) { return sum(square(var(v, {.axis = 1}))); })(a)};
      },
      y);
  expect_graph_compiled_equal(
      [](const Array& a) {
        const Array e = exp(a), d = e - sum(e, {.axis = 0});
        return std::pair{d / sqrt(sum(square(d), {.axis = 0})), sum(e, {.axis = 1})};
      },
      x);
  const auto standardised = jit([](const Array& a) {
    const Array d = a - mean(a, {.axis = 0});
    return d / sqrt(mean(square(d), {.axis = 0}));
  });
  const Array expected = standardised(y);
  Array given = y + 0.f;
  EXPECT_TRUE(detail::same_bits(standardised(std::move(given)), expected));
}

// Sums that are loops of their own read what is computed again in memory.
TEST(Recompute, BeforeSumsOfTheirOwn) {
  const Array x = detail::filled({f64, {50, 40, 30}}, 5);
  expect_graph_compiled_equal(
      [](const Array& a) {
        const Array d = a - max(a), t = transpose(d, {2, 0, 1});
        const Array s = d * sum(d), u = s - sum(s, {.axis = 1, .keepdims = true});
        return std::tuple{u, sum(t, {.axis = 0}), sum(d * d * sum(u), {.axis = 1})};
      },
      x);
}

}  // namespace
}  // namespace apsis::testing
