// Fused loops: elementwise equations on arrays of one shape, one vector of elements an iteration, and
// reductions of such arrays. Programs of many loops often repeat the same one on other arrays (the layers of
// a network, the stages of a solver, a long chain): such a loop is written once, as a function.

#include <algorithm>
#include <bit>
#include <iterator>

#include "codegen/emit/combine.hpp"
#include "codegen/emit/equations.hpp"
#include "codegen/emit/fusion.hpp"
#include "codegen/emit/loop_parts.hpp"
#include "codegen/plan/in_place.hpp"
#include "ops/index_params.hpp"
#include "passes/analysis/cost.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {
namespace {

/// Whether other arrays may lie between the neighbouring elements of this one.
bool may_be_column(const View& view) {
  for (std::size_t d = view.shape.size(); d-- > 0;)
    if (view.shape[d] != 1) return view.strides[d] > 1 && view.strides[d] <= most_columns;
  return false;
}

/// Of the elements that an equation reads and makes.
std::size_t widest_of(const Graph& graph, const Eqn& e) {
  std::size_t widest = 1;
  for (ValueId v : operands_by_element(graph, e)) widest = std::max(widest, item_size(graph.aval(v).dtype()));
  for (ValueId v = e.first_result; v < e.first_result + e.result_count; ++v)
    widest = std::max(widest, item_size(graph.aval(v).dtype()));
  return widest;
}

/// By scalar of the loop: whether something is divided by it. A known one is worth code of its own.
std::vector<char> divisors(const FusedLoop& loop) {
  std::vector<char> by_leaf(loop.leaf_access.size(), 0), found;
  for (const FusedLoop::Step& step : loop.steps)
    if (const int k = step.eqn->op->divisor; k >= 0)
      if (const std::uint32_t v = step.operands[static_cast<std::size_t>(k)]; v < by_leaf.size())
        by_leaf[v] = 1;
  for (std::size_t leaf = 0; leaf < by_leaf.size(); ++leaf)
    if (loop.leaf_access[leaf] == FusedLoop::none) found.push_back(by_leaf[leaf]);
  return found;
}

/// Calls the function that holds this loop; writes it the first time.
std::vector<Value> call_loop(Region& region, const FusedLoop& loop) {
  Builder& b = region.b();
  b.set_lanes(1);
  std::vector<Operand> arguments;
  std::vector<Type> parameters, results = loop.totals;
  if (loop.walk.terms > 0) results.clear();  // sums are stored
  FusedLoop inner = loop;
  // Columns side by side have one address, so that the loop knows them as such.
  struct Passed {
    void* base;
    Dtype dtype;
    std::int64_t offset;
    int parameter;
  };
  std::vector<Passed> passed;
  std::vector<std::pair<int, std::int64_t>> bases;  // by access: the parameter, and the offset from there
  const auto pass = [&](auto& access) {
    bases.emplace_back(-1, 0);
    if (!access.base.handle) return;
    const std::int64_t offset = access.view.offset;
    auto beside = std::ranges::find_if(passed, [&](const Passed& p) {
      return access.lanes == 1 && may_be_column(access.view) && p.base == access.base.handle &&
             p.dtype == access.dtype && std::abs(offset - p.offset) < most_columns;
    });
    if (beside == passed.end()) {
      const std::int64_t bytes = static_cast<std::int64_t>(item_size(access.dtype)) * access.lanes;
      passed.push_back({access.base.handle, access.dtype, offset, static_cast<int>(passed.size())});
      beside = passed.end() - 1;
      arguments.push_back(b.offset(access.base, offset * bytes));
      parameters.push_back(pointer_type);
    }
    access.view.offset = offset - beside->offset;
    bases.back() = {beside->parameter, access.view.offset};
  };
  for (Access& access : inner.accesses) pass(access);
  for (Access& table : inner.tables) pass(table);
  for (Sink& sink : inner.sinks) pass(sink);
  const std::vector<char> is_divisor = divisors(loop);
  const auto is_kept = [&](std::size_t scalar) {
    return is_divisor[scalar] && b.is_constant(loop.scalars[scalar]);
  };
  std::string key = inner.key();
  for (std::size_t i = 0; i < loop.scalars.size(); ++i) {
    const Value v = loop.scalars[i];
    if (is_kept(i)) {
      key += std::to_string(reinterpret_cast<std::uintptr_t>(v.handle)) + ',';  // one for each constant
      continue;
    }
    arguments.push_back(v);
    parameters.push_back({v.dtype, b.lanes_of(v)});
  }
  for (Type t : parameters) key.push_back(static_cast<char>(t.lanes));
  for (const auto& [parameter, offset] : bases) {
    key += std::to_string(parameter);
    key.push_back(static_cast<char>(offset));
  }
  auto& found = region.lowering().shared_loops[key];
  auto known = std::ranges::find_if(found, [&](const auto& f) { return loop.same_params(f.params); });
  if (known == found.end()) {
    Function f = b.declare("loop", parameters, results);
    std::vector<Params> params;
    for (const FusedLoop::Step& s : loop.steps) params.push_back(s.eqn->params);
    found.push_back({f, std::move(params)});
    known = found.end() - 1;
    b.begin(f);
    std::vector<Pointer> pointers;
    for (std::size_t i = 0; i < passed.size(); ++i)
      pointers.push_back(b.pointer_parameter(static_cast<int>(i)));
    auto base = bases.begin();
    const auto bind = [&](auto& access) {
      if (const int parameter = (base++)->first; parameter >= 0)
        access.base = pointers[static_cast<std::size_t>(parameter)];
    };
    for (Access& access : inner.accesses) bind(access);
    for (Access& table : inner.tables) bind(table);
    for (Sink& sink : inner.sinks) bind(sink);
    int next = static_cast<int>(passed.size());
    for (std::size_t i = 0; i < inner.scalars.size(); ++i)
      if (!is_kept(i)) inner.scalars[i] = b.parameter(next++);
    b.return_values(write_loop(b, inner, region.lowering().options().optimized));
    b.end();
  }
  Values totals(results.size());
  b.call(known->function, arguments, totals);
  return totals;
}

}  // namespace

