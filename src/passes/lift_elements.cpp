#include "passes/lift_elements.hpp"

#include <algorithm>

#include "ops/view_params.hpp"
#include "passes/analysis/cost.hpp"
#include "passes/analysis/fusible.hpp"
#include "passes/with_scans.hpp"

namespace apsis::detail {
namespace {

using Flags = std::vector<char>;

constexpr std::int64_t fewest_iterations = 16;
// A value of more elements fills vectors in the loop.
constexpr std::int64_t most_elements = 4;
// Instructions: of an equation that is worth it, and for each number that goes through memory instead.
constexpr std::int64_t costly = 12, worth_memory = 16;
constexpr std::int64_t most_bytes = std::int64_t{32} << 20;

/// What an equation of a body is computed from.
enum class Of : char { Fixed, Entries, Other };

bool is_elementwise(const Graph& body, const Eqn& e) {
  return e.op->kind == OpKind::Elementwise && e.result_count == 1 && fusible(body, e);
}

/// Whether the equation can be written for all entries at once.
bool has_time(const Graph& body, const Eqn& e) {
  if (e.result_count != 1 || body.aval(e.first_result).is_list() ||
      body.aval(e.first_result).size() > most_elements)
    return false;
  return is_elementwise(body, e) || e.op == &slice_op || e.op == &reshape_op || e.op == &broadcast_in_dim_op;
}

/// By value of the body.
std::vector<Of> origins(const Loop& loop) {
  const Graph& body = *loop.body;
  std::vector<Of> of(body.value_count(), Of::Other);
  for (ValueId v = 0; v < body.input_count(); ++v)
    if (!body.aval(v).is_list()) {
      if (v < loop.consts) of[v] = Of::Fixed;
      if (v >= loop.consts + loop.carries) of[v] = Of::Entries;
    }
  for (const Eqn& e : body.eqns()) {
    if (e.op->kind == OpKind::Constant) of[e.first_result] = Of::Fixed;
    if (!has_time(body, e)) continue;
    Of from = Of::Fixed;
    for (ValueId v : body.operands(e)) from = std::max(from, of[v]);
    of[e.first_result] = from;
  }
  return of;
}

/// What a body leaves to vectors: equations whose results it reads as further entries, and those whose
/// results it only records.
struct Choice {
  std::vector<Of> of;           // by value
  Flags moved, late;            // by value: made before the loop, and after it
  Flags outside;                // by equation: written outside of the loop
  std::vector<ValueId> given;   // to the loop: of those that are made before
  std::vector<ValueId> record;  // by the loop: what is made after it is made of
  bool empty() const { return given.empty() && record.empty(); }
};

std::int64_t numbers_of(const Graph& body, std::span<const ValueId> values) {
  std::int64_t numbers = 0;
  for (ValueId v : values) numbers += body.aval(v).size();
  return numbers;
}

class Choosing {
 public:
  explicit Choosing(const Loop& loop) : loop_(loop), body_(*loop.body) {
    choice_.of = origins(loop);
    const Flags none(body_.value_count(), 0);
    choice_.moved = choice_.late = none;
  }

  Choice run() {
    find_moved();
    find_late();
    if (!is_worth_it(choice_.late, choice_.record)) {
      choice_.late.assign(choice_.late.size(), 0);
      choice_.record.clear();
    }
    find_given();
    if (!is_worth_it(choice_.moved, choice_.given)) {
      choice_.moved.assign(choice_.moved.size(), 0);
      choice_.given.clear();
    }
    if (!choice_.empty()) find_outside();
    return std::move(choice_);
  }

 private:
  std::int64_t cost_of(const Eqn& e) const { return is_elementwise(body_, e) ? emission_cost(body_, e) : 0; }

  /// Whether an operand is marked.
  bool follows(const Eqn& e, const Flags& marked) const {
    return std::ranges::any_of(body_.operands(e), [&](ValueId v) { return marked[v] != 0; });
  }

  void find_moved() {
    for (const Eqn& e : body_.eqns())
      if (e.result_count == 1 && choice_.of[e.first_result] == Of::Entries &&
          (cost_of(e) >= costly || follows(e, choice_.moved)))
        choice_.moved[e.first_result] = 1;
  }

