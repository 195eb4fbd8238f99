// Elementwise code on arrays with others between their elements is done phase by phase, with the same bits.

#include "passes/split_phases.hpp"

#include "codegen/plan/in_place.hpp"
#include "ops/table.hpp"
#include "passes/checked_pass.hpp"
#include "passes/random_text.hpp"

namespace apsis::detail {
namespace {

GraphRef checked(std::string_view text) { return checked_pass(split_phases, text); }

void leaves(std::string_view text) {
  const GraphRef given = parse_graph(text);
  EXPECT_EQ(split_phases(*given).get(), given.get()) << text;
}

// The gradient of x[::2] and of something else: what the slice has not is added to zeros.
TEST(SplitPhases, AlongOneAxis) {
  const GraphRef made = checked(R"((v0: f64[2500], v1: f64[5000]) {
    v2: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v3: f64[5000] = pad{low=[0], high=[1], interior=[1]}(v0, v2)
    v4: f64[5000] = exp(v1)
    v5: f64[5000] = add(v3, v4)
    return v5
  })");
  EXPECT_EQ(count_ops(*made, "pad"), 0);
  EXPECT_EQ(count_ops(*made, "add"), 2);
  EXPECT_EQ(count_ops(*made, "exp"), 1);  // it depends on no pad, and slices of it are pushed later
  EXPECT_EQ(count_ops(*made, "concatenate"), 1);
}

// Rows: one loop does both phases, and nothing is padded in memory.
TEST(SplitPhases, OfRows) {
  const GraphRef made = checked(R"((v0: f32[50,100], v1: f32[150,100], v2: f32[]) {
    v3: f32[150,100] = pad{low=[1, 0], high=[1, 0], interior=[2, 0]}(v0, v2)
    v4: f32[150,100] = mul(v3, v1)
    v5: f32[150,100] = add(v4, v1)
    return v5
  })");
  EXPECT_EQ(count_ops(*made, "mul"), 3);
  EXPECT_EQ(count_ops(*made, "concatenate"), 1);
}

// Every second point of a grid, four times.
TEST(SplitPhases, OfTwoAxes) {
  const char* const text = R"((v0: f64[64,66], v1: f64[128,132]) {
    v2: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v3: f64[128,132] = pad{low=[0, 0], high=[1, 1], interior=[1, 1]}(v0, v2)
    v4: f64[128,132] = pad{low=[1, 0], high=[0, 1], interior=[1, 1]}(v0, v2)
    v5: f64[128,132] = pad{low=[0, 1], high=[1, 0], interior=[1, 1]}(v0, v2)
    v6: f64[128,132] = pad{low=[1, 1], high=[0, 0], interior=[1, 1]}(v0, v2)
    v7: f64[128,132] = add(v3, v4)
    v8: f64[128,132] = add(v7, v5)
    v9: f64[128,132] = add(v8, v6)
    v10: f64[128,132] = mul(v9, v1)
    return v10
  })";
  EXPECT_EQ(count_ops(*checked(text), "mul"), 4);
  EXPECT_EQ(compile(*parse_graph(text))->loops, 1);
}

// Steps along one axis of one array, along another of the next; and arrays that begin some steps further on.
TEST(SplitPhases, OfOtherAxesAndPlaces) {
  const GraphRef made = checked(R"((v0: f64[64,132], v1: f64[128,66], v2: f64[]) {
    v3: f64[128,132] = pad{low=[1, 0], high=[0, 0], interior=[1, 0]}(v0, v2)
    v4: f64[128,132] = pad{low=[0, 0], high=[0, 1], interior=[0, 1]}(v1, v2)
    v5: f64[128,132] = sub(v3, v4)
    return v5
  })");
  EXPECT_EQ(count_ops(*made, "sub"), 4);
  EXPECT_EQ(count_ops(*checked(R"((v0: f32[2000], v1: f32[], v2: f32[6000]) {
    v3: f32[6000] = pad{low=[4], high=[1997], interior=[1]}(v0, v1)
    v4: f32[6000] = mul(v3, v2)
    return v4
  })"),
                      "pad"),
            1);
}

