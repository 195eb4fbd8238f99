#pragma once

#include "ir/graph.hpp"

namespace apsis::detail {

/// The text form with the scope of each equation as a comment, for people: `to_string` has none, so that
/// equal programs have equal texts.
std::string text_with_scopes(const Graph& graph);
/// `(f64[3], f64[]) -> (f64[3])`.
inline std::string signature_text(const Graph& graph) {
  std::string in, out;
  for (ValueId v = 0; v < graph.input_count(); ++v) in += (v ? ", " : "") + to_string(graph.aval(v));
  for (ValueId v : graph.outputs()) out += (out.empty() ? "" : ", ") + to_string(graph.aval(v));
  return "(" + in + ") -> (" + out + ")";
}

}  // namespace apsis::detail
