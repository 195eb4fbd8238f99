// Elementwise code on concatenations is done part by part, with the same bits.

#include "passes/split_at_joins.hpp"

#include <algorithm>
#include <string>

#include "codegen/plan/in_place.hpp"
#include "ops/table.hpp"
#include "passes/checked_pass.hpp"
#include "passes/random_text.hpp"

namespace apsis::detail {
namespace {

GraphRef checked(std::string_view text) { return checked_pass(split_at_joins, text); }

TEST(SplitAtJoins, AlongOneAxis) {
  const GraphRef made = checked(R"((v0: f64[5000], v1: f64[5000]) {
    v2: f64[1] = slice{start=[4999], limit=[5000], stride=[1]}(v0)
    v3: f64[4999] = slice{start=[0], limit=[4999], stride=[1]}(v0)
    v4: f64[5000] = concatenate{axis=0}(v2, v3)
    v5: f64[5000] = sub(v4, v0)
    v6: f64[5000] = mul(v5, v1)
    return v6
  })");
  EXPECT_EQ(count_ops(*made, "concatenate"), 2);  // the results, and what the first line of them is made of
  EXPECT_EQ(count_ops(*made, "mul"), 2);
  EXPECT_EQ(made->definition(made->outputs()[0])->op->name, std::string_view("concatenate"));
}

// Nine parts: corners, edges, and a stencil inside.
TEST(SplitAtJoins, OfAPeriodicStencil) {
  const GraphRef made = checked(R"((v0: f32[90,100]) {
    v1: f32[1,100] = slice{start=[89, 0], limit=[90, 100], stride=[1, 1]}(v0)
    v2: f32[89,100] = slice{start=[0, 0], limit=[89, 100], stride=[1, 1]}(v0)
    v3: f32[90,100] = concatenate{axis=0}(v1, v2)
    v4: f32[90,99] = slice{start=[0, 1], limit=[90, 100], stride=[1, 1]}(v0)
    v5: f32[90,1] = slice{start=[0, 0], limit=[90, 1], stride=[1, 1]}(v0)
    v6: f32[90,100] = concatenate{axis=1}(v4, v5)
    v7: f32[90,99] = slice{start=[0, 0], limit=[90, 99], stride=[1, 1]}(v0)
    v8: f32[90,1] = slice{start=[0, 99], limit=[90, 100], stride=[1, 1]}(v0)
    v9: f32[90,100] = concatenate{axis=1}(v8, v7)
    v10: f32[90,100] = add(v3, v6)
    v11: f32[90,100] = add(v10, v9)
    v12: f32[90,100] = exp(v0)
    v13: f32[90,100] = fma(v11, v12, v0)
    return v13
  })");
  EXPECT_EQ(count_ops(*made, "fma"), 6);
  EXPECT_EQ(count_ops(*made, "concatenate"), 3);
}

// The gradient of a filter: borders in which pads stay, and a sum of slices inside.
TEST(SplitAtJoins, OfPads) {
  const GraphRef made = checked(R"((v0: f64[4998]) {
    v1: f64[] = constant{dtype=f64, weak=false, bits=0, high_bits=0}
    v2: f64[5000] = pad{low=[0], high=[2], interior=[0]}(v0, v1)
    v3: f64[5000] = pad{low=[1], high=[1], interior=[0]}(v0, v1)
    v4: f64[5000] = pad{low=[2], high=[0], interior=[0]}(v0, v1)
    v5: f64[5000] = sub(v2, v3)
    v6: f64[5000] = fma(v4, v5, v3)
    return v6
  })");
  EXPECT_EQ(count_ops(*made, "fma"), 3);
  for (const Eqn& e : made->eqns())
    if (e.op == &pad_op) {
      EXPECT_LE(made->aval(e.first_result).size(), 64);
    }
  // What is around may be larger than what is padded, and a part of its own.
  EXPECT_EQ(count_ops(*checked(R"((v0: f32[2500], v1: f32[], v2: f32[9000]) {
    v3: f32[9000] = pad{low=[1500], high=[5000], interior=[0]}(v0, v1)
    v4: f32[9000] = add(v3, v2)
    return v4
  })"),
                      "pad"),
            0);
}

// Two axes: the loops inside read slices, and columns at the sides are few.
TEST(SplitAtJoins, OfPadsOfMatrices) {
  const GraphRef made = checked(R"((v0: f32[198,298], v1: f32[]) {
    v2: f32[200,300] = pad{low=[0, 1], high=[2, 1], interior=[0, 0]}(v0, v1)
    v3: f32[200,300] = pad{low=[2, 1], high=[0, 1], interior=[0, 0]}(v0, v1)
    v4: f32[200,300] = pad{low=[1, 0], high=[1, 2], interior=[0, 0]}(v0, v1)
    v5: f32[200,300] = add(v2, v3)
    v6: f32[200,300] = mul(v5, v4)
    return v6
  })");
  EXPECT_EQ(count_ops(*made, "mul"), 9);
}

