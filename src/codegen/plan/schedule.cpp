#include "codegen/plan/schedule.hpp"

#include <algorithm>
#include <unordered_map>

#include "codegen/plan/update_order.hpp"
#include "ops/reduce_params.hpp"
#include "passes/analysis/cost.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t held_limit = 1 << 20;  // bytes of invariant arrays kept through a loop

// Instructions in one loop. Where the arrays stay in the cache, a loop short enough that the machine overlaps
// several of its iterations beats a longer one, whose iterations each wait for a chain of results; and short
// loops are often alike, and then compiled once. Larger arrays are worth more: each loop reads them from
// memory. So are many accesses to what one loop hands on to the next.
constexpr std::int64_t cached_bytes = 256 << 10, short_loop = 60, long_loop = 1500, accumulation_cost = 3,
                       many_handed_on = 12;

std::int64_t loop_limit(std::int64_t bytes, std::int64_t handed_on) {
  return bytes <= cached_bytes && handed_on < many_handed_on ? short_loop : long_loop;
}

/// Whether it is a reduction that has an order.
bool sums(const Graph& graph, const Eqn& e) { return reduces(graph, e) && !accumulates(graph, e); }

bool has_region(OpKind kind) {
  return kind == OpKind::While || kind == OpKind::Scan || kind == OpKind::Cond || kind == OpKind::MapLanes;
}

/// Which equations depend on invariant inputs only, and may run though the loop might make no trip.
std::vector<char> find_invariant(const Graph& graph, std::span<const char> invariant_inputs) {
  std::vector<char> value(graph.value_count(), 0), eqn(graph.eqns().size(), 0);
  if (invariant_inputs.empty()) return eqn;
  std::copy(invariant_inputs.begin(), invariant_inputs.end(), value.begin());
  std::int64_t held = 0;
  for (std::size_t i = 0; i < eqn.size(); ++i) {
    const Eqn& e = graph.eqns()[i];
    if (has_effect(*e.op, e.params) || has_region(e.op->kind) || e.op->kind == OpKind::Call) continue;
    if (!std::ranges::all_of(graph.operands(e), [&](ValueId v) { return value[v] != 0; })) continue;
    std::int64_t bytes = 0;
    if (e.op->kind != OpKind::View)
      for (std::uint32_t r = 0; r < e.result_count; ++r)
        bytes += static_cast<std::int64_t>(graph.aval(e.first_result + r).bytes());
    if (held + bytes > held_limit) continue;
    held += bytes;
    eqn[i] = 1;
    for (std::uint32_t r = 0; r < e.result_count; ++r) value[e.first_result + r] = 1;
  }
  return eqn;
}

/// Whether it takes the elements of a loop, and its result is there when the loop has ended.
bool ends_with_loop(const Graph& graph, const Eqn& e) { return reduces(graph, e) || puts(e); }

/// The array that says what loop an equation may be part of: its result, or what it reduces or puts
/// somewhere. Null if it stands alone.
const Aval* looped(const Graph& graph, const Eqn& e, std::int64_t limit) {
  const bool ends = ends_with_loop(graph, e);
  if (!ends && (e.result_count == 0 || !(fusible(graph, e) || pads_around(graph, e)))) return nullptr;
  const Aval& aval = graph.aval(ends ? operands_by_element(graph, e)[0] : e.first_result);
  return in_registers(aval, limit) ? nullptr : &aval;
}

/// Comparisons whose results are only asked whether some element is set. They ride along in the loop of what
/// they look at: another loop would cost more than they do.
std::vector<char> find_tests(const Graph& graph) {
  std::vector<char> only_tested(graph.value_count(), 1), tests(graph.eqns().size(), 0);
  for (ValueId v : graph.outputs()) only_tested[v] = 0;
  for (std::size_t i = graph.eqns().size(); i-- > 0;) {
    const Eqn& e = graph.eqns()[i];
    const bool asks = e.op->kind == OpKind::Reduce && e.op->logic == Logic::Any;
    tests[i] = e.result_count == 1 && graph.aval(e.first_result).dtype() == Dtype::Bool &&
               (asks || (e.op->kind == OpKind::Elementwise && only_tested[e.first_result]));
    if (asks) continue;
    for (ValueId v : graph.operands(e)) only_tested[v] = only_tested[v] && tests[i];
  }
  return tests;
}