Fusion::Fusion(Region& region, std::span<const std::uint32_t> eqns, const ProductLeaf* product)
    : region_(region), graph_(region.graph()) {
  for (std::uint32_t i : eqns) eqns_.push_back(&graph_.eqns()[i]);
  const Eqn& first = *eqns_[0];
  const bool ends = reduces(graph_, first) || puts(first);
  shape_ = graph_.aval(ends ? operands_by_element(graph_, first)[0] : first.first_result).shape();
  number_leaves(product);
  for (const Eqn* e : eqns_)
    if (reduces(graph_, *e))
      add_reduction(*e);
    else if (puts(*e))
      add_put(*e);
    else
      add_elementwise(*e);
}

void Fusion::number_leaves(const ProductLeaf* product) {
  for (const Eqn* e : eqns_)
    for (ValueId v = e->first_result; v < e->first_result + e->result_count; ++v)
      numbers_[v] = FusedLoop::none;
  for (const Eqn* e : eqns_)
    for (ValueId v : operands_by_element(graph_, *e)) {
      ++inner_uses_[v];
      if (!numbers_.try_emplace(v, static_cast<std::uint32_t>(loop_.leaf_access.size())).second) continue;
      if (product && v == product->value)
        add_product(*product);
      else
        add_leaf(v);
    }
  if (loop_.product && region_.uses(product->value) != inner_uses_[product->value]) {
    loop_.product->store = static_cast<std::uint32_t>(stored_.size());
    stored_.push_back({product->value, 1});
  }
  for (const Eqn* e : eqns_)
    if (e->op->fused_read == FusedRead::Padded) add_filling(graph_.operands(*e)[1]);
  loop_.values = static_cast<std::uint32_t>(loop_.leaf_access.size());
}

void Fusion::add_leaf(ValueId v) {
  const Place& place = region_.place(v);
  const Dtype dtype = graph_.aval(v).dtype();
  widest_ = std::max(widest_, item_size(dtype));
  loop_.lanes = std::max(loop_.lanes, region_.lanes_of(place));
  varying_.push_back(static_cast<char>(region_.lanes_of(place) > 1));
  if (place.kind == Place::Kind::Registers) {
    loop_.leaf_access.push_back(FusedLoop::none);
    loop_.scalars.push_back(place.elements[0]);
  } else {
    loop_.leaf_access.push_back(static_cast<std::uint32_t>(loop_.accesses.size()));
    loop_.accesses.push_back(
        {place.view, place.kind == Place::Kind::Iota ? ConstPointer{} : place.base, dtype, place.lanes});
  }
}