// Zeros between elements, and borders that are cut away, are no joins.
TEST(SplitAtJoins, LeavesOtherPads) {
  for (const char* text : {R"((v0: f64[2500], v1: f64[], v2: f64[5000]) {
         v3: f64[5000] = pad{low=[0], high=[1], interior=[1]}(v0, v1)
         v4: f64[5000] = add(v3, v2)
         return v4
       })",
                           R"((v0: f64[5000], v1: f64[], v2: f64[5000]) {
         v3: f64[5000] = pad{low=[-1], high=[1], interior=[0]}(v0, v1)
         v4: f64[5000] = add(v3, v2)
         return v4
       })"}) {
    const GraphRef given = parse_graph(text);
    EXPECT_EQ(split_at_joins(*given).get(), given.get()) << text;
  }
}

// Arrays that somebody else reads are made as wholes, and what is cut elsewhere is left.
TEST(SplitAtJoins, OnlyWhatNobodyElseReads) {
  const GraphRef made = checked(R"((v0: f64[2500], v1: f64[2500]) {
    v2: f64[5000] = concatenate{axis=0}(v0, v1)
    v3: f64[5000] = exp(v2)
    return v3, v2
  })");
  EXPECT_EQ(count_ops(*made, "exp"), 1);
}

TEST(SplitAtJoins, NotSmallArraysNorShortRowsNorManyParts) {
  EXPECT_EQ(count_ops(*checked(R"((v0: f64[25], v1: f64[25]) {
    v2: f64[50] = concatenate{axis=0}(v0, v1)
    v3: f64[50] = exp(v2)
    return v3
  })"),
                      "exp"),
            1);
  EXPECT_EQ(count_ops(*checked(R"((v0: f64[2500,2], v1: f64[2500,1]) {
    v2: f64[2500,3] = concatenate{axis=1}(v0, v1)
    v3: f64[2500,3] = exp(v2)
    return v3
  })"),
                      "exp"),
            1);
  EXPECT_EQ(count_ops(*checked(R"((v0: f64[500]) {
    v1: f64[5000] = concatenate{axis=0}(v0, v0, v0, v0, v0, v0, v0, v0, v0, v0)
    v2: f64[5000] = exp(v1)
    return v2
  })"),
                      "exp"),
            1);
}

// Values that two groups share are cut differently in each.
TEST(SplitAtJoins, TwoGroupsOfOneShape) {
  const GraphRef made =
      checked(R"((v0: f64[70,70], v1: f64[10,70], v2: f64[60,70], v3: f64[70,3], v4: f64[70,67]) {
    v5: f64[70,70] = concatenate{axis=0}(v1, v2)
    v6: f64[70,70] = mul(v5, v0)
    v7: f64[70,70] = concatenate{axis=1}(v3, v4)
    v8: f64[70,70] = add(v7, v0)
    return v6, v8
  })");
  EXPECT_EQ(count_ops(*made, "mul"), 2);
  EXPECT_EQ(count_ops(*made, "add"), 2);
}

// Part by part, vectors at the ends of rows read again what they have written: no input lies under the
// result.
TEST(SplitAtJoins, NoInputIsOverwritten) {
  const GraphRef plain = parse_graph(R"((v0: f64[128,128], v1: f64[128,128]) {
    v2: f64[128,128] = mul(v0, v1)
    return v2
  })");
  EXPECT_EQ(overwritable_inputs(*plain)[0], 0);
  const GraphRef joined = parse_graph(R"((v0: f64[128,128], v1: f64[128,127], v2: f64[128,1]) {
    v3: f64[128,128] = concatenate{axis=1}(v1, v2)
    v4: f64[128,128] = mul(v0, v3)
    return v4
  })");
  EXPECT_EQ(overwritable_inputs(*joined)[0], -1);
}

/// Elementwise code of one shape, of concatenations along each axis, pads and slices; some of it in a loop.
class RandomStencil : RandomText {
 public:
  explicit RandomStencil(std::uint32_t seed) : RandomText(seed) {
    const std::int64_t rank = one_of(3) + 1;
    if (rank == 1) shape_ = {4096 + one_of(3000)};
    if (rank == 2) shape_ = {65 + one_of(40), 65 + one_of(60)};
    if (rank == 3) shape_ = {6 + one_of(10), 20 + one_of(8), 70 + one_of(20)};
    type_ = one_of(2) ? "f32" : "f64";
  }

