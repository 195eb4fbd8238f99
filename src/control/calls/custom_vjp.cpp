// custom_vjp: a function whose reverse-mode derivative is the user's. Linearized, it is its forward rule and
// a linear op, custom_linear, of which the backward rule is the transpose.

#include "control/common/custom_rule.hpp"
#include "control/common/messages.hpp"
#include "ops/lax.hpp"
#include "transform/batch/batch.hpp"
#include "transform/derivatives/linearize.hpp"

namespace apsis::detail {

extern const Op custom_vjp_op, custom_linear_op;

namespace {

/// (residuals…, cotangents marked…, consts…) → the cotangents that are there, of the perturbed arguments.
/// Marks are by result that can have a cotangent.
class BackwardSource : public RulePrograms {};

/// The forward program: (arguments…, consts…) → (results…, residuals…).
class VjpSource : public RulePrograms {
 public:
  virtual std::shared_ptr<const BackwardSource> backward(const RuleProgram& forward,
                                                         const std::vector<bool>& perturbed) const = 0;
};

/// The user's rules and the call they are for.
struct VjpRules {
  std::unique_ptr<const ErasedRule> forward, backward;
  bool symbolic;
  std::vector<Aval> arguments, results;
  std::vector<Array> consts;
  std::vector<NamedAxis> axes = named_axes();
};

class StagedBackward : public BackwardSource {
 public:
  StagedBackward(std::shared_ptr<const VjpRules> rules, const RuleProgram& forward,
                 std::vector<bool> perturbed, std::size_t results)
      : rules_(std::move(rules)), kept_(forward.kept), perturbed_(std::move(perturbed)) {
    outs_ = output_avals(*forward.graph);
    residuals_.assign(outs_.begin() + static_cast<std::ptrdiff_t>(results), outs_.end());
    outs_.resize(results);
  }
  RuleProgram make(const std::vector<bool>& marks) const override {
    std::vector<Aval> inputs = residuals_;
    std::vector<bool> given = inexact(outs_);  // by result
    for (std::size_t i = 0, k = 0; i < outs_.size(); ++i)
      if (given[i] && (given[i] = marks[k++])) inputs.push_back(outs_[i]);
    std::vector<bool> out_mask;
    auto body = [&](std::span<const Array> in) {
      std::vector<Array> args(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(residuals_.size()));
      std::vector<Array> cts(outs_.size()), found, outs;
      for (std::size_t i = 0, next = args.size(); i < cts.size(); ++i)
        if (given[i]) cts[i] = in[next++];
      if (!rules_->symbolic) fill_zero_tangents(outs_, cts);
      append(args, cts);
      AnyTree kept = kept_;
      rules_->backward->run({args, perturbed_, 0, found, kept});
      for (std::size_t i = 0; i < perturbed_.size(); ++i) {
        if (!perturbed_[i]) continue;
        out_mask.push_back(!found[i].is_empty());
        if (out_mask.back())
          outs.push_back(
              fitted_to(found[i], rules_->arguments[i], "custom_vjp", "the cotangent of argument array", i));
      }
      return outs;
    };
    RuleProgram program = stage_rule(body, inputs, rules_->consts, rules_->axes, "custom_vjp");
    program.out_mask = out_mask;
    return program;
  }

