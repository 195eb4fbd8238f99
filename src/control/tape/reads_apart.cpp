#include "control/tape/reads_apart.hpp"

#include <algorithm>

#include "apsis/base/named_scope.hpp"
#include "control/common/regions.hpp"
#include "control/tape/smallest_cut.hpp"
#include "ir/copy.hpp"
#include "ops/lax.hpp"
#include "transform/derivatives/transpose.hpp"

namespace apsis::detail {
namespace {

using Flags = std::vector<char>;

bool is_large(const Aval& aval) { return !aval.is_list() && aval.bytes() > small_sum; }

Flags inverted(Flags flags) {
  for (char& f : flags) f = !f;
  return flags;
}

/// A region that is linear in some inputs, and what is to be kept for its linear part of the other inputs.
struct Part {
  /// `times`: how often each value is made; inputs in `once` are made once. `lists`: whether lists made
  /// within can be kept.
  Part(const Graph& region, Flags linear_inputs, std::int64_t times, const Flags& once, bool lists)
      : graph(with_reads_apart(region, linear_inputs)), linear(std::move(linear_inputs)) {
    std::vector<std::int64_t> bytes = bytes_of_values(*graph);
    for (ValueId v = 0; v < graph->value_count(); ++v) {
      const bool input = v < graph->input_count();
      if (!input && !lists && graph->aval(v).is_list())
        bytes[v] = never_kept;
      else if (bytes[v] != never_kept && !(input && once[v]))
        bytes[v] = std::min(bytes[v], never_kept / std::max<std::int64_t>(times, 1)) * times;
    }
    kept_input.assign(graph->input_count(), 0);
    for (ValueId v : smallest_cut(*graph, made_of(*graph, linear), inverted(linear), bytes).values) {
      if (v < graph->input_count())
        kept_input[v] = 1;
      else
        computed.push_back(v);
    }
  }

  /// (inputs that are not linear…) → the values computed.
  GraphRef reads() const { return extract(*graph, computed, inputs_among(inverted(linear))); }

  /// (inputs marked…, the values computed…) → the outputs.
  GraphRef rest(const Flags& marked) const {
    std::vector<ValueId> given = inputs_among(marked);
    given.insert(given.end(), computed.begin(), computed.end());
    return extract(*graph, graph->outputs(), given);
  }
  /// The inputs that the outputs are computed from beside the values computed.
  Flags left() const {
    Flags marked = kept_input;
    for (std::size_t i = 0; i < marked.size(); ++i) marked[i] |= linear[i];
    return marked;
  }

  GraphRef graph;
  Flags linear, kept_input;       // by input
  std::vector<ValueId> computed;  // values of the graph that are no inputs

 private:
  static std::vector<ValueId> inputs_among(const Flags& marked) {
    std::vector<ValueId> inputs;
    for (ValueId v = 0; v < marked.size(); ++v)
      if (marked[v]) inputs.push_back(v);
    return inputs;
  }
};

/// Whether no part keeps some large operand.
bool frees_operand(std::span<const Array> operands, const Flags& linear, const Flags& kept) {
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!linear[i] && !kept[i] && is_large(operands[i].aval())) return true;
  return false;
}

std::vector<Aval> avals_of(std::span<const Array> arrays) {
  std::vector<Aval> avals;
  for (const Array& a : arrays) avals.push_back(a.aval());
  return avals;
}

/// The arrays marked, each at its place, the others empty; `next` goes on behind those taken.
std::vector<Array> spread(std::span<const Array> given, const Flags& mask, std::size_t& next) {
  std::vector<Array> all(mask.size());
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i]) all[i] = given[next++];
  return all;
}

std::vector<Array> among(std::span<const Array> arrays, const Flags& mask) {
  std::vector<Array> some;
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i]) some.push_back(arrays[i]);
  return some;
}

