// Loops made at random that read and update their carried arrays, in whole and in part, against the
// evaluator.

#include <random>

#include "codegen/compiled_equal.hpp"
#include "ir/regions.hpp"
#include "ops/index_params.hpp"
#include "ops/reduce_params.hpp"
#include "ops/view_params.hpp"

namespace apsis::detail {
namespace {

const Shape line{40}, rows{3, 40};

/// A body of (three carries, a number) → (three carries, a number).
class RandomBody {
 public:
  explicit RandomBody(std::uint32_t seed) : random_(seed) {
    for (const Shape& shape : {line, rows, line}) heads_.push_back(builder_.input(Aval(f64, shape)));
    values_ = heads_;
    index_ = builder_.input(Aval(i64, {}));
    start_ = index_;
    for (int i = 0; i < 24; ++i) step();
  }

  GraphRef finish() {
    std::vector<ValueId> outputs = heads_;
    // Now and then a carry is another one's array, or one that nobody updates.
    if (below(4) == 0) std::swap(outputs[0], outputs[2]);
    if (below(4) == 0) outputs[2] = any_of(line);
    outputs.push_back(add("reduce_sum", {any_of(line)}, make_params(ReduceParams{{0}})));
    return builder_.finish(outputs);
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  const Shape& shape(ValueId v) { return builder_.aval(v).shape(); }
  ValueId any_of(const Shape& wanted) {
    std::vector<ValueId> fitting;
    for (ValueId v : values_)
      if (shape(v) == wanted) fitting.push_back(v);
    return fitting[below(fitting.size())];
  }
  ValueId add(const char* op, std::vector<ValueId> operands, Params params = {}) {
    ValueId v;
    builder_.append(*find_op(op), params, operands, {&v, 1});
    values_.push_back(v);
    return v;
  }
  std::vector<ValueId> starts(ValueId array) {
    std::vector<ValueId> found;
    for (std::size_t i = 0; i < shape(array).size(); ++i) found.push_back(start_);
    return found;
  }

  void step() {
    const std::size_t which = below(heads_.size());
    const ValueId head = heads_[which];
    // Parts small enough for registers, and others.
    Shape part = shape(head);
    part[part.size() - 1] = below(2) ? 3 : 20;
    if (part.size() == 2) part[0] = 1 + static_cast<std::int64_t>(below(2));
    switch (below(7)) {
      case 0: {
        ValueId v;
        builder_.append(*find_op("add"), {}, std::vector<ValueId>{start_, index_}, {&v, 1});
        start_ = v;
        return;
      }
      case 1:
      case 2: {
        std::vector<ValueId> operands = starts(head);
        operands.insert(operands.begin(), head);
        add("dynamic_slice", operands, make_params(DynamicSliceParams{part}));
        return;
      }
      case 3: {
        SliceParams p;
        for (std::int64_t n : part) {
          p.start.push_back(static_cast<std::int64_t>(below(2)));
          p.limit.push_back(p.start.back() + n - (n > 2 ? 1 : p.start.back()));
          p.stride.push_back(1);
        }
        add("slice", {head}, make_params(p));
        return;
      }
      case 4: {
        const ValueId v = values_[below(values_.size())];
        add(below(2) ? "mul" : "maximum", {v, any_of(shape(v))});
        return;
      }
      default: {
        std::vector<ValueId> operands = {head, 0};
        std::vector<ValueId> fitting;
        for (ValueId v : values_)
          if (shape(v).size() == shape(head).size() && shape(v).back() < 40 && shape(v)[0] <= shape(head)[0])
            fitting.push_back(v);
        if (fitting.empty()) return;
        operands[1] = fitting[below(fitting.size())];
        for (ValueId s : starts(head)) operands.push_back(s);
        heads_[which] = add("dynamic_update_slice", operands);
        return;
      }
    }
  }

  std::mt19937 random_;
  GraphBuilder builder_;
  std::vector<ValueId> values_, heads_;
  ValueId index_, start_;
};

/// The body run five times.
GraphRef loop_of(const GraphRef& body) {
  ScanParams p;
  p.body = body;
  p.carries = 3;
  p.length = 5;
  GraphBuilder builder;
  std::vector<ValueId> operands, results(4);
  for (const Shape& shape : {line, rows, line}) operands.push_back(builder.input(Aval(f64, shape)));
  operands.push_back(builder.input(Aval(i64, {5})));
  builder.append(*find_op("scan"), make_params(p), operands, results);
  return builder.finish(results);
}

/// One of two bodies, as a body.
GraphRef one_of(const GraphRef& first, const GraphRef& second) {
  GraphBuilder builder;
  std::vector<ValueId> operands, results(4);
  for (const Shape& shape : {line, rows, line}) operands.push_back(builder.input(Aval(f64, shape)));
  operands.push_back(builder.input(Aval(i64, {})));
  operands.insert(operands.begin(), operands.back());
  builder.append(*find_op("cond"), make_params(CondParams{{first, second}}), operands, results);
  return builder.finish(results);
}

/// A body in five lanes.
GraphRef in_lanes(const GraphRef& body) {
  GraphBuilder builder;
  std::vector<ValueId> operands, results(body->outputs().size());
  for (ValueId v = 0; v < body->input_count(); ++v) {
    Shape shape = body->aval(v).shape();
    shape.insert(0, 5);
    operands.push_back(builder.input(Aval(body->aval(v).dtype(), shape)));
  }
  builder.append(*find_op("map_lanes"),
                 make_params(MapLanesParams{body, 5, Dims::filled(operands.size(), 0)}), operands, results);
  return builder.finish(results);
}

/// A body that runs the body five times.
GraphRef nested(const GraphRef& body) {
  GraphBuilder builder;
  std::vector<ValueId> operands, results(4);
  for (const Shape& shape : {line, rows, line}) operands.push_back(builder.input(Aval(f64, shape)));
  const ValueId index = builder.input(Aval(i64, {}));
  ValueId numbers, repeated;
  builder.append(*find_op("iota"), make_params(IotaParams{i64, {5}, 0}), {}, {&numbers, 1});
  builder.append(*find_op("broadcast_in_dim"), make_params(BroadcastParams{{5}, {}}), {&index, 1},
                 {&repeated, 1});
  builder.append(*find_op("mul"), {}, std::vector<ValueId>{numbers, repeated}, {&numbers, 1});
  operands.push_back(numbers);
  ScanParams p;
  p.body = body;
  p.carries = 3;
  p.length = 5;
  builder.append(*find_op("scan"), make_params(p), operands, results);
  builder.append(*find_op("reduce_sum"), make_params(ReduceParams{{0}}), {&results[3], 1}, {&results[3], 1});
  return builder.finish(results);
}

std::vector<Array> inputs_of(const Graph& graph, std::uint32_t seed) {
  std::vector<Array> inputs;
  for (ValueId v = 0; v < 3; ++v) inputs.push_back(filled(graph.aval(v), seed * 31 + v));
  const Array numbers = lax::convert(array({0, 7, 3, 39, 12}), i64);
  inputs.push_back(graph.aval(3).rank() == 0 ? literal(i64, 7 + seed % 5) : numbers);
  return inputs;
}

TEST(UpdatesRandom, LoopsEqualTheEvaluator) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    GraphRef graph = loop_of(RandomBody(seed).finish());
    expect_compiled_equal(*graph, inputs_of(*graph, seed));
  }
}

TEST(UpdatesRandom, NestedLoopsEqualTheEvaluator) {
  for (std::uint32_t seed = 100; seed < 130; ++seed) {
    SCOPED_TRACE(seed);
    GraphRef graph = loop_of(nested(RandomBody(seed).finish()));
    expect_compiled_equal(*graph, inputs_of(*graph, seed));
  }
}

TEST(UpdatesRandom, BranchesEqualTheEvaluator) {
  for (std::uint32_t seed = 200; seed < 225; ++seed) {
    SCOPED_TRACE(seed);
    const GraphRef body = one_of(RandomBody(seed).finish(), RandomBody(seed + 1000).finish());
    const GraphRef loop = loop_of(body), lanes = in_lanes(body);
    expect_compiled_equal(*loop, inputs_of(*loop, seed));
    expect_compiled_equal(*lanes, inputs_of(*lanes, seed));
  }
}

int shared_when_given_up(const Graph& graph, std::uint32_t seed) {
  const auto program = compile(graph, {});
  const std::vector<Array> inputs = inputs_of(graph, seed);
  const std::vector<Array> want = run(*program, inputs);
  int shared = 0;
  const std::vector<Array> over = run_over_inputs(graph, *program, inputs, shared);
  for (std::size_t o = 0; o < over.size(); ++o)
    EXPECT_TRUE(same_bits(over[o], want[o])) << "output " << o << "\n" << to_string(graph);
  return over.empty() ? 0 : shared;
}

TEST(UpdatesRandom, InputsGivenUpLieUnderResults) {
  int shared = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    GraphRef body = RandomBody(seed).finish();
    shared += shared_when_given_up(*body, seed);
    shared += shared_when_given_up(*loop_of(body), seed);
  }
  EXPECT_GT(shared, 60);
}

}  // namespace
}  // namespace apsis::detail
