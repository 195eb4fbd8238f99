// Transposes of elementwise code are elementwise code of transposes.

#include "passes/push_transposes.hpp"

#include "apsis/apsis.hpp"
#include "codegen/staged_compiled_equal.hpp"
#include "passes/checked_pass.hpp"

namespace apsis::testing {
namespace {

using detail::checked_pass;
using detail::count_ops;
using detail::GraphRef;

GraphRef checked(std::string_view text) { return checked_pass(detail::push_transposes, text); }

// Numbers along an axis, what is repeated along one, and what was turned before: one array is read across its
// rows.
TEST(PushTransposes, OfOneArray) {
  const GraphRef made = checked(R"((v0: f64[70,80], v1: f64[80,70], v2: f64[80], v3: f64[]) {
    v4: f64[80,70] = transpose{permutation=[1, 0]}(v0)
    v5: f64[70,80] = iota{dtype=f64, shape=[70, 80], axis=1}()
    v6: f64[70,80] = broadcast_in_dim{shape=[70, 80], axes=[1]}(v2)
    v7: f64[70,80] = broadcast_in_dim{shape=[70, 80], axes=[]}(v3)
    v8: f64[70,80] = transpose{permutation=[1, 0]}(v1)
    v9: f64[70,80] = fma(v8, v6, v5)
    v10: f64[70,80] = sub(v9, v7)
    v11: f64[70,80] = mul(v10, v0)
    v12: f64[80,70] = transpose{permutation=[1, 0]}(v11)
    v13: f64[80,70] = add(v12, v4)
    return v13
  })");
  EXPECT_EQ(count_ops(*made, "transpose"), 1);  // of v0
  const auto is_computed = [](const detail::Eqn& e) { return e.op->kind == OpKind::Elementwise; };
  for (const detail::Eqn& e : made->eqns()) {
    if (is_computed(e)) {
      EXPECT_EQ(made->aval(e.first_result).shape(), (Shape{80, 70})) << to_string(*made);
    }
  }
}

TEST(PushTransposes, OthersStay) {
  const auto stays = [](const std::string& body, const std::string& result) {
    const GraphRef made = checked("(v0: f64[70,80], v1: f64[70,80], v2: f64[80,3]) {\n" + body +
                                  "    return " + result + "\n  }");
    const std::string text = to_string(*made);
    return text.find("transpose") > text.find(body.find("exp") < body.size() ? "exp" : "mul");
  };
  // Two arrays would be read across; much would be computed; a product reads any order.
  EXPECT_TRUE(stays(
      "    v3: f64[70,80] = mul(v0, v1)\n    v4: f64[80,70] = transpose{permutation=[1, 0]}(v3)\n", "v4"));
  EXPECT_TRUE(
      stays("    v3: f64[70,80] = exp(v0)\n    v4: f64[80,70] = transpose{permutation=[1, 0]}(v3)\n", "v4"));
  EXPECT_TRUE(
      stays("    v3: f64[70,80] = mul(v0, v0)\n    v4: f64[80,70] = transpose{permutation=[1, 0]}(v3)\n"
            "    v5: f64[70,3] = dot_general{contract_a=[0], contract_b=[0], batch_a=[], batch_b=[], "
            "k_ordered=false}(v4, v2)\n",
            "v5"));
}

TEST(PushTransposes, OfTrianglesWithDerivatives) {
  for (const Dtype dtype : {f64, f32, i32})
    expect_graph_compiled_equal([](const Array& a) { return tril(a) + transpose(tril(a, -1)) * 2; },
                                detail::filled({dtype, {90, 90}}, 3));
  const Array a = detail::filled({f64, {90, 90}}, 3), b = detail::filled({f64, {5, 20, 70}}, 5);
  expect_graph_compiled_equal(
      grad([](const Array& x) { return sum(square(tril(x) + transpose(tril(x, -1)))); }), a);
  expect_graph_compiled_equal(
      [](const Array& x) {
        return transpose(x * 2. + arange(70.), Dims{2, 0, 1}) + transpose(x, Dims{2, 0, 1});
      },
      b);
}

}  // namespace
}  // namespace apsis::testing