  /// What nothing but records is made of, from the first long computation on.
  void find_late() {
    Flags inside(body_.value_count(), 0), used(body_.value_count(), 0);
    for (std::size_t i = 0; i < body_.outputs().size(); ++i)
      (i < loop_.carries ? inside : used)[body_.outputs()[i]] = 1;
    Flags candidate(body_.value_count(), 0);
    for (std::size_t i = body_.eqns().size(); i-- > 0;) {
      const Eqn& e = body_.eqns()[i];
      const ValueId v = e.first_result;
      const bool is_one = has_time(body_, e) && choice_.of[v] == Of::Other && used[v] && !inside[v];
      if (is_one) candidate[v] = 1;
      for (ValueId o : body_.operands(e)) (is_one ? used : inside)[o] = 1;
    }
    Flags recorded(body_.value_count(), 0);
    for (const Eqn& e : body_.eqns()) {
      if (e.result_count != 1 || !candidate[e.first_result]) continue;
      if (cost_of(e) < costly && !follows(e, choice_.late)) continue;
      choice_.late[e.first_result] = 1;
      for (ValueId v : body_.operands(e)) recorded[v] = choice_.of[v] == Of::Other && !choice_.late[v];
    }
    for (ValueId v = 0; v < body_.value_count(); ++v)
      if (recorded[v]) choice_.record.push_back(v);
  }

  void find_given() {
    Flags read(body_.value_count(), 0);
    for (const Eqn& e : body_.eqns())
      if (e.result_count != 1 || (!choice_.moved[e.first_result] && !choice_.late[e.first_result]))
        for (ValueId v : body_.operands(e)) read[v] = 1;
    for (ValueId v : body_.outputs()) read[v] = 1;
    for (ValueId v = body_.input_count(); v < body_.value_count(); ++v)
      if (choice_.moved[v] && read[v]) choice_.given.push_back(v);
  }

  bool is_worth_it(const Flags& outside, std::span<const ValueId> through_memory) const {
    std::int64_t cost = 0, bytes = 0;
    for (const Eqn& e : body_.eqns())
      if (e.result_count == 1 && outside[e.first_result])
        cost += cost_of(e) * body_.aval(e.first_result).size();
    for (ValueId v : through_memory) bytes += static_cast<std::int64_t>(body_.aval(v).bytes());
    const bool fits = std::ranges::none_of(through_memory, [&](ValueId v) {
      return body_.aval(v).is_list() || body_.aval(v).size() > most_elements;
    });
    return fits && cost >= worth_memory * numbers_of(body_, through_memory) &&
           loop_.length * bytes <= most_bytes;
  }

  void find_outside() {
    Flags wanted = choice_.late;
    for (ValueId v : choice_.given) wanted[v] = 1;
    choice_.outside.assign(body_.eqns().size(), 0);
    for (std::size_t i = body_.eqns().size(); i-- > 0;) {
      const Eqn& e = body_.eqns()[i];
      if (e.result_count != 1 || !wanted[e.first_result]) continue;
      if (choice_.of[e.first_result] == Of::Other && !choice_.late[e.first_result]) continue;  // recorded
      choice_.outside[i] = 1;
      for (ValueId v : body_.operands(e)) wanted[v] = 1;
    }
  }

  const Loop& loop_;
  const Graph& body_;
  Choice choice_;
};

Choice choose(const Loop& loop) { return loop.length < fewest_iterations ? Choice() : Choosing(loop).run(); }

/// Equations of a body written for all entries: values of entries, and what is recorded, get an axis of
/// iterations, the first one.
class OfAllEntries {
 public:
  OfAllEntries(GraphBuilder& builder, const Loop& loop, std::vector<Of> of, std::span<const ValueId> operands)
      : builder_(builder),
        body_(*loop.body),
        length_(loop.length),
        of_(std::move(of)),
        copy_(builder, body_) {
    for (ValueId v = 0; v < body_.input_count(); ++v)
      if (of_[v] != Of::Other) copy_[v] = operands[v];
  }

