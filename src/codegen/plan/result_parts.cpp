#include "codegen/plan/result_parts.hpp"

#include <optional>
#include <utility>

#include "ir/contiguous_run.hpp"
#include "ops/index_params.hpp"
#include "ops/table.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {
namespace {

/// The same elements in an array of another shape; nothing where they have no strides there.
std::optional<View> reshaped(const View& view, const Shape& shape) {
  View out = View::contiguous(shape);
  out.offset = view.offset;
  if (view.is_contiguous()) return out;
  std::size_t from = 0;
  const auto skip_ones = [&] {
    while (from < view.shape.size() && view.shape[from] == 1) ++from;
  };
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    skip_ones();
    if (from == view.shape.size() || view.shape[from] != shape[axis]) return {};
    out.strides[axis] = view.strides[from++];
  }
  skip_ones();
  return from == view.shape.size() ? std::optional(out) : std::nullopt;
}

/// Whether a loop writes runs of so many elements well. Shorter ones are copied faster, several rows at a
/// time, but for those that fill registers or, two or four of them, a register.
constexpr std::int64_t shortest_run = 64;
bool is_long(std::int64_t run) {
  constexpr std::int64_t shortest_power = 8;
  return run >= shortest_run || (run >= shortest_power && (run & (run - 1)) == 0);
}

/// Whether it puts single columns beside one another, each of another value, in one piece or in long rows.
bool joins_columns(const Graph& graph, const Eqn& e, const View& whole) {
  const Aval& aval = graph.aval(e.first_result);
  if (e.op == &complex_op) return true;
  const auto operands = graph.operands(e);
  return e.op->joins && aval.rank() > 0 && operands.size() > 1 &&
         std::ssize(operands) == aval.shape().back() && std::ssize(operands) <= most_columns &&
         e.params.as<ConcatenateParams>().axis + 1 == static_cast<std::int64_t>(aval.rank()) &&
         !is_complex(aval.dtype()) && item_size(aval.dtype()) >= 4 &&
         (whole.is_contiguous() || contiguous_run(whole) >= shortest_run);
}

bool makes(const Graph& graph, const Eqn& made, ValueId v) {
  const bool stacked = made.op->kind == OpKind::MapLanes && !graph.aval(v).is_list();
  return made.op->joins || stacked || fusible(graph, made);
}

}  // namespace

bool is_reshape(const Graph& graph, const Eqn& e) {
  if (e.op->kind != OpKind::View) return false;
  const Aval &from = graph.aval(graph.operands(e)[0]), &to = graph.aval(e.first_result);
  View view;
  return from.size() == to.size() && from.dtype() == to.dtype() &&
         e.op->view(e.params, to, View::contiguous(from.shape()), view) && view.is_contiguous() &&
         view.offset == 0;
}

bool is_made_of_parts(const Eqn& e) { return e.op->joins || e.op == &complex_op; }

std::vector<View> parts_of(const Graph& graph, const Eqn& e, const View& whole) {
  std::vector<View> parts;
  View part = whole;
  if (e.op->joins) {
    const auto axis = static_cast<std::size_t>(e.params.as<ConcatenateParams>().axis);
    for (const ValueId v : graph.operands(e)) {
      part.shape = graph.aval(v).shape();
      parts.push_back(part);
      part.offset += part.shape[axis] * part.strides[axis];
    }
    return parts;
  }
  // Real and imaginary parts take turns in memory.
  part.offset *= 2;
  for (auto& stride : part.strides) stride *= 2;
  parts.push_back(part);
  ++part.offset;
  parts.push_back(part);
  return parts;
}

std::vector<MadePart> made_for_parts(const Graph& graph, const Eqn& e, const View& whole) {
  std::vector<MadePart> made;
  std::vector<std::pair<const Eqn*, View>> joined = {{&e, whole}};
  for (std::size_t next = 0; next < joined.size(); ++next) {
    const Eqn& join = *joined[next].first;
    std::vector<View> views = parts_of(graph, join, joined[next].second);
    const bool columns = joins_columns(graph, join, joined[next].second);
    const std::size_t before = made.size();
    for (std::size_t k = 0; k < views.size(); ++k) {
      if (join.op->joins && !columns && !views[k].is_contiguous() && !is_long(contiguous_run(views[k])))
        continue;
      std::optional<View> view = std::move(views[k]);
      ValueId v = graph.operands(join)[k];
      const Eqn* from = graph.definition(v);
      for (; view && from && is_reshape(graph, *from); from = graph.definition(v)) {
        v = graph.operands(*from)[0];
        view = reshaped(*view, graph.aval(v).shape());
      }
      if (!view || !from || !makes(graph, *from, v)) continue;
      if (columns) {
        if (fusible(graph, *from)) made.push_back({v, *view, true});
        continue;
      }
      // Lanes write their results one behind the other.
      if (from->op->kind == OpKind::MapLanes && !view->is_contiguous()) continue;
      if (from->op->joins && !view->is_contiguous() && contiguous_run(*view) < shortest_run) continue;
      made.push_back({v, *view});
      if (from->op->joins) joined.emplace_back(from, std::move(*view));
    }
    if (columns && made.size() - before != views.size()) made.resize(before);
  }
  return made;
}

}  // namespace apsis::detail
