// Fused loops: elementwise equations on arrays of one shape, one vector of elements an iteration, and
// reductions of such arrays. Programs of many loops often repeat the same one on other arrays (the layers of
// a network, the stages of a solver, a long chain): such a loop is written once, as a function.

#include <algorithm>
#include <iterator>

#include "codegen/emit/combine.hpp"
#include "codegen/emit/fusion.hpp"
#include "ops/index_params.hpp"
#include "passes/analysis/cost.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {

Region::Fusion::Fusion(Region& region, std::span<const std::uint32_t> eqns)
    : region_(region), graph_(region.graph_) {
  for (std::uint32_t i : eqns) eqns_.push_back(&graph_.eqns()[i]);
  const Eqn& first = *eqns_[0];
  shape_ = graph_.aval(reduces(graph_, first) ? graph_.operands(first)[0] : first.first_result).shape();
  number_leaves();
  for (const Eqn* e : eqns_) reduces(graph_, *e) ? add_reduction(*e) : add_elementwise(*e);
}

void Region::Fusion::number_leaves() {
  for (const Eqn* e : eqns_)
    for (ValueId v = e->first_result; v < e->first_result + e->result_count; ++v)
      numbers_[v] = FusedLoop::none;
  for (const Eqn* e : eqns_)
    for (ValueId v : operands_by_element(graph_, *e)) {
      ++inner_uses_[v];
      if (numbers_.try_emplace(v, static_cast<std::uint32_t>(loop.leaf_access.size())).second) add_leaf(v);
    }
  for (const Eqn* e : eqns_)
    if (e->op->fused_read == FusedRead::Padded) add_filling(graph_.operands(*e)[1]);
  loop.values = static_cast<std::uint32_t>(loop.leaf_access.size());
}

void Region::Fusion::add_leaf(ValueId v) {
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

/// An array that elements are picked from.
std::uint32_t Region::Fusion::add_table(ValueId v) {
  const Aval& aval = graph_.aval(v);
  const Place place = region_.in_memory(region_.places_[v], aval);
  loop.lanes = std::max(loop.lanes, place.lanes);
  loop.tables.push_back({place.view, place.base, aval.dtype(), place.lanes});
  read_.push_back(place);
  return static_cast<std::uint32_t>(loop.tables.size() - 1);
}

/// The scalar that a pad puts around an array.
void Region::Fusion::add_filling(ValueId v) {
  if (!numbers_.try_emplace(v, static_cast<std::uint32_t>(loop.leaf_access.size())).second) return;
  const Value filling = region_.registers(region_.places_[v], graph_.aval(v))[0];
  const int lanes = region_.b_.lanes_of(filling);
  loop.lanes = std::max(loop.lanes, lanes);
  varying_.push_back(static_cast<char>(lanes > 1));
  loop.leaf_access.push_back(FusedLoop::none);
  loop.scalars.push_back(filling);
}

/// What a pad reads: an array with elements in a part of the result.
std::uint32_t Region::Fusion::add_padded(const Eqn& e) {
  const ValueId v = graph_.operands(e)[0];
  const Aval& aval = graph_.aval(v);
  const auto& p = e.params.as<PadParams>();
  Place place = region_.in_memory(region_.places_[v], aval);
  Access access{{shape_, place.view.strides, place.view.offset}, place.base, aval.dtype(), place.lanes};
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    access.view.offset -= p.low[d] * access.view.strides[d];
    access.within.push_back(
        {std::max<std::int64_t>(p.low[d], 0), std::min(p.low[d] + aval.shape()[d], shape_[d])});
  }
  loop.lanes = std::max(loop.lanes, place.lanes);
  loop.accesses.push_back(std::move(access));
  read_.push_back(std::move(place));
  return static_cast<std::uint32_t>(loop.accesses.size() - 1);
}

/// Its operands; whether lanes differ in some.
std::pair<FusedLoop::Step, bool> Region::Fusion::step_of(const Eqn& e) const {
  std::pair<FusedLoop::Step, bool> step{{&e, {}, {}}, false};
  for (ValueId v : operands_by_element(graph_, e)) {
    const std::uint32_t number = numbers_.at(v);
    step.first.operands.push_back(number);
    step.second = step.second || varying_[number];
  }
  return step;
}

void Region::Fusion::add_reduction(const Eqn& e) {
  auto [step, varies] = step_of(e);
  const Dtype dtype = combined_dtype(graph_.aval(e.first_result).dtype());
  widest_ = std::max(widest_, item_size(dtype));
  loop.totals.push_back({dtype, varies ? loop.lanes : 1});
  reduced.push_back(e.first_result);
  loop.steps.push_back(std::move(step));
}

void Region::Fusion::add_elementwise(const Eqn& e) {
  auto [step, varies] = step_of(e);
  if (e.op->fused_read == FusedRead::AtIndices) {
    step.table = add_table(graph_.operands(e)[0]);
    varies = varies || loop.tables[step.table].lanes > 1;
  }
  if (e.op->fused_read == FusedRead::Padded) {
    const std::uint32_t filling = numbers_.at(graph_.operands(e)[1]);
    step.operands = {filling};
    step.padded = add_padded(e);
    varies = varying_[filling] || loop.accesses[step.padded].lanes > 1;
  }
  cost_ += emission_cost(graph_, e);
  for (ValueId v = e.first_result; v < e.first_result + e.result_count; ++v) {
    numbers_[v] = loop.values++;
    varying_.push_back(static_cast<char>(varies));
    widest_ = std::max(widest_, item_size(graph_.aval(v).dtype()));
    step.stores.push_back(FusedLoop::none);
    if (region_.uses_[v] == inner_uses_[v]) continue;
    // What is used elsewhere is stored; what lanes share once, though others in the loop are not.
    step.stores.back() = static_cast<std::uint32_t>(stored_.size());
    stored_.push_back({v, varies ? loop.lanes : 1});
  }
  loop.steps.push_back(std::move(step));
}