 private:
  std::shared_ptr<const VjpRules> rules_;
  AnyTree kept_;
  std::vector<bool> perturbed_;
  std::vector<Aval> outs_, residuals_;
};

class StagedVjp : public VjpSource {
 public:
  explicit StagedVjp(std::shared_ptr<VjpRules> rules) : rules_(std::move(rules)) {}
  RuleProgram make(const std::vector<bool>& perturbed) const override {
    RuleProgram program;
    AnyTree kept;
    auto body = [&](std::span<const Array> in) {
      std::vector<Array> found;
      rules_->forward->run({in, perturbed, 0, found, kept});
      const std::vector<Aval>& results = rules_->results;
      if (found.size() < results.size())
        check_count("custom_vjp", "results of the forward rule", found.size(), results.size());
      for (std::size_t i = 0; i < results.size(); ++i)
        found[i] = fitted_to(found[i], results[i], "custom_vjp", "result", i);
      return found;
    };
    program = stage_rule(body, rules_->arguments, rules_->consts, rules_->axes, "custom_vjp");
    program.kept = kept;
    return program;
  }
  std::shared_ptr<const BackwardSource> backward(const RuleProgram& forward,
                                                 const std::vector<bool>& perturbed) const override {
    return std::make_shared<StagedBackward>(rules_, forward, perturbed, rules_->results.size());
  }
  /// What the rules use from outside, when all that can be is perturbed.
  std::vector<Array> captures() const {
    std::vector<bool> all = inexact(rules_->arguments);
    std::size_t n = rules_->results.size(), given = count(inexact(rules_->results));
    auto both = [&](std::span<const Array> in) {
      RuleProgram ahead;
      std::vector<Array> found, cts(in.end() - static_cast<std::ptrdiff_t>(given), in.end()), back;
      rules_->forward->run({in.first(all.size()), all, 0, found, ahead.kept});
      std::vector<Array> args(found.begin() + static_cast<std::ptrdiff_t>(n), found.end());
      for (std::size_t i = 0, next = 0; i < n; ++i)
        args.push_back(is_inexact(rules_->results[i].dtype()) ? cts[next++] : Array());
      rules_->backward->run({args, all, 0, back, ahead.kept});
      append(found, back);
      std::erase_if(found, [](const Array& a) { return a.is_empty(); });
      return found;
    };
    std::vector<Aval> inputs = rules_->arguments;
    for (const Aval& a : rules_->results)
      if (is_inexact(a.dtype())) inputs.push_back(a);
    return consts_among_captures(both, inputs, "custom_vjp");
  }

 private:
  std::shared_ptr<VjpRules> rules_;
};

class BatchedBackward : public BackwardSource {
 public:
  /// `tangents`: which arguments that have a tangent are mapped.
  BatchedBackward(std::shared_ptr<const BackwardSource> inner, MappedAxis axis, MappedOperands residuals,
                  MappedOperands consts, std::vector<bool> tangents)
      : inner_(std::move(inner)),
        axis_{axis.size, std::string(axis.name)},
        residuals_(std::move(residuals)),
        consts_(std::move(consts)),
        tangents_(std::move(tangents)) {}
  RuleProgram make(const std::vector<bool>& marks) const override {
    RuleProgram lane = inner_->program(marks), program;
    std::vector<bool> mask = residuals_.mask;
    mask.resize(mask.size() + count(marks), true);
    mask.insert(mask.end(), consts_.mask.begin(), consts_.mask.end());
    std::vector<Aval> avals = input_avals(*lane.graph);
    std::ranges::copy(residuals_.avals, avals.begin());
    std::ranges::copy(consts_.avals, avals.end() - std::ssize(consts_.avals));
    const MappedInputs whole(*lane.graph, axis_, mask, avals);
    auto body = [&](std::span<const Array> in) {
      auto run = [&](std::span<const Array> inputs) { return interpret(*lane.graph, inputs); };
      BatchResult r = batch(callee_of(run), axis_, in, whole.axes);
      for (std::size_t t = 0, k = 0; t < tangents_.size(); ++t) {
        if (!lane.out_mask[t]) continue;
        // What all lanes share gets the sum of their cotangents.
        if (tangents_[t])
          r.outs[k] = with_axis(r.outs[k], r.axes[k], 0, axis_.size);
        else
          r.outs[k] =
              r.axes[k] >= 0
                  ? lax::reduce_sum(r.outs[k], {r.axes[k]})
                  : lax::mul(r.outs[k], lax::full_like(r.outs[k].aval(), static_cast<double>(axis_.size)));
        ++k;
      }
      return r.outs;
    };
    program.graph = rewire(whole.avals, body);
    program.out_mask = lane.out_mask;
    return program;
  }

