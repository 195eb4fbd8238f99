#include "passes/share_repeats.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/hash.hpp"
#include "ir/copy.hpp"
#include "ir/regions.hpp"
#include "ops/table.hpp"
#include "passes/analysis/call_cost.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {
namespace {

constexpr std::size_t window = 12;     // equations by which repeats are found
constexpr std::size_t most_work = 50;  // equations compared for each of the program: bounds the search
constexpr std::uint32_t none = 0xffffffffu;

/// The equations of a graph that repeats may consist of, in order. Literals (constants, and views of them)
/// are no part of them: a graph has each once, and a function has those that it reads.
class Sequence {
 public:
  explicit Sequence(const Graph& graph)
      : graph_(graph), literal_(graph.value_count(), 0), place_(graph.value_count(), none) {
    for (std::uint32_t i = 0; i < graph.eqns().size(); ++i) {
      const Eqn& e = graph.eqns()[i];
      const auto operands = graph.operands(e);
      if (e.op->kind == OpKind::Constant ||
          (e.op->kind == OpKind::View &&
           std::ranges::all_of(operands, [&](ValueId v) { return literal_[v] != 0; }))) {
        std::fill_n(literal_.begin() + e.first_result, e.result_count, char{1});
        continue;
      }
      std::fill_n(place_.begin() + e.first_result, e.result_count, static_cast<std::uint32_t>(eqns_.size()));
      eqns_.push_back(i);
      symbols_.push_back(symbol(e));
      lengths_.push_back(symbols_.back() ? code_length(graph, e, usual_register_limit) : 0);
    }
  }

  std::size_t size() const { return eqns_.size(); }
  const Eqn& eqn(std::size_t place) const { return graph_.eqns()[eqns_[place]]; }
  std::uint32_t eqn_number(std::size_t place) const { return eqns_[place]; }
  bool is_literal(ValueId v) const { return literal_[v] != 0; }
  /// Where in the sequence a value is made; `none` for inputs and literals.
  std::uint32_t place(ValueId v) const { return place_[v]; }
  std::int64_t length(std::size_t place) const { return lengths_[place]; }
  bool may_repeat(std::size_t place) const { return symbols_[place] != 0; }

  /// Equal for two runs of `window` equations that do the same; 0: they may not be shared.
  std::uint64_t hash(std::size_t first) const {
    std::uint64_t hash = 1;
    for (std::size_t k = first; k < first + window; ++k) {
      if (!may_repeat(k)) return 0;
      hash = hash_mix(hash, symbols_[k]);
      for (ValueId v : graph_.operands(eqn(k)))
        if (place_[v] != none && place_[v] >= first) hash = hash_mix(hash, k - place_[v]);
    }
    return hash;
  }

  /// Whether equation `a` does with a run that begins at `first_a` what `b` does with one from `first_b`.
  bool same(std::size_t a, std::size_t first_a, std::size_t b, std::size_t first_b) const {
    if (symbols_[a] != symbols_[b] || symbols_[a] == 0) return false;
    const Eqn &x = eqn(a), &y = eqn(b);
    if (x.op != y.op || x.operand_count != y.operand_count || !(x.params == y.params)) return false;
    const auto in_x = graph_.operands(x), in_y = graph_.operands(y);
    for (std::size_t k = 0; k < in_x.size(); ++k) {
      const ValueId v = in_x[k], w = in_y[k];
      if (!(graph_.aval(v) == graph_.aval(w))) return false;
      if (is_literal(v) || is_literal(w)) {
        if (v != w) return false;
        continue;
      }
      const bool inside = is_inside(v, first_a);
      if (inside != is_inside(w, first_b)) return false;
      if (inside && (place_[v] - first_a != place_[w] - first_b ||
                     v - eqn(place_[v]).first_result != w - eqn(place_[w]).first_result))
        return false;
    }
    return true;
  }
  bool is_inside(ValueId v, std::size_t first) const { return place_[v] != none && place_[v] >= first; }

