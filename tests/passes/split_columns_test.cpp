// Elementwise code on columns put side by side is done column by column, with the same bits.

#include "passes/split_columns.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "codegen/plan/in_place.hpp"
#include "passes/checked_pass.hpp"

namespace apsis::detail {
namespace {

GraphRef checked(std::string_view text) { return checked_pass(split_columns, text); }

// Columns side by side are computed each for itself, forwards and backwards; other arrays are taken apart.
TEST(SplitColumns, OfElementwiseCode) {
  const GraphRef made = checked(R"((v0: f64[40,50,1], v1: f64[40,50,1], v2: f64[40,50,1], v3: f64[40,50,3]) {
    v4: f64[40,50,3] = concatenate{axis=2}(v0, v1, v2)
    v5: f64[40,50,3] = concatenate{axis=2}(v2, v0, v0)
    v6: f64[40,50,3] = reverse{axes=[2]}(v5)
    v7: f64[40,50,3] = sub(v4, v6)
    v8: f64[40,50,3] = mul(v7, v3)
    return v8
  })");
  EXPECT_EQ(count_ops(*made, "mul"), 3);
  EXPECT_EQ(count_ops(*made, "reverse"), 0);
  EXPECT_EQ(count_ops(*made, "concatenate"), 1);
}

// A Jacobian of three lanes, transposed, and its trace; what is small along the columns is made of numbers.
TEST(SplitColumns, OfSmallMatrices) {
  const GraphRef made = checked(R"((v0: f64[700,3], v1: f64[3], v2: f64[700]) {
    v3: f64[700,3] = broadcast_in_dim{shape=[700, 3], axes=[1]}(v1)
    v4: f64[700,3] = broadcast_in_dim{shape=[700, 3], axes=[0]}(v2)
    v5: f64[700,3] = mul(v0, v3)
    v6: f64[700,3] = sub(v4, v5)
    v7: f64[700,3,1] = reshape{shape=[700, 3, 1]}(v5)
    v8: f64[700,3,1] = reshape{shape=[700, 3, 1]}(v6)
    v9: f64[700,3,3] = concatenate{axis=2}(v7, v8, v7)
    v10: f64[700,3,3] = transpose{permutation=[0, 2, 1]}(v9)
    v11: f64[700,3,3] = broadcast_in_dim{shape=[700, 3, 3], axes=[0, 1]}(v0)
    v12: f64[700,3,3] = add(v10, v11)
    v13: f64[700] = reduce_sum{axes=[1, 2]}(v12)
    v14: f64[700,3] = reduce_sum{axes=[1]}(v12)
    v15: f64[700,3] = mul(v14, v0)
    return v12, v13, v15
  })");
  EXPECT_EQ(count_ops(*made, "transpose"), 0);
  EXPECT_EQ(count_ops(*made, "reduce_sum"), 0);
  EXPECT_EQ(count_ops(*made, "concatenate"), 2);
}

// A matrix put together of numbers, times another, turned, and times a vector: zeros start the sums.
TEST(SplitColumns, OfSmallProducts) {
  const GraphRef made =
      checked(R"((v0: f64[2500,1,1], v1: f64[2500,1,1], v2: f64[2500,2,3], v3: f64[2500,3]) {
    v4: f64[2500,1,2] = concatenate{axis=2}(v0, v1)
    v5: f64[2500,1,2] = reverse{axes=[2]}(v4)
    v6: f64[2500,2,2] = concatenate{axis=1}(v4, v5)
    v7: f64[2500,2,3] = dot_general{contract_a=[2], contract_b=[1], batch_a=[0], batch_b=[0], k_ordered=false}(v6, v2)
    v8: f64[2500,3,2] = dot_general{contract_a=[1], contract_b=[1], batch_a=[0], batch_b=[0], k_ordered=false}(v7, v6)
    v9: f64[2500,2] = dot_general{contract_a=[1], contract_b=[1], batch_a=[0], batch_b=[0], k_ordered=false}(v8, v3)
    return v9
  })");
  EXPECT_EQ(count_ops(*made, "dot_general"), 0);
  EXPECT_EQ(count_ops(*made, "fma"), 12 + 12 + 6);
  // Rows of columns are columns.
  EXPECT_EQ(count_ops(*checked(R"((v0: f64[2500,1], v1: f64[2500,1]) {
    v2: f64[2500,2] = concatenate{axis=1}(v0, v1)
    v3: f64[2500,2] = concatenate{axis=1}(v1, v0)
    v4: f64[2500,1,2] = reshape{shape=[2500, 1, 2]}(v2)
    v5: f64[2500,1,2] = reshape{shape=[2500, 1, 2]}(v3)
    v6: f64[2500,2,2] = concatenate{axis=1}(v4, v5)
    return v6
  })"),
                      "concatenate"),
            1);
}