void Region::Fusion::place_results() {
  for (const auto& [v, lanes] : stored_) {
    const Destination made = region_.destination(v, lanes);
    loop.sinks.push_back(made.sink(graph_.aval(v).dtype()));
    results.emplace_back(v, made.place());
  }
}

void Region::Fusion::in_any_order() {
  loop.shape = shape_;
  place_results();
  loop.width = loop.lanes > 1 ? 1 : region_.lowering_.vector_lanes(widest_);
  // What is accumulated waits for the iteration before: in a short loop, several vectors side by side hide
  // that.
  constexpr int most_lanes = 32;
  if (!reduced.empty() && cost_ <= short_wait && loop.width > 1)
    loop.width = std::min(4 * loop.width, most_lanes);
  constexpr std::int64_t most_phases = 16, most_in_phases = 256;
  loop.most_phases = static_cast<int>(
      std::clamp<std::int64_t>(most_in_phases / std::max<std::int64_t>(cost_, 1), 1, most_phases));
}

void Region::emit_cluster(std::span<const std::uint32_t> eqns) {
  std::vector<std::uint32_t> sums;
  for (std::uint32_t i : eqns)
    if (reduces(graph_, graph_.eqns()[i]) && !accumulates(graph_, graph_.eqns()[i])) sums.push_back(i);
  Fusion fusion(*this, eqns);
  if (sums.empty()) {
    fusion.in_any_order();
    return emit_loop(fusion);
  }
  if (fusion.can_sum()) {
    fusion.in_order();
    return emit_loop(fusion);
  }
  // The sums by themselves, of arrays.
  std::vector<std::uint32_t> others;
  std::ranges::copy_if(eqns, std::back_inserter(others),
                       [&](std::uint32_t i) { return std::ranges::find(sums, i) == sums.end(); });
  emit_cluster(others);
  for (std::uint32_t i : sums) emit(graph_.eqns()[i]);
}

void Region::emit_loop(Fusion& fusion) {
  ++lowering_.loops;
  const Values totals =
      shares_loops_ ? call_loop(fusion.loop) : write_loop(b_, fusion.loop, lowering_.options().optimized);
  for (auto& [v, place] : fusion.results) {
    if (in_registers(graph_.aval(v)))
      define_loaded(v, place);
    else
      define(v, std::move(place));
  }
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const ValueId v = fusion.reduced[i];
    const Dtype dtype = graph_.aval(v).dtype();
    b_.set_lanes(b_.lanes_of(totals[i]));
    Place place;
    place.kind = Place::Kind::Registers;
    place.elements = {totals[i].dtype == dtype ? totals[i] : b_.convert(totals[i], dtype)};
    define(v, std::move(place));
  }
}

/// Calls the function that holds this loop; writes it the first time.
std::vector<Value> Region::call_loop(const FusedLoop& loop) {
  b_.set_lanes(1);
  std::vector<Operand> arguments;
  std::vector<Type> parameters, results = loop.totals;
  if (loop.walk.terms > 0) results.clear();  // sums are stored
  FusedLoop inner = loop;
  const auto pass = [&](auto& access) {
    if (!access.base.handle) return;
    std::int64_t bytes = static_cast<std::int64_t>(item_size(access.dtype)) * access.lanes;
    arguments.push_back(b_.offset(access.base, access.view.offset * bytes));
    parameters.push_back(pointer_type);
    access.view.offset = 0;
  };
  for (Access& access : inner.accesses) pass(access);
  for (Access& table : inner.tables) pass(table);
  for (Sink& sink : inner.sinks) pass(sink);
  for (Value v : loop.scalars) {
    arguments.push_back(v);
    parameters.push_back({v.dtype, b_.lanes_of(v)});
  }
  std::string key = inner.key();
  for (Type t : parameters) key.push_back(static_cast<char>(t.lanes));
  auto& found = lowering_.shared_loops[key];
  auto known = std::ranges::find_if(found, [&](const auto& f) { return loop.same_params(f.params); });
  if (known == found.end()) {
    Function f = b_.declare("loop", parameters, results);
    std::vector<Params> params;
    for (const FusedLoop::Step& s : loop.steps) params.push_back(s.eqn->params);
    found.push_back({f, std::move(params)});
    known = found.end() - 1;
    b_.begin(f);
    int next = 0;
    for (Access& a : inner.accesses)
      if (a.base.handle) a.base = b_.pointer_parameter(next++);
    for (Access& t : inner.tables) t.base = b_.pointer_parameter(next++);
    for (Sink& s : inner.sinks) s.base = b_.pointer_parameter(next++);
    for (Value& v : inner.scalars) v = b_.parameter(next++);
    b_.return_values(write_loop(b_, inner, lowering_.options().optimized));
    b_.end();
  }
  Values totals(results.size());
  b_.call(known->function, arguments, totals);
  return totals;
}

}  // namespace apsis::detail