void Fusion::add_product(const ProductLeaf& product) {
  const Contraction& c = product.contraction;
  const auto add_access = [&](const Access& access) {
    loop_.accesses.push_back(access);
    return static_cast<std::uint32_t>(loop_.accesses.size() - 1);
  };
  widest_ = std::max(widest_, item_size(c.compute));
  varying_.push_back(0);
  loop_.product = {.leaf = static_cast<std::uint32_t>(loop_.leaf_access.size()),
                   .a = add_access(c.a),
                   .b = add_access(c.b),
                   .step_a = c.step_a,
                   .step_b = c.step_b,
                   .count = c.count,
                   .in_panels = c.in_panels,
                   .compute = c.compute,
                   .tile = tile_of(region_.lowering(), c),
                   .once = divides_into_vectors(c.shape)};
  loop_.leaf_access.push_back(FusedLoop::made);
}

/// Whatever else is read has neighbours beside neighbours, or one for a row.
bool Fusion::can_make_product() const {
  return loop_.product && loop_.product->tile.rows > 1 && loop_.lanes == 1 &&
         std::ranges::all_of(loop_.accesses, [&](const Access& a) {
           const bool in_panels = loop_.product->in_panels && &a == &loop_.accesses[loop_.product->b];
           return in_panels || a.view.strides.back() == 0 || a.view.strides.back() == 1;
         });
}

/// An array that elements are picked from.
std::uint32_t Fusion::add_table(ValueId v) {
  const Aval& aval = graph_.aval(v);
  const Place place = region_.in_memory(region_.place(v), aval);
  loop_.lanes = std::max(loop_.lanes, place.lanes);
  loop_.tables.push_back({place.view, place.base, aval.dtype(), place.lanes});
  read_.push_back(place);
  return static_cast<std::uint32_t>(loop_.tables.size() - 1);
}

/// The scalar that a pad puts around an array.
void Fusion::add_filling(ValueId v) {
  if (!numbers_.try_emplace(v, static_cast<std::uint32_t>(loop_.leaf_access.size())).second) return;
  const Value filling = region_.registers(v)[0];
  const int lanes = region_.b().lanes_of(filling);
  loop_.lanes = std::max(loop_.lanes, lanes);
  varying_.push_back(static_cast<char>(lanes > 1));
  loop_.leaf_access.push_back(FusedLoop::none);
  loop_.scalars.push_back(filling);
}

/// What a pad reads: an array with elements in a part of the result.
std::uint32_t Fusion::add_padded(const Eqn& e) {
  const ValueId v = graph_.operands(e)[0];
  const Aval& aval = graph_.aval(v);
  const auto& p = e.params.as<PadParams>();
  Place place = region_.in_memory(region_.place(v), aval);
  Access access{{shape_, place.view.strides, place.view.offset}, place.base, aval.dtype(), place.lanes};
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    access.view.offset -= p.low[d] * access.view.strides[d];
    access.within.push_back(
        {std::max<std::int64_t>(p.low[d], 0), std::min(p.low[d] + aval.shape()[d], shape_[d])});
  }
  loop_.lanes = std::max(loop_.lanes, place.lanes);
  loop_.accesses.push_back(std::move(access));
  read_.push_back(std::move(place));
  return static_cast<std::uint32_t>(loop_.accesses.size() - 1);
}

/// Its operands; whether lanes differ in some.
std::pair<FusedLoop::Step, bool> Fusion::step_of(const Eqn& e) const {
  std::pair<FusedLoop::Step, bool> step{{&e, {}, {}}, false};
  for (ValueId v : operands_by_element(graph_, e)) {
    const std::uint32_t number = numbers_.at(v);
    step.first.operands.push_back(number);
    step.second = step.second || varying_[number];
  }
  return step;
}

void Fusion::add_reduction(const Eqn& e) {
  auto [step, varies] = step_of(e);
  const Dtype dtype = combined_dtype(graph_.aval(e.first_result).dtype());
  widest_ = std::max(widest_, item_size(dtype));
  loop_.totals.push_back({dtype, varies ? loop_.lanes : 1});
  reduced_.push_back(e.first_result);
  loop_.steps.push_back(std::move(step));
}

