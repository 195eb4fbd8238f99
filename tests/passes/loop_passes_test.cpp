// Loops do not carry what nobody reads, nor compute again what does not change.

#include "ir/regions.hpp"
#include "passes/checked_pass.hpp"
#include "passes/pipeline.hpp"

namespace apsis::detail {
namespace {

/// How many equations of an op there are, in regions of loops only when `inside`.
int count_ops(const Graph& graph, std::string_view name, bool inside) {
  int found = 0;
  for (const Eqn& e : graph.eqns()) {
    found += !inside && e.op->name == name;
    each_region(e.params, [&](const Graph& region) {
      if (inside) found += count_ops(region, name, false) + count_ops(region, name, true);
    });
  }
  return found;
}

const Eqn& loop_in(const Graph& graph) {
  for (const Eqn& e : graph.eqns())
    if (e.op->kind == OpKind::While || e.op->kind == OpKind::Scan) return e;
  throw std::runtime_error("no loop");
}

GraphRef checked(std::string_view text) { return checked_pass(run_passes, text); }

// The product with the entry is one of all entries; that with the carry stays, and the one that is small.
TEST(HoistProducts, OfEntriesAreOneProductBeforeTheLoop) {
  GraphRef simple =
      checked(R"((v0: f32[48,32], v1: f32[7,8,32], v2: f32[7,32], v3: f32[8,48], v4: f32[48,48]) {
    v5: f32[8,48], v6: f32[7,48] = scan{consts=2, carries=1, length=7, reverse=false, body=(v0: f32[48,32], v1: f32[48,48], v2: f32[8,48], v3: f32[8,32], v4: f32[32]) {
      v5: f32[8,48] = dot_general{contract_a=[1], contract_b=[1], batch_a=[], batch_b=[], k_ordered=false}(v3, v0)
      v6: f32[8,48] = dot_general{contract_a=[1], contract_b=[0], batch_a=[], batch_b=[], k_ordered=false}(v2, v1)
      v7: f32[8,48] = add(v5, v6)
      v8: f32[8,48] = tanh(v7)
      v9: f32[48] = dot_general{contract_a=[1], contract_b=[0], batch_a=[], batch_b=[], k_ordered=false}(v0, v4)
      return v8, v9
    }}(v0, v4, v3, v1, v2)
    return v5, v6
  })");
  EXPECT_EQ(count_ops(*simple, "dot_general", true), 2);  // the last has few terms, whose order is another
  EXPECT_EQ(count_ops(*simple, "dot_general", false), 1);
}
TEST(HoistProducts, OfAConstantAndAnEntryHaveTheAxisOfIterationsFirst) {
  GraphRef simple = checked(R"((v0: f64[6,40,32], v1: f64[5,32,9], v2: f64[6]) {
    v3: f64[6], v4: f64[5,6,40,9] = scan{consts=1, carries=1, length=5, reverse=true, body=(v0: f64[6,40,32], v1: f64[6], v2: f64[32,9]) {
      v3: f64[6,40,9] = dot_general{contract_a=[2], contract_b=[0], batch_a=[], batch_b=[], k_ordered=false}(v0, v2)
      v4: f64[6] = reduce_sum{axes=[1, 2]}(v3)
      v5: f64[6] = add(v1, v4)
      return v5, v3
    }}(v0, v2, v1)
    return v3, v4
  })");
  EXPECT_EQ(count_ops(*simple, "dot_general", true), 0);
}

// The second carry feeds the third, which nobody reads; the fourth never changes.
TEST(SimplifyLoops, DeadAndConstantCarriesGo) {
  GraphRef simple = checked(R"((v0: f64[], v1: f64[]) {
    v2: i64[] = constant{dtype=i64, weak=false, bits=0, high_bits=0}
    v3: i64[], v4: f64[], v5: f64[], v6: f64[], v7: f64[] = while{cond_consts=0, body_consts=0, carries=5, max_steps=-1, kind=0, cond=(v0: i64[], v1: f64[], v2: f64[], v3: f64[], v4: f64[]) {
      v5: i64[] = constant{dtype=i64, weak=false, bits=9, high_bits=0}
      v6: bool[] = lt(v0, v5)
      return v6
    }, body=(v0: i64[], v1: f64[], v2: f64[], v3: f64[], v4: f64[]) {
      v5: i64[] = constant{dtype=i64, weak=false, bits=1, high_bits=0}
      v6: i64[] = add(v0, v5)
      v7: f64[] = sin(v1)
      v8: f64[] = add(v2, v1)
      v9: f64[] = fma(v4, v3, v4)
      return v6, v7, v8, v3, v9
    }}(v2, v0, v1, v1, v0)
    v8: f64[] = mul(v7, v6)
    return v8
  })");
  EXPECT_EQ(loop_in(*simple).params.as<WhileParams>().carries, 2);
  EXPECT_EQ(loop_in(*simple).params.as<WhileParams>().body_consts, 1);
  EXPECT_EQ(count_ops(*simple, "sin", true), 0);
}