  void add(const Eqn& e) {
    if (of_[e.first_result] == Of::Fixed) return copy_.add(e);
    std::vector<ValueId> operands;
    for (ValueId v : body_.operands(e)) operands.push_back(with_time(v));
    set(e.first_result, append1(builder_, *e.op, params_of(e), operands, e.loc));
  }
  /// The number of what was recorded of a value, or computed.
  void set(ValueId v, ValueId all) {
    copy_[v] = all;
    of_[v] = Of::Entries;
  }
  ValueId operator[](ValueId v) const { return copy_[v]; }

 private:
  Shape after_length(Shape shape) const {
    shape.insert(0, length_);
    return shape;
  }
  ValueId with_time(ValueId v) {
    if (of_[v] != Of::Fixed) return copy_[v];
    BroadcastParams repeated{after_length(body_.aval(v).shape()), {}};
    for (std::int64_t axis = 0; axis < body_.aval(v).rank(); ++axis) repeated.axes.push_back(axis + 1);
    return append1(builder_, broadcast_in_dim_op, make_params(repeated), {&copy_[v], 1});
  }
  Params params_of(const Eqn& e) const {
    if (e.op == &slice_op) {
      SliceParams p = e.params.as<SliceParams>();
      p.start.insert(0, 0);
      p.limit.insert(0, length_);
      p.stride.insert(0, 1);
      return make_params(p);
    }
    if (e.op == &reshape_op)
      return make_params(ReshapeParams{after_length(e.params.as<ReshapeParams>().shape)});
    if (e.op == &broadcast_in_dim_op) {
      BroadcastParams p = e.params.as<BroadcastParams>();
      p.shape = after_length(p.shape);
      p.axes = after_time(p.axes);
      p.axes.insert(0, 0);
      return make_params(p);
    }
    return e.params;
  }

  GraphBuilder& builder_;
  const Graph& body_;
  std::int64_t length_;
  std::vector<Of> of_;
  GraphCopy copy_;
};

void add_scan(GraphBuilder& builder, GraphCopy& copy, const Graph& graph, const Eqn& e,
              const Choice& choice) {
  ScanParams scan = e.params.as<ScanParams>();
  const Loop loop(scan);
  const Graph& body = *loop.body;
  std::vector<ValueId> operands = copy(graph.operands(e));
  OfAllEntries all(builder, loop, choice.of, operands);
  const auto write = [&](bool late) {
    for (std::size_t i = 0; i < body.eqns().size(); ++i)
      if (choice.outside[i] && (choice.late[body.eqns()[i].first_result] != 0) == late)
        all.add(body.eqns()[i]);
  };
  write(false);
  for (ValueId v : choice.given) operands.push_back(all[v]);

  std::vector<ValueId> outputs, places;  // of the new body; the result of the scan that each becomes
  for (std::uint32_t r = 0; r < e.result_count; ++r)
    if (const ValueId v = body.outputs()[r]; r < loop.carries || !choice.late[v]) {
      outputs.push_back(v);
      places.push_back(e.first_result + r);
    }
  outputs.insert(outputs.end(), choice.record.begin(), choice.record.end());
  scan.body = with_values_given(body, choice.given, outputs);
  std::vector<ValueId> made(outputs.size());
  builder.append(*e.op, make_params(scan), operands, made, e.loc);
  for (std::size_t k = 0; k < places.size(); ++k) copy[places[k]] = made[k];
  for (std::size_t k = 0; k < choice.record.size(); ++k) all.set(choice.record[k], made[places.size() + k]);
  write(true);
  for (std::uint32_t r = static_cast<std::uint32_t>(loop.carries); r < e.result_count; ++r)
    if (const ValueId v = body.outputs()[r]; choice.late[v]) copy[e.first_result + r] = all[v];
}

}  // namespace

GraphRef lift_elements(const Graph& graph) {
  const auto is_of_lanes = [](const Eqn& e) { return e.op->kind == OpKind::MapLanes; };
  return with_scans(*with_regions(graph, lift_elements, is_of_lanes), choose, add_scan);
}

}  // namespace apsis::detail
