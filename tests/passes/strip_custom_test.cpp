// What is compiled of a program with custom rules: calls, in regions of regions too.

#include "passes/strip_custom.hpp"

#include <gtest/gtest.h>

#include "ir/regions.hpp"

namespace apsis::detail {
namespace {

void decorated_shape(const Params& params, std::span<const Aval>, std::vector<Aval>& out) {
  const Graph& region = *params.as<CallParams>().region;
  for (ValueId v : region.outputs()) out.push_back(region.aval(v));
}
const Op decorated = {.name = "decorated", .kind = OpKind::Custom, .shape = decorated_shape};

GraphRef decorate(const GraphRef& program) {
  GraphBuilder b;
  ValueId x = b.input(program->aval(0)), y;
  b.append(decorated, make_params(CallParams{program, "rules"}), {&x, 1}, {&y, 1});
  return b.finish({&y, 1});
}

TEST(CustomOps, BecomeCallsInAllRegions) {
  GraphRef plain = parse_graph(R"((v0: f64[]) {
    v1: f64[] = neg(v0)
    return v1
  })");
  EXPECT_FALSE(plain->has_custom());
  EXPECT_EQ(strip_custom(*plain).get(), plain.get());

  GraphRef inner = decorate(plain), outer = decorate(inner);
  GraphBuilder b;
  ValueId index = b.input(Aval(Dtype::I64, {})), x = b.input(Aval(Dtype::F64, {})), y;
  ValueId operands[] = {index, x};
  b.append(*find_op("cond"), make_params(CondParams{{plain, outer}}), operands, {&y, 1});
  GraphRef branches = b.finish({&y, 1});
  ASSERT_TRUE(branches->has_custom());

  GraphRef compiled = strip_custom(*branches);
  EXPECT_FALSE(compiled->has_custom());
  verify(*compiled);
  EXPECT_EQ(to_string(*compiled), R"((v0: i64[], v1: f64[]) {
  v2: f64[] = cond{branches=[(v0: f64[]) {
    v1: f64[] = neg(v0)
    return v1
  }, (v0: f64[]) {
    v1: f64[] = call{name="decorated", region=(v0: f64[]) {
      v1: f64[] = call{name="decorated", region=(v0: f64[]) {
        v1: f64[] = neg(v0)
        return v1
      }}(v0)
      return v1
    }}(v0)
    return v1
  }]}(v0, v1)
  return v2
})");
}

}  // namespace
}  // namespace apsis::detail