  std::string text() {
    const int zero = this->zero();
    for (int n = 0; n < 14; ++n) {
      const int a = any(), b = any();
      switch (one_of(6)) {
        case 0:
        case 1:
          values_.push_back(roll(a));
          break;
        case 2:
          values_.push_back(padded(a, zero));
          break;
        default:
          values_.push_back(line(typed(shape_), one_of(2) ? binary("add", a, b) : binary("mul", a, b)));
      }
    }
    std::string outputs = name(values_.back());
    if (one_of(2)) outputs += ", " + name(any());
    if (one_of(2)) outputs += ", " + name(inside(any()));
    return text_of(outputs);
  }

 private:
  int slice(int v, std::size_t axis, std::int64_t start, std::int64_t limit) {
    std::vector<std::int64_t> from(shape_.size(), 0), to = shape_;
    from[axis] = start;
    to[axis] = limit;
    std::vector<std::int64_t> of = shape_;
    of[axis] = limit - start;
    return line(typed(of), "slice{start=" + list(from) + ", limit=" + list(to) + ", stride=" +
                               list(std::vector<std::int64_t>(shape_.size(), 1)) + "}(" + name(v) + ")");
  }
  std::size_t axis() { return static_cast<std::size_t>(one_of(static_cast<std::int64_t>(shape_.size()))); }
  int roll(int v) {
    const std::size_t d = axis();
    const std::int64_t by = one_of(2) ? 1 : shape_[d] - 1;
    const int a = slice(v, d, by, shape_[d]), b = slice(v, d, 0, by);
    return line(typed(shape_),
                "concatenate{axis=" + std::to_string(d) + "}(" + name(a) + ", " + name(b) + ")");
  }
  int padded(int v, int zero) {
    const std::size_t d = axis();
    const std::int64_t by = 1 + one_of(2);
    std::vector<std::int64_t> low(shape_.size(), 0), high = low, none = low;
    const bool before = one_of(2);
    (before ? low : high)[d] = by;
    const int a = before ? slice(v, d, 0, shape_[d] - by) : slice(v, d, by, shape_[d]);
    return line(typed(shape_), "pad{low=" + list(low) + ", high=" + list(high) + ", interior=" + list(none) +
                                   "}(" + name(a) + ", " + name(zero) + ")");
  }
  int inside(int v) {
    const std::size_t d = axis();
    return slice(v, d, 1, shape_[d] - 1);
  }
};

TEST(SplitAtJoins, RandomStencils) {
  int split = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const std::string text = RandomStencil(seed).text();
    const GraphRef given = parse_graph(text), made = checked(text);
    split += made.get() != given.get() && made->eqns().size() > given->eqns().size();
    if (HasFailure()) break;
  }
  EXPECT_GT(split, 8);
}

// Columns of points that are rolled: the concatenation is in the shape of what reads it.
TEST(SplitAtJoins, ThroughReshapesWithoutUnitAxes) {
  const GraphRef made = checked(R"((v0: f64[5000,3], v1: f64[5000]) {
    v2: f64[1,1] = slice{start=[4999, 1], limit=[5000, 2], stride=[1, 1]}(v0)
    v3: f64[4999,1] = slice{start=[0, 1], limit=[4999, 2], stride=[1, 1]}(v0)
    v4: f64[5000,1] = concatenate{axis=0}(v2, v3)
    v5: f64[5000] = reshape{shape=[5000]}(v4)
    v6: f64[5000] = mul(v5, v1)
    return v6
  })");
  EXPECT_EQ(count_ops(*made, "mul"), 2);
}

// What lanes roll is shorter, as several lanes lie beside one another; each is written where the next state
// is.
TEST(SplitAtJoins, OfLanes) {
  const auto lanes_of = [](const std::string& n, const std::string& m) {
    const std::string x = "f64[" + n + "]";
    return "(v0: f64[9," + n + "]) {\n  v1: f64[9," + n +
           "] = map_lanes{lanes=9, nest=[], in_axes=[0], region=(v0: " + x + ") {\n    v1: " + x +
           " = scan{consts=0, carries=1, length=5, reverse=false, body=(v0: " + x +
           ") {\n      v1: f64[1] = slice{start=[" + m + "], limit=[" + n +
           "], stride=[1]}(v0)\n      v2: f64[" + m + "] = slice{start=[0], limit=[" + m +
           "], stride=[1]}(v0)\n      v3: " + x + " = concatenate{axis=0}(v1, v2)\n      v4: " + x +
           " = sub(v3, v0)\n      v5: " + x +
           " = sin(v4)\n      return v5\n    }}(v0)\n    return v1\n  }}(v0)\n  return v1\n}";
  };
  const auto sines = [](const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = text.find("sin("); at != std::string::npos; at = text.find("sin(", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(sines(to_string(*checked(lanes_of("600", "599")))), 2u);
  EXPECT_EQ(sines(to_string(*checked(lanes_of("400", "399")))), 1u);
}

}  // namespace
}  // namespace apsis::detail
