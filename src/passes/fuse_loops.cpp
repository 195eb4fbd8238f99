#include "passes/fuse_loops.hpp"

#include <algorithm>
#include <unordered_map>

#include "ir/copy.hpp"
#include "ir/loop.hpp"

namespace apsis::detail {
namespace {

using Values = std::vector<ValueId>;

GraphRef fused(const Graph& graph);

/// The operands of a loop, by what they are to it.
struct Operands {
  Operands(const Graph& graph, const Eqn& e) : loop(e) {
    const auto all = graph.operands(e);
    cond_consts = all.first(loop.cond_consts);
    consts = all.subspan(loop.cond_consts, loop.consts);
    carries = all.subspan(loop.first_carry(), loop.carries);
    xs = all.subspan(loop.first_x());
  }
  Loop loop;
  std::span<const ValueId> cond_consts, consts, carries, xs;
};

/// Which input of a builder stands for an operand that does not change: for one that is there twice, the
/// first.
using InputOf = std::unordered_map<ValueId, ValueId>;

/// Adds inputs for `operands`, which are inputs of `region` from `first` on.
void add_inputs(GraphBuilder& builder, std::span<const ValueId> operands, const Graph& region,
                std::size_t first, InputOf& input_of, Values& inputs) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const ValueId made = builder.input(region.aval(static_cast<ValueId>(first + i)));
    inputs.push_back(input_of.try_emplace(operands[i], made).first->second);
  }
}

/// Appends what stands for `operands`; false if there is nothing for one.
bool find_inputs(std::span<const ValueId> operands, const InputOf& input_of, Values& inputs) {
  for (ValueId v : operands) {
    const auto found = input_of.find(v);
    if (found == input_of.end()) return false;
    inputs.push_back(found->second);
  }
  return true;
}

/// Adds the equations of a graph whose inputs have numbers; the numbers of its outputs.
Values append_graph(GraphBuilder& builder, const Graph& graph, const Values& inputs) {
  GraphCopy copy(builder, graph);
  copy.set_inputs(inputs);
  copy.add_equations();
  return copy.outputs();
}

bool end_alike(const Eqn& a, const Eqn& b) {
  if (a.op != b.op) return false;
  const Loop p(a), q(b);
  if (a.op->kind == OpKind::While && a.params.as<WhileParams>().kind != b.params.as<WhileParams>().kind)
    return false;
  return p.max_steps == q.max_steps && p.length == q.length && p.reverse == q.reverse;
}

/// The loop `a` that also records what the later loop `b` does, if a does all else that b does.
class Merged {
 public:
  Merged(const Graph& graph, const Eqn& a, const Eqn& b)
      : graph_(graph), eqn_(a), a_(graph, a), b_(graph, b), carry_of_(b_.carries.size()) {
    found_ = end_alike(a, b) && assign(0, 0);
  }
  explicit operator bool() const { return found_; }