/// Values that an elementwise equation reads.
std::vector<char> find_read_by_element(const Graph& graph) {
  std::vector<char> read(graph.value_count(), 0);
  for (const Eqn& e : graph.eqns())
    if (e.op->kind == OpKind::Elementwise && fusible(graph, e))
      for (ValueId v : graph.operands(e)) read[v] = 1;
  return read;
}

/// Numbers that say what may share a loop: equal for equal shapes.
class ShapeNumbers {
 public:
  std::uint32_t of(const Shape& shape) {
    std::string key(reinterpret_cast<const char*>(shape.data()), shape.size() * sizeof(std::int64_t));
    return numbers_.try_emplace(std::move(key), static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

/// Whether a loop may hold one more equation that ends with it: sums go over its elements in the order of
/// their axes, and what is put somewhere comes in row-major order. Reads at places in no order wait for
/// memory by themselves, many at a time.
bool agrees(const Graph& graph, const Item& loop, const Eqn& e) {
  return std::ranges::all_of(loop.eqns, [&](std::uint32_t i) {
    const Eqn& other = graph.eqns()[i];
    if (puts(e) && !puts(other) && other.op->fused_read == FusedRead::AtIndices) return false;
    if (puts(e) || puts(other)) return !sums(graph, e) && !sums(graph, other);
    if (!reduces(graph, other)) return true;
    return sums(graph, e) == sums(graph, other) &&
           (!sums(graph, e) || e.params.as<ReduceParams>().axes == other.params.as<ReduceParams>().axes);
  });
}

/// Whether it repeats elements of a smaller array.
bool is_repeated(const Graph& graph, ValueId v) {
  const Eqn* made = graph.definition(v);
  for (; made && made->op->kind == OpKind::View; made = graph.definition(graph.operands(*made)[0]))
    if (made->op->view_kind == ViewKind::Repeated) return true;
  return false;
}

/// What of a loop that grows by one equation after the other another loop would take up: results that it
/// would have to store for that one to load, and arrays that are read in both.
class HandedOn {
 public:
  /// `count` equations in the order in which they are added, of which `eqn` says each one's number.
  template <class F>
  HandedOn(const Graph& graph, std::size_t count, const F& eqn)
      : graph_(graph), last_read_(graph.value_count(), 0), held_in_(graph.value_count(), 0) {
    for (std::size_t i = 0; i < count; ++i)
      for (ValueId v : graph.operands(graph.eqns()[eqn(i)])) last_read_[v] = i + 1;
  }
  void start() {
    ++loop_;
    accesses_ = 0;
  }
  void add(const Eqn& e, std::size_t i) {
    for (ValueId v : graph_.operands(e)) {
      const bool again = last_read_[v] > i + 1, held = held_in_[v] / 2 == loop_;
      if (held && !again)
        let_go(v);
      else if (!held && again && !is_repeated(graph_, v))
        hold(v, read);
    }
    for (ValueId v = e.first_result; v < e.first_result + e.result_count; ++v)
      if (last_read_[v] > i + 1) hold(v, made);
  }
  std::int64_t accesses() const { return accesses_; }

 private:
  enum How : std::uint32_t { read, made };
  void hold(ValueId v, How how) {
    held_in_[v] = 2 * loop_ + how;
    accesses_ += how == made ? 2 : 1;
  }
  void let_go(ValueId v) {
    accesses_ -= held_in_[v] % 2 == made ? 2 : 1;
    held_in_[v] = 0;
  }

  const Graph& graph_;
  std::vector<std::size_t> last_read_;  // by value: the place of its last reader, from 1
  std::vector<std::uint32_t>
      held_in_;  // by value that is yet to be read: twice the loop, and how it came there
  std::uint32_t loop_ = 1;
  std::int64_t accesses_ = 0;
};

/// Each as an item of its own: what is put somewhere is a loop.
void flush(const Graph& graph, std::vector<std::uint32_t>& eqns, std::vector<Item>& items) {
  for (std::uint32_t i : eqns) items.push_back({puts(graph.eqns()[i]), {i}, {}});
  eqns.clear();
}

constexpr std::uint32_t alone = 0xffffffffu;
struct Place {
  std::uint32_t step = 0, shape = alone;  // `alone`: not made by a cluster
};

/// Where a value is made, if by a loop, and how many equations read it.
struct Made {
  const Place* place = nullptr;
  bool movable = false;  // to a later loop
  std::uint32_t reads = 0;
};

/// Whether an equation of a cluster reads one array that is in memory when the cluster runs. What another one
/// of the cluster makes of repeated elements, for it alone, goes where it goes, and is none.
bool reads_one_array(const Graph& graph, const Eqn& e, const std::vector<Made>& made, const Place& place) {
  const auto of_repeated = [&](ValueId v) {
    return std::ranges::all_of(graph.operands(*graph.definition(v)),
                               [&](ValueId o) { return is_repeated(graph, o); });
  };
  int arrays = 0;
  for (ValueId v : graph.operands(e)) {
    if (is_repeated(graph, v)) continue;
    const Made& m = made[v];
    if (!m.place || m.place->shape != place.shape || m.place->step != place.step)
      ++arrays;
    else if (!m.movable || m.reads > 1 || !of_repeated(v))
      return false;
  }
  return arrays <= 1;
}

/// Equations that read one array, and that one later loop reads, become part of that loop: it then reads
/// their operand instead of their result, which no memory holds.
void put_off(const Graph& graph, const UpdateOrder& updates, const std::vector<char>& chosen, char want,
             std::vector<Place>& places) {
  // Where a value is read: by elements of one loop, or otherwise.
  struct Readers {
    bool any = false, otherwise = false;
    Place place;
  };
  std::vector<Readers> readers(graph.value_count());
  std::vector<Made> made(graph.value_count());
  std::vector<char> held(graph.eqns().size(), 0);
  for (ValueId v : graph.outputs()) readers[v].otherwise = true;
  for (std::uint32_t i : updates.eqns)
    for (std::uint32_t reader : updates.after[i]) held[reader] = 1;
  for (std::uint32_t i : updates.eqns) {
    const Eqn& e = graph.eqns()[i];
    for (ValueId v : graph.operands(e)) ++made[v].reads;
    if (chosen[i] != want) continue;
    const bool movable = places[i].shape != alone && !held[i] && e.op->kind == OpKind::Elementwise;
    for (std::uint32_t r = 0; r < e.result_count; ++r) {
      made[e.first_result + r].place = &places[i];
      made[e.first_result + r].movable = movable && e.result_count == 1;
    }
  }
  for (std::size_t n = updates.eqns.size(); n-- > 0;) {
    const std::uint32_t i = updates.eqns[n];
    const Eqn& e = graph.eqns()[i];
    Place& place = places[i];
    if (e.result_count == 1 && made[e.first_result].movable) {
      const Readers& r = readers[e.first_result];
      if (r.any && !r.otherwise && r.place.shape == place.shape && r.place.step > place.step &&
          reads_one_array(graph, e, made, place))
        place.step = r.place.step;
    }
    const auto operands = graph.operands(e);
    const bool in_loop = chosen[i] == want && place.shape != alone;
    const std::size_t first_by_element =
        in_loop ? operands.size() - operands_by_element(graph, e).size() : operands.size();
    for (std::size_t k = 0; k < operands.size(); ++k) {
      Readers& r = readers[operands[k]];
      r.otherwise = r.otherwise || k < first_by_element ||
                    (r.any && (r.place.step != place.step || r.place.shape != place.shape));
      r.any = true;
      r.place = place;
    }
  }
}

/// Orders the chosen equations by steps. Within a step come first the equations that stand alone, in program
/// order, then the clusters. An equation that needs a cluster's result as a whole belongs to a later step
/// than the cluster; one of the same shape that needs it element by element may join it. So every cluster can
/// run as one loop. What a reduction gives is there when its loop has ended. Updates of arrays wait for what
/// reads them.
std::vector<Item> order(const Graph& graph, std::int64_t limit, const UpdateOrder& updates,
                        const std::vector<char>& chosen, char want) {
  std::vector<Place> places(graph.value_count());
  ShapeNumbers shapes;
  std::uint32_t effect_step = 0;
  std::vector<Place> places_of_eqns(graph.eqns().size());
  const std::vector<char> read_by_element = find_read_by_element(graph);
  for (std::uint32_t i : updates.eqns) {
    if (chosen[i] != want) continue;
    const Eqn& e = graph.eqns()[i];
    const Aval* loop = looped(graph, e, limit);
    // A pad is part of a loop that reads it.
    if (loop && e.op->fused_read == FusedRead::Padded && !read_by_element[e.first_result]) loop = nullptr;
    // A sum joins the loop that makes its terms, or stands alone.
    if (loop && sums(graph, e) && places[graph.operands(e)[0]].shape != shapes.of(loop->shape()))
      loop = nullptr;
    Place place{0, loop ? shapes.of(loop->shape()) : alone};
    const auto operands = graph.operands(e);
    const std::size_t first_by_element = loop ? operands.size() - operands_by_element(graph, e).size() : 0;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Place& p = places[operands[k]];
      bool whole = p.shape != alone && (p.shape != place.shape || k < first_by_element);
      place.step = std::max(place.step, p.step + (whole ? 1 : 0));
    }
    for (std::uint32_t reader : updates.after[i]) {
      const Place& p = places_of_eqns[reader];
      place.step = std::max(place.step, p.step + (p.shape != alone ? 1 : 0));
    }
    if (has_effect(*e.op, e.params)) place.step = effect_step = std::max(effect_step, place.step);
    places_of_eqns[i] = place;
    const Place made = loop && ends_with_loop(graph, e) ? Place{place.step + 1, alone} : place;
    for (std::uint32_t r = 0; r < e.result_count; ++r) places[e.first_result + r] = made;
  }
  put_off(graph, updates, chosen, want, places_of_eqns);
  struct Key {
    std::uint32_t step, shape, eqn;
  };
  std::vector<Key> keys;
  for (std::uint32_t i : updates.eqns)
    if (chosen[i] == want) keys.push_back({places_of_eqns[i].step, places_of_eqns[i].shape, i});
  std::stable_sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    if (a.step != b.step) return a.step < b.step;
    // `alone` is the greatest number; adding one puts it first.
    return a.shape + 1 < b.shape + 1;
  });
  std::vector<Item> items;
  const std::vector<char> tests = find_tests(graph);
  std::int64_t cost = 0, bytes = 0;       // of the loop so far, and of its largest array
  std::vector<std::uint32_t> stragglers;  // what ends with the loop, and it cannot hold too
  HandedOn handed_on(graph, keys.size(), [&](std::size_t i) { return keys[i].eqn; });
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Eqn& e = graph.eqns()[keys[i].eqn];
    const bool in_loop = keys[i].shape != alone;
    const bool joins =
        in_loop && i > 0 && keys[i].shape == keys[i - 1].shape && keys[i].step == keys[i - 1].step;
    if (!joins) flush(graph, stragglers, items);
    const bool reduced = in_loop && reduces(graph, e);
    if (joins && ends_with_loop(graph, e) && !agrees(graph, items.back(), e)) {
      stragglers.push_back(keys[i].eqn);
      continue;
    }
    const bool free = tests[keys[i].eqn] != 0;
    const std::int64_t more = !in_loop || free ? 0 : reduced ? accumulation_cost : emission_cost(graph, e);
    const auto size = in_loop ? static_cast<std::int64_t>(looped(graph, e, limit)->bytes()) : 0;
    // A reduction is never worth a loop of its own.
    if (!joins ||
        (!reduced && !free && cost + more > loop_limit(std::max(bytes, size), handed_on.accesses()))) {
      items.push_back({in_loop, {}});
      cost = bytes = 0;
      handed_on.start();
    }
    handed_on.add(e, i);
    bytes = std::max(bytes, size);
    cost += more;
    items.back().eqns.push_back(keys[i].eqn);
  }
  flush(graph, stragglers, items);
  // A reduction by itself goes faster with several partial results than as a loop with one.
  for (Item& item : items) {
    const Eqn& first = graph.eqns()[item.eqns[0]];
    item.cluster = item.cluster && (item.eqns.size() > 1 ||
                                    !(reduces(graph, first) || first.op->fused_read == FusedRead::Padded));
  }
  return items;
}

}  // namespace

Schedule make_schedule(const Graph& graph, std::int64_t register_limit,
                       std::span<const char> invariant_inputs) {
  std::vector<char> invariant = find_invariant(graph, invariant_inputs);
  UpdateOrder updates = order_updates(graph, register_limit);
  Schedule schedule;
  if (!invariant_inputs.empty()) schedule.invariant = order(graph, register_limit, updates, invariant, 1);
  schedule.items = order(graph, register_limit, updates, invariant, 0);
  schedule.copied = std::move(updates.copied);
  return schedule;
}

}  // namespace apsis::detail
