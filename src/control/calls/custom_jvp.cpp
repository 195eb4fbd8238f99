// custom_jvp: a function whose derivative is the user's. Reverse mode transposes the rule's program, so there
// is no other rule to differentiate by.

#include "control/common/custom_rule.hpp"
#include "control/common/messages.hpp"
#include "transform/batch/batch.hpp"
#include "transform/derivatives/jvp.hpp"

namespace apsis::detail {

extern const Op custom_jvp_op;

namespace {

/// (arguments…, tangents of the perturbed…, consts…) → (results…, tangents that are there…).
class JvpSource : public RulePrograms {};

class StagedJvp : public JvpSource {
 public:
  StagedJvp(const ErasedRule* rule, const CustomCall& call) : rule_(rule), symbolic_(call.symbolic) {
    for (const Array& a : call.leaves.subspan(call.own)) avals_.push_back(a.aval());
  }
  RuleProgram make(const std::vector<bool>& perturbed) const override {
    std::vector<bool> out_mask;
    auto body = [&](std::span<const Array> in) {
      std::vector<Array> found = run(in, perturbed), outs;
      std::size_t n = results.size();
      check_count("custom_jvp", "results and tangents", found.size(), 2 * n);
      for (std::size_t i = 0; i < n; ++i)
        outs.push_back(fitted_to(found[i], results[i], "custom_jvp", "result", i));
      for (std::size_t i = 0; i < n; ++i) {
        const Array& t = found[n + i];
        out_mask.push_back(!t.is_empty() && is_inexact(results[i].dtype()));
        if (out_mask.back())
          outs.push_back(fitted_to(t, results[i], "custom_jvp", "the tangent of result", i));
      }
      return outs;
    };
    RuleProgram program = stage_rule(body, inputs(perturbed), consts, axes_, "custom_jvp");
    program.out_mask = out_mask;
    return program;
  }
  /// What the rule uses from outside, when all that can be is perturbed.
  std::vector<Array> captures() const {
    std::vector<bool> all = inexact(avals_);
    auto body = [&](std::span<const Array> in) {
      std::vector<Array> found = run(in, all);
      std::erase_if(found, [](const Array& a) { return a.is_empty(); });
      return found;
    };
    return consts_among_captures(body, inputs(all), "custom_jvp");
  }

  std::vector<Aval> results;
  std::vector<Array> consts;

 private:
  std::vector<Aval> inputs(const std::vector<bool>& perturbed) const {
    std::vector<Aval> avals = avals_;
    for (std::size_t i = 0; i < avals_.size(); ++i)
      if (perturbed[i]) avals.push_back(avals_[i]);
    return avals;
  }
  std::vector<Array> run(std::span<const Array> in, const std::vector<bool>& perturbed) const {
    std::vector<Array> args(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(avals_.size()));
    std::vector<Array> tangents = tangents_among(in, perturbed), found;
    if (!symbolic_) fill_zero_tangents(avals_, tangents);
    append(args, tangents);
    AnyTree kept;
    rule_->run({args, perturbed, 0, found, kept});
    return found;
  }
  std::unique_ptr<const ErasedRule> rule_;
  bool symbolic_;
  std::vector<Aval> avals_;
  std::vector<NamedAxis> axes_ = named_axes();
};

class BatchedJvp : public JvpSource {
 public:
  BatchedJvp(std::shared_ptr<const JvpSource> inner, MappedAxis axis, std::vector<bool> arguments,
             MappedOperands consts)
      : inner_(std::move(inner)),
        axis_{axis.size, std::string(axis.name)},
        arguments_(std::move(arguments)),
        consts_(std::move(consts)) {}
  RuleProgram make(const std::vector<bool>& perturbed) const override {
    RuleProgram program = inner_->program(perturbed);
    std::vector<bool> in_mask = arguments_, out_mask;
    for (std::size_t i = 0; i < perturbed.size(); ++i)
      if (perturbed[i]) in_mask.push_back(arguments_[i]);
    in_mask.insert(in_mask.end(), consts_.mask.begin(), consts_.mask.end());
    std::vector<Aval> inputs = input_avals(*program.graph);
    std::ranges::copy(consts_.avals, inputs.end() - std::ssize(consts_.avals));
    program.graph = batch_graph(*program.graph, axis_, in_mask,
                                std::vector<bool>(program.graph->outputs().size(), true), out_mask, inputs);
    return program;
  }

 private:
  std::shared_ptr<const JvpSource> inner_;
  NamedAxis axis_;
  std::vector<bool> arguments_;
  MappedOperands consts_;
};

struct CustomJvpParams : CustomParts {
  GraphRef region;
  RuleHandle<JvpSource> rule;
  static void each(auto& self, auto&& visit) {
    CustomParts::each(self, visit);
    visit("region", self.region);
    visit("rule", self.rule);
  }
};

void custom_jvp_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  called_shape("custom_jvp", params, in, out);
}
void custom_jvp_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  called_evaluate(custom_jvp_op, params, in, out);
}

void custom_jvp_jvp(const JvpRule& r) {
  const auto& p = r.params.as<CustomJvpParams>();
  std::vector<bool> mask = not_empty(r.tangents), perturbed = p.arguments_of(mask);
  p.check_captures("custom_jvp", "differentiated", mask);
  // Only the rule uses what is perturbed: the value does not depend on it.
  if (count(perturbed) == 0) return bind(custom_jvp_op, r.params, r.primals, r.outs);
  RuleProgram program = p.rule.rule->program(perturbed);
  std::vector<Array> inputs;
  append(inputs, p.arguments_of(r.primals));
  append(inputs, marked(p.arguments_of(r.tangents), perturbed));
  append(inputs, p.consts_of(r.primals));
  std::vector<Array> found = bind_all(call_op, make_params(CallParams{program.graph, "custom_jvp"}), inputs);
  for (std::size_t i = 0, next = r.outs.size(); i < r.outs.size(); ++i) {
    r.outs[i] = found[i];
    if (program.out_mask[i]) r.out_tangents[i] = found[next++];
  }
}

void custom_jvp_batch(const BatchRule& r) {
  CustomJvpParams p = r.params.as<CustomJvpParams>();
  std::vector<bool> mask, out_mask;
  std::vector<Array> operands = lanes_first(r, mask);
  const std::vector<Aval> avals = avals_of(operands);
  p.region = batch_graph(*p.region, r.size, mask, std::vector<bool>(p.region->outputs().size(), true),
                         out_mask, avals);
  p.rule.rule =
      std::make_shared<BatchedJvp>(p.rule.rule, r.size, p.arguments_of(mask), p.mapped_consts(mask, avals));
  r.outs = bind_all(custom_jvp_op, make_params(std::move(p)), operands);
  r.out_axes.assign(r.outs.size(), 0);
}

}  // namespace

const Op custom_jvp_op = {
    .name = "custom_jvp",
    .kind = OpKind::Custom,
    .shape = custom_jvp_shape,
    .evaluate = custom_jvp_evaluate,
    .jvp = custom_jvp_jvp,
    .batch = custom_jvp_batch,
};

std::vector<Array> custom_jvp_call(const CustomCall& call, const ErasedRule* rule, bool capturing) {
  auto source = std::make_shared<StagedJvp>(rule, call);
  CustomBinding b = bind_custom(call, "custom_jvp", capturing ? source->captures() : std::vector<Array>());
  source->results = output_avals(*b.region);
  source->consts = b.consts;
  CustomJvpParams p{b.parts, b.region, {std::move(source)}};
  return bind_all(custom_jvp_op, make_params(std::move(p)), b.operands, call.loc);
}

}  // namespace apsis::detail
