// What is padded and added up is computed where it is added, and comes out the same.

#include "passes/push_pads.hpp"

#include <algorithm>
#include <limits>

#include "passes/checked_pass.hpp"

namespace apsis::detail {
namespace {

GraphRef checked(std::string_view text) { return checked_pass(push_pads, text); }

/// The gradient of a filter.
TEST(PushPads, OfOneArrayTimesNumbers) {
  const GraphRef made = checked(R"((v0: f64[300], v1: f64[], v2: f64[]) {
    v3: f64[300] = sin(v0)
    v4: f64[300] = broadcast_in_dim{shape=[300], axes=[]}(v1)
    v5: f64[300] = broadcast_in_dim{shape=[300], axes=[]}(v2)
    v6: f64[300] = mul(v3, v4)
    v7: f64[300] = fma(v3, v5, v4)
    v8: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v9: f64[302] = pad{low=[0], high=[2], interior=[0]}(v6, v8)
    v10: f64[302] = pad{low=[2], high=[0], interior=[0]}(v7, v1)
    v11: f64[302] = add(v9, v10)
    v12: f64[302] = pad{low=[1], high=[1], interior=[0]}(v3, v8)
    v13: f64[302] = add(v11, v12)
    return v13
  })");
  EXPECT_EQ(count_ops(*made, "select"), 2);
  EXPECT_EQ(count_ops(*made, "sin"), 1);
}

/// Of several axes, cropped ones among them.
TEST(PushPads, OfSeveralAxes) {
  for (const char* pad :
       {"low=[1, 2], high=[0, 3]", "low=[-1, 2], high=[3, -4]", "low=[-1, -2], high=[0, -3]"}) {
    const bool crops = std::string_view(pad) == "low=[-1, -2], high=[0, -3]";
    const std::string rows = crops                                         ? "19"
                             : std::string_view(pad).starts_with("low=[1") ? "21"
                                                                           : "22",
                      columns = crops                                         ? "35"
                                : std::string_view(pad).starts_with("low=[1") ? "45"
                                                                              : "38",
                      t = "f32[" + rows + "," + columns + "]";
    const GraphRef made =
        checked("(v0: f32[20,40], v1: f32[], v2: " + t + ") {\n v3: f32[20,40] = " +
                "broadcast_in_dim{shape=[20, 40], axes=[]}(v1)\n v4: f32[20,40] = mul(v0, v3)\n v5: " + t +
                " = pad{" + pad + ", interior=[0, 0]}(v4, v1)\n v6: " + t + " = add(v5, v2)\n return v6\n}");
    EXPECT_EQ(count_ops(*made, "select"), crops ? 0 : 1) << pad;
  }
}

/// An infinite number times the padding would be none, and a negative one times zero another zero.
TEST(PushPads, KeepsThePadding) {
  const char* const text = R"((v0: f64[300], v1: f64[]) {
    v2: f64[300] = broadcast_in_dim{shape=[300], axes=[]}(v1)
    v3: f64[300] = mul(v0, v2)
    v4: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v5: f64[302] = pad{low=[1], high=[1], interior=[0]}(v3, v4)
    v6: f64[302] = neg(v5)
    return v6
  })";
  const GraphRef given = parse_graph(text), made = push_pads(*given);
  for (double factor : {-1., std::numeric_limits<double>::infinity(), std::nan("")}) {
    const Array inputs[] = {filled(Aval(Dtype::F64, {300}), 3), array(factor)};
    InterpretScope reference;
    EXPECT_TRUE(same_bits(interpret(*made, inputs)[0], interpret(*given, inputs)[0])) << factor;
  }
}

TEST(PushPads, LeavesWhatIsMadeAnyway) {
  const char* const text = R"((v0: f64[300], v1: f64[], v2: f64[300]) {
    v3: f64[300] = mul(v0, v2)
    v4: f64[303] = pad{low=[0], high=[3], interior=[0]}(v3, v1)
    v5: f64[303] = neg(v4)
    v6: f64[300] = exp(v0)
    v7: f64[303] = pad{low=[0], high=[3], interior=[0]}(v6, v1)
    v8: f64[303] = neg(v7)
    v9: f64[300] = neg(v0)
    v10: f64[303] = pad{low=[0], high=[3], interior=[0]}(v9, v1)
    return v5, v8, v10
  })";
  const GraphRef given = parse_graph(text);
  EXPECT_EQ(push_pads(*given).get(), given.get());
  checked(text);
}

}  // namespace
}  // namespace apsis::detail