// What is read as a whole, too, is put together, and the pad itself if something else reads that.
TEST(SplitPhases, WhatOthersRead) {
  const GraphRef made = checked(R"((v0: f64[2500], v1: f64[5000]) {
    v2: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v3: f64[5000] = pad{low=[1], high=[0], interior=[1]}(v0, v2)
    v4: f64[5000] = mul(v3, v1)
    v5: f64[5000] = add(v4, v1)
    v6: f64[] = reduce_sum{axes=[0]}(v4)
    return v5, v6, v3
  })");
  EXPECT_EQ(count_ops(*made, "concatenate"), 3);
}

// Alone, it is two columns that are put together in registers.
TEST(SplitPhases, APadByItself) {
  for (const char* text : {R"((v0: f64[2500], v1: f64[]) {
         v2: f64[2500] = sin(v0)
         v3: f64[5000] = pad{low=[0], high=[1], interior=[1]}(v2, v1)
         return v3
       })",
                           R"((v0: f32[50,100], v1: f32[]) {
         v2: f32[100,100] = pad{low=[1, 0], high=[0, 0], interior=[1, 0]}(v0, v1)
         v3: f32[] = reduce_max{axes=[0, 1]}(v2)
         return v2, v3
       })"}) {
    const GraphRef made = checked(text);
    EXPECT_EQ(count_ops(*made, "pad"), 0);
    EXPECT_EQ(count_ops(*made, "concatenate"), 1);
  }
}

TEST(SplitPhases, InLoops) {
  checked(R"((v0: f64[2500], v1: f64[5000]) {
    v2: i64[] = constant{dtype=i64, weak=false, bits=0, high_bits=0}
    v3: i64[], v4: f64[5000] = while{cond_consts=0, body_consts=1, carries=2, max_steps=-1, kind=0, cond=(v0: i64[], v1: f64[5000]) {
      v2: i64[] = constant{dtype=i64, weak=false, bits=3, high_bits=0}
      v3: bool[] = lt(v0, v2)
      return v3
    }, body=(v0: f64[2500], v1: i64[], v2: f64[5000]) {
      v3: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
      v4: f64[5000] = pad{low=[1], high=[0], interior=[1]}(v0, v3)
      v5: f64[5000] = fma(v4, v2, v4)
      v6: i64[] = constant{dtype=i64, weak=false, bits=1, high_bits=0}
      v7: i64[] = add(v1, v6)
      return v7, v5
    }}(v0, v2, v1)
    return v3, v4
  })");
}

// Small arrays, phases of short rows, steps of several lengths, and what is left over.
TEST(SplitPhases, LeavesOthers) {
  leaves(R"((v0: f64[25], v1: f64[], v2: f64[50]) {
    v3: f64[50] = pad{low=[0], high=[1], interior=[1]}(v0, v1)
    v4: f64[50] = add(v3, v2)
    return v4
  })");
  leaves(R"((v0: f64[2500,3], v1: f64[], v2: f64[5000,3]) {
    v3: f64[5000,3] = pad{low=[0, 0], high=[1, 0], interior=[1, 0]}(v0, v1)
    v4: f64[5000,3] = add(v3, v2)
    return v4
  })");
  leaves(R"((v0: f64[3000], v1: f64[], v2: f64[2000]) {
    v3: f64[6000] = pad{low=[0], high=[1], interior=[1]}(v0, v1)
    v4: f64[6000] = pad{low=[1], high=[1], interior=[2]}(v2, v1)
    v5: f64[6000] = add(v3, v4)
    return v5
  })");
  leaves(R"((v0: f64[2501], v1: f64[], v2: f64[5001]) {
    v3: f64[5001] = pad{low=[0], high=[0], interior=[1]}(v0, v1)
    v4: f64[5001] = add(v3, v2)
    return v4
  })");
}

