// Gradients of columns are put beside one another, with the signs of zeros that their sum has.

#include "passes/join_pads.hpp"

#include <algorithm>

#include "passes/checked_pass.hpp"

namespace apsis::detail {
namespace {

GraphRef checked(std::string_view text) {
  return checked_pass(join_pads, text, [](Array& x) {
    if (x.size() > 0 && x.dtype() == Dtype::F64) mutable_data<double>(x)[0] = -0.0;
  });
}

TEST(JoinPads, OfColumns) {
  const GraphRef made = checked(R"((v0: f64[40,1], v1: f64[40,2], v2: f64[40,1]) {
    v3: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v4: f64[40,6] = pad{low=[0, 4], high=[0, 1], interior=[0, 0]}(v0, v3)
    v5: f64[40,6] = pad{low=[0, 0], high=[0, 4], interior=[0, 0]}(v1, v3)
    v6: f64[40,6] = pad{low=[0, 3], high=[0, 2], interior=[0, 0]}(v2, v3)
    v7: f64[40,6] = add(v4, v5)
    v8: f64[40,6] = add(v6, v7)
    return v8
  })");
  EXPECT_EQ(count_ops(*made, "pad"), 0);
  EXPECT_EQ(count_ops(*made, "concatenate"), 1);
}

// With signs of zeros that differ: the first elements of all inputs are -0.
TEST(JoinPads, AddedToAnArray) {
  const GraphRef made = checked(R"((v0: f64[40,1], v1: f64[40,2], v2: f64[40,4], v3: f64[40,4]) {
    v4: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v5: f64[40,4] = add(v2, v3)
    v6: f64[40,4] = pad{low=[0, 0], high=[0, 3], interior=[0, 0]}(v0, v4)
    v7: f64[40,4] = add(v6, v5)
    v8: f64[40,4] = pad{low=[0, 2], high=[0, 0], interior=[0, 0]}(v1, v4)
    v9: f64[40,4] = add(v7, v8)
    v10: f64[40,4] = mul(v9, v2)
    return v10, v9
  })");
  EXPECT_EQ(count_ops(*made, "pad"), 0);
  EXPECT_EQ(count_ops(*made, "add"), 4);
}

// Entries of matrices, rows and a last row of two: places in two axes are those in one.
TEST(JoinPads, OfSeveralAxes) {
  const GraphRef made = checked(R"((v0: f64[40,1,1], v1: f64[40,1,1], v2: f64[40,1,3], v3: f64[40,1,2]) {
    v4: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v5: f64[40,3,3] = pad{low=[0, 0, 2], high=[0, 2, 0], interior=[0, 0, 0]}(v0, v4)
    v6: f64[40,3,3] = pad{low=[0, 0, 1], high=[0, 2, 1], interior=[0, 0, 0]}(v1, v4)
    v7: f64[40,3,3] = pad{low=[0, 1, 0], high=[0, 1, 0], interior=[0, 0, 0]}(v2, v4)
    v8: f64[40,3,3] = pad{low=[0, 2, 1], high=[0, 0, 0], interior=[0, 0, 0]}(v3, v4)
    v9: f64[40,3,3] = add(v5, v6)
    v10: f64[40,3,3] = add(v7, v9)
    v11: f64[40,3,3] = add(v10, v8)
    return v11
  })");
  EXPECT_EQ(count_ops(*made, "pad"), 0);
  EXPECT_EQ(count_ops(*made, "concatenate"), 1);
  // Columns of matrices are no neighbours.
  EXPECT_EQ(count_ops(*checked(R"((v0: f64[40,3,1], v1: f64[40,3,1]) {
    v2: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v3: f64[40,4,3] = pad{low=[0, 0, 2], high=[0, 1, 0], interior=[0, 0, 0]}(v0, v2)
    v4: f64[40,4,3] = pad{low=[0, 1, 1], high=[0, 0, 1], interior=[0, 0, 0]}(v1, v2)
    v5: f64[40,4,3] = add(v3, v4)
    return v5
  })"),
                      "pad"),
            2);
}

// Every third place, as the gradients of slices with steps; no array has the last of three.
TEST(JoinPads, OfEveryThirdPlace) {
  const GraphRef made = checked(R"((v0: f64[20,2], v1: f64[20,2]) {
    v2: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v3: f64[60,2] = pad{low=[1, 0], high=[1, 0], interior=[2, 0]}(v1, v2)
    v4: f64[60,2] = pad{low=[0, 0], high=[2, 0], interior=[2, 0]}(v0, v2)
    v5: f64[60,2] = add(v3, v4)
    return v5
  })");
  EXPECT_EQ(count_ops(*made, "pad"), 0);
  EXPECT_EQ(count_ops(*made, "concatenate"), 1);
}

