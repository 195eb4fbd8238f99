#pragma once

// The rules of ops that are one region run on the operands: `call`, and ops that add to it. The region is the
// first in the parameters; the rules bind the same op around a transformed region.

#include "control/common/regions.hpp"

namespace apsis::detail {

const Graph& called_region(const Params& params);
/// The parameters with another region.
Params with_called_region(const Params& params, const GraphRef& region);

/// The operands of a batching rule with mapped axes in front, and which of them are mapped.
std::vector<Array> lanes_first(const BatchRule& r, std::vector<bool>& mapped);

void called_shape(const char* op, const Params& params, std::span<const Aval> in, std::vector<Aval>& out);
void called_evaluate(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out);
void called_jvp(const Op& op, const JvpRule& r);
void called_linearize(const Op& op, const LinearizeRule& r);
void called_transpose(const Op& op, const TransposeRule& r);
void called_jet(const JetRule& r);
void called_batch(const Op& op, const BatchRule& r);

}  // namespace apsis::detail
