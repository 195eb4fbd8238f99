// Fused loops: elementwise equations on arrays of one shape, one vector of elements an iteration, and
// reductions of such arrays that come out the same in any order: each keeps a vector of partial results.
// Programs of many loops often repeat the same one on other arrays (the layers of a network, the stages of a
// solver, a long chain): such a loop is written once, as a function.

#include <algorithm>
#include <optional>

#include "codegen/emit/combine.hpp"
#include "codegen/emit/region.hpp"
#include "ops/table.hpp"
#include "passes/analysis/cost.hpp"

namespace apsis::detail {
namespace {

void append_word(std::string& key, std::uint64_t word) {
  key.append(reinterpret_cast<const char*>(&word), sizeof word);
}

template <class A>
void append_view(std::string& key, const A& a) {
  append_word(key, static_cast<std::uint64_t>(a.dtype) | static_cast<std::uint64_t>(a.lanes) << 8);
  for (std::int64_t s : a.view.strides) append_word(key, static_cast<std::uint64_t>(s));
}

/// What the reduction of any elements with this gives back: the bits of an element of `dtype`.
std::uint64_t neutral_bits(const Op& op, Dtype dtype) {
  const std::uint64_t sign = std::uint64_t{1} << (dtype == Dtype::Bool ? 0 : 8 * item_size(dtype) - 1),
                      ones = 2 * sign - 1;
  if (&op == &reduce_or_op) return 0;
  if (&op == &reduce_and_op) return ones;
  const bool most = &op == &reduce_min_op;
  if (dtype == Dtype::F32) return (most ? 0 : sign) | 0x7f800000u;
  if (dtype == Dtype::F64) return (most ? 0 : sign) | 0x7ff0000000000000u;
  if (!is_signed_integer(dtype)) return most ? ones : 0;
  return most ? sign - 1 : sign;
}

/// Whether a reduction is accumulated in the negative: that no element was set so far. A comparison under a
/// mask of lanes is one instruction.
bool accumulates_negated(const Op& op, Dtype dtype) { return &op == &reduce_or_op && dtype == Dtype::Bool; }

/// Whether some element was set, as a byte in memory that is written when one is met: for code that would
/// keep a mask on the stack, and take it from there and put it back in every iteration.
class Mark {
 public:
  explicit Mark(Builder& b) : b_(b), byte_(b.stack(1)) { set(false); }
  void set_if_any(Value v) {
    const Block met = b_.make_block("met"), go_on = b_.make_block("go_on");
    b_.set_lanes(b_.lanes_of(v));
    const Value some = b_.lanes_of(v) > 1 ? b_.any(v) : v;
    b_.set_lanes(1);
    b_.branch(some, met, go_on, Likely::False);
    b_.set_position(met);
    set(true);
    b_.jump(go_on);
    b_.set_position(go_on);
  }
  Value get() const {
    b_.set_lanes(1);
    return b_.load_element(byte_, Dtype::Bool);
  }

 private:
  void set(bool value) {
    b_.set_lanes(1);
    b_.store(byte_, b_.constant(Dtype::Bool, value));
  }
  Builder& b_;
  Pointer byte_;
};

}  // namespace

/// A fused loop before it is written. Values are numbered: leaves by their first use, then results.
struct Region::FusedLoop {
  struct Step {
    const Eqn* eqn;
    std::vector<std::uint32_t> operands;
    std::vector<std::uint32_t> stores;  // by result: a sink, or none; nothing for a reduction
  };
  static constexpr std::uint32_t none = 0xffffffffu;
  Shape shape;
  std::vector<Access> accesses;            // leaves in memory
  std::vector<Sink> sinks;                 // what is stored
  std::vector<Value> scalars;              // leaves in registers
  std::vector<std::uint32_t> leaf_access;  // by leaf: its access, or none
  std::vector<Step> steps;
  std::vector<Type> totals;  // by reduction
  std::uint32_t values = 0;
  int lanes = 1, width = 1, most_phases = 1;

