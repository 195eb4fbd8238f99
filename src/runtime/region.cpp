#include "runtime/region.hpp"

#include "base/place.hpp"
#include "ir/regions.hpp"
#include "runtime/execute.hpp"
#include "runtime/program_cache.hpp"

namespace apsis::detail {
namespace {

/// The op as a program of one equation. A call's region is the program itself.
GraphRef program_of(const Op& op, const Params& params, std::span<const Array> in, std::size_t results) {
  if (op.kind == OpKind::Call || op.kind == OpKind::Custom) return GraphRef(regions_of(params)[0]);
  GraphBuilder builder;
  std::vector<ValueId> operands, outs(results);
  for (const Array& a : in) operands.push_back(builder.input(a.aval()));
  builder.append(op, params, operands, outs, current_place());
  return builder.finish(outs);
}

}  // namespace

constinit thread_local RunMode run_mode = RunMode::Compiled;

bool run_compiled(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out) {
  if (interpreting()) return false;
  GraphRef graph = program_of(op, params, in, out.size());
  auto program = program_for(graph);
  if (!program) return false;
  // Lists live inside programs; `run` copies those that come and go.
  bool lists = false;
  for (const Array& a : in) lists |= a.aval().is_list();
  for (ValueId v : graph->outputs()) lists |= graph->aval(v).is_list();
  std::vector<Array> results = lists ? run(*program, in, graph.get()) : execute(*program, *graph, in);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::move(results[i]);
  return true;
}

}  // namespace apsis::detail
