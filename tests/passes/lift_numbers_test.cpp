// What is computed of repeated numbers is repeated, with the same bits.

#include "passes/lift_numbers.hpp"

#include "passes/checked_pass.hpp"
#include "passes/hoist_invariants.hpp"

namespace apsis::detail {
namespace {

GraphRef checked(std::string_view text) { return checked_pass(lift_numbers, text); }

TEST(LiftNumbers, AlongAChain) {
  const GraphRef made = checked(R"((v0: f64[], v1: f32[], v2: f64[500]) {
    v3: f64[500] = broadcast_in_dim{shape=[500], axes=[]}(v0)
    v4: f64[500] = neg(v3)
    v5: f64[500] = exp(v4)
    v6: f64[500] = mul(v5, v3)
    v7: f64[500] = sub(v6, v2)
    v8: f32[20,30] = broadcast_in_dim{shape=[20, 30], axes=[]}(v1)
    v9: bool[20,30] = lt(v8, v8)
    v10: f32[20,30] = select(v9, v8, v8)
    return v7, v10, v6
  })");
  for (const Eqn& e : made->eqns())
    if (e.op->kind == OpKind::Elementwise && e.op->name != std::string_view("sub")) {
      EXPECT_EQ(made->aval(e.first_result).rank(), 0) << to_string(*made);
    }
}

TEST(LiftNumbers, LeavesOthers) {
  for (const char* text : {R"((v0: f64[]) {
         v1: f64[20] = broadcast_in_dim{shape=[20], axes=[]}(v0)
         v2: f64[20] = neg(v1)
         return v2
       })",
                           R"((v0: f64[500]) {
         v1: f64[3,500] = broadcast_in_dim{shape=[3, 500], axes=[1]}(v0)
         v2: f64[3,500] = neg(v1)
         return v2
       })"}) {
    const GraphRef given = parse_graph(text);
    EXPECT_EQ(lift_numbers(*given).get(), given.get());
  }
}

// No array of one number is kept through a loop.
TEST(LiftNumbers, InLoops) {
  const char* const text = R"((v0: f64[], v1: f64[500]) {
    v2: i64[] = constant{dtype=i64, weak=false, bits=0, high_bits=0}
    v3: i64[], v4: f64[500] = while{cond_consts=0, body_consts=1, carries=2, max_steps=-1, kind=0, cond=(v0: i64[], v1: f64[500]) {
      v2: i64[] = constant{dtype=i64, weak=false, bits=3, high_bits=0}
      v3: bool[] = lt(v0, v2)
      return v3
    }, body=(v0: f64[], v1: i64[], v2: f64[500]) {
      v3: f64[500] = broadcast_in_dim{shape=[500], axes=[]}(v0)
      v4: f64[500] = neg(v3)
      v5: f64[500] = fma(v4, v2, v3)
      v6: i64[] = constant{dtype=i64, weak=false, bits=1, high_bits=0}
      v7: i64[] = add(v1, v6)
      return v7, v5
    }}(v0, v2, v1)
    return v3, v4
  })";
  checked(text);
  const GraphRef hoisted = checked_pass(hoist_invariants, text);
  EXPECT_EQ(count_ops(*hoisted, "neg"), 0);
}

}  // namespace
}  // namespace apsis::detail
