// Programs made at random, of values large and small, views and moves, against the evaluator.

#include <algorithm>
#include <random>

#include "codegen/compiled_equal.hpp"
#include "ops/convert_params.hpp"
#include "ops/index_params.hpp"
#include "ops/reduce_params.hpp"
#include "ops/view_params.hpp"

namespace apsis::detail {
namespace {

class RandomProgram {
 public:
  explicit RandomProgram(std::uint32_t seed) : random_(seed) {
    for (Shape shape :
         {Shape{}, Shape{3}, Shape{24}, Shape{4, 24}, Shape{24, 4}, Shape{2, 3}, Shape{300}, Shape{5, 300}})
      input(Aval(f64, shape));
    start_ = input(Aval(i64, {}));
    filling_ = values_.front();
    for (int i = 0; i < 40; ++i) step();
  }

  GraphRef finish() {
    std::vector<ValueId> outputs;
    for (int i = 0; i < 6; ++i)
      outputs.push_back(values_[values_.size() - 1 - below(std::min<std::size_t>(values_.size(), 20))]);
    return builder_.finish(outputs);
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  std::int64_t number(std::int64_t n) {
    return static_cast<std::int64_t>(below(static_cast<std::size_t>(n)));
  }
  const Shape& shape(ValueId v) { return builder_.aval(v).shape(); }

  ValueId input(const Aval& aval) {
    ValueId v = builder_.input(aval);
    if (aval.dtype() == f64) values_.push_back(v);
    return v;
  }
  ValueId any() { return values_[below(values_.size())]; }
  ValueId like(const Shape& wanted) {
    std::vector<ValueId> fitting;
    for (ValueId v : values_)
      if (shape(v) == wanted) fitting.push_back(v);
    return fitting[below(fitting.size())];
  }
  ValueId append(const char* op, std::vector<ValueId> operands, Params params = {}) {
    ValueId v;
    builder_.append(*find_op(op), params, operands, {&v, 1});
    return v;
  }
  void add(const char* op, std::vector<ValueId> operands, Params params = {}) {
    values_.push_back(append(op, std::move(operands), std::move(params)));
  }

  void step() {
    ValueId v = any();
    const Shape s = shape(v);
    auto rank = static_cast<std::size_t>(s.rank());
    switch (below(14)) {
      case 0:
        return add("mul", {v, like(s)});
      case 1:
        return add("sub", {v, like(s)});
      case 2:
        return add("maximum", {v, like(s)});
      case 3:
        return add("fma", {v, like(s), like(s)});
      case 4:
        return add("reshape", {v}, make_params(ReshapeParams{Shape{s.product()}}));
      case 5: {
        Dims axes;
        for (std::size_t i = 0; i < rank; ++i)
          if (below(2)) axes.push_back(static_cast<std::int64_t>(i));
        return add(below(2) ? "reduce_sum" : "reduce_max", {v}, make_params(ReduceParams{axes}));
      }
      case 6: {
        if (s.product() > 200) return;
        Shape wide = s;
        wide.insert(0, 1 + number(5));
        Dims axes = Dims::counting(rank);
        for (auto& a : axes) ++a;
        return add("broadcast_in_dim", {v}, make_params(BroadcastParams{wide, axes}));
      }
      case 7: {
        Dims permutation = Dims::counting(rank);
        std::shuffle(permutation.begin(), permutation.end(), random_);
        return add("transpose", {v}, make_params(TransposeParams{permutation}));
      }
      case 8: {
        SliceParams p;
        for (std::int64_t n : s) {
          p.start.push_back(number(n));
          p.limit.push_back(p.start.back() + 1 + number(n - p.start.back()));
          p.stride.push_back(1 + number(2));
        }
        return add("slice", {v}, make_params(p));
      }
      case 9: {
        if (rank == 0 || s.product() > 200) return;
        return add("concatenate", {v, like(s), like(s)}, make_params(ConcatenateParams{number(s.rank())}));
      }
      case 10: {
        if (s.product() > 2000) return;
        PadParams p;
        for (std::int64_t n : s) {
          p.low.push_back(number(6) - 2);
          p.high.push_back(std::max(number(6) - 2, 1 - n - p.low.back()));
          p.interior.push_back(below(8) == 0);
        }
        return add("pad", {v, filling_}, make_params(p));
      }
      case 11: {
        // Elements of a line at places that are computed.
        ValueId line = any();
        if (shape(line).size() != 1 || shape(line)[0] == 0) return;
        ValueId places = append("convert", {v}, make_params(ConvertParams{i64}));
        Shape vectors = s;
        vectors.push_back(1);
        places = append("reshape", {places}, make_params(ReshapeParams{vectors}));
        GatherParams p;
        p.collapsed_slice_dims = p.start_index_map = {0};
        p.slice_sizes = {1};
        p.mode = below(2) ? OutOfBounds::Clip : OutOfBounds::Zero;
        return add("gather", {line, places}, make_params(p));
      }
      case 12: {
        // Columns side by side, made by one loop, and a sum of the same elements.
        if (rank == 0 || s.product() > 600) return;
        Shape column = s;
        column.push_back(1);
        std::vector<ValueId> columns(1 + below(4));
        for (ValueId& c : columns) {
          v = append(below(2) ? "mul" : "sub", {v, like(s)});
          c = append("reshape", {v}, make_params(ReshapeParams{column}));
        }
        values_.push_back(v);
        const ValueId joined = append("concatenate", columns, make_params(ConcatenateParams{s.rank()}));
        add("reduce_sum", {joined}, make_params(ReduceParams{{number(s.rank() + 1)}}));
        return add("reduce_sum", {v}, make_params(ReduceParams{{number(s.rank())}}));
      }
      default: {
        std::vector<ValueId> operands = {v};
        DynamicSliceParams p;
        for (std::int64_t n : s) p.sizes.push_back(1 + number(n));
        for (std::size_t i = 0; i < rank; ++i) operands.push_back(start_);
        add("dynamic_slice", operands, make_params(p));
        operands.insert(operands.begin() + 1, values_.back());
        return add("dynamic_update_slice", operands);
      }
    }
  }

  std::mt19937 random_;
  GraphBuilder builder_;
  std::vector<ValueId> values_;
  ValueId start_, filling_;
};

TEST(LoweringRandom, ProgramsEqualTheEvaluator) {
  for (std::uint32_t seed = 0; seed < 240; ++seed) {
    SCOPED_TRACE(seed);
    GraphRef graph = RandomProgram(seed).finish();
    std::vector<Array> inputs;
    for (ValueId v = 0; v < graph->input_count(); ++v)
      inputs.push_back(filled(graph->aval(v), seed * 31 + v));
    expect_compiled_equal(*graph, inputs);
  }
}

}  // namespace
}  // namespace apsis::detail
