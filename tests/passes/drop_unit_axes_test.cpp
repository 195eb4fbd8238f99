// Elementwise equations lose axes of size 1, and share loops with those that have none.

#include "passes/drop_unit_axes.hpp"

#include <algorithm>

#include "passes/checked_pass.hpp"

namespace apsis::detail {
namespace {

GraphRef checked(std::string_view text) { return checked_pass(drop_unit_axes, text); }

TEST(DropUnitAxes, OfColumns) {
  const GraphRef made = checked(R"((v0: f64[40,3], v1: f64[40]) {
    v2: f64[40,1] = slice{start=[0, 1], limit=[40, 2], stride=[1, 1]}(v0)
    v3: f64[40,1] = exp(v2)
    v4: f64[40] = reshape{shape=[40]}(v3)
    v5: f64[40] = add(v4, v1)
    v6: f64[1,1,40] = reshape{shape=[1, 1, 40]}(v5)
    v7: f64[1,1,40] = neg(v6)
    return v7, v3
  })");
  for (const Eqn& e : made->eqns()) {
    if (e.op->kind == OpKind::Elementwise) {
      EXPECT_EQ(made->aval(e.first_result).rank(), 1u);
    }
  }
}

TEST(DropUnitAxes, NotOfScalarsAndFewElements) {
  const char* const text = R"((v0: f64[1,1], v1: f64[8,1]) {
    v2: f64[1,1] = exp(v0)
    v3: f64[8,1] = exp(v1)
    return v2, v3
  })";
  checked(text);
  const GraphRef given = parse_graph(text);
  EXPECT_EQ(drop_unit_axes(*given).get(), given.get());
}

}  // namespace
}  // namespace apsis::detail