 private:
  std::shared_ptr<const BackwardSource> inner_;
  NamedAxis axis_;
  MappedOperands residuals_, consts_;
  std::vector<bool> tangents_;
};

class BatchedVjp : public VjpSource {
 public:
  BatchedVjp(std::shared_ptr<const VjpSource> inner, MappedAxis axis, std::vector<bool> arguments,
             MappedOperands consts, std::size_t results)
      : inner_(std::move(inner)),
        axis_{axis.size, std::string(axis.name)},
        arguments_(std::move(arguments)),
        consts_(std::move(consts)),
        results_(results) {}
  RuleProgram make(const std::vector<bool>& perturbed) const override {
    RuleProgram program = inner_->program(perturbed);
    std::vector<bool> in_mask = arguments_, all(program.graph->outputs().size(), false), out_mask;
    in_mask.insert(in_mask.end(), consts_.mask.begin(), consts_.mask.end());
    std::vector<Aval> inputs = input_avals(*program.graph);
    std::ranges::copy(consts_.avals, inputs.end() - std::ssize(consts_.avals));
    for (std::size_t i = 0; i < results_; ++i) all[i] = true;
    program.graph = batch_graph(*program.graph, axis_, in_mask, all, out_mask, inputs);
    program.mapped.assign(out_mask.begin() + static_cast<std::ptrdiff_t>(results_), out_mask.end());
    return program;
  }
  std::shared_ptr<const BackwardSource> backward(const RuleProgram& forward,
                                                 const std::vector<bool>& perturbed) const override {
    std::vector<bool> tangents;
    for (std::size_t i = 0; i < perturbed.size(); ++i)
      if (perturbed[i]) tangents.push_back(arguments_[i]);
    std::vector<Aval> residuals = output_avals(*forward.graph);
    residuals.erase(residuals.begin(), residuals.begin() + static_cast<std::ptrdiff_t>(results_));
    return std::make_shared<BatchedBackward>(inner_->backward(inner_->program(perturbed), perturbed), axis_,
                                             MappedOperands{forward.mapped, residuals}, consts_, tangents);
  }

 private:
  std::shared_ptr<const VjpSource> inner_;
  NamedAxis axis_;
  std::vector<bool> arguments_;
  MappedOperands consts_;
  std::size_t results_;
};

struct CustomVjpParams : CustomParts {
  GraphRef region;
  RuleHandle<VjpSource> rule;
  static void each(auto& self, auto&& visit) {
    CustomParts::each(self, visit);
    visit("region", self.region);
    visit("rule", self.rule);
  }
};

void custom_vjp_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  called_shape("custom_vjp", params, in, out);
}
void custom_vjp_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  called_evaluate(custom_vjp_op, params, in, out);
}

[[noreturn]] void fail_forward() { fail(messages::custom_vjp_forward, {}); }
void custom_vjp_jvp(const JvpRule&) { fail_forward(); }

/// custom_linear: (residuals…, consts…, tangents…) → the tangents of the results that can have one. Only its
/// transpose is known. `results`: a graph whose outputs have their avals.
struct CustomLinearParams {
  std::int64_t residuals = 0, consts = 0;
  GraphRef results;
  RuleHandle<BackwardSource> rule;
  static void each(auto& self, auto&& visit) {
    visit("residuals", self.residuals);
    visit("consts", self.consts);
    visit("results", self.results);
    visit("rule", self.rule);
  }
};

GraphRef graph_of_avals(std::span<const Aval> avals) {
  return rewire(avals, [](std::span<const Array> in) { return std::vector<Array>(in.begin(), in.end()); });
}

void custom_vjp_linearize(const LinearizeRule& r) {
  if (is_mixed(r)) return stage_whole(custom_vjp_op, r);
  const auto& p = r.params.as<CustomVjpParams>();
  std::vector<bool> mask = not_empty(r.tangents), perturbed = p.arguments_of(mask);
  p.check_captures("custom_vjp", "differentiated", mask);
  if (count(perturbed) == 0) return bind(custom_vjp_op, r.params, r.primals, r.outs);
  RuleProgram forward = p.rule.rule->program(perturbed);
  std::vector<Array> inputs;
  append(inputs, p.arguments_of(r.primals));
  append(inputs, p.consts_of(r.primals));
  std::vector<Array> found = bind_all(call_op, make_params(CallParams{forward.graph, "custom_vjp"}), inputs);
  std::vector<Aval> tangents;
  for (std::size_t i = 0; i < r.outs.size(); ++i) {
    r.outs[i] = found[i];
    if (is_inexact(found[i].dtype())) tangents.push_back(found[i].aval());
  }
  if (tangents.empty()) return;
  auto residuals = std::span<const Array>(found).subspan(r.outs.size());
  std::vector<Array> operands(residuals.begin(), residuals.end());
  append(operands, p.consts_of(r.primals));
  append(operands, marked(p.arguments_of(r.tangents), perturbed));
  CustomLinearParams linear{static_cast<std::int64_t>(residuals.size()),
                            p.consts,
                            graph_of_avals(tangents),
                            {p.rule.rule->backward(forward, perturbed)}};
  TraceScope scope(r.tangent_trace);
  std::vector<Array> out = bind_all(custom_linear_op, make_params(std::move(linear)), operands);
  for (std::size_t i = 0, next = 0; i < r.outs.size(); ++i)
    if (is_inexact(r.outs[i].dtype())) r.out_tangents[i] = out[next++];
}