 private:
  std::uint64_t symbol(const Eqn& e) const {
    const bool simple = fusible(graph_, e) || e.op->kind == OpKind::View || e.op->kind == OpKind::Reduce ||
                        e.op->kind == OpKind::Contract;
    if (!simple || e.op->effect || e.op->updates >= 0) return 0;
    std::uint64_t hash = hash_mix(reinterpret_cast<std::uintptr_t>(e.op), e.params.hash());
    const auto add = [&](ValueId v) {
      hash = hash_mix(hash, graph_.aval(v).hash());
      return in_registers(graph_.aval(v), usual_register_limit);
    };
    for (ValueId v : graph_.operands(e)) {
      if (!add(v)) return 0;
      if (is_literal(v)) hash = hash_mix(hash, v);
    }
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      if (!add(e.first_result + r)) return 0;
    return hash | 1;
  }

  const Graph& graph_;
  std::vector<std::uint32_t> eqns_;
  std::vector<char> literal_;           // by value
  std::vector<std::uint32_t> place_;    // by value
  std::vector<std::uint64_t> symbols_;  // by place: equal for equations that do the same with other values
  std::vector<std::int64_t> lengths_;   // by place
};

/// Runs of the sequence that do the same.
struct Repeat {
  std::vector<std::size_t> firsts;
  std::size_t size = 0;
};

class Sharing {
 public:
  explicit Sharing(const Graph& graph) : graph_(graph), sequence_(graph), last_use_(graph.value_count(), 0) {
    for (std::size_t p = 0; p < sequence_.size(); ++p)
      for (ValueId v : graph.operands(sequence_.eqn(p))) last_use_[v] = p;
    for (ValueId v : graph.outputs()) last_use_[v] = sequence_.size();
  }

  GraphRef run() {
    find();
    return repeats_.empty() ? GraphRef(&graph_) : rewritten();
  }

 private:
  void find() {
    if (sequence_.size() < 2 * window) return;
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> places;
    std::vector<std::uint64_t> hashes(sequence_.size() - window + 1);
    for (std::size_t p = 0; p < hashes.size(); ++p)
      if ((hashes[p] = sequence_.hash(p))) places[hashes[p]].push_back(p);
    covered_.assign(sequence_.size(), 0);
    for (std::size_t p = 0; p < hashes.size() && work_ < most_work * sequence_.size(); ++p) {
      if (!hashes[p] || covered_[p]) continue;
      const std::vector<std::size_t>& equal = places[hashes[p]];
      if (equal.size() < 2) continue;
      std::size_t seen = 0;
      Repeat best = longest_worth(p, equal, seen);
      if (best.firsts.empty()) {
        // What begins a little later is hardly better.
        p += seen / 4;
        continue;
      }
      for (std::size_t first : best.firsts)
        std::fill_n(covered_.begin() + static_cast<std::ptrdiff_t>(first), best.size, char{1});
      p = best.firsts[0] + best.size - 1;
      repeats_.push_back(std::move(best));
    }
  }

  /// A run that may become a call: it begins at `first`, and reads values in the places where the first of
  /// all runs reads its inputs.
  struct Candidate {
    std::size_t first;
    std::vector<ValueId> inputs;
  };

  /// The runs like that from `first` that save most instructions. None: it is not worth it. `seen`: the
  /// longest that there are.
  Repeat longest_worth(std::size_t first, const std::vector<std::size_t>& places, std::size_t& seen) {
    Repeat best;
    std::int64_t most = 0;
    std::vector<Candidate> runs;
    for (std::size_t p : places)
      if (p >= first && !covered_[p]) runs.push_back({p, {}});
    std::unordered_map<ValueId, std::size_t> inputs;  // of the first run, and their numbers
    std::vector<std::size_t> read;                    // by operand of an equation; none: it is no input
    std::vector<char> longer;                         // by run: it goes on
    Extent extent;
    for (; runs.size() > 1; ++extent.size) {
      work_ += runs.size();
      const std::size_t next = first + extent.size;
      std::int64_t passed = 0;
      longer.assign(runs.size(), 0);
      if (next < sequence_.size() && !covered_[next] && sequence_.may_repeat(next)) {
        passed = number_inputs(first, next, inputs, read);
        std::size_t end = 0;
        for (std::size_t k = 0; k < runs.size(); ++k) {
          longer[k] = runs[k].first >= end && goes_on(runs[k], first, extent.size, read);
          if (longer[k]) end = runs[k].first + extent.size + 1;
        }
      }
      const auto count = static_cast<std::size_t>(std::ranges::count(longer, char{1}));
      if (count < runs.size()) {
        seen = extent.size;
        consider(runs, extent, most, best);
        if (count < 2 || 2 * count < best.firsts.size()) break;
        std::size_t k = 0;
        std::erase_if(runs, [&](const Candidate&) { return !longer[k++]; });
      }
      extent.length += sequence_.length(next);
      extent.passed += passed;
    }
    return best;
  }

