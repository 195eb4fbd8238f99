#include "codegen/plan/early_results.hpp"

#include <algorithm>
#include <optional>

#include "codegen/plan/in_place.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t smallest = 1 << 13;  // elements

class Looking {
 public:
  Looking(const Graph& graph, std::span<const Item> items)
      : graph_(graph), items_(items), made_in_(graph.eqns().size(), none), reads_(graph.value_count()) {
    for (std::uint32_t i = 0; i < items.size(); ++i) {
      for (std::uint32_t e : items[i].eqns) made_in_[e] = i;
      for (const auto* eqns : {&items[i].eqns, &items[i].again})
        for (std::uint32_t e : *eqns) add_reads(graph.eqns()[e], i);
    }
    for (ValueId v : graph.outputs()) reads_[v].by_element = false;
  }

  std::optional<ValueId> array_for(ValueId result) const {
    const std::uint32_t last = item_of(result);
    if (last == none || !is_elementwise(items_[last]) || !divides_into_vectors(graph_.aval(result).shape()))
      return {};
    // A loop stores each result as soon as it is made: what is read after that is not to be there.
    const std::uint32_t made = number(*graph_.definition(result));
    for (const auto* eqns : {&items_[last].eqns, &items_[last].again})
      for (std::uint32_t e : *eqns) {
        if (e > made) continue;
        for (ValueId v : graph_.operands(graph_.eqns()[e]))
          if (can_be_early(v, result, last)) return v;
      }
    return {};
  }

 private:
  static constexpr std::uint32_t none = 0xffffffffu;
  /// Of a value: the last item that reads it, and whether all read element after element, and keep nothing.
  struct Reads {
    std::uint32_t last = 0;
    bool by_element = true;
  };

  void add_reads(const Eqn& e, std::uint32_t item) {
    const bool by_element =
        e.op->kind == OpKind::Reduce || (items_[item].cluster && e.op->kind == OpKind::Elementwise &&
                                         e.op->fused_read == FusedRead::None && !puts(e));
    for (ValueId v : graph_.operands(e)) {
      reads_[v].last = std::max(reads_[v].last, item);
      reads_[v].by_element = reads_[v].by_element && by_element;
    }
  }
  std::uint32_t number(const Eqn& e) const { return static_cast<std::uint32_t>(&e - graph_.eqns().data()); }
  std::uint32_t item_of(ValueId v) const {
    const Eqn* e = graph_.definition(v);
    return e ? made_in_[number(*e)] : none;
  }
  /// Whether it is elementwise code, and of no product, which a loop could make as it goes.
  bool is_elementwise(const Item& item) const {
    return item.cluster && std::ranges::all_of(item.eqns, [&](std::uint32_t number) {
             const Eqn& e = graph_.eqns()[number];
             return e.op->kind == OpKind::Elementwise && !puts(e) &&
                    std::ranges::none_of(graph_.operands(e), [&](ValueId v) {
                      const Eqn* made = graph_.definition(v);
                      return made && made->op->kind == OpKind::Contract;
                    });
           });
  }
  bool alike(ValueId a, ValueId b) const {
    return graph_.aval(a).dtype() == graph_.aval(b).dtype() &&
           graph_.aval(a).shape() == graph_.aval(b).shape();
  }
  bool can_be_early(ValueId v, ValueId result, std::uint32_t last) const {
    const std::uint32_t made = item_of(v);
    if (made == none || made >= last || !items_[made].cluster || !alike(v, result) ||
        graph_.definition(v)->op->kind != OpKind::Elementwise || !reads_[v].by_element ||
        reads_[v].last != last)
      return false;
    for (ValueId input = 0; input < graph_.input_count(); ++input)
      if (alike(input, result) && !(reads_[input].by_element && reads_[input].last <= made)) return false;
    return true;
  }

  const Graph& graph_;
  std::span<const Item> items_;
  std::vector<std::uint32_t> made_in_;  // by equation: its item
  std::vector<Reads> reads_;            // by value
};

}  // namespace

std::vector<EarlyResult> find_early_results(const Graph& graph, std::span<const Item> items,
                                            std::span<const ValueId> results) {
  std::vector<EarlyResult> found;
  std::optional<Looking> looking;
  for (ValueId result : results) {
    if (graph.aval(result).is_list() || graph.aval(result).size() < smallest ||
        std::ranges::count(graph.outputs(), result) != 1)
      continue;
    if (!looking) looking.emplace(graph, items);
    if (const std::optional<ValueId> array = looking->array_for(result)) found.push_back({*array, result});
  }
  return found;
}

}  // namespace apsis::detail