// Of an inner loop the results that the outer one does not need go too, and with them what they depend on.
TEST(SimplifyLoops, DeadCarriesOfNestedLoopsGo) {
  GraphRef simple = checked(R"((v0: f64[], v1: f64[4]) {
    v2: f64[], v3: f64[] = scan{consts=0, carries=2, length=4, reverse=false, body=(v0: f64[], v1: f64[], v2: f64[]) {
      v3: f64[], v4: f64[] = scan{consts=1, carries=2, length=3, reverse=false, body=(v0: f64[], v1: f64[], v2: f64[]) {
        v3: f64[] = add(v1, v0)
        v4: f64[] = cos(v2)
        return v3, v4
      }}(v2, v0, v1)
      return v3, v4
    }}(v0, v0, v1)
    return v2
  })");
  EXPECT_EQ(loop_in(*simple).params.as<ScanParams>().carries, 1);
  EXPECT_EQ(count_ops(*simple, "cos", true), 0);
}

// A record that nobody reads is not made.
TEST(SimplifyLoops, UnreadRecordsGo) {
  GraphRef simple = checked(R"((v0: f64[]) {
    v1: f64[], v2: f64[5], v3: f64[5] = scan{consts=0, carries=1, length=5, reverse=false, body=(v0: f64[]) {
      v1: f64[] = sin(v0)
      v2: f64[] = exp(v0)
      return v1, v0, v2
    }}(v0)
    v4: f64[] = reduce_sum{axes=[0]}(v2)
    return v4
  })");
  EXPECT_EQ(loop_in(*simple).result_count, 2u);
  EXPECT_EQ(count_ops(*simple, "exp", true), 0);
}

// Out of both loops; a cheap operation stays, and so does what may raise an error.
TEST(SimplifyLoops, CostlyInvariantsLeaveAllLoops) {
  GraphRef simple = checked(R"((v0: f64[], v1: f64[]) {
    v2: f64[] = scan{consts=1, carries=1, length=4, reverse=false, body=(v0: f64[], v1: f64[]) {
      v2: f64[] = scan{consts=1, carries=1, length=3, reverse=false, body=(v0: f64[], v1: f64[]) {
        v2: f64[] = neg(v0)
        v3: f64[] = exp(v2)
        v4: f64[] = fma(v3, v1, v2)
        return v4
      }}(v0, v1)
      return v2
    }}(v0, v1)
    return v2
  })");
  EXPECT_EQ(count_ops(*simple, "exp", false), 1);
  EXPECT_EQ(count_ops(*simple, "exp", true), 0);
  EXPECT_EQ(count_ops(*simple, "neg", true), 1);
}

TEST(SimplifyLoops, InvariantBranchesAndLoopsLeave) {
  GraphRef simple = checked(R"((v0: f64[24], v1: f64[24]) {
    v2: f64[24] = scan{consts=1, carries=1, length=4, reverse=false, body=(v0: f64[24], v1: f64[24]) {
      v2: f64[24] = scan{consts=0, carries=1, length=3, reverse=false, body=(v0: f64[24]) {
        v1: f64[24] = mul(v0, v0)
        return v1
      }}(v0)
      v3: f64[24] = sub(v1, v2)
      return v3
    }}(v0, v1)
    return v2
  })");
  EXPECT_EQ(count_ops(*simple, "scan", false), 2);
  EXPECT_EQ(count_ops(*simple, "scan", true), 0);
}

TEST(SimplifyLoops, LoopsThatDoTheSameAreOne) {
  GraphRef simple = checked(R"((v0: f64[24], v1: f64[5]) {
    v2: f64[24] = scan{consts=0, carries=1, length=5, reverse=false, body=(v0: f64[24], v1: f64[]) {
      v2: f64[24] = broadcast_in_dim{shape=[24], axes=[]}(v1)
      v3: f64[24] = sub(v0, v2)
      return v3
    }}(v0, v1)
    v3: f64[24], v4: f64[5] = scan{consts=0, carries=1, length=5, reverse=false, body=(v0: f64[24], v1: f64[]) {
      v2: f64[24] = broadcast_in_dim{shape=[24], axes=[]}(v1)
      v3: f64[24] = sub(v0, v2)
      v4: f64[] = reduce_sum{axes=[0]}(v0)
      return v3, v4
    }}(v0, v1)
    v5: f64[24], v6: f64[5] = scan{consts=0, carries=1, length=5, reverse=true, body=(v0: f64[24], v1: f64[]) {
      v2: f64[24] = broadcast_in_dim{shape=[24], axes=[]}(v1)
      v3: f64[24] = sub(v0, v2)
      v4: f64[] = reduce_sum{axes=[0]}(v0)
      return v3, v4
    }}(v0, v1)
    v7: f64[24] = mul(v2, v5)
    return v7, v4, v3, v6
  })");
  EXPECT_EQ(count_ops(*simple, "scan", false), 2);
}