/// A branch whose linear part, if need be, goes through a list of what is computed, which has one entry where
/// the branch is chosen and none elsewhere. So inner loops may leave lists; a cond hands on none, as nobody
/// would know how long those are that a branch not chosen leaves, or the cotangents of those that it does not
/// read.
struct Branch {
  Branch(const Graph& branch, const Flags& linear, std::span<const Array> operands)
      : part(branch, linear, 1, Flags(linear.size(), 0), false) {
    const auto large = [&](const Part& p) {
      std::int64_t bytes = 0;
      for (std::size_t i = 0; i < operands.size(); ++i)
        if (p.kept_input[i] && is_large(operands[i].aval()))
          bytes += static_cast<std::int64_t>(operands[i].aval().bytes());
      return bytes;
    };
    // Results that are carried through the list's loop are chosen as a whole.
    if (large(part) == 0 ||
        std::ranges::any_of(branch.outputs(), [&](ValueId v) { return is_large(branch.aval(v)); }))
      return;
    Part with_lists(branch, linear, 1, Flags(linear.size(), 0), true);
    if (with_lists.computed.empty() || large(with_lists) >= large(part)) return;
    part = std::move(with_lists);
    listed = true;
  }
  Part part;
  bool listed = false;
};

/// What the branches compute, in common results: branch b has its value i in result places[b][i], and zeros
/// in those that it does not use.
struct CommonResults {
  explicit CommonResults(std::span<const Branch> branches) {
    for (const Branch& branch : branches) {
      Flags taken(avals.size(), 0);
      places.emplace_back();
      if (branch.listed) continue;
      for (ValueId v : branch.part.computed) {
        const Aval& aval = branch.part.graph->aval(v);
        std::size_t at = 0;
        while (at < avals.size() && (taken[at] || !(avals[at] == aval))) ++at;
        if (at == avals.size()) {
          avals.push_back(aval);
          taken.push_back(0);
        }
        taken[at] = 1;
        places.back().push_back(at);
      }
    }
  }
  std::vector<Aval> avals;
  std::vector<std::vector<std::size_t>> places;
};

/// A branch by lists. `known`: the number of the branch chosen and the operands that are not linear;
/// `number`: its own. `results` are those of the other branches.
std::vector<Array> run_by_list(const Part& branch, std::span<const Array> operands,
                               std::span<const Array> known, std::int64_t number, std::int64_t branches,
                               const std::vector<Array>& results) {
  const auto literal = [](std::int64_t n) { return lax::full({}, Dtype::I64, static_cast<double>(n)); };
  const Array zero = literal(0), last = literal(branches - 1);
  const Array index =
      lax::select(lax::lt(known[0], zero), zero, lax::select(lax::gt(known[0], last), last, known[0]));
  // (times | known operands | iteration) → the next one, what is computed.
  std::vector<Array> start{lax::convert(lax::eq(index, literal(number)), Dtype::I64)};
  append(start, known.subspan(1));
  start.push_back(literal(0));
  WhileParams reads;
  reads.cond_consts = 1;
  reads.body_consts = static_cast<std::int64_t>(known.size()) - 1;
  reads.carries = 1;
  reads.max_steps = 1;
  const Aval counts[] = {start[0].aval(), start[0].aval()};
  reads.cond = rewire(counts, [](std::span<const Array> in) { return std::vector{lax::lt(in[1], in[0])}; });
  reads.body = rewire(avals_of(std::span(start).subspan(1)), [&](std::span<const Array> in) {
    std::vector<Array> outs{lax::add(in.back(), literal(1))};
    append(outs, interpret(*branch.reads(), in.first(in.size() - 1)));
    return outs;
  });
  std::vector<Array> lists = bind_all(while_op, make_params(std::move(reads)), start);
  lists.erase(lists.begin());

  // (kept and linear operands | results | what was computed) → results.
  const Flags left = branch.left();
  std::vector<Array> all = among(operands, left);
  ScanParams rest;
  rest.consts = std::ssize(all);
  rest.carries = std::ssize(results);
  rest.length = -1;
  append(all, results);
  std::vector<Aval> avals = avals_of(all);
  for (ValueId v : branch.computed) avals.push_back(branch.graph->aval(v));
  rest.body = rewire(avals, [&](std::span<const Array> in) {
    std::vector<Array> args(in.begin(), in.begin() + rest.consts);
    append(args, in.subspan(args.size() + results.size()));
    return interpret(*branch.rest(left), args);
  });
  append(all, lists);
  return bind_all(scan_op, make_params(std::move(rest)), all);
}

