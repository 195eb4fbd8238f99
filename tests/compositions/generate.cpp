#include "compositions/generate.hpp"

#include <algorithm>

namespace apsis::compositions {
namespace {

struct Around {
  int nesting;      // transformations that must still be nested here
  int derivatives;  // orders that may still be taken
  int depth;        // of blocks
  bool loop;
  bool forward;         // differentiated in forward mode
  bool moves_captures;  // differentiated by what is captured
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Block program() {
    static const Shape parameters[] = {{3}, {2}, {}, {2, 3}, {3, 2}};
    const auto nesting = static_cast<int>(random_.below(max_nesting + 1));
    return block({{parameters[random_.below(5)]}, {any_shape(random_)}},
                 {nesting, max_order, 0, false, false, false});
  }

 private:
  struct Value {
    int name;
    Shape shape;
  };
  static constexpr int most_steps = 45, deepest = 6;
  static constexpr std::int64_t largest = 200;  // elements of a value

  Block block(const Plan::Signature& signature, const Around& around) {
    const std::size_t outside = visible_.size();
    Block b;
    for (const Shape& s : signature.parameters) {
      b.parameters.push_back({next_name_++, s});
      visible_.push_back({b.parameters.back().name, s});
    }
    const std::int64_t steps = around.depth == 0 ? 2 + random_.below(6) : 1 + random_.below(4);
    const std::int64_t nest_at = random_.below(steps);
    for (std::int64_t i = 0; i < steps; ++i) {
      const bool nest = i == nest_at && around.nesting > 0;
      const bool may = around.depth < deepest && made_ < most_steps;
      if (nest || (may && random_.chance(around.depth < 3 ? 35 : 20)))
        form(b, around, nest);
      else
        array_op(b);
    }
    for (const Shape& s : signature.results) {
      int v = fitting(b, s);
      if (around.loop) v = append(b, {next_name_++, s, "tanh", {v}});
      b.results.push_back(v);
    }
    visible_.resize(outside);
    return b;
  }

  int append(Block& b, Step step) {
    ++made_;
    visible_.push_back({step.name, step.shape});
    b.steps.push_back(std::move(step));
    return b.steps.back().name;
  }

  /// A value in sight, of late more often than not.
  Value any() {
    const auto n = static_cast<std::int64_t>(visible_.size());
    return visible_[static_cast<std::size_t>(
        random_.chance(60) ? n - 1 - random_.below(std::min<std::int64_t>(n, 4)) : random_.below(n))];
  }

  /// A value of this shape, made of another one if there is none.
  int fitting(Block& b, const Shape& shape) {
    std::vector<int> fit;
    for (const Value& v : visible_)
      if (v.shape == shape) fit.push_back(v.name);
    if (!fit.empty() && random_.chance(92)) {
      const auto n = static_cast<std::int64_t>(fit.size());
      return fit[static_cast<std::size_t>(
          n - 1 - random_.below(random_.chance(50) ? std::min<std::int64_t>(n, 2) : n))];
    }
    if (random_.chance(10))
      return append(b,
                    {next_name_++, shape, "constant", {}, {static_cast<double>(random_.below(17) - 8) / 8}});
    Value v = any();
    if (!v.shape.empty()) v = {append(b, {next_name_++, Shape{}, "total", {v.name}}), Shape{}};
    Shape wide;
    for (std::size_t i = shape.size(); i-- > 0;) {
      wide.insert(0, shape[i]);
      v.name = append(b, {next_name_++, wide, "broadcast", {v.name}, {static_cast<double>(shape[i])}});
    }
    // Elements that are all alike would tie in every comparison.
    if (shape.empty() || random_.chance(20)) return v.name;
    const int ramp = append(b, {next_name_++, shape, "ramp", {}, {0.625, 0.125}});
    return append(b, {next_name_++, shape, "mul", {v.name, ramp}});
  }

  std::span<const ArrayOp> any_ops(bool& matrices) {
    const std::int64_t kind = random_.below(100);
    matrices = kind >= 50 && kind < 72;
    return kind < 50   ? array_ops()
           : kind < 63 ? algebra_ops()
           : kind < 72 ? spectral_ops()
           : kind < 87 ? function_ops()
                       : fold_ops();
  }

  void array_op(Block& b) {
    for (int attempt = 0; attempt < 10; ++attempt) {
      bool matrices = false;
      const auto ops = any_ops(matrices);
      const ArrayOp& op = ops[static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(ops.size())))];
      Value first = any();
      if (matrices && random_.chance(40)) {  // few values are square
        const std::int64_t side = 2 + random_.below(3);
        first = {fitting(b, {side, side}), {side, side}};
      }
      std::vector<double> numbers;
      std::vector<Shape> others;
      if (!op.choose(random_, first.shape, numbers, others)) continue;
      // Its result has the shape that it has of zeros.
      std::vector<Array> in{zeros(first.shape)};
      for (const Shape& s : others) in.push_back(zeros(s));
      const Shape result = run(op, in, numbers).shape();
      if (result.product() > largest || result.rank() > 4) continue;
      std::vector<int> operands{first.name};
      for (const Shape& s : others) operands.push_back(fitting(b, s));
      append(b, {next_name_++, result, op.name, operands, numbers});
      return;
    }
  }

  void form(Block& b, const Around& around, bool nest) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      const auto all = forms();
      const Form& f = *all[static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(all.size())))];
      if (nest && f.transformations == 0) continue;
      if (f.derivatives > around.derivatives) continue;
      if (f.reverse_only && around.forward) continue;
      if (f.closed && around.moves_captures) continue;
      Value first = any();
      Plan plan;
      if (!f.choose(random_, first.shape, plan) || plan.result.product() > largest) continue;
      if (f.derivatives > 0 && random_.chance(80)) {
        // A block that compares its parameter with the very value it is differentiated at would do so at a
        // kink.
        static const char* const ways[] = {"sin", "root", "logistic"};
        first.name = append(b, {next_name_++, first.shape, ways[random_.below(3)], {first.name}});
        visible_.pop_back();
      }
      Step step{0, plan.result, f.name, {first.name}, plan.numbers};
      for (const Shape& s : plan.others) step.operands.push_back(fitting(b, s));
      Around inner{std::max(0, around.nesting - f.transformations),
                   around.derivatives - f.derivatives,
                   around.depth + 1,
                   f.loop,
                   around.forward || f.forward,
                   around.moves_captures || f.moves_captures};
      if (!nest) inner.nesting = 0;
      std::vector<Value> outside;
      if (f.closed) outside.swap(visible_);
      for (const Plan::Signature& s : plan.blocks) step.blocks.push_back(block(s, inner));
      if (f.closed) outside.swap(visible_);
      step.name = next_name_++;
      append(b, std::move(step));
      return;
    }
  }

  Random random_;
  std::vector<Value> visible_;
  int next_name_ = 0, made_ = 0;
};

}  // namespace

Block generate(std::uint64_t seed) { return Generator(seed).program(); }

}  // namespace apsis::compositions