// Phase by phase, an input is read again by the next phase: none lies under the result.
TEST(SplitPhases, NoInputIsOverwritten) {
  EXPECT_EQ(overwritable_inputs(*parse_graph(R"((v0: f64[8192], v1: f64[4096], v2: f64[]) {
    v3: f64[8192] = pad{low=[0], high=[1], interior=[1]}(v1, v2)
    v4: f64[8192] = mul(v0, v3)
    return v4
  })"))[0],
            -1);
}

/// Elementwise code of one shape, of pads with values between elements along one or two axes, slices with
/// steps and sums.
class RandomPhases : RandomText {
 public:
  explicit RandomPhases(std::uint32_t seed) : RandomText(seed) {
    const std::int64_t rank = one_of(3) + 1;
    steps_.assign(static_cast<std::size_t>(rank), 1);
    steps_[axis()] = 2 + one_of(3);
    if (one_of(2)) steps_[axis()] = 2;
    if (rank == 1) shape_ = {4096 + one_of(3000)};
    if (rank == 2) shape_ = {64 + one_of(40), 128 + one_of(300)};
    if (rank == 3) shape_ = {6 + one_of(10), 20 + one_of(8), 70 + one_of(80)};
    for (std::size_t d = 0; d < steps_.size(); ++d)
      if (one_of(8)) shape_[d] = (shape_[d] + steps_[d] - 1) / steps_[d] * steps_[d];
    type_ = one_of(2) ? "f32" : "f64";
  }

  std::string text() {
    const int zero = this->zero();
    for (int n = 0; n < 12; ++n) {
      const int a = any(), b = any();
      switch (one_of(5)) {
        case 0:
        case 1:
          values_.push_back(apart(a, zero));
          break;
        default:
          values_.push_back(line(typed(shape_), one_of(2) ? binary("add", a, b) : binary("mul", a, b)));
      }
    }
    std::string outputs = name(values_.back());
    if (one_of(2)) outputs += ", " + name(any());
    if (one_of(2))
      outputs += ", " + name(line(type_ + "[]", "reduce_sum{axes=" + all_axes() + "}(" + name(any()) + ")"));
    return text_of(outputs);
  }

 private:
  std::size_t axis() { return static_cast<std::size_t>(one_of(static_cast<std::int64_t>(steps_.size()))); }
  std::string all_axes() const {
    std::vector<std::int64_t> axes;
    for (std::size_t d = 0; d < shape_.size(); ++d) axes.push_back(static_cast<std::int64_t>(d));
    return list(axes);
  }
  /// Of some phase, and at times not of all its elements.
  int apart(int v, int zero) {
    std::vector<std::int64_t> start, limit, of, low, high, interior;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      const std::int64_t step = one_of(5) ? steps_[d] : 1;
      start.push_back(one_of(step) + (one_of(4) || step == 1 ? 0 : step * (1 + one_of(2))));
      const std::int64_t fewer = one_of(4) || step == 1 ? 0 : one_of(3);
      const std::int64_t count = (shape_[d] - start[d] + step - 1) / step - fewer;
      limit.push_back(start[d] + (count - 1) * step + 1);
      of.push_back(count);
      low.push_back(start[d]);
      high.push_back(shape_[d] - limit[d]);
      interior.push_back(step - 1);
    }
    std::vector<std::int64_t> stride = interior;
    for (std::int64_t& n : stride) ++n;
    const int part = line(typed(of), "slice{start=" + list(start) + ", limit=" + list(limit) +
                                         ", stride=" + list(stride) + "}(" + name(v) + ")");
    return line(typed(shape_), "pad{low=" + list(low) + ", high=" + list(high) + ", interior=" +
                                   list(interior) + "}(" + name(part) + ", " + name(zero) + ")");
  }

  std::vector<std::int64_t> steps_;
};

TEST(SplitPhases, Random) {
  int split = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const std::string text = RandomPhases(seed).text();
    const GraphRef given = parse_graph(text), made = checked(text);
    split += made.get() != given.get();
    if (HasFailure()) break;
  }
  EXPECT_GT(split, 15);
}

}  // namespace
}  // namespace apsis::detail