void Fusion::add_elementwise(const Eqn& e) {
  auto [step, varies] = step_of(e);
  if (e.op->fused_read == FusedRead::AtIndices) {
    step.table = add_table(graph_.operands(e)[0]);
    varies = varies || loop_.tables[step.table].lanes > 1;
  }
  if (e.op->fused_read == FusedRead::Padded) {
    const std::uint32_t filling = numbers_.at(graph_.operands(e)[1]);
    step.operands = {filling};
    step.padded = add_padded(e);
    varies = varying_[filling] || loop_.accesses[step.padded].lanes > 1;
  }
  const std::int64_t cost = emission_cost(graph_, e);
  cost_ += cost;
  cost_of_size_[std::bit_width(widest_of(graph_, e)) - 1] += cost;
  const auto is_mask = [&](ValueId v) { return graph_.aval(v).dtype() == Dtype::Bool; };
  step.has_masks = combines_truths(graph_, e) || std::ranges::any_of(graph_.operands(e), is_mask);
  for (ValueId v = e.first_result; v < e.first_result + e.result_count; ++v) {
    step.has_masks = step.has_masks || is_mask(v);
    numbers_[v] = loop_.values++;
    varying_.push_back(static_cast<char>(varies));
    widest_ = std::max(widest_, item_size(graph_.aval(v).dtype()));
    step.stores.push_back(FusedLoop::none);
    if (region_.uses(v) == inner_uses_[v]) continue;
    // What is used elsewhere is stored; what lanes share once, though others in the loop are not.
    step.stores.back() = static_cast<std::uint32_t>(stored_.size());
    stored_.push_back({v, varies ? loop_.lanes : 1});
  }
  loop_.steps.push_back(std::move(step));
}

/// The array has its place when all that is stored has.
void Fusion::add_put(const Eqn& e) {
  FusedLoop::Step step = step_of(e).first;
  step.stores = {FusedLoop::none};
  numbers_[e.first_result] = loop_.values++;
  varying_.push_back(0);
  loop_.steps.push_back(std::move(step));
  loop_.in_order = true;
}

/// The memory of an array like v that the loop reads for the last time, each element before it stores that of
/// v.
std::optional<Destination> Fusion::over_operand(ValueId v) const {
  if (!may_overwrite_) return {};
  for (const Eqn* e : eqns_) {
    for (ValueId u : operands_by_element(graph_, *e)) {
      const std::uint32_t leaf = numbers_.at(u);
      if (leaf >= loop_.leaf_access.size() || loop_.leaf_access[leaf] >= loop_.accesses.size() ||
          region_.uses(u) != inner_uses_.at(u) || graph_.aval(u).shape() != shape_)
        continue;
      if (auto memory = region_.instead_of(u, v)) return memory;
    }
    if (v >= e->first_result && v < e->first_result + e->result_count) return {};
  }
  return {};
}

void Fusion::place_results() {
  for (const auto& [v, lanes] : stored_) {
    const std::optional<Destination> given = over_operand(v);
    const Destination made = given ? *given : region_.destination(v, lanes);
    loop_.sinks.push_back(made.sink(graph_.aval(v).dtype()));
    results_.emplace_back(v, made.place());
  }
  for (FusedLoop::Step& step : loop_.steps) {
    if (!puts(*step.eqn)) continue;
    APSIS_ASSERT(loop_.lanes == 1);
    const Place& array = updated(region_, *step.eqn, 1).place();
    step.table = static_cast<std::uint32_t>(loop_.tables.size());
    loop_.tables.push_back({array.view, array.base, graph_.aval(step.eqn->first_result).dtype(), 1});
    results_.emplace_back(step.eqn->first_result, array);
  }
}

/// The longest chain of reads of tables, each at indices that the one before has a say in.
int Fusion::chained_reads() const {
  std::vector<int> reads(loop_.leaf_access.size(), 0);
  for (const FusedLoop::Step& step : loop_.steps) {
    int longest = 0;
    for (std::uint32_t v : step.operands) longest = std::max(longest, reads[v]);
    if (step.table != FusedLoop::none) ++longest;
    reads.insert(reads.end(), step.stores.size(), longest);
  }
  return *std::ranges::max_element(reads);
}

/// The bytes of an element that fills registers with a vector's: of the widest, but where a long loop
/// computes nearly all of narrower ones, as a hash of u32 does that is made of integers of i64. The few that
/// are wider then take several registers.
std::size_t Fusion::usual_width() const {
  constexpr std::int64_t long_body = 64, few = 16;
  const std::size_t size = static_cast<std::size_t>(std::bit_width(widest_) - 1);
  const bool narrow = reduced_.empty() && loop_.tables.empty() && !loop_.in_order && cost_ >= long_body &&
                      widest_ > 4 && cost_of_size_[size] * few <= cost_;
  return narrow ? widest_ / 2 : widest_;
}

/// How many vectors go side by side. An iteration may be so long a chain that the processor, which looks
/// ahead by some hundred instructions, meets few of the next one's. Only where vectors are loaded as they
/// lie, and elements are many, since the code becomes longer.
int Fusion::vectors_side_by_side() const {
  constexpr std::int64_t long_body = 100, many = 1 << 12, very_many = 1 << 14;
  const bool pays = reduced_.empty() && loop_.width > 1 && widest_ >= 4 && cost_ > short_wait &&
                    loop_.tables.empty() && shape_.product() >= (cost_ > long_body ? very_many : many) &&
                    std::ranges::all_of(loop_.accesses, [](const Access& a) {
                      return a.within.empty() && (a.view.strides.back() == 0 || a.view.strides.back() == 1);
                    });
  if (!pays) return 1;
  // Constants of f64 functions leave no registers for more.
  const bool many_registers = region_.lowering().b.vector_bytes() == 64 && widest_ == 4;
  return many_registers && cost_ <= long_body ? 4 : 2;
}