/// The results of a cond; nothing if reading apart frees no operand.
std::vector<Array> cond_apart(const CondParams& p, std::span<const Array> in, const Flags& linear_operands) {
  const std::span<const Array> operands = in.subspan(1);
  const Flags linear(linear_operands.begin() + 1, linear_operands.end());
  std::vector<Branch> branches;
  Flags kept(operands.size(), 0), kept_by_cond = kept;
  for (const GraphRef& branch : p.branches) {
    const Branch& b = branches.emplace_back(*branch, linear, operands);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      kept[i] |= b.part.kept_input[i];
      kept_by_cond[i] |= !b.listed && b.part.kept_input[i];
    }
  }
  if (!frees_operand(operands, linear, kept)) return {};

  const CommonResults common(branches);
  std::vector<Array> known{in[0]}, results;
  append(known, among(operands, inverted(linear)));
  CondParams reads, rest;
  for (std::size_t b = 0; b < branches.size(); ++b) {
    reads.branches.push_back(
        rewire(avals_of(std::span(known).subspan(1)), [&](std::span<const Array> inputs) {
          std::vector<Array> found, outs;
          if (!branches[b].listed) found = interpret(*branches[b].part.reads(), inputs);
          for (const Aval& aval : common.avals) outs.push_back(lax::full_like(aval, 0));
          for (std::size_t i = 0; i < found.size(); ++i) outs[common.places[b][i]] = found[i];
          return outs;
        }));
  }
  if (!common.avals.empty()) results = bind_all(cond_op, make_params(std::move(reads)), known);

  // (kept operands, results, linear operands)
  std::vector<Array> left = among(operands, kept_by_cond);
  append(left, results);
  append(left, among(operands, linear));
  for (std::size_t b = 0; b < branches.size(); ++b) {
    rest.branches.push_back(rewire(avals_of(left), [&](std::span<const Array> inputs) {
      if (branches[b].listed) {
        std::vector<Array> zeros;
        for (const Aval& aval : output_avals(*p.branches[b])) zeros.push_back(lax::full_like(aval, 0));
        return zeros;
      }
      std::size_t next = 0;
      std::vector<Array> all = spread(inputs, kept_by_cond, next), computed;
      for (std::size_t at : common.places[b]) computed.push_back(inputs[next + at]);
      next += common.avals.size();
      const std::vector<Array> moving = spread(inputs, linear, next);
      for (std::size_t i = 0; i < all.size(); ++i)
        if (linear[i]) all[i] = moving[i];
      std::vector<Array> args = among(all, branches[b].part.left());
      append(args, computed);
      return interpret(*branches[b].part.rest(branches[b].part.left()), args);
    }));
  }
  left.insert(left.begin(), in[0]);
  std::vector<Array> outs = bind_all(cond_op, make_params(std::move(rest)), left);
  for (std::size_t b = 0; b < branches.size(); ++b)
    if (branches[b].listed)
      outs = run_by_list(branches[b].part, operands, known, static_cast<std::int64_t>(b),
                         std::ssize(branches), outs);
  return outs;
}

