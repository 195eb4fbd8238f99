#include "codegen/plan/recompute.hpp"

#include <algorithm>

#include "passes/analysis/cost.hpp"
#include "passes/analysis/updates.hpp"

namespace apsis::detail {
namespace {

class Recomputing {
 public:
  Recomputing(const Graph& graph, std::int64_t limit, std::vector<Item>& items)
      : graph_(graph),
        limit_(limit),
        items_(items),
        item_of_(graph.eqns().size(), none),
        readers_(graph.value_count()) {
    for (std::uint32_t i = 0; i < items.size(); ++i)
      for (std::uint32_t e : items[i].eqns)
        if (items[i].cluster) item_of_[e] = i;
    for (std::uint32_t e = 0; e < graph.eqns().size(); ++e) add_readers(e);
    for (ValueId v : graph.outputs()) readers_[v].push_back(none);
  }

  void run() {
    if (!std::ranges::all_of(graph_.eqns(), [&](const Eqn& e) { return leaves_arrays(e) || puts_anew(e); }))
      return;
    // From the last one on: what is computed again reads what comes before.
    for (std::size_t e = graph_.eqns().size(); e-- > 0;) recompute(static_cast<std::uint32_t>(e));
  }

 private:
  static constexpr std::uint32_t none = 0xffffffffu;  // what is read in memory as a whole, or made there
  static constexpr std::int64_t cached_bytes = 256 << 10;
  /// Instructions that take no longer than an element's way to memory and back.
  static constexpr std::int64_t cheap = 12;
  static constexpr std::size_t most_readers = 3;

  struct Again {
    std::vector<std::uint32_t> eqns;
    std::vector<ValueId> arrays;  // that they read
    std::int64_t cost = 0;
    bool can_be = true;
  };

  bool leaves_arrays(const Eqn& e) const {
    if (e.op->kind == OpKind::While || e.op->kind == OpKind::Scan || e.op->kind == OpKind::Cond ||
        e.op->kind == OpKind::Call || puts(e))
      return false;
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      if (updated_operand(e, r) >= 0) return false;
    return true;
  }
  /// Whether it puts elements into an array that is made of one number, and that nothing else reads.
  bool puts_anew(const Eqn& e) const {
    if (!puts(e)) return false;
    const ValueId array = graph_.operands(e)[0];
    const Eqn* made = graph_.definition(array);
    return made && made->op->view_kind == ViewKind::Repeated && readers_[array].size() == 1;
  }
  std::uint32_t number(const Eqn& e) const { return static_cast<std::uint32_t>(&e - graph_.eqns().data()); }

  void add_readers(std::uint32_t number) {
    const Eqn& e = graph_.eqns()[number];
    const auto operands = graph_.operands(e);
    const std::size_t as_wholes = operands.size() - operands_by_element(graph_, e).size();
    for (std::size_t k = 0; k < operands.size(); ++k)
      readers_[operands[k]].push_back(k < as_wholes ? none : item_of_[number]);
  }
  bool is_by_element(const Eqn& e) const {
    return item_of_[number(e)] != none && e.op->kind == OpKind::Elementwise &&
           e.op->fused_read == FusedRead::None && e.result_count == 1 && !has_effect(*e.op, e.params);
  }
  /// Whether an array that a loop makes is in memory afterwards.
  bool is_stored(ValueId v, std::uint32_t made_by) const {
    return std::ranges::any_of(readers_[v], [&](std::uint32_t item) { return item != made_by; });
  }

  /// An input may lie under an output of its kind, which is written when the last of its readers has been. Of
  /// one output, all readers come before the end of its loop.
  bool stays(ValueId input) const {
    return graph_.outputs().size() == 1 || std::ranges::none_of(graph_.outputs(), [&](ValueId v) {
             return graph_.aval(v).dtype() == graph_.aval(input).dtype() &&
                    graph_.aval(v).shape() == graph_.aval(input).shape();
           });
  }

  /// What computes the result of an equation of arrays that are in memory anyway.
  void collect(const Eqn& e, Again& again) const {
    if (std::ranges::find(again.eqns, number(e)) != again.eqns.end()) return;
    again.eqns.push_back(number(e));
    again.cost += emission_cost(graph_, e);
    if (again.cost > cheap) again.can_be = false;
    for (ValueId v : graph_.operands(e)) {
      if (!again.can_be) return;
      const Eqn* made = graph_.definition(v);
      if (in_registers(graph_.aval(v), limit_) || (made && made->op->view_kind == ViewKind::Repeated))
        continue;
      const std::uint32_t item = made ? item_of_[number(*made)] : none;
      if (item != none && !is_stored(v, item)) {
        if (!is_by_element(*made)) again.can_be = false;
        if (again.can_be) collect(*made, again);
        continue;
      }
      const bool in_order =
          !made || made->op->kind != OpKind::View || made->op->view_kind == ViewKind::Reshaped;
      if (!in_order || (!made && !stays(v))) again.can_be = false;
      if (std::ranges::find(again.arrays, v) == again.arrays.end()) again.arrays.push_back(v);
    }
  }

  void recompute(std::uint32_t e) {
    const Eqn& made = graph_.eqns()[e];
    if (!is_by_element(made)) return;
    const ValueId v = made.first_result;
    if (static_cast<std::int64_t>(graph_.aval(v).bytes()) <= cached_bytes) return;
    std::vector<std::uint32_t> later = readers_[v];
    std::ranges::sort(later);
    later.erase(std::ranges::unique(later).begin(), later.end());
    // The loop that makes it must have a use for it.
    if (std::erase(later, item_of_[e]) == 0 || later.empty() || later.size() > most_readers ||
        later.back() == none)
      return;
    Again again;
    collect(made, again);
    if (!again.can_be || again.arrays.size() != 1 ||
        again.cost * static_cast<std::int64_t>(later.size()) > 2 * cheap)
      return;
    for (std::uint32_t item : later) {
      auto& eqns = items_[item].again;
      for (std::uint32_t number : again.eqns) {
        if (std::ranges::find(eqns, number) != eqns.end()) continue;
        eqns.push_back(number);
        for (ValueId o : graph_.operands(graph_.eqns()[number])) readers_[o].push_back(item);
      }
      std::ranges::sort(eqns);
      for (std::uint32_t number : again.eqns) std::erase(readers_[graph_.eqns()[number].first_result], item);
    }
  }

  const Graph& graph_;
  std::int64_t limit_;
  std::vector<Item>& items_;
  std::vector<std::uint32_t> item_of_;               // by equation: its loop, or none
  std::vector<std::vector<std::uint32_t>> readers_;  // by value: loops that read it in memory, or make it
};

}  // namespace

void find_recomputed(const Graph& graph, std::int64_t register_limit, std::vector<Item>& items) {
  Recomputing(graph, register_limit, items).run();
}

}  // namespace apsis::detail