  struct Extent {
    std::size_t size = 0;
    std::int64_t length = 0;  // instructions
    std::int64_t passed = 0;  // elements of inputs
  };

  /// Keeps the runs if no others save more instructions.
  void consider(const std::vector<Candidate>& runs, const Extent& extent, std::int64_t& most, Repeat& best) {
    constexpr std::int64_t of_call = 150;
    const auto count = static_cast<std::int64_t>(runs.size());
    const std::int64_t saved = (count - 1) * extent.length - count * of_call;
    if (saved <= most || !worth_calling(extent.length, extent.passed)) return;
    std::vector<std::size_t> firsts;
    for (const Candidate& run : runs) firsts.push_back(run.first);
    work_ += runs.size() * extent.size;
    std::int64_t passed = extent.passed;
    for (ValueId v : outputs_of(firsts, extent.size))
      passed += passed_elements(graph_.aval(v), usual_register_limit);
    if (!worth_calling(extent.length, passed)) return;
    most = saved;
    best = {std::move(firsts), extent.size};
  }

  /// The elements of the inputs that are new.
  std::int64_t number_inputs(std::size_t first, std::size_t next,
                             std::unordered_map<ValueId, std::size_t>& inputs,
                             std::vector<std::size_t>& read) const {
    std::int64_t passed = 0;
    read.clear();
    for (ValueId v : graph_.operands(sequence_.eqn(next))) {
      if (sequence_.is_literal(v) || sequence_.is_inside(v, first)) {
        read.push_back(none);
        continue;
      }
      const auto [known, fresh] = inputs.try_emplace(v, inputs.size());
      if (fresh) passed += passed_elements(graph_.aval(v), usual_register_limit);
      read.push_back(known->second);
    }
    return passed;
  }

  /// Whether the equation after `size` of a run does what that of the first run does.
  bool goes_on(Candidate& run, std::size_t first, std::size_t size,
               const std::vector<std::size_t>& read) const {
    const std::size_t p = run.first + size;
    if (p >= sequence_.size() || covered_[p] || !sequence_.same(first + size, first, p, run.first))
      return false;
    const auto operands = graph_.operands(sequence_.eqn(p));
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (read[i] == none) continue;
      if (read[i] == run.inputs.size()) run.inputs.push_back(operands[i]);
      if (run.inputs[read[i]] != operands[i]) return false;
    }
    return true;
  }

  /// What a run reads in the places where the first of all runs reads its inputs, in the order of their first
  /// use: it may read one value in several.
  std::vector<ValueId> inputs_of(std::size_t first_of_all, std::size_t first, std::size_t size) const {
    std::unordered_map<ValueId, std::size_t> numbers;
    std::vector<std::size_t> read;
    std::vector<ValueId> inputs;
    for (std::size_t p = 0; p < size; ++p) {
      number_inputs(first_of_all, first_of_all + p, numbers, read);
      const auto operands = graph_.operands(sequence_.eqn(first + p));
      for (std::size_t i = 0; i < read.size(); ++i)
        if (read[i] == inputs.size()) inputs.push_back(operands[i]);
    }
    return inputs;
  }

  /// The outputs of all runs, as values of the first.
  std::vector<ValueId> outputs_of(const std::vector<std::size_t>& runs, std::size_t size) const {
    std::vector<ValueId> outputs;
    for (std::size_t p = 0; p < size; ++p) {
      const Eqn& e = sequence_.eqn(runs[0] + p);
      for (std::uint32_t r = 0; r < e.result_count; ++r)
        if (std::ranges::any_of(runs, [&](std::size_t first) {
              return last_use_[sequence_.eqn(first + p).first_result + r] >= first + size;
            }))
          outputs.push_back(e.first_result + r);
    }
    return outputs;
  }

  struct Function {
    GraphRef graph;
    std::vector<ValueId> outputs;  // values of the first run
  };

