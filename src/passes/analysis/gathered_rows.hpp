#pragma once

#include <optional>

#include "ir/graph.hpp"
#include "ops/index_params.hpp"

namespace apsis::detail {

/// Of a gather that takes whole rows: by axis of its result, the axis of the array, or -1: one of the
/// indices.
inline std::optional<Dims> axes_of_rows(const Graph& graph, const Eqn& e) {
  const auto& p = e.params.as<GatherParams>();
  const Shape& from = graph.aval(graph.operands(e)[0]).shape();
  if (!p.operand_batching_dims.empty()) return std::nullopt;
  Dims axes = Dims::filled(static_cast<std::size_t>(graph.aval(e.first_result).rank()), -1);
  std::size_t next = 0;
  for (std::int64_t axis = 0; axis < from.rank(); ++axis) {
    if (p.collapsed_slice_dims.contains(axis)) continue;
    const auto d = static_cast<std::size_t>(axis);
    if (p.slice_sizes[d] != from[d] || p.start_index_map.contains(axis)) return std::nullopt;
    axes[static_cast<std::size_t>(p.offset_dims[next++])] = axis;
  }
  return axes;
}

}  // namespace apsis::detail
