#include "codegen/emit/region.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "codegen/emit/equations.hpp"
#include "codegen/emit/list_access.hpp"
#include "codegen/emit/matrix_blocks.hpp"
#include "codegen/plan/early_results.hpp"
#include "codegen/plan/recompute.hpp"
#include "codegen/plan/result_parts.hpp"
#include "ir/copy.hpp"
#include "ops/table.hpp"
#include "passes/analysis/call_cost.hpp"
#include "passes/analysis/fusible.hpp"
#include "passes/analysis/updates.hpp"

namespace apsis::detail {

Region::Region(Lowering& lowering, const Graph& graph, int lanes, Value mask)
    : PlaceAccess(lowering, lanes, mask),
      graph_(graph),
      places_(graph.value_count()),
      uses_(count_uses(graph)),
      hints_(graph.value_count()) {
  if (lanes == 1) find_joined();
}

void Region::hint_output(std::size_t output, const Place& target) {
  ValueId v = graph_.outputs()[output];
  if (in_registers(graph_.aval(v)) || graph_.aval(v).is_list()) return;
  Place place = target;
  // The value made there is the memory's only one, whoever has it under another name.
  const auto buffer = std::make_shared<Buffer>();
  buffer->writable = true;
  buffer->parts = {target.buffer};
  place.buffer = BufferReader(buffer);
  bool updated = false;
  while (const Eqn* e = graph_.definition(v)) {
    if (hints_[v]) return;
    ValueId u;
    if (e->op->kind == OpKind::View) {
      // What a reshape reads may be made at the place of its result.
      u = graph_.operands(*e)[0];
      if (!is_reshape(graph_, *e) || (updated && uses_[u] != 1)) {
        hints_[v] = Home(std::move(place));
        return;
      }
      place.view.shape = graph_.aval(u).shape();
      place.view.strides = View::contiguous(place.view.shape).strides;
    } else {
      hints_[v] = Home(Place(place));
      if (is_made_of_parts(*e) && !updated) hint_parts(*e, place);
      // What an update changes may be made at the place of its result, if nothing else reads it.
      const std::uint32_t result = v - e->first_result;
      const std::int64_t operand = updated_operand(*e, result);
      if (operand < 0 || e->op->kind == OpKind::Cond || e->op->kind == OpKind::Call) return;
      u = graph_.operands(*e)[static_cast<std::size_t>(operand)];
      if (uses_[u] != 1 || loop_carry_use(*e, result) != CarryUse::InPlace) return;
      updated = true;
    }
    v = u;
  }
}

/// Loops write parts of complex numbers and of concatenations where the whole is to be.
void Region::hint_parts(const Eqn& e, const Place& whole) {
  if (whole.apart.handle || (whole.lanes > 1 && !e.op->joins)) return;
  Place part = whole;
  // Whoever reads a part reads the whole: nothing may be updated under it.
  const auto buffer = std::make_shared<Buffer>();
  buffer->parts = {whole.buffer};
  part.buffer = BufferReader(buffer);
  for (MadePart& made : made_for_parts(graph_, e, whole.view)) {
    part.view = std::move(made.view);
    if (made.column && (column_of_.empty() || column_of_[made.value] != &e)) continue;
    if (!hints_[made.value] && !in_registers(graph_.aval(made.value))) hints_[made.value] = Home(Place(part));
  }
}

/// The parts of a concatenation that has memory of its own.
std::vector<MadePart> Region::parts_in_own_memory(const Eqn& join) const {
  return made_for_parts(graph_, join, View::contiguous(graph_.aval(join.first_result).shape()));
}

void Region::find_joined() {
  const auto eqns = graph_.eqns();
  // From the last one on: what is joined in one that is itself part of another belongs to the other.
  for (auto e = eqns.rbegin(); e != eqns.rend(); ++e) {
    if (!is_made_of_parts(*e) || in_registers(graph_.aval(e->first_result))) continue;
    if (joined_in_.empty()) joined_in_.resize(graph_.value_count());
    for (const MadePart& made : parts_in_own_memory(*e)) {
      if (joined_in_[made.value]) continue;
      joined_in_[made.value] = &*e;
      if (!made.column) continue;
      if (column_of_.empty()) column_of_.resize(graph_.value_count());
      column_of_[made.value] = &*e;
    }
  }
}

/// Whether the loop being written makes all columns of the concatenation and of those in it, each of them
/// once.
bool Region::makes_all_columns(const Eqn& join) const {
  std::vector<ValueId> columns;
  for (const MadePart& made : parts_in_own_memory(join)) {
    if (!made.column) continue;
    if (column_of_[made.value] != &join) return false;
    columns.push_back(made.value);
  }
  std::ranges::sort(columns);
  if (columns.empty() || std::ranges::adjacent_find(columns) != columns.end()) return false;
  return std::ranges::all_of(columns, [&](ValueId v) {
    const Eqn* made = graph_.definition(v);
    const auto number = static_cast<std::uint32_t>(made - graph_.eqns().data());
    return std::ranges::find(loop_, number) != loop_.end();
  });
}

void Region::begin_joined(const Eqn& e) {
  Place whole = allocate(graph_.aval(e.first_result), 1).place();
  hint_parts(e, whole);
  hints_[e.first_result] = Home(std::move(whole));
}

/// What is joined has its memory from here on.
void Region::end_joined(const Eqn& e) {
  Home& whole = hints_[e.first_result];
  if (!whole || joined_in_.empty()) return;
  for (const MadePart& made : made_for_parts(graph_, e, whole.view))
    if (joined_in_[made.value] == &e) hints_[made.value] = {};
  whole = {};
}

void Region::run_invariant(std::span<const char> inputs) {
  schedule_ = make_schedule(graph_, lowering_.options().register_limit, inputs);
  scheduled_ = true;
  // One use more than there are: what is made here lasts through the loop.
  for (const Item& item : schedule_.invariant)
    for (std::uint32_t i : item.eqns)
      for (std::uint32_t r = 0; r < graph_.eqns()[i].result_count; ++r)
        ++uses_[graph_.eqns()[i].first_result + r];
  before_loop_ = true;
  run_items(schedule_.invariant);
  before_loop_ = false;
}

/// The operands of what is computed again are read once more, its results by the loops alone that compute
/// them.
void Region::plan_recomputing() {
  find_recomputed(graph_, lowering_.options().register_limit, schedule_.items);
  for (const Item& item : schedule_.items) {
    if (item.again.empty()) continue;
    const auto is_again = [&](ValueId v) {
      const Eqn* made = graph_.definition(v);
      return made && std::ranges::find(item.again, static_cast<std::uint32_t>(made - graph_.eqns().data())) !=
                         item.again.end();
    };
    for (std::uint32_t i : item.again)
      for (ValueId v : graph_.operands(graph_.eqns()[i])) uses_[v] += is_again(v) ? 0 : 1;
    for (std::uint32_t i : item.eqns)
      for (ValueId v : graph_.operands(graph_.eqns()[i])) uses_[v] -= is_again(v) ? 1 : 0;
  }
}

/// What is made where a result of it will be.
void Region::hint_early() {
  std::vector<ValueId> results;
  for (ValueId v : graph_.outputs())
    if (hints_[v]) results.push_back(v);
  for (const EarlyResult& early : find_early_results(graph_, schedule_.items, results))
    if (!hints_[early.array] && (joined_in_.empty() || !joined_in_[early.array]))
      hints_[early.array] = Home(Place(hints_[early.result].value()));
}

/// The uses within the loop of what it computes again.
void Region::begin_again(const Item& item) {
  const auto reads = [&](std::span<const std::uint32_t> eqns, ValueId v) {
    std::ptrdiff_t count = 0;
    for (std::uint32_t i : eqns) count += std::ranges::count(graph_.operands(graph_.eqns()[i]), v);
    return static_cast<std::uint32_t>(count);
  };
  for (std::uint32_t i : item.again) {
    const ValueId v = graph_.eqns()[i].first_result;
    APSIS_ASSERT(uses_[v] == 0);
    uses_[v] = reads(item.again, v) + reads(item.eqns, v);
  }
}

void Region::run() {
  if (!scheduled_) schedule_ = make_schedule(graph_, lowering_.options().register_limit, {});
  if (recomputes_) {
    plan_recomputing();
    hint_early();
  }
  // What is scheduled already is a loop's: its invariants were written before it.
  const bool outside = std::exchange(lowering_.repeated, lowering_.repeated || scheduled_);
  const std::int64_t before = lowering_.b.written(), in_loops = lowering_.in_loops;
  run_items(schedule_.items);
  if (scheduled_) lowering_.in_loops = in_loops + lowering_.b.written() - before;
  lowering_.repeated = outside;
}

void Region::run_items(std::span<const Item> items) {
  shares_loops_ = std::ranges::count_if(items, &Item::cluster) >= lowering_.options().many_loops;
  Lowering::Pieces pieces(lowering_);
  while (!items.empty()) {
    pieces.next();
    const auto written = items.first(write_first(items));
    items = items.subspan(written.size());
    for (const Item& item : written) {
      lowering_.equations += static_cast<std::int64_t>(item.eqns.size());
      for (std::uint32_t i : item.eqns) {
        if (is_made_of_parts(graph_.eqns()[i])) end_joined(graph_.eqns()[i]);
        release_operands(graph_.eqns()[i]);
      }
      for (std::uint32_t i : item.again) release_operands(graph_.eqns()[i]);
    }
  }
  pieces.end();
}

/// Writes the first item, or the first ones together; returns how many.
std::size_t Region::write_first(std::span<const Item> items) {
  if (items[0].cluster) {
    begin_again(items[0]);
    std::vector<std::uint32_t> eqns;
    std::ranges::merge(items[0].again, items[0].eqns, std::back_inserter(eqns));
    loop_ = eqns;
    emit_cluster(*this, eqns);
    loop_ = {};
    return 1;
  }
  const Eqn& e = graph_.eqns()[items[0].eqns[0]];
  if (computes_matrices(*e.op)) {
    BlocksOfMatrices blocks(*this);
    if (const std::size_t count = blocks.find(items)) return blocks.emit(), count;
  }
  if (const std::size_t count = emit_product_and_readers(*this, items)) return count;
  emit(*this, e);
  return 1;
}

void Region::release_operands(const Eqn& e) {
  for (ValueId v : graph_.operands(e))
    if (--uses_[v] == 0) release(places_[v]);
  for (std::uint32_t r = 0; r < e.result_count; ++r)
    if (uses_[e.first_result + r] == 0) release(places_[e.first_result + r]);
}

void Region::release(Place& place) {
  // A loop inside a loop records anew in each iteration: what was recorded goes when the last of its values
  // is read.
  if (place.kind == Place::Kind::List && place.buffer.alone() && place.buffer->records) {
    b_.set_lanes(1);
    const Operand arguments[] = {lowering_.context(), place.base};
    if (place.buffer->tables.empty())
      b_.call_runtime_void("apsis_list_free", arguments);
    else
      free_lists_of_lanes(*this, *place.buffer);
  }
  place = {};
}

bool Region::is_copied(const Eqn& e) const {
  return schedule_.copied[static_cast<std::size_t>(&e - graph_.eqns().data())] != 0;
}

Place Region::take(ValueId v, bool& last) {
  last = uses_[v] == 1;
  return last ? std::move(places_[v]) : places_[v];
}

std::vector<char> Region::varying(const Eqn& e) const {
  std::vector<char> flags;
  for (ValueId v : graph_.operands(e)) flags.push_back(static_cast<char>(lanes_of(v) > 1));
  return flags;
}

void Region::define(ValueId v, Place place) {
  const bool stored = place.kind == Place::Kind::Memory || place.kind == Place::Kind::Iota;
  if (stored && in_registers(aval(v))) {
    Place loaded;
    loaded.kind = Place::Kind::Registers;
    loaded.elements = registers(place, aval(v));
    place = std::move(loaded);
  }
  places_[v] = std::move(place);
}

bool Region::is_between_calls(ValueId v) {
  if (between_calls_.empty()) between_calls_ = values_between_calls(graph_);
  return between_calls_[v] != 0;
}

/// Whether v would be a column of a concatenation if the loop being written made the others, too.
bool Region::is_lone_column(ValueId v) const {
  return !column_of_.empty() && column_of_[v] && !makes_all_columns(*column_of_[v]);
}

/// Whether memory for a concatenation is taken when v, the first of its parts, is made.
bool Region::begins_joined(ValueId v, int lanes) const {
  return !joined_in_.empty() && joined_in_[v] && !hints_[v] && lanes == 1 && !before_loop_ &&
         !hints_[joined_in_[v]->first_result];
}

View Region::destined_view(ValueId v, int lanes) const {
  const View own = View::contiguous(graph_.aval(v).shape());
  if (is_lone_column(v)) return own;
  if (begins_joined(v, lanes)) {
    const Eqn& join = *joined_in_[v];
    for (MadePart& part : parts_in_own_memory(join))
      if (part.value == v && (!part.column || column_of_[v] == &join)) return std::move(part.view);
    return own;
  }
  const Home& hint = hints_[v];
  return hint && hint.lanes == lanes && is_own(hint) ? hint.view : own;
}

Destination Region::destination(ValueId v, int lanes) {
  if (is_lone_column(v)) return allocate(graph_.aval(v), lanes);
  if (begins_joined(v, lanes)) begin_joined(*joined_in_[v]);
  const Home& hint = hints_[v];
  if (hint && hint.lanes == lanes && is_own(hint)) return overwrite(hint.value());
  return allocate(graph_.aval(v), lanes);
}

std::optional<Destination> Region::instead_of(ValueId operand, ValueId v) const {
  const Place& place = places_[operand];
  const bool elsewhere = hints_[v] || (!joined_in_.empty() && joined_in_[v]);
  if (elsewhere || !place.exclusive() || !place.buffer.owns() || !place.buffer->arena || !is_own(place) ||
      place.lanes > 1 || place.apart.handle || place.view.offset != 0 || !place.view.is_contiguous() ||
      place.buffer->bytes != static_cast<std::int64_t>(aval(v).bytes()))
    return {};
  return overwrite(place);
}

void Region::write_output(std::size_t i, const Place& target) {
  if (output(i).kind == Place::Kind::List) {
    APSIS_ASSERT(output(i).lanes == target.lanes);
    return write_list(b_, output(i), overwrite(target));
  }
  if (!same_memory(output(i), target)) copy(output(i), graph_.aval(graph_.outputs()[i]), update(target));
}

}  // namespace apsis::detail