  /// What makes two loops the same code: all but addresses and scalars.
  std::string key() const {
    std::string key;
    append_word(key, shape.size());
    for (std::int64_t n : shape) append_word(key, static_cast<std::uint64_t>(n));
    append_word(key, static_cast<std::uint64_t>(lanes) << 32 | static_cast<std::uint64_t>(width));
    for (const Access& a : accesses) {
      append_view(key, a);
      // The place of an iota is in the code, not in its address.
      append_word(key, a.base.handle ? ~std::uint64_t{0} : static_cast<std::uint64_t>(a.view.offset));
    }
    for (const Sink& s : sinks) append_view(key, s);
    std::size_t scalar = 0;
    for (std::uint32_t a : leaf_access)
      append_word(key, a == none ? 1000 + static_cast<std::uint64_t>(scalars[scalar++].dtype) : a);
    for (const Step& s : steps) {
      append_word(key, reinterpret_cast<std::uintptr_t>(s.eqn->op));
      for (std::uint32_t v : s.operands) append_word(key, v);
      for (std::uint32_t a : s.stores) append_word(key, a);
    }
    return key;
  }
  bool same_params(const std::vector<Params>& params) const {
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (!(steps[i].eqn->params == params[i])) return false;
    return true;
  }
};

/// Makes a fused loop of equations.
class Region::Fusion {
 public:
  Fusion(Region& region, std::span<const std::uint32_t> eqns) : region_(region), graph_(region.graph_) {
    for (std::uint32_t i : eqns) eqns_.push_back(&graph_.eqns()[i]);
    const Eqn& first = *eqns_[0];
    loop.shape =
        graph_.aval(accumulates(graph_, first) ? graph_.operands(first)[0] : first.first_result).shape();
    number_leaves();
    for (const Eqn* e : eqns_) accumulates(graph_, *e) ? add_reduction(*e) : add_elementwise(*e);
    choose_width();
  }

  FusedLoop loop;
  std::vector<std::pair<ValueId, Place>> stored;
  std::vector<ValueId> reduced;

 private:
  void number_leaves() {
    for (const Eqn* e : eqns_)
      for (ValueId v = e->first_result; v < e->first_result + e->result_count; ++v)
        numbers_[v] = FusedLoop::none;
    for (const Eqn* e : eqns_)
      for (ValueId v : graph_.operands(*e)) {
        ++inner_uses_[v];
        if (numbers_.try_emplace(v, static_cast<std::uint32_t>(loop.leaf_access.size())).second) add_leaf(v);
      }
    loop.values = static_cast<std::uint32_t>(loop.leaf_access.size());
  }

  void add_leaf(ValueId v) {
    const Place& place = region_.places_[v];
    const Dtype dtype = graph_.aval(v).dtype();
    widest_ = std::max(widest_, item_size(dtype));
    loop.lanes = std::max(loop.lanes, region_.lanes_of(place));
    varying_.push_back(static_cast<char>(region_.lanes_of(place) > 1));
    if (place.kind == Place::Kind::Registers) {
      loop.leaf_access.push_back(FusedLoop::none);
      loop.scalars.push_back(place.elements[0]);
    } else {
      loop.leaf_access.push_back(static_cast<std::uint32_t>(loop.accesses.size()));
      loop.accesses.push_back(
          {place.view, place.kind == Place::Kind::Iota ? ConstPointer{} : place.base, dtype, place.lanes});
    }
  }

  /// Its operands; whether lanes differ in some.
  std::pair<FusedLoop::Step, bool> step_of(const Eqn& e) const {
    std::pair<FusedLoop::Step, bool> step{{&e, {}, {}}, false};
    for (ValueId v : graph_.operands(e)) {
      const std::uint32_t number = numbers_.at(v);
      step.first.operands.push_back(number);
      step.second = step.second || varying_[number];
    }
    return step;
  }

  void add_reduction(const Eqn& e) {
    auto [step, varies] = step_of(e);
    const Dtype dtype = combined_dtype(graph_.aval(e.first_result).dtype());
    widest_ = std::max(widest_, item_size(dtype));
    loop.totals.push_back({dtype, varies ? loop.lanes : 1});
    reduced.push_back(e.first_result);
    loop.steps.push_back(std::move(step));
  }