void custom_vjp_batch(const BatchRule& r) {
  CustomVjpParams p = r.params.as<CustomVjpParams>();
  std::vector<bool> mask, out_mask;
  std::vector<Array> operands = lanes_first(r, mask);
  std::size_t results = p.region->outputs().size();
  const std::vector<Aval> avals = avals_of(operands);
  p.region = batch_graph(*p.region, r.size, mask, std::vector<bool>(results, true), out_mask, avals);
  p.rule.rule = std::make_shared<BatchedVjp>(p.rule.rule, r.size, p.arguments_of(mask),
                                             p.mapped_consts(mask, avals), results);
  r.outs = bind_all(custom_vjp_op, make_params(std::move(p)), operands);
  r.out_axes.assign(r.outs.size(), 0);
}

void custom_linear_shape(const Params& params, std::span<const Aval>, std::vector<Aval>& out) {
  out = output_avals(*params.as<CustomLinearParams>().results);
}
void custom_linear_evaluate(const Params&, std::span<const Array>, std::span<Array>) { fail_forward(); }

void custom_linear_transpose(const TransposeRule& r) {
  const auto& p = r.params.as<CustomLinearParams>();
  auto residuals = static_cast<std::size_t>(p.residuals),
       known = residuals + static_cast<std::size_t>(p.consts);
  std::vector<bool> marks = not_empty(r.cotangents);
  RuleProgram program = p.rule.rule->program(marks);
  std::vector<Array> inputs;
  append(inputs, r.operands.first(residuals));
  append(inputs, marked(r.cotangents, marks));
  append(inputs, r.operands.subspan(residuals, known - residuals));
  std::vector<Array> found = interpret(*program.graph, inputs);
  for (std::size_t i = known, k = 0; i < r.operands.size(); ++i)
    if (program.out_mask[i - known]) r.out[i].add(found[k++]);
}

void custom_linear_batch(const BatchRule& r) {
  CustomLinearParams p = r.params.as<CustomLinearParams>();
  std::vector<bool> mask;
  std::vector<Array> operands = lanes_first(r, mask);
  const std::vector<Aval> avals = avals_of(operands);
  auto part = [&](std::int64_t from, std::int64_t n) {
    return MappedOperands{{mask.begin() + from, mask.begin() + from + n},
                          {avals.begin() + from, avals.begin() + from + n}};
  };
  p.rule.rule = std::make_shared<BatchedBackward>(
      p.rule.rule, r.size, part(0, p.residuals), part(p.residuals, p.consts),
      std::vector<bool>(mask.begin() + p.residuals + p.consts, mask.end()));
  std::vector<Aval> tangents;
  for (const Aval& a : output_avals(*p.results)) tangents.push_back(stacked(a, r.size));
  p.results = graph_of_avals(tangents);
  r.outs = bind_all(custom_linear_op, make_params(std::move(p)), operands);
  r.out_axes.assign(r.outs.size(), 0);
}

}  // namespace

const Op custom_vjp_op = {
    .name = "custom_vjp",
    .kind = OpKind::Custom,
    .shape = custom_vjp_shape,
    .evaluate = custom_vjp_evaluate,
    .jvp = custom_vjp_jvp,
    .linearize = custom_vjp_linearize,
    .batch = custom_vjp_batch,
};

const Op custom_linear_op = {
    .name = "custom_linear",
    .kind = OpKind::Effect,
    .shape = custom_linear_shape,
    .evaluate = custom_linear_evaluate,
    .jvp = custom_vjp_jvp,
    .transpose = custom_linear_transpose,
    .batch = custom_linear_batch,
};

std::vector<Array> custom_vjp_call(const CustomCall& call, const ErasedRule* forward,
                                   const ErasedRule* backward, bool capturing) {
  auto rules = std::make_shared<VjpRules>();
  rules->forward.reset(forward);
  rules->backward.reset(backward);
  rules->symbolic = call.symbolic;
  CustomBinding b = bind_custom(call, "custom_vjp", {});
  rules->arguments = b.argument_avals;
  rules->results = output_avals(*b.region);
  auto source = std::make_shared<StagedVjp>(rules);
  if (capturing) {
    std::vector<Array> traced = source->captures();
    if (!traced.empty()) b = bind_custom(call, "custom_vjp", traced);
    rules->consts = b.consts;
  }
  CustomVjpParams p{b.parts, b.region, {std::move(source)}};
  return bind_all(custom_vjp_op, make_params(std::move(p)), b.operands, call.loc);
}

}  // namespace apsis::detail
