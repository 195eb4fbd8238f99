#pragma once

#include "ir/graph.hpp"

namespace apsis::detail {

/// A function of t at t = 0: its value, and its derivatives of order 1, 2, … (empty: zero), or none at all if
/// it is constant.
struct JetValue {
  Array value;
  std::vector<Array> series;
};

/// The results of a program on functions of t, with derivatives up to `order`. Runs under the current trace.
std::vector<JetValue> run_jet(const Graph& graph, std::vector<JetValue> inputs, std::size_t order);

/// The graph of (inputs…, for each input marked its derivatives…) → (outputs…, for each output marked in
/// `out_mask` its derivatives…). With `instantiate[i]`, output i has derivatives even if they are zero.
GraphRef jet_graph(const Graph& graph, std::size_t order, const std::vector<bool>& in_mask,
                   const std::vector<bool>& instantiate, std::vector<bool>& out_mask);

/// The derivatives of the operands marked, zeros filled in, one operand after the other.
std::vector<Array> series_of(std::span<const Array> primals, std::span<const std::vector<Array>> series,
                             std::size_t order, const std::vector<bool>& mask);
std::vector<bool> has_series(std::span<const std::vector<Array>> series);

/// The jet of an op run as a program.
void jet_of_program(const Graph& program, const JetRule& rule);

}  // namespace apsis::detail
