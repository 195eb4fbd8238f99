// What loops carry, record and read for nobody goes, and nothing else.

#include "passes/loop_dce.hpp"

#include <gtest/gtest.h>

namespace apsis::detail {
namespace {

std::string pruned(std::string_view text) {
  const GraphRef lean = remove_dead_carries(*parse_graph(text));
  verify(*lean);
  return to_string(*lean);
}

// The buffer b is filled and not read; k counts what is put into it; c is read by the condition; the list of
// x is read, that of the count is not.
TEST(DeadCarries, OfAWhile) {
  EXPECT_EQ(pruned(R"((v0: i64[], v1: f64[], v2: f64[9], v3: i64[], v4: f64[]) {
  v5: i64[], v6: f64[], v7: f64[9], v8: i64[], v9: list<f64[]>, v10: list<i64[]> = while{cond_consts=1, body_consts=1, carries=4, max_steps=-1, kind=0, cond=(v0: i64[], v1: i64[], v2: f64[], v3: f64[9], v4: i64[]) {
    v5: bool[] = lt(v1, v0)
    return v5
  }, body=(v0: f64[], v1: i64[], v2: f64[], v3: f64[9], v4: i64[]) {
    v5: i64[] = add(v1, v1)
    v6: f64[] = sin(v2)
    v7: f64[] = mul(v0, v2)
    v8: f64[1] = reshape{shape=[1]}(v7)
    v9: f64[9] = dynamic_update_slice(v3, v8, v4)
    v10: i64[] = add(v4, v1)
    return v5, v6, v9, v10, v2, v4
  }}(v0, v4, v0, v1, v2, v3)
  return v9
})"),
            R"((v0: i64[], v1: f64[], v2: f64[9], v3: i64[], v4: f64[]) {
  v5: i64[], v6: f64[], v7: list<f64[]> = while{cond_consts=1, body_consts=0, carries=2, max_steps=-1, kind=0, cond=(v0: i64[], v1: i64[], v2: f64[]) {
    v3: bool[] = lt(v1, v0)
    return v3
  }, body=(v0: i64[], v1: f64[]) {
    v2: i64[] = add(v0, v0)
    v3: f64[] = sin(v1)
    return v2, v3, v1
  }}(v0, v0, v1)
  return v7
})");
}

// A list nobody reads stays where it alone tells how often to go round.
TEST(DeadCarries, OfAScanOfLists) {
  EXPECT_EQ(pruned(R"((v0: list<f64[]>, v1: list<i64[]>, v2: f64[], v3: f64[]) {
  v4: f64[], v5: f64[] = scan{consts=1, carries=2, length=-1, reverse=true, body=(v0: f64[], v1: f64[], v2: f64[], v3: f64[], v4: i64[]) {
    v5: f64[] = sin(v1)
    v6: f64[] = fma(v2, v3, v0)
    return v5, v6
  }}(v3, v2, v3, v0, v1)
  return v4
})"),
            R"((v0: list<f64[]>, v1: list<i64[]>, v2: f64[], v3: f64[]) {
  v4: f64[] = scan{consts=0, carries=1, length=-1, reverse=true, body=(v0: f64[], v1: f64[]) {
    v2: f64[] = sin(v0)
    return v2
  }}(v2, v0)
  return v4
})");
}

// The first list stays beside the second, which is read, if that is made on the way back.
TEST(DeadCarries, OfALinearScanOfLists) {
  const std::string_view text = R"((v0: f64[], v1: list<f64[]>, v2: list<f64[]>) {
  v3: f64[] = scan{consts=0, carries=1, length=-1, reverse=false, body=(v0: f64[], v1: f64[], v2: f64[]) {
    v3: f64[] = add(v0, v2)
    return v3
  }}(v0, v1, v2)
  return v3
})";
  EXPECT_NE(pruned(text).find("(v0, v2)\n"), std::string::npos) << pruned(text);
  EXPECT_EQ(to_string(*remove_dead_carries_of_linear(*parse_graph(text))), text);
}