  Params params() const {
    return with_loop_regions(eqn_, {GraphRef(a_.loop.cond), body_, a_.cond_consts.size(),
                                    a_.consts.size() + more_consts_.size(), a_.carries.size()});
  }
  Values operands() const {
    Values all;
    for (std::span<const ValueId> part :
         {a_.cond_consts, a_.consts, std::span<const ValueId>(more_consts_), a_.carries, a_.xs})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  std::size_t result_count() const { return body_->outputs().size(); }
  /// Which result of the loop is result r of b.
  std::size_t result_of(std::size_t r) const {
    const std::size_t carries = carry_of_.size();
    return r < carries ? carry_of_[r] : a_.loop.body->outputs().size() + r - carries;
  }

 private:
  /// Carries k and further of b, among those of a from `from` on: they start alike, and come in the same
  /// order.
  bool assign(std::size_t k, std::size_t from) {
    if (k == carry_of_.size()) return tries_-- > 0 && same_condition() && same_body();
    for (std::size_t c = from; c < a_.carries.size() && tries_ > 0; ++c) {
      carry_of_[k] = c;
      if (a_.carries[c] == b_.carries[k] && assign(k + 1, c + 1)) return true;
    }
    return false;
  }

  bool same_condition() const {
    if (!a_.loop.cond) return true;
    GraphBuilder builder;
    InputOf input_of;
    Values in_a, in_b;
    add_inputs(builder, a_.cond_consts, *a_.loop.cond, 0, input_of, in_a);
    for (std::size_t c = 0; c < a_.carries.size(); ++c)
      in_a.push_back(builder.input(a_.loop.cond->aval(static_cast<ValueId>(in_a.size()))));
    if (!find_inputs(b_.cond_consts, input_of, in_b)) return false;
    for (std::size_t c : carry_of_) in_b.push_back(in_a[a_.cond_consts.size() + c]);
    return append_graph(builder, *a_.loop.cond, in_a) == append_graph(builder, *b_.loop.cond, in_b);
  }

  /// Whether the carries of b come out as those of a do. Makes the body of both.
  bool same_body() {
    const Graph &a = *a_.loop.body, &b = *b_.loop.body;
    const std::size_t consts = a_.consts.size(), carries = a_.carries.size();
    GraphBuilder builder;
    InputOf input_of;
    Values in_a, in_b;
    add_inputs(builder, a_.consts, a, 0, input_of, in_a);
    more_consts_.clear();
    for (std::size_t i = 0; i < b_.consts.size(); ++i) {
      const ValueId v = b_.consts[i];
      if (input_of.contains(v)) continue;
      if (v >= graph_.input_count() && v >= eqn_.first_result) return false;  // not known yet where a is
      more_consts_.push_back(v);
      input_of[v] = builder.input(b.aval(static_cast<ValueId>(i)));
    }
    for (std::size_t c = 0; c < carries; ++c)
      in_a.push_back(builder.input(a.aval(static_cast<ValueId>(consts + c))));
    InputOf x_of;
    add_inputs(builder, a_.xs, a, consts + carries, x_of, in_a);
    find_inputs(b_.consts, input_of, in_b);
    for (std::size_t c : carry_of_) in_b.push_back(in_a[consts + c]);
    if (!find_inputs(b_.xs, x_of, in_b)) return false;
    Values outputs = append_graph(builder, a, in_a), of_b = append_graph(builder, b, in_b);
    outputs.insert(outputs.end(), of_b.begin(), of_b.end());
    const GraphRef both = fused(*builder.finish(outputs));
    const std::size_t count = a.outputs().size();
    for (std::size_t k = 0; k < carry_of_.size(); ++k)
      if (both->outputs()[count + k] != both->outputs()[carry_of_[k]]) return false;
    const auto of_first = both->outputs().first(count), of_second = both->outputs().subspan(count);
    if (carry_of_.empty() && std::ranges::find_first_of(of_first, of_second) == of_first.end())
      return false;  // they have nothing in common but their length
    outputs.assign(of_first.begin(), of_first.end());
    const auto more = of_second.subspan(carry_of_.size());
    outputs.insert(outputs.end(), more.begin(), more.end());
    body_ = with_outputs(*both, outputs);
    return true;
  }

  const Graph& graph_;
  const Eqn& eqn_;
  Operands a_, b_;
  std::vector<std::size_t> carry_of_;  // by carry of b: that of a
  Values more_consts_;                 // of b
  GraphRef body_;
  int tries_ = 16;
  bool found_ = false;
};

/// Two loops, by equation, and what they become.
struct Pair {
  const Eqn *first, *second;
  Merged merged;
};

/// The program with what pairs become in place of them; no loop is in two pairs.
GraphRef replaced(const Graph& graph, std::span<const Pair> pairs) {
  std::unordered_map<const Eqn*, const Pair*> pair_of;
  for (const Pair& p : pairs) pair_of[p.first] = pair_of[p.second] = &p;
  std::unordered_map<const Pair*, Values> results_of;
  GraphBuilder builder;
  GraphCopy copy(builder, graph);
  copy.add_inputs();
  for (const Eqn& e : graph.eqns()) {
    const auto found = pair_of.find(&e);
    const Pair* pair = found == pair_of.end() ? nullptr : found->second;
    if (!pair) {
      copy.add(e);
    } else if (&e == pair->first) {
      Values& results = results_of[pair];
      results.resize(pair->merged.result_count());
      builder.append(*e.op, pair->merged.params(), copy(pair->merged.operands()), results, e.loc);
      for (std::uint32_t r = 0; r < e.result_count; ++r) copy[e.first_result + r] = results[r];
    } else {
      for (std::uint32_t r = 0; r < e.result_count; ++r)
        copy[e.first_result + r] = results_of[pair][pair->merged.result_of(r)];
    }
  }
  return builder.finish(copy.outputs());
}

/// The loops of a graph, in program order, by what they start from or go over: of those that may record what
/// a later loop does, none is missed, and hardly another is met.
class Candidates {
 public:
  explicit Candidates(const Graph& graph) : graph_(graph) {}

