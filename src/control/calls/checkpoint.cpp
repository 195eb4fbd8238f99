// checkpoint: a call whose derivative computes again what it does not keep.

#include "apsis/control/checkpoint.hpp"

#include <algorithm>

#include "apsis/base/keep_library.hpp"
#include "control/common/call_rules.hpp"
#include "control/common/messages.hpp"
#include "ir/copy.hpp"
#include "ops/dot_params.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"
#include "passes/inline_calls.hpp"
#include "transform/derivatives/split.hpp"

namespace apsis::detail {
namespace {

/// A policy that is a function: text has no place for it.
struct Predicate {
  bool (*keeps)(const Saveable&) = nullptr;
  friend bool operator==(const Predicate&, const Predicate&) = default;
};
std::uint64_t hash_field(std::uint64_t seed, const Predicate& p) {
  return hash_word(seed, reinterpret_cast<std::uintptr_t>(p.keeps));
}
void print_field(std::string& out, const Predicate& p) { out += p.keeps ? "\"a function\"" : "\"\""; }
void parse_field(ParamsReader& r, Predicate&) {
  if (!r.text().empty()) fail(messages::checkpoint_text, {});
}

struct CheckpointParams {
  GraphRef region;
  bool everything = false, dots = false, dots_without_batch = false;
  std::vector<std::string> names, names_but, all_but;
  Predicate when;

  static void each(auto& self, auto&& visit) {
    visit("everything", self.everything);
    visit("dots", self.dots);
    visit("dots_without_batch", self.dots_without_batch);
    visit("names", self.names);
    visit("names_but", self.names_but);
    visit("all_but", self.all_but);
    visit("when", self.when);
    visit("region", self.region);
  }

  bool keeps(const Eqn& e, const Aval& aval) const {
    std::string_view name;
    if (e.op == &checkpoint_name_op) name = e.params.as<CheckpointNameParams>().name;
    auto among = [&](const std::vector<std::string>& list) {
      return std::ranges::find(list, name) != list.end();
    };
    if (everything) return true;
    if (e.op->kind == OpKind::Contract &&
        (dots || (dots_without_batch && e.params.as<DotParams>().batch_a.empty())))
      return true;
    if (!name.empty() && (among(names) || (!names_but.empty() && !among(names_but)))) return true;
    if (!all_but.empty() && (name.empty() || !among(all_but))) return true;
    return when.keeps && when.keeps({e.op->name, name, aval});
  }
};

/// Whether what an equation computes cannot be computed again: a function of the host with effects returned
/// it.
bool happens_once(const Eqn& e) {
  bool found = e.op->effect;
  each_region(e.params, [&](const Graph& region) { found |= without_effects(region)->has_effect(); });
  return found;
}

/// The values to keep: of those that `wanted` are computed from, the nearest that the policy asks for, or
/// that happen only once.
std::vector<ValueId> choose(const CheckpointParams& policy, const Graph& graph,
                            std::span<const ValueId> wanted) {
  std::vector<ValueId> stack(wanted.begin(), wanted.end()), kept;
  std::vector<char> seen(graph.value_count(), 0);
  while (!stack.empty()) {
    ValueId v = stack.back();
    stack.pop_back();
    const Eqn* e = graph.definition(v);
    if (std::exchange(seen[v], 1) || !e || e->op->kind == OpKind::Constant) continue;
    if (happens_once(*e) || policy.keeps(*e, graph.aval(v))) {
      kept.push_back(v);
    } else {
      auto operands = graph.operands(*e);
      stack.insert(stack.end(), operands.begin(), operands.end());
    }
  }
  std::ranges::sort(kept);
  return kept;
}

/// The index of a value in a sorted list that has it.
std::size_t place_in(const std::vector<ValueId>& sorted, ValueId v) {
  return static_cast<std::size_t>(std::ranges::lower_bound(sorted, v) - sorted.begin());
}

void checkpoint_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  called_shape("checkpoint", params, in, out);
}
void checkpoint_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  called_evaluate(checkpoint_op, params, in, out);
}
void checkpoint_jvp(const JvpRule& r) { called_jvp(checkpoint_op, r); }
void checkpoint_transpose(const TransposeRule& r) { called_transpose(checkpoint_op, r); }
void checkpoint_batch(const BatchRule& r) { called_batch(checkpoint_op, r); }