// An inner loop whose results are read in turn by dead carries only.
TEST(DeadCarries, InLoopsWithinLoops) {
  const std::string lean = pruned(R"((v0: f64[], v1: f64[4]) {
  v2: f64[], v3: f64[4] = scan{consts=0, carries=2, length=3, reverse=false, body=(v0: f64[], v1: f64[4]) {
    v2: f64[], v3: f64[4] = scan{consts=0, carries=2, length=2, reverse=false, body=(v0: f64[], v1: f64[4]) {
      v2: f64[] = cos(v0)
      v3: f64[4] = neg(v1)
      return v2, v3
    }}(v0, v1)
    return v2, v3
  }}(v0, v1)
  return v2
})");
  EXPECT_EQ(lean, R"((v0: f64[], v1: f64[4]) {
  v2: f64[] = scan{consts=0, carries=1, length=3, reverse=false, body=(v0: f64[]) {
    v1: f64[] = scan{consts=0, carries=1, length=2, reverse=false, body=(v0: f64[]) {
      v1: f64[] = cos(v0)
      return v1
    }}(v0)
    return v1
  }}(v0)
  return v2
})");
  EXPECT_EQ(pruned(lean), lean);
}

// Two carries that are computed from each other live together; an effect keeps what it reads.
TEST(DeadCarries, KeepsWhatHangsTogether) {
  constexpr const char* swap = R"((v0: f64[], v1: f64[]) {
  v2: f64[], v3: f64[] = scan{consts=0, carries=2, length=3, reverse=false, body=(v0: f64[], v1: f64[]) {
    return v1, v0
  }}(v0, v1)
  return v2
})";
  EXPECT_EQ(pruned(swap), swap);
  constexpr const char* checked = R"((v0: f64[], v1: bool[]) {
  v2: f64[], v3: bool[] = scan{consts=0, carries=2, length=3, reverse=false, body=(v0: f64[], v1: bool[]) {
    v2: f64[] = neg(v0)
    v3: bool[] = bit_not(v1)
    error_if{ids=["a"], texts=["b"], place="", lane_axes=0}(v3)
    return v2, v3
  }}(v0, v1)
  return v2
})";
  const std::string lean = pruned(checked);
  EXPECT_NE(lean.find("carries=2"), std::string::npos) << lean;
  EXPECT_NE(lean.find("error_if"), std::string::npos);
}

// Of the lanes' results the count is read; the buffer goes, out of the loop in the lane too, and what was its
// start.
TEST(DeadCarries, OfAMapOverLanes) {
  EXPECT_EQ(pruned(R"((v0: i64[4], v1: i64[], v2: f64[4,9], v3: f64[1]) {
  v4: i64[4], v5: f64[4,9] = map_lanes{lanes=4, nest=[], in_axes=[0, -1, 0, -1], region=(v0: i64[], v1: i64[], v2: f64[9], v3: f64[1]) {
    v4: i64[], v5: f64[9] = while{cond_consts=1, body_consts=1, carries=2, max_steps=-1, kind=0, cond=(v0: i64[], v1: i64[], v2: f64[9]) {
      v3: bool[] = lt(v1, v0)
      return v3
    }, body=(v0: f64[1], v1: i64[], v2: f64[9]) {
      v3: i64[] = add(v1, v1)
      v4: f64[9] = dynamic_update_slice(v2, v0, v1)
      return v3, v4
    }}(v0, v3, v1, v2)
    return v4, v5
  }}(v0, v1, v2, v3)
  return v4
})"),
            R"((v0: i64[4], v1: i64[], v2: f64[4,9], v3: f64[1]) {
  v4: i64[4] = map_lanes{lanes=4, nest=[], in_axes=[0, -1], region=(v0: i64[], v1: i64[]) {
    v2: i64[] = while{cond_consts=1, body_consts=0, carries=1, max_steps=-1, kind=0, cond=(v0: i64[], v1: i64[]) {
      v2: bool[] = lt(v1, v0)
      return v2
    }, body=(v0: i64[]) {
      v1: i64[] = add(v0, v0)
      return v1
    }}(v0, v1)
    return v2
  }}(v0, v1)
  return v4
})");
}

}  // namespace
}  // namespace apsis::detail