/// The same of a scan whose carries are linear.
std::vector<Array> scan_apart(const ScanParams& p, std::span<const Array> in, const Flags& linear_operands) {
  const auto consts = static_cast<std::size_t>(p.consts), carries = static_cast<std::size_t>(p.carries);
  Flags linear = linear_operands, once(in.size(), 0);
  std::fill_n(linear.begin() + p.consts, carries, char{1});
  std::fill_n(once.begin(), consts, char{1});
  const Flags made = made_of(*p.body, linear);
  for (std::size_t c = 0; c < carries; ++c)
    if (!made[p.body->outputs()[c]]) return {};
  const bool lists = p.length < 0;
  const Part body(*p.body, linear, lists ? nominal_iterations : p.length, once, true);
  if (!frees_operand(in, linear, body.kept_input)) return {};
  const auto first_x = static_cast<std::ptrdiff_t>(consts + carries);
  const auto known_x = std::find(linear.begin() + first_x, linear.end(), 0) - linear.begin();
  if (lists && known_x == std::ssize(linear)) return {};

  // The reads: (known constants | known xs) → what is computed.
  std::vector<Array> known = among(in, inverted(linear)), stacks;
  ScanParams reads = p, rest = p;
  reads.carries = 0;
  reads.consts = std::count(linear.begin(), linear.begin() + p.consts, char{0});
  if (!body.computed.empty()) {
    reads.body = body.reads();
    stacks = bind_all(scan_op, make_params(std::move(reads)), known);
  }

  // (kept and linear constants | carry | kept and linear xs, what was computed)
  Flags left = body.left();
  // One list tells how many iterations there are, on the way back too, where linear ones are made.
  const auto kept_x = body.kept_input.begin() + first_x;
  if (lists && body.computed.empty() && std::find(kept_x, body.kept_input.end(), 1) == body.kept_input.end())
    left[static_cast<std::size_t>(known_x)] = 1;
  rest.consts = std::count(left.begin(), left.begin() + p.consts, char{1});
  rest.body = body.rest(left);
  std::vector<Array> operands = among(in, left);
  append(operands, stacks);
  return bind_all(scan_op, make_params(std::move(rest)), operands);
}

std::vector<Array> apart(const Eqn& e, std::span<const Array> in, const Flags& linear) {
  if (e.op->kind == OpKind::Cond && !linear[0]) return cond_apart(e.params.as<CondParams>(), in, linear);
  if (e.op->kind == OpKind::Scan) return scan_apart(e.params.as<ScanParams>(), in, linear);
  if (e.op->kind == OpKind::Call)
    return interpret(*with_reads_apart(*e.params.as<CallParams>().region, linear), in);
  return {};
}

/// Whether the equation has regions, and reads both linear values and large arrays that are not.
bool reads_in_region(const Graph& graph, const Eqn& e, const Flags& linear) {
  bool moves = false, large = false, regions = false;
  for (ValueId v : graph.operands(e)) {
    moves |= linear[v] != 0;
    large |= !linear[v] && is_large(graph.aval(v));
  }
  if (moves && large) each_region(e.params, [&](const Graph&) { regions = true; });
  return regions;
}

}  // namespace

bool reads_in_regions(const Graph& graph, const std::vector<char>& linear_inputs) {
  const Flags linear = made_of(graph, linear_inputs);
  return std::ranges::any_of(graph.eqns(), [&](const Eqn& e) { return reads_in_region(graph, e, linear); });
}

GraphRef with_reads_apart(const Graph& graph, const std::vector<char>& linear_inputs) {
  const Flags linear = made_of(graph, linear_inputs);
  if (!reads_in_regions(graph, linear_inputs)) return GraphRef(&graph);
  const auto run = [&](std::span<const Array> inputs) {
    std::vector<Array> values(inputs.begin(), inputs.end()), in, out, outs;
    values.resize(graph.value_count());
    for (const Eqn& e : graph.eqns()) {
      ScopeOf scope(e.scope);
      LocScope place(e.loc);
      Flags flags;
      in.clear();
      for (ValueId v : graph.operands(e)) {
        in.push_back(values[v]);
        flags.push_back(linear[v]);
      }
      out.clear();
      if (reads_in_region(graph, e, linear)) out = apart(e, in, flags);
      if (out.empty()) {
        out.assign(e.result_count, {});
        if (e.op->kind == OpKind::Constant)
          out[0] = constant_value(e.params);
        else
          bind(*e.op, e.params, in, out, e.loc);
      }
      note_lanes(graph, e, out);
      std::ranges::copy(out, values.begin() + e.first_result);
    }
    for (ValueId v : graph.outputs()) outs.push_back(values[v]);
    return outs;
  };
  return rewire(input_avals(graph), run);
}

}  // namespace apsis::detail
