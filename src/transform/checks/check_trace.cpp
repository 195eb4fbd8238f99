#include "transform/checks/check_trace.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/graph.hpp"
#include "transform/checks/op_checks.hpp"

namespace apsis::detail {
namespace {

thread_local const CheckTrace* innermost_here = nullptr;
thread_local bool checking = false;  // an op, and so what its rules make of it

}  // namespace

CheckTrace::CheckTrace(Trace* parent, const Checks& checks)
    : Trace(parent, "checks"), checks_(checks), outer_(std::exchange(innermost_here, this)) {}
CheckTrace::~CheckTrace() { innermost_here = outer_; }
const CheckTrace* CheckTrace::innermost() { return innermost_here; }

void CheckTrace::process(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out,
                         Loc loc) {
  const TraceScope scope(parent());
  if (checking) return bind(op, params, in, out, loc);
  struct Checking {
    Checking() { checking = true; }
    ~Checking() { checking = false; }
  } here;
  GraphBuilder builder;
  std::vector<ValueId> operands, results(out.size());
  for (const Array& a : in) operands.push_back(builder.input(a.aval()));
  builder.append(op, params, operands, results, loc);
  const GraphRef checked = with_checks(*builder.finish(results), checks_);
  std::ranges::move(interpret(*checked, in), out.begin());
}

}  // namespace apsis::detail