// Rows of matrices with something around them, every second column of those, and rows of them.
TEST(SplitColumns, OfPadsAndSlices) {
  const GraphRef made = checked(R"((v0: f32[900,2,2], v1: f32[], v2: f32[900,4]) {
    v3: f32[900,2,2] = exp(v0)
    v4: f32[900,3,4] = pad{low=[0, 1, 0], high=[0, 0, 1], interior=[0, 0, 1]}(v3, v1)
    v5: f32[900,3,4] = broadcast_in_dim{shape=[900, 3, 4], axes=[0, 2]}(v2)
    v6: f32[900,3,4] = mul(v4, v5)
    v7: f32[900,2,2] = slice{start=[0, 1, 0], limit=[900, 3, 4], stride=[1, 1, 2]}(v6)
    v8: f32[900,1,1] = slice{start=[0, 2, 3], limit=[900, 3, 4], stride=[1, 1, 1]}(v6)
    v9: f32[900] = reshape{shape=[900]}(v8)
    v10: f32[900,4] = reshape{shape=[900, 4]}(v7)
    v11: f32[900,4] = reverse{axes=[1]}(v10)
    return v11, v9
  })");
  EXPECT_EQ(count_ops(*made, "pad"), 0);
  EXPECT_EQ(count_ops(*made, "mul"), 5);  // of what is read
  EXPECT_EQ(count_ops(*made, "concatenate"), 1);
}

// Places in columns of two arrays of more axes; the whole is read by something else, a view of an input too.
TEST(SplitColumns, OfSeveralLeadingAxes) {
  const GraphRef made = checked(R"((v0: f64[40,50,3], v1: f64[40,50]) {
    v2: f64[40,50,3,3] = broadcast_in_dim{shape=[40, 50, 3, 3], axes=[0, 1, 2]}(v0)
    v3: f64[40,50,3,3] = broadcast_in_dim{shape=[40, 50, 3, 3], axes=[0, 1, 3]}(v0)
    v4: f64[40,50,3,3] = mul(v2, v3)
    v5: f64[40,50,3,3] = broadcast_in_dim{shape=[40, 50, 3, 3], axes=[0, 1]}(v1)
    v6: f64[40,50,3,3] = add(v4, v5)
    v7: f64[50,40,3,3] = transpose{permutation=[1, 0, 2, 3]}(v6)
    v8: f64[40,3,3] = reduce_max{axes=[1]}(v2)
    return v7, v8
  })");
  EXPECT_EQ(count_ops(*made, "add"), 9);
  EXPECT_EQ(count_ops(*made, "reduce_max"), 1);
}

// Rows that are repeated or joined as wholes, masks that would be stored, and what is only scaled by rows.
TEST(SplitColumns, LeavesWhatStaysInRows) {
  for (const char* text : {R"((v0: f64[2500,8], v1: f64[2500,8]) {
         v2: f64[2500,8] = exp(v0)
         v3: f64[2500,16] = concatenate{axis=1}(v2, v1)
         v4: f64[2500,16] = sin(v3)
         return v4
       })",
                           R"((v0: f64[2500,3], v1: f64[2500]) {
         v2: f64[2500,3] = broadcast_in_dim{shape=[2500, 3], axes=[0]}(v1)
         v3: f64[2500,3] = mul(v0, v2)
         return v3
       })",
                           R"((v0: f64[4096]) {
         v1: f64[1,4096] = broadcast_in_dim{shape=[1, 4096], axes=[1]}(v0)
         v2: f64[4096,1] = reshape{shape=[4096, 1]}(v1)
         return v2
       })",
                           R"((v0: f64[2500,3]) {
         v1: f64[2500,3] = reverse{axes=[1]}(v0)
         v2: bool[2500,3] = lt(v1, v0)
         return v2
       })"}) {
    const GraphRef given = parse_graph(text);
    EXPECT_EQ(split_columns(*given).get(), given.get()) << text;
  }
}

// Columns that are read besides, and what would be more arrays to write than there are concatenations.
TEST(SplitColumns, ThatStayTogether) {
  EXPECT_EQ(count_ops(*checked(R"((v0: f64[2500,1], v1: f64[2500,1], v2: f64[2500,1]) {
    v3: f64[2500,3] = concatenate{axis=1}(v0, v1, v2)
    v4: f64[2500,3] = exp(v3)
    v5: f64[2500,3] = sin(v4)
    return v4, v5
  })"),
                      "exp"),
            1);
  EXPECT_EQ(count_ops(*checked(R"((v0: f64[2500,1], v1: f64[2500,1], v2: f64[2500,2]) {
    v3: f64[2500,2] = concatenate{axis=1}(v0, v1)
    v4: f64[2500,2] = reverse{axes=[1]}(v3)
    v5: f64[2500,2] = add(v4, v2)
    v6: f64[2] = reduce_sum{axes=[0]}(v3)
    return v5, v6
  })"),
                      "reverse"),
            0);
  EXPECT_EQ(count_ops(*checked(R"((v0: f64[2500,1], v1: f64[2500,1]) {
    v2: f64[5000,1] = concatenate{axis=0}(v0, v1)
    v3: f64[5000,1] = reverse{axes=[1]}(v2)
    v4: f64[2500,2] = concatenate{axis=1}(v0, v1)
    v5: f64[2500,2] = reverse{axes=[0, 1]}(v4)
    v6: f64[2500,2] = exp(v5)
    return v3, v6
  })"),
                      "exp"),
            1);
}

