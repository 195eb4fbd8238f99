#include "codegen/plan/update_order.hpp"

#include <algorithm>
#include <numeric>

#include "codegen/plan/schedule.hpp"
#include "passes/analysis/updates.hpp"

namespace apsis::detail {
namespace {

/// Reads of arrays that programs may update, so that orders of very long programs are found in linear time.
constexpr std::size_t most_steps = 1 << 20;

class Orderer {
 public:
  Orderer(const Graph& graph, std::int64_t register_limit) : graph_(graph), limit_(register_limit) {
    const std::size_t n = graph.eqns().size();
    found_.eqns.resize(n);
    std::iota(found_.eqns.begin(), found_.eqns.end(), 0u);
    found_.after.resize(n);
    found_.copied.assign(n, 0);
    position_ = found_.eqns;
    in_memory_ = std::ranges::any_of(graph.eqns(), [&](const Eqn& e) { return updates_memory(e); });
    if (!in_memory_) return;
    readers_.resize(graph.value_count());
    for (std::uint32_t i = 0; i < n; ++i)
      for (ValueId v : graph.operands(graph.eqns()[i]))
        if (readers_[v].empty() || readers_[v].back() != i) readers_[v].push_back(i);
    marks_.assign(n, 0);
    is_output_.assign(graph.value_count(), 0);
    for (ValueId v : graph.outputs()) is_output_[v] = 1;
  }

  UpdateOrder run() {
    if (!in_memory_) return std::move(found_);
    for (std::uint32_t i = 0; i < graph_.eqns().size() && steps_ < most_steps; ++i) {
      const Eqn& e = graph_.eqns()[i];
      for (std::uint32_t r = 0; r < e.result_count; ++r) {
        const std::int64_t operand = updated_operand(e, r);
        if (operand < 0) continue;
        const ValueId v = graph_.operands(e)[static_cast<std::size_t>(operand)];
        if (!in_registers(graph_.aval(v), limit_)) read_before(i, v);
      }
    }
    return std::move(found_);
  }

 private:
  bool updates_memory(const Eqn& e) const {
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      if (updated_operand(e, r) >= 0 && !in_registers(graph_.aval(e.first_result + r), limit_)) return true;
    return false;
  }

  /// Whether the equation's result may be a view of its first operand.
  bool makes_view(const Eqn& e) const {
    return may_be_view(e) && !in_registers(graph_.aval(e.first_result), limit_);
  }

  /// Brings what reads `v`, views of it included, before the equation that updates it.
  void read_before(std::uint32_t update, ValueId v) {
    for (std::uint32_t reader : readers_[v]) {
      if (reader == update) continue;
      const Eqn& e = graph_.eqns()[reader];
      const bool view = makes_view(e) && graph_.operands(e)[0] == v;
      if (!bring_before(update, reader)) continue;
      found_.after[update].push_back(reader);
      if (!view || found_.copied[reader]) continue;
      // The part of an array is copied where it is read after the update; so large a part that the copy of
      // the array is hardly more is not.
      const std::size_t whole = graph_.aval(v).bytes(), part = graph_.aval(e.first_result).bytes();
      if (read_later(update, e.first_result) && 2 * part <= whole)
        found_.copied[reader] = 1;
      else
        read_before(update, e.first_result);
    }
  }

  /// Whether something that reads `v`, or a view of it, needs the update's result first; or v is an output.
  bool read_later(std::uint32_t update, ValueId v) {
    if (is_output_[v]) return true;
    return std::ranges::any_of(readers_[v], [&](std::uint32_t reader) {
      const Eqn& e = graph_.eqns()[reader];
      return !bring_before(update, reader) || (makes_view(e) && read_later(update, e.first_result));
    });
  }

  /// Moves an equation, and what it needs, before the update; false where it needs the update.
  bool bring_before(std::uint32_t update, std::uint32_t reader) {
    if (position_[reader] < position_[update]) return true;
    std::vector<std::uint32_t> needed{reader};
    ++mark_;
    marks_[reader] = mark_;
    bool may_move = true;
    const auto need = [&](std::uint32_t i) {
      if (position_[i] < position_[update] || marks_[i] == mark_) return;
      marks_[i] = mark_;
      needed.push_back(i);
    };
    for (std::size_t k = 0; k < needed.size() && may_move; ++k, ++steps_) {
      const Eqn& e = graph_.eqns()[needed[k]];
      may_move = needed[k] != update && !has_effect(*e.op, e.params);
      for (ValueId v : graph_.operands(e))
        if (const Eqn* made = graph_.definition(v))
          need(static_cast<std::uint32_t>(made - graph_.eqns().data()));
      for (std::uint32_t i : found_.after[needed[k]]) need(i);
    }
    if (!may_move) return false;
    const auto first = found_.eqns.begin() + position_[update],
               last = found_.eqns.begin() + position_[reader] + 1;
    std::stable_partition(first, last, [&](std::uint32_t i) { return marks_[i] == mark_; });
    for (auto i = first; i != last; ++i) position_[*i] = static_cast<std::uint32_t>(i - found_.eqns.begin());
    steps_ += static_cast<std::size_t>(last - first);
    return true;
  }

  const Graph& graph_;
  std::int64_t limit_;
  UpdateOrder found_;
  std::vector<std::uint32_t> position_;              // by equation, in found_.eqns
  std::vector<std::vector<std::uint32_t>> readers_;  // by value
  std::vector<std::uint32_t> marks_;
  std::vector<char> is_output_;  // by value
  std::uint32_t mark_ = 0;
  std::size_t steps_ = 0;
  bool in_memory_ = false;
};

}  // namespace

UpdateOrder order_updates(const Graph& graph, std::int64_t register_limit) {
  return Orderer(graph, register_limit).run();
}

}  // namespace apsis::detail