// The program is split in its known and its linear part. The known part returns what is kept; the linear part
// computes its residuals from that and from the operands.
void checkpoint_linearize(const LinearizeRule& r) {
  const SplitCall split(called_region(r.params), r);
  const GraphRef all_known = inline_calls(*split.known);
  const Graph& known = *all_known;
  auto outputs = known.outputs();
  std::size_t outs = count(split.known_mask), inputs = split.known_in.size();
  std::vector<ValueId> kept = choose(r.params.as<CheckpointParams>(), known, outputs.subspan(outs));
  std::vector<char> is_kept(known.value_count(), 0);
  for (ValueId v : kept) is_kept[v] = 1;
  const GraphPart part = extract(known, outputs.subspan(outs), is_kept);
  // What has effects has had them when this is run again.
  const GraphRef again = without_effects(*part.graph);
  std::vector<ValueId> forward(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(outs));
  forward.insert(forward.end(), kept.begin(), kept.end());
  std::vector<Array> results =
      bind_all(checkpoint_op, with_called_region(r.params, with_outputs(known, forward)), split.known_in);
  if (count(split.out_mask) == 0) return split.take(r, results, {});

  // (operands known…, kept…, tangents…) → the tangents that come out
  std::vector<Aval> avals;
  for (const Array& x : split.known_in) avals.push_back(x.aval());
  for (ValueId v : kept) avals.push_back(known.aval(v));
  for (std::size_t i = 0; i < split.tangents_in.size(); ++i)
    avals.push_back(split.linear->aval(static_cast<ValueId>(i)));
  const GraphRef tangent = rewire(avals, [&](std::span<const Array> in) {
    std::size_t from = inputs + kept.size();
    std::vector<Array> args(in.begin() + static_cast<std::ptrdiff_t>(from), in.end());
    std::vector<Array> read;
    for (ValueId v : part.inputs) read.push_back(v < inputs ? in[v] : in[inputs + place_in(kept, v)]);
    append(args, interpret(*again, read));
    return interpret(*split.linear, args);
  });
  const GraphPart used = extract(*tangent, tangent->outputs(), std::vector<char>(), tangent->eqns());
  std::vector<Array> all = split.known_in, operands;
  append(all, std::span(results).subspan(outs));
  append(all, split.tangents_in);
  for (ValueId v : used.inputs) operands.push_back(all[v]);
  TraceScope scope(r.tangent_trace);
  split.take(r, results, bind_all(checkpoint_op, with_called_region(r.params, used.graph), operands));
}

}  // namespace

const Op checkpoint_op = {
    .name = "checkpoint",
    .kind = OpKind::Custom,
    .shape = checkpoint_shape,
    .evaluate = checkpoint_evaluate,
    .jvp = checkpoint_jvp,
    .linearize = checkpoint_linearize,
    .transpose = checkpoint_transpose,
    .batch = checkpoint_batch,
    .jet = called_jet,
    .parse = parse_params<CheckpointParams>,
    .takes_conditions = true,
};

std::vector<Array> checkpoint_call(const Callee& callee, std::span<const Array> leaves,
                                   const CheckpointOptions& o, Loc loc) {
  if (!current_trace()) return callee(leaves);
  keep_library(reinterpret_cast<const void*>(o.when));
  Staged staged = stage(callee, avals_of(leaves), "checkpoint", loc);
  std::vector<Array> operands(leaves.begin(), leaves.end());
  append(operands, staged.captures);
  CheckpointParams p{staged.graph, o.everything, o.dots,    o.dots_without_batch,
                     o.names,      o.names_but,  o.all_but, {o.when}};
  return bind_all(checkpoint_op, make_params(std::move(p)), operands, loc);
}

}  // namespace apsis::detail

namespace apsis {

Array checkpoint_name(const Array& x, std::string name, Loc loc) {
  return bind1(detail::checkpoint_name_op, make_params(detail::CheckpointNameParams{std::move(name)}), {x},
               loc);
}

}  // namespace apsis