  void add_elementwise(const Eqn& e) {
    auto [step, varies] = step_of(e);
    cost_ += emission_cost(graph_, e);
    for (ValueId v = e.first_result; v < e.first_result + e.result_count; ++v) {
      numbers_[v] = loop.values++;
      varying_.push_back(static_cast<char>(varies));
      widest_ = std::max(widest_, item_size(graph_.aval(v).dtype()));
      step.stores.push_back(FusedLoop::none);
      if (region_.uses_[v] == inner_uses_[v]) continue;
      // What is used elsewhere is stored; what lanes share once, though others in the loop are not.
      const Destination made = region_.destination(v, varies ? loop.lanes : 1);
      step.stores.back() = static_cast<std::uint32_t>(loop.sinks.size());
      loop.sinks.push_back(made.sink(graph_.aval(v).dtype()));
      stored.emplace_back(v, made.place());
    }
    loop.steps.push_back(std::move(step));
  }

  void choose_width() {
    loop.width = loop.lanes > 1 ? 1 : region_.lowering_.vector_lanes(widest_);
    // What is accumulated waits for the iteration before: in a short loop, several vectors side by side hide
    // that.
    constexpr std::int64_t short_wait = 12;
    constexpr int most_lanes = 32;
    if (!reduced.empty() && cost_ <= short_wait && loop.width > 1)
      loop.width = std::min(4 * loop.width, most_lanes);
    constexpr std::int64_t most_phases = 16, most_in_phases = 256;
    loop.most_phases = static_cast<int>(
        std::clamp<std::int64_t>(most_in_phases / std::max<std::int64_t>(cost_, 1), 1, most_phases));
  }