// The second carries less and records more; its first carry starts like two of the other's. So do the loops
// in their bodies. A third goes on for longer.
TEST(SimplifyLoops, LoopsThatDoAPartOfOthersAreOneWithThem) {
  const std::string text = R"((v0: f64[], v1: f64[24]) {
    v2: f64[24], v3: f64[], v4: f64[] = scan{consts=0, carries=3, length=5, reverse=false, body=(v0: f64[24], v1: f64[], v2: f64[]) {
      v3: f64[] = sin(v2)
      v4: f64[24] = broadcast_in_dim{shape=[24], axes=[]}(v3)
      v5: f64[24], v6: f64[] = scan{consts=0, carries=2, length=3, reverse=false, body=(v0: f64[24], v1: f64[]) {
        v2: f64[24] = sin(v0)
        v3: f64[] = cos(v1)
        return v2, v3
      }}(v0, v1)
      v7: f64[24] = add(v5, v4)
      return v7, v6, v3
    }}(v1, v0, v0)
    v5: f64[24], v6: f64[], v7: f64[5], v8: f64[5,3] = scan{consts=0, carries=2, length=5, reverse=false, body=(v0: f64[24], v1: f64[]) {
      v2: f64[] = sin(v1)
      v3: f64[24] = broadcast_in_dim{shape=[24], axes=[]}(v2)
      v4: f64[24], v5: f64[3] = scan{consts=0, carries=1, length=3, reverse=false, body=(v0: f64[24]) {
        v1: f64[24] = sin(v0)
        v2: f64[] = reduce_sum{axes=[0]}(v0)
        return v1, v2
      }}(v0)
      v6: f64[24] = add(v4, v3)
      return v6, v2, v1, v5
    }}(v1, v0)
    v9: f64[24], v10: f64[], v11: f64[LENGTH] = scan{consts=0, carries=2, length=LENGTH, reverse=false, body=(v0: f64[24], v1: f64[]) {
      v2: f64[] = sin(v1)
      v3: f64[24] = broadcast_in_dim{shape=[24], axes=[]}(v2)
      v4: f64[24] = scan{consts=0, carries=1, length=3, reverse=false, body=(v0: f64[24]) {
        v1: f64[24] = sin(v0)
        return v1
      }}(v0)
      v5: f64[24] = add(v4, v3)
      return v5, v2, v2
    }}(v1, v0)
    v12: f64[] = mul(v3, v4)
    return v2, v12, v5, v6, v7, v8, v9, v10, v11
  })";
  const auto of_length = [&](const std::string& length) {
    std::string program = text;
    while (program.find("LENGTH") != std::string::npos) program.replace(program.find("LENGTH"), 6, length);
    return checked(program);
  };
  GraphRef simple = of_length("5");
  EXPECT_EQ(count_ops(*simple, "scan", false), 1);
  EXPECT_EQ(count_ops(*simple, "scan", true), 1);
  simple = of_length("6");
  EXPECT_EQ(count_ops(*simple, "scan", false), 2);
  EXPECT_EQ(count_ops(*simple, "scan", true), 2);
}

TEST(SimplifyLoops, LoopsWithoutEndStay) {
  const std::string_view text = R"((v0: f64[], v1: f64[]) {
    v2: f64[] = scan{consts=1, carries=1, length=0, reverse=false, body=(v0: f64[], v1: f64[]) {
      v2: f64[] = while{cond_consts=0, body_consts=0, carries=1, max_steps=-1, kind=0, cond=(v0: f64[]) {
        v1: bool[] = eq(v0, v0)
        return v1
      }, body=(v0: f64[]) {
        v1: f64[] = neg(v0)
        return v1
      }}(v0)
      v3: f64[] = add(v1, v2)
      return v3
    }}(v0, v1)
    return v2
  })";
  GraphRef simple = checked(text);
  EXPECT_EQ(count_ops(*simple, "while", false), 0);
  EXPECT_EQ(count_ops(*simple, "while", true), 1);
}

}  // namespace
}  // namespace apsis::detail