  void add(std::uint32_t loop, const Eqn& e) {
    for_each_start(e, [&](ValueId v) {
      std::vector<std::uint32_t>& loops = by_start_[v];
      if (loops.empty() || loops.back() != loop) loops.push_back(loop);
    });
  }

  /// All carries of the later loop start as some of the earlier one do, and all its xs are xs there.
  std::span<const std::uint32_t> of(const Eqn& e) const {
    const std::vector<std::uint32_t>* fewest = nullptr;
    bool some = true;
    for_each_start(e, [&](ValueId v) {
      const auto found = by_start_.find(v);
      some = some && found != by_start_.end();
      if (some && (!fewest || found->second.size() < fewest->size())) fewest = &found->second;
    });
    return some && fewest ? std::span(*fewest) : std::span<const std::uint32_t>();
  }

 private:
  static constexpr ValueId nothing = 0xffffffffu;  // what loops without carries and xs have in common

  template <class Visit>
  void for_each_start(const Eqn& e, Visit&& visit) const {
    const Operands of(graph_, e);
    for (ValueId v : of.carries) visit(v);
    for (ValueId v : of.xs) visit(v);
    visit(nothing);
  }

  const Graph& graph_;
  std::unordered_map<ValueId, std::vector<std::uint32_t>> by_start_;
};

/// Pairs that can be merged, no loop in two of them. Loops that start alike and differ otherwise are tried
/// with the first few others only.
std::vector<Pair> find_pairs(const Graph& graph) {
  constexpr std::size_t most_tries = 32;
  std::vector<const Eqn*> loops;
  for (const Eqn& e : graph.eqns())
    if (is_loop(e) && !has_effect(*e.op, e.params)) loops.push_back(&e);
  std::vector<Pair> pairs;
  if (loops.size() < 2) return pairs;
  Candidates candidates(graph);
  std::vector<char> used(loops.size(), 0);
  for (std::uint32_t j = 0; j < loops.size(); ++j) {
    const auto tried = candidates.of(*loops[j]);
    for (std::uint32_t i : tried.first(std::min(tried.size(), most_tries))) {
      if (used[i]) continue;
      Merged merged(graph, *loops[i], *loops[j]);
      if (!merged) continue;
      pairs.push_back({loops[i], loops[j], std::move(merged)});
      used[i] = used[j] = 1;
      break;
    }
    candidates.add(j, *loops[j]);
  }
  return pairs;
}

/// The same without what is in regions.
GraphRef fused(const Graph& graph) {
  GraphRef current(&graph);
  for (;;) {
    const std::vector<Pair> pairs = find_pairs(*current);
    if (pairs.empty()) return current;
    current = replaced(*current, pairs);
  }
}

}  // namespace

GraphRef fuse_loops(const Graph& graph) {
  return has_loop(graph) ? with_regions(*fused(graph), fuse_loops) : GraphRef(&graph);
}

}  // namespace apsis::detail