  Region& region_;
  const Graph& graph_;
  std::vector<const Eqn*> eqns_;
  std::unordered_map<ValueId, std::uint32_t> numbers_, inner_uses_;
  std::vector<char> varying_;  // by number: whether lanes differ
  std::size_t widest_ = 1;
  std::int64_t cost_ = 0;
};

void Region::emit_cluster(std::span<const std::uint32_t> eqns) {
  Fusion fusion(*this, eqns);
  ++lowering_.loops;
  const Values totals = shares_loops_ ? call_loop(fusion.loop) : write_loop(fusion.loop);
  for (auto& [v, place] : fusion.stored) define(v, std::move(place));
  for (std::size_t i = 0; i < fusion.reduced.size(); ++i) {
    const ValueId v = fusion.reduced[i];
    const Dtype dtype = graph_.aval(v).dtype();
    b_.set_lanes(b_.lanes_of(totals[i]));
    Place place;
    place.kind = Place::Kind::Registers;
    place.elements = {totals[i].dtype == dtype ? totals[i] : b_.convert(totals[i], dtype)};
    define(v, std::move(place));
  }
}

/// A reduction while the loop is written.
struct Region::Reduction {
  Combine combine;
  bool negated;
  std::optional<Mark> mark;  // stands for what is carried
  std::size_t carried;
};

/// Gives what the reductions come to.
std::vector<Value> Region::write_loop(const FusedLoop& loop) {
  LoopNest nest(b_, loop.shape, loop.accesses, loop.sinks, loop.width, loop.lanes, loop.most_phases);
  std::vector<Reduction> reductions;
  std::size_t carried = 0;
  for (const FusedLoop::Step& step : loop.steps) {
    if (!step.stores.empty()) continue;
    const Type& total = loop.totals[reductions.size()];
    const bool negated = accumulates_negated(*step.eqn->op, total.dtype);
    const Op& op = negated ? reduce_and_op : *step.eqn->op;
    reductions.push_back({Combine(b_, op, total.dtype), negated, {}, carried});
    if (negated && loop.lanes == 1 && !lowering_.options().optimized) {
      reductions.back().mark.emplace(b_);
      continue;
    }
    b_.set_lanes(loop.lanes > 1 ? total.lanes : nest.width());
    nest.carry(b_.constant(total.dtype, neutral_bits(op, total.dtype)));
    ++carried;
  }
  nest.open();
  for (int phase = 0; phase < nest.phases(); ++phase) {
    nest.set_phase(phase);
    write_elements(loop, nest, reductions);
  }
  nest.close();
  Values totals;
  for (const Reduction& reduction : reductions) {
    if (reduction.mark) {
      totals.push_back(reduction.mark->get());
      continue;
    }
    const Value last = nest.carried(reduction.carried);
    const Value total = loop.lanes > 1 ? last : reduction.combine.across(last);
    b_.set_lanes(b_.lanes_of(total));
    totals.push_back(reduction.negated ? b_.bit_not(total) : total);
  }
  return totals;
}

/// All equations for the current elements.
void Region::write_elements(const FusedLoop& loop, LoopNest& nest, std::span<Reduction> reductions) {
  Values values(loop.values), in, out;
  std::size_t scalar = 0, reduced = 0;
  for (std::size_t leaf = 0; leaf < loop.leaf_access.size(); ++leaf)
    if (loop.leaf_access[leaf] == FusedLoop::none) values[leaf] = loop.scalars[scalar++];
  auto next = static_cast<std::uint32_t>(loop.leaf_access.size());
  for (const FusedLoop::Step& step : loop.steps) {
    in.clear();
    for (std::uint32_t v : step.operands) {
      if (!values[v].handle) values[v] = nest.load(loop.leaf_access[v]);
      in.push_back(values[v]);
    }
    if (step.stores.empty()) {
      accumulate(nest, reductions[reduced++], in[0]);
      continue;
    }
    out.assign(step.stores.size(), {});
    emit_op(*step.eqn, in, out);
    for (std::size_t r = 0; r < out.size(); ++r) {
      values[next++] = out[r];
      if (step.stores[r] != FusedLoop::none) nest.store(step.stores[r], out[r]);
    }
  }
}

void Region::accumulate(LoopNest& nest, Reduction& reduction, Value v) {
  if (reduction.mark) return reduction.mark->set_if_any(v);
  Value& total = nest.carried(reduction.carried);
  b_.set_lanes(b_.lanes_of(v));
  if (v.dtype != total.dtype) v = b_.convert(v, total.dtype);
  if (reduction.negated) v = b_.bit_not(v);
  b_.set_lanes(b_.lanes_of(total));
  if (b_.lanes_of(v) < b_.lanes_of(total)) v = b_.splat(v);
  total = reduction.combine(total, v);
}

/// Calls the function that holds this loop; writes it the first time.
std::vector<Value> Region::call_loop(const FusedLoop& loop) {
  b_.set_lanes(1);
  std::vector<Operand> arguments;
  std::vector<Type> parameters;
  FusedLoop inner = loop;
  const auto pass = [&](auto& access) {
    if (!access.base.handle) return;
    std::int64_t bytes = static_cast<std::int64_t>(item_size(access.dtype)) * access.lanes;
    arguments.push_back(b_.offset(access.base, access.view.offset * bytes));
    parameters.push_back(pointer_type);
    access.view.offset = 0;
  };
  for (Access& access : inner.accesses) pass(access);
  for (Sink& sink : inner.sinks) pass(sink);
  for (Value v : loop.scalars) {
    arguments.push_back(v);
    parameters.push_back({v.dtype, b_.lanes_of(v)});
  }
  std::string key = inner.key();
  for (Type t : parameters) append_word(key, static_cast<std::uint64_t>(t.lanes));
  auto& found = lowering_.shared_loops[key];
  auto known = std::ranges::find_if(found, [&](const auto& f) { return loop.same_params(f.params); });
  if (known == found.end()) {
    Function f = b_.declare("loop", parameters, loop.totals);
    std::vector<Params> params;
    for (const FusedLoop::Step& s : loop.steps) params.push_back(s.eqn->params);
    found.push_back({f, std::move(params)});
    known = found.end() - 1;
    b_.begin(f);
    int next = 0;
    for (Access& a : inner.accesses)
      if (a.base.handle) a.base = b_.pointer_parameter(next++);
    for (Sink& s : inner.sinks) s.base = b_.pointer_parameter(next++);
    for (Value& v : inner.scalars) v = b_.parameter(next++);
    b_.return_values(write_loop(inner));
    b_.end();
  }
  Values totals(loop.totals.size());
  b_.call(known->function, arguments, totals);
  return totals;
}

}  // namespace apsis::detail