// Columns are read while others have been written: no input lies under the result.
TEST(SplitColumns, NoInputIsOverwritten) {
  const GraphRef made = parse_graph(R"((v0: f64[4096,2], v1: f64[4096,1], v2: f64[4096,1]) {
    v3: f64[4096,2] = concatenate{axis=1}(v1, v2)
    v4: f64[4096,2] = mul(v0, v3)
    return v4
  })");
  EXPECT_EQ(overwritable_inputs(*made)[0], -1);
}

/// A program of random steps on arrays with few columns.
class RandomColumns {
 public:
  explicit RandomColumns(std::uint32_t seed) : random_(seed) {
    type_ = one_of(2) ? "f64" : "f32";
    lead_ = one_of(3) ? Lengths{2100} : Lengths{42, 50};
    const int inputs = 3;
    lines_ = "(";
    for (int i = 0; i < inputs; ++i) {
      Lengths columns(static_cast<std::size_t>(one_of(3)), 0);
      for (auto& n : columns) n = 1 + one_of(3);
      lines_ += (i > 0 ? ", " : "") + name(i) + ": " + typed(columns);
      values_.push_back({i, columns});
    }
    lines_ += ", v3: " + type_ + "[3], v4: " + type_ + "[]) {\n";
    next_ = inputs + 2;
    for (int i = 0; i < 14; ++i) step();
    lines_ += "  return " + name(values_.back().number) + ", " + name(any().number) + ", " +
              name(any().number) + "\n}";
  }
  const std::string& text() const { return lines_; }

 private:
  using Lengths = std::vector<std::int64_t>;
  struct Value {
    int number;
    Lengths columns;
  };