void Fusion::in_any_order() {
  loop_.shape = shape_;
  may_overwrite_ = !loop_.product && !loop_.in_order && loop_.lanes == 1 && divides_into_vectors(shape_);
  place_results();
  loop_.width = loop_.lanes > 1 ? 1 : region_.lowering().vector_lanes(usual_width());
  // What is accumulated waits for the iteration before: in a short loop, several vectors side by side hide
  // that.
  constexpr int most_lanes = 32;
  if (!reduced_.empty() && cost_ <= short_wait && loop_.width > 1)
    loop_.width = std::min(4 * loop_.width, most_lanes);
  // So do reads at indices that come of other reads, as in a bisection. What is put somewhere goes there one
  // by one, in a loop of its own that should not be short.
  if ((chained_reads() > 1 || loop_.in_order) && loop_.width > 1)
    loop_.width = std::min(4 * loop_.width, most_lanes);
  loop_.most_vectors = vectors_side_by_side();
  // Of short rows that lie apart the nest takes as many together as fill its width.
  constexpr std::int64_t long_wait = 40, very_many = 1 << 14, short_row = 64;
  const auto lies_apart = [](const Access& a) { return !a.view.is_contiguous(); };
  if (loop_.most_vectors > 1 && cost_ > long_wait && shape_.size() > 1 && shape_.back() < short_row &&
      shape_.product() >= very_many && loop_.width < most_lanes &&
      std::ranges::any_of(loop_.accesses, lies_apart)) {
    loop_.width *= 2;
    loop_.most_vectors = 1;
  }
  constexpr std::int64_t most_phases = 16, most_in_phases = 256;
  if (loop_.in_order) return;
  loop_.most_phases = static_cast<int>(
      std::clamp<std::int64_t>(most_in_phases / std::max<std::int64_t>(cost_, 1), 1, most_phases));
}

void Fusion::write() {
  Builder& b = region_.b();
  ++region_.lowering().loops;
  const std::int64_t products = loop_.product ? loop_.product->count : 0;
  auto totals = write_in_parts(region_.lowering(), loop_, cost_ + products);
  if (!totals)
    totals = region_.shares_loops() ? call_loop(region_, loop_)
                                    : write_loop(b, loop_, region_.lowering().options().optimized);
  for (auto& [v, place] : results_) region_.define(v, std::move(place));
  for (std::size_t i = 0; i < totals->size(); ++i) {
    const Value total = (*totals)[i];
    const ValueId v = reduced_[i];
    const Dtype dtype = region_.aval(v).dtype();
    b.set_lanes(b.lanes_of(total));
    Place place;
    place.kind = Place::Kind::Registers;
    place.elements = {total.dtype == dtype ? total : b.convert(total, dtype)};
    region_.define(v, std::move(place));
  }
}

bool emit_cluster_of_product(Region& region, std::span<const std::uint32_t> eqns, ValueId product,
                             const Contraction& contraction) {
  const Fusion::ProductLeaf leaf{product, contraction};
  Fusion fusion(region, eqns, &leaf);
  if (!fusion.can_make_product()) return false;
  fusion.in_any_order();
  fusion.write();
  return true;
}

void emit_cluster(Region& region, std::span<const std::uint32_t> eqns) {
  std::vector<std::uint32_t> sums;
  for (std::uint32_t i : eqns)
    if (reduces(region.graph(), region.graph().eqns()[i]) &&
        !accumulates(region.graph(), region.graph().eqns()[i]))
      sums.push_back(i);
  Fusion fusion(region, eqns);
  if (sums.empty()) {
    fusion.in_any_order();
    return fusion.write();
  }
  if (fusion.can_sum()) {
    fusion.in_order();
    return fusion.write();
  }
  // The sums by themselves, of arrays.
  std::vector<std::uint32_t> others;
  std::ranges::copy_if(eqns, std::back_inserter(others),
                       [&](std::uint32_t i) { return std::ranges::find(sums, i) == sums.end(); });
  emit_cluster(region, others);
  for (std::uint32_t i : sums) emit(region, region.graph().eqns()[i]);
}

}  // namespace apsis::detail
