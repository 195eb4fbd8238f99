#pragma once

// Which values differ from lane to lane of a map_lanes, and which all lanes share.

#include <span>
#include <vector>

#include "ir/graph.hpp"

namespace apsis::detail {

/// Which outputs differ from lane to lane, given which inputs do.
std::vector<char> varying_outputs(const Graph& graph, std::span<const char> inputs);

/// The same of an equation's results.
std::vector<char> varying_results(const Graph& graph, const Eqn& eqn, std::span<const char> operands);

/// For a while or scan equation: which carries differ from lane to lane, at the start or after some trip.
/// `condition` receives whether lanes leave the loop after different numbers of trips.
std::vector<char> varying_carries(const Eqn& eqn, std::span<const char> operands, bool& condition);

}  // namespace apsis::detail
