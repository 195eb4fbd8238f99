// Arrays of which most is replaced are put together of what stays and what is new.

#include "passes/join_updates.hpp"

#include <algorithm>

#include "passes/checked_pass.hpp"

namespace apsis::detail {
namespace {

GraphRef checked(std::string_view text) { return checked_pass(join_updates, text); }

TEST(JoinUpdates, OfMostOfAnArray) {
  const GraphRef made = checked(R"((v0: f64[100], v1: f64[60]) {
    v2: i64[] = constant{dtype=i64, weak=false, bits=30, high_bits=0}
    v3: f64[100] = dynamic_update_slice(v0, v1, v2)
    return v3
  })");
  EXPECT_EQ(count_ops(*made, "dynamic_update_slice"), 0);
  EXPECT_EQ(count_ops(*made, "slice"), 2);
}

// The inside of a grid, and rows up to the last; the second place is beyond the end and is moved.
TEST(JoinUpdates, AlongSeveralAxes) {
  const GraphRef made = checked(R"((v0: f32[20,30], v1: f32[18,28], v2: f32[15,30]) {
    v3: i64[] = constant{dtype=i64, weak=false, bits=1, high_bits=0}
    v4: f32[20,30] = dynamic_update_slice(v0, v1, v3, v3)
    v5: i64[] = constant{dtype=i64, weak=false, bits=9, high_bits=0}
    v6: f32[20,30] = dynamic_update_slice(v0, v2, v5, v3)
    return v4, v6
  })");
  EXPECT_EQ(count_ops(*made, "dynamic_update_slice"), 0);
  EXPECT_EQ(count_ops(*made, "concatenate"), 3);
}

TEST(JoinUpdates, NotOfLittleNorWhereThePlaceIsComputed) {
  for (const char* text : {R"((v0: f64[100], v1: f64[40]) {
         v2: i64[] = constant{dtype=i64, weak=false, bits=30, high_bits=0}
         v3: f64[100] = dynamic_update_slice(v0, v1, v2)
         return v3
       })",
                           R"((v0: f64[100], v1: f64[60], v2: i64[]) {
         v3: f64[100] = dynamic_update_slice(v0, v1, v2)
         return v3
       })"}) {
    const GraphRef given = parse_graph(text);
    EXPECT_EQ(join_updates(*given).get(), given.get()) << text;
  }
}

}  // namespace
}  // namespace apsis::detail