// Long rows, if they leave no zeros and are not added to something else.
TEST(JoinPads, OfLongRows) {
  const GraphRef made = checked(R"((v0: f64[10,40], v1: f64[10,60]) {
    v2: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v3: f64[10,100] = pad{low=[0, 0], high=[0, 60], interior=[0, 0]}(v0, v2)
    v4: f64[10,100] = pad{low=[0, 40], high=[0, 0], interior=[0, 0]}(v1, v2)
    v5: f64[10,100] = add(v3, v4)
    return v5
  })");
  EXPECT_EQ(count_ops(*made, "pad"), 0);
}

TEST(JoinPads, OnlyWhatLiesApart) {
  for (const char* text : {// The first two have a column in common.
                           R"((v0: f64[40,2], v1: f64[40,2]) {
    v2: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v3: f64[40,3] = pad{low=[0, 0], high=[0, 1], interior=[0, 0]}(v0, v2)
    v4: f64[40,3] = pad{low=[0, 1], high=[0, 0], interior=[0, 0]}(v1, v2)
    v5: f64[40,3] = add(v3, v4)
    return v5
  })",
                           // Of the same steps, with a place in common; of others.
                           R"((v0: f64[20], v1: f64[20]) {
    v2: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v3: f64[40] = pad{low=[0], high=[1], interior=[1]}(v0, v2)
    v4: f64[40] = pad{low=[0], high=[1], interior=[1]}(v1, v2)
    v5: f64[40] = add(v3, v4)
    return v5
  })",
                           R"((v0: f64[20], v1: f64[10]) {
    v2: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v3: f64[40] = pad{low=[0], high=[1], interior=[1]}(v0, v2)
    v4: f64[40] = pad{low=[1], high=[2], interior=[3]}(v1, v2)
    v5: f64[40] = add(v3, v4)
    return v5
  })",
                           // Long rows with zeros between them.
                           R"((v0: f64[10,40], v1: f64[10,50]) {
    v2: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v3: f64[10,100] = pad{low=[0, 0], high=[0, 60], interior=[0, 0]}(v0, v2)
    v4: f64[10,100] = pad{low=[0, 50], high=[0, 0], interior=[0, 0]}(v1, v2)
    v5: f64[10,100] = add(v3, v4)
    return v5
  })",
                           // Along two axes, and with ones.
                           R"((v0: f64[40,2], v1: f64[39,3]) {
    v2: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v3: f64[40,3] = pad{low=[0, 0], high=[0, 1], interior=[0, 0]}(v0, v2)
    v4: f64[40,3] = pad{low=[1, 0], high=[0, 0], interior=[0, 0]}(v1, v2)
    v5: f64[40,3] = add(v3, v4)
    return v5
  })",
                           R"((v0: f64[40,2], v1: f64[40,1]) {
    v2: f64[] = constant{dtype=f64, weak=false, bits=4607182418800017408, high_bits=0}
    v3: f64[40,3] = pad{low=[0, 0], high=[0, 1], interior=[0, 0]}(v0, v2)
    v4: f64[40,3] = pad{low=[0, 2], high=[0, 0], interior=[0, 0]}(v1, v2)
    v5: f64[40,3] = add(v3, v4)
    return v5
  })",
                           // Two other terms, one between the pads.
                           R"((v0: f64[40,2], v1: f64[40,1]) {
    v2: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v3: f64[40,3] = pad{low=[0, 0], high=[0, 1], interior=[0, 0]}(v0, v2)
    v4: f64[40,3] = pad{low=[0, 2], high=[0, 0], interior=[0, 0]}(v1, v2)
    v5: f64[40,3] = broadcast_in_dim{shape=[40, 3], axes=[0, 1]}(v1)
    v6: f64[40,3] = add(v5, v3)
    v7: f64[40,3] = exp(v5)
    v8: f64[40,3] = add(v6, v7)
    v9: f64[40,3] = add(v8, v4)
    return v9
  })",
                           // The first is read elsewhere.
                           R"((v0: f64[40,2], v1: f64[40,1]) {
    v2: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v3: f64[40,3] = pad{low=[0, 0], high=[0, 1], interior=[0, 0]}(v0, v2)
    v4: f64[40,3] = pad{low=[0, 2], high=[0, 0], interior=[0, 0]}(v1, v2)
    v5: f64[40,3] = add(v3, v4)
    return v5, v3
  })"}) {
    const GraphRef made = checked(text);
    EXPECT_EQ(count_ops(*made, "pad"), 2);
    EXPECT_EQ(count_ops(*made, "concatenate"), 0);
  }
}

}  // namespace
}  // namespace apsis::detail
