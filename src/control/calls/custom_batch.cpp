// custom_batch: a function whose batching rule is the user's. Differentiated, it is its own program.

#include "control/common/custom_rule.hpp"
#include "control/common/messages.hpp"
#include "transform/batch/batch.hpp"

namespace apsis::detail {

extern const Op custom_batch_op;

namespace {

/// The user's rule and the call it is for.
struct BatchRules {
  std::unique_ptr<const ErasedRule> rule;
  std::vector<Aval> arguments, results;
  std::vector<Array> consts;

  /// (arguments…, consts…) → results, mapped arguments and all results with the lanes along axis 0.
  GraphRef program(const std::vector<bool>& mapped, std::int64_t lanes) const {
    auto body = [&](std::span<const Array> in) {
      std::vector<Array> found = run(in, mapped, lanes);
      check_count("custom_batch", "results", found.size(), results.size());
      for (std::size_t i = 0; i < found.size(); ++i)
        found[i] = fitted_to(found[i], stacked(results[i], lanes), "custom_batch", "result", i);
      return found;
    };
    return stage_rule(body, inputs(mapped, lanes), consts, {}, "custom_batch").graph;
  }
  /// What the rule uses from outside, when all arguments are mapped.
  std::vector<Array> captures() const {
    std::vector<bool> all(arguments.size(), true);
    auto body = [&](std::span<const Array> in) { return run(in, all, 1); };
    return consts_among_captures(body, inputs(all, 1), "custom_batch");
  }

 private:
  std::vector<Aval> inputs(const std::vector<bool>& mapped, std::int64_t lanes) const {
    std::vector<Aval> avals = arguments;
    for (std::size_t i = 0; i < avals.size(); ++i)
      if (mapped[i]) avals[i] = stacked(avals[i], lanes);
    return avals;
  }
  std::vector<Array> run(std::span<const Array> in, const std::vector<bool>& mapped,
                         std::int64_t lanes) const {
    std::vector<Array> found;
    AnyTree kept;
    rule->run({in, mapped, lanes, found, kept});
    return found;
  }
};

struct CustomBatchParams : CustomParts {
  GraphRef region;
  RuleHandle<BatchRules> rule;
  static void each(auto& self, auto&& visit) {
    CustomParts::each(self, visit);
    visit("region", self.region);
    visit("rule", self.rule);
  }
};

void custom_batch_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  called_shape("custom_batch", params, in, out);
}
void custom_batch_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  called_evaluate(custom_batch_op, params, in, out);
}

/// Without the rule.
Params plain_call(const Params& params) {
  return make_params(CallParams{params.as<CustomBatchParams>().region, "custom_batch"});
}

void custom_batch_jvp(const JvpRule& r) {
  call_op.jvp({plain_call(r.params), r.primals, r.tangents, r.outs, r.out_tangents});
}

void custom_batch_linearize(const LinearizeRule& r) {
  call_op.linearize({plain_call(r.params), r.primals, r.tangents, r.tangent_trace, r.outs, r.out_tangents});
}

void custom_batch_batch(const BatchRule& r) {
  const auto& p = r.params.as<CustomBatchParams>();
  std::vector<bool> mask;
  std::vector<Array> operands = lanes_first(r, mask);
  p.check_captures("custom_batch", "mapped", mask);
  if (count(p.consts_of(mask)) > 0) fail(messages::custom_captured, {"custom_batch", "mapped"});
  GraphRef program = p.rule.rule->program(p.arguments_of(mask), r.size);
  std::vector<Array> inputs;
  append(inputs, p.arguments_of(std::span<const Array>(operands)));
  append(inputs, p.consts_of(std::span<const Array>(operands)));
  r.outs = bind_all(call_op, make_params(CallParams{program, "custom_batch"}), inputs);
  r.out_axes.assign(r.outs.size(), 0);
}

}  // namespace

const Op custom_batch_op = {
    .name = "custom_batch",
    .kind = OpKind::Custom,
    .shape = custom_batch_shape,
    .evaluate = custom_batch_evaluate,
    .jvp = custom_batch_jvp,
    .linearize = custom_batch_linearize,
    .batch = custom_batch_batch,
};

std::vector<Array> custom_batch_call(const CustomCall& call, const ErasedRule* rule, bool capturing) {
  auto rules = std::make_shared<BatchRules>();
  rules->rule.reset(rule);
  for (const Array& a : call.leaves.subspan(call.own)) rules->arguments.push_back(a.aval());
  CustomBinding b = bind_custom(call, "custom_batch", capturing ? rules->captures() : std::vector<Array>());
  rules->results = output_avals(*b.region);
  rules->consts = b.consts;
  CustomBatchParams p{b.parts, b.region, {std::move(rules)}};
  return bind_all(custom_batch_op, make_params(std::move(p)), b.operands, call.loc);
}

}  // namespace apsis::detail