  std::int64_t one_of(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  Value any() { return values_[static_cast<std::size_t>(one_of(std::ssize(values_)))]; }
  static std::string name(int v) { return "v" + std::to_string(v); }
  static std::string list(const Lengths& numbers) {
    std::string text = "[";
    for (std::size_t i = 0; i < numbers.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(numbers[i]);
    return text + "]";
  }
  Lengths whole(const Lengths& columns) const {
    Lengths shape = lead_;
    shape.insert(shape.end(), columns.begin(), columns.end());
    return shape;
  }
  std::string typed(const Lengths& columns) const {
    std::string text = list(whole(columns));
    std::erase(text, ' ');
    return type_ + text;
  }
  /// Numbers of all axes: these before, and those of the columns.
  Lengths with_lead(std::int64_t each, const Lengths& columns) const {
    Lengths all(lead_.size(), each);
    all.insert(all.end(), columns.begin(), columns.end());
    return all;
  }
  static std::int64_t product(const Lengths& columns) {
    std::int64_t all = 1;
    for (auto n : columns) all *= n;
    return all;
  }
  void made(const Lengths& columns, const std::string& what) {
    lines_ += "  " + name(next_) + ": " + typed(columns) + " = " + what + "\n";
    values_.push_back({next_++, columns});
  }
  std::int64_t axis(std::size_t column) const { return static_cast<std::int64_t>(lead_.size() + column); }

  void step() {
    const Value v = any();
    Lengths columns = v.columns;
    const std::string of = "(" + name(v.number) + ")";
    const std::size_t rank = columns.size();
    const std::size_t d = rank == 0 ? 0 : static_cast<std::size_t>(one_of(static_cast<std::int64_t>(rank)));
    switch (one_of(12)) {
      case 0:
        return made(columns, (one_of(2) ? "neg" : "exp") + of);
      case 1:
      case 2: {
        for (int tries = 0; tries < 20; ++tries)
          if (const Value w = any(); w.columns == columns) {
            const char* ops[] = {"add", "mul", "sub", "maximum"};
            return made(columns, ops[one_of(4)] + ("(" + name(v.number) + ", " + name(w.number) + ")"));
          }
        return;
      }
      case 3: {  // along a new axis
        const std::size_t at = static_cast<std::size_t>(one_of(static_cast<std::int64_t>(rank) + 1));
        columns.insert(columns.begin() + static_cast<std::ptrdiff_t>(at), 1 + one_of(3));
        if (product(columns) > 20) return;
        Lengths axes;
        for (std::size_t i = 0; i < lead_.size() + columns.size(); ++i)
          if (i != lead_.size() + at) axes.push_back(static_cast<std::int64_t>(i));
        return made(columns,
                    "broadcast_in_dim{shape=" + list(whole(columns)) + ", axes=" + list(axes) + "}" + of);
      }
      case 4:  // of three numbers
        if (rank == 0 || columns[d] != 3) return;
        return made(columns,
                    "broadcast_in_dim{shape=" + list(whole(columns)) + ", axes=" + list({axis(d)}) + "}(v3)");
      case 5: {
        if (rank < 2) return;
        Lengths permutation;
        for (std::size_t i = 0; i < lead_.size(); ++i) permutation.push_back(static_cast<std::int64_t>(i));
        for (std::size_t i = 0; i < rank; ++i) permutation.push_back(axis((i + 1) % rank));
        std::rotate(columns.begin(), columns.begin() + 1, columns.end());
        return made(columns, "transpose{permutation=" + list(permutation) + "}" + of);
      }
      case 6:
        if (rank == 0) return;
        return made(columns, "reverse{axes=" + list({axis(d)}) + "}" + of);
      case 7: {
        for (int tries = 0; tries < 20 && rank > 0; ++tries)
          if (const Value w = any(); w.columns == columns) {
            columns[d] *= 2;
            if (product(columns) > 20) return;
            return made(columns, "concatenate{axis=" + std::to_string(axis(d)) + "}(" + name(v.number) +
                                     ", " + name(w.number) + ")");
          }
        return;
      }
      case 8: {
        Lengths low(rank, 0), high(rank, 0), interior(rank, 0);
        for (std::size_t i = 0; i < rank; ++i) {
          low[i] = one_of(2);
          high[i] = one_of(2);
          interior[i] = one_of(3) == 0;
          columns[i] += low[i] + high[i] + (columns[i] - 1) * interior[i];
        }
        if (product(columns) > 20) return;
        return made(columns, "pad{low=" + list(with_lead(0, low)) + ", high=" + list(with_lead(0, high)) +
                                 ", interior=" + list(with_lead(0, interior)) + "}(" + name(v.number) +
                                 ", v4)");
      }
      case 9: {
        Lengths start(rank, 0), limit = columns, stride(rank, 1);
        for (std::size_t i = 0; i < rank; ++i) {
          start[i] = one_of(limit[i]);
          stride[i] = 1 + one_of(2);
          columns[i] = (limit[i] - start[i] + stride[i] - 1) / stride[i];
        }
        return made(columns, "slice{start=" + list(with_lead(0, start)) + ", limit=" + list(whole(limit)) +
                                 ", stride=" + list(with_lead(1, stride)) + "}" + of);
      }
      case 10: {
        if (rank == 0) return;
        Lengths axes = {axis(d)};
        columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(d));
        return made(columns, "reduce_sum{axes=" + list(axes) + "}" + of);
      }
      default: {  // a product, or the columns in one axis
        for (int tries = 0; tries < 20 && rank > 0; ++tries) {
          const Value w = any();
          const auto k = std::ranges::find(w.columns, columns[d]);
          if (k == w.columns.end()) continue;
          Lengths result = columns, batch;
          result.erase(result.begin() + static_cast<std::ptrdiff_t>(d));
          for (auto n = w.columns.begin(); n != w.columns.end(); ++n)
            if (n != k) result.push_back(*n);
          if (product(result) > 20) continue;
          for (std::size_t i = 0; i < lead_.size(); ++i) batch.push_back(static_cast<std::int64_t>(i));
          return made(result, "dot_general{contract_a=" + list({axis(d)}) + ", contract_b=" +
                                  list({axis(static_cast<std::size_t>(k - w.columns.begin()))}) +
                                  ", batch_a=" + list(batch) + ", batch_b=" + list(batch) +
                                  ", k_ordered=false}(" + name(v.number) + ", " + name(w.number) + ")");
        }
        columns = {product(columns)};
        return made(columns, "reshape{shape=" + list(whole(columns)) + "}" + of);
      }
    }
  }

  std::mt19937_64 random_;
  std::string type_, lines_;
  Lengths lead_;
  std::vector<Value> values_;
  int next_ = 0;
};

TEST(SplitColumns, RandomPrograms) {
  int split = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const std::string text = RandomColumns(seed).text();
    const GraphRef given = parse_graph(text), made = checked(text);
    split += made.get() != given.get();
    if (HasFailure()) break;
  }
  EXPECT_GT(split, 20);
}

}  // namespace
}  // namespace apsis::detail