  Function function_of(const Repeat& repeat) const {
    const std::size_t first = repeat.firsts[0];
    Function f{{}, outputs_of(repeat.firsts, repeat.size)};
    GraphBuilder builder;
    GraphCopy copy(builder, graph_);
    for (ValueId v : inputs_of(first, first, repeat.size)) copy.add_input(v);
    for (std::size_t p = first; p < first + repeat.size; ++p) {
      const Eqn& e = sequence_.eqn(p);
      for (ValueId v : graph_.operands(e)) add_literal(copy, v);
      copy.add(e);
    }
    f.graph = builder.finish(copy(f.outputs));
    return f;
  }

  void add_literal(GraphCopy& copy, ValueId v) const {
    if (!sequence_.is_literal(v) || copy.knows(v)) return;
    const Eqn& e = *graph_.definition(v);
    for (ValueId operand : graph_.operands(e)) add_literal(copy, operand);
    copy.add(e);
  }

  GraphRef rewritten() {
    // By number of equation: the function that replaces the run which begins, or goes on, there.
    std::vector<std::uint32_t> begins(graph_.eqns().size(), none);
    std::vector<char> replaced(graph_.eqns().size(), 0);
    std::vector<Function> functions;
    for (std::size_t k = 0; k < repeats_.size(); ++k) {
      functions.push_back(function_of(repeats_[k]));
      for (std::size_t first : repeats_[k].firsts) {
        begins[sequence_.eqn_number(first + repeats_[k].size - 1)] = static_cast<std::uint32_t>(k);
        for (std::size_t p = first; p < first + repeats_[k].size; ++p) replaced[sequence_.eqn_number(p)] = 1;
      }
    }
    GraphBuilder builder;
    GraphCopy copy(builder, graph_);
    copy.add_inputs();
    for (std::size_t i = 0; i < graph_.eqns().size(); ++i) {
      if (!replaced[i]) copy.add(graph_.eqns()[i]);
      if (begins[i] != none) call(builder, copy, functions[begins[i]], repeats_[begins[i]], graph_.eqns()[i]);
    }
    return builder.finish(copy.outputs());
  }

  /// `last`: the last equation of the run, which the call replaces.
  void call(GraphBuilder& builder, GraphCopy& copy, const Function& f, const Repeat& repeat,
            const Eqn& last) const {
    const std::size_t end = sequence_.place(last.first_result) + 1, first = end - repeat.size;
    std::vector<ValueId> results(f.outputs.size());
    builder.append(call_op, make_params(CallParams{f.graph, "a repeated part"}),
                   copy(inputs_of(repeat.firsts[0], first, repeat.size)), results, sequence_.eqn(first).loc);
    for (std::size_t r = 0; r < results.size(); ++r) {
      const std::uint32_t place = sequence_.place(f.outputs[r]);
      const ValueId number = f.outputs[r] - sequence_.eqn(place).first_result;
      copy[sequence_.eqn(place - repeat.firsts[0] + first).first_result + number] = results[r];
    }
  }

  const Graph& graph_;
  const Sequence sequence_;
  std::vector<std::size_t> last_use_;  // by value: a place of the sequence, or its end
  std::vector<char> covered_;          // by place: part of a repeat
  std::vector<Repeat> repeats_;
  std::size_t work_ = 0;  // equations compared
};

/// How often functions are called, by hash.
using Calls = std::unordered_map<std::uint64_t, int>;

void count_calls(const Graph& graph, Calls& calls) {
  for (const Eqn& e : graph.eqns())
    each_region(e.params, [&](const Graph& region) {
      if (e.op->kind != OpKind::Call || calls[region.hash()]++ == 0) count_calls(region, calls);
    });
}

GraphRef shared(const Graph& graph, const Calls& calls) {
  const GraphRef inner = with_regions(graph, [&](const Graph& region) {
    // What is called several times is short beside the code that calls it.
    const auto found = calls.find(region.hash());
    return found != calls.end() && found->second > 1 ? GraphRef(&region) : shared(region, calls);
  });
  return Sharing(*inner).run();
}

}  // namespace

GraphRef share_repeats(const Graph& graph) {
  Calls calls;
  count_calls(graph, calls);
  return shared(graph, calls);
}

}  // namespace apsis::detail
