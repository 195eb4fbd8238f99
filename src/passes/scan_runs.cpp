#include "passes/scan_runs.hpp"

#include <algorithm>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ir/regions.hpp"
#include "ops/convert_params.hpp"
#include "ops/dtype_set.hpp"
#include "ops/reduce_params.hpp"
#include "ops/sum_order.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t shortest = 17;  // elements: fewer are in registers, where the op is written out

bool is_run_in_memory(const Graph& graph, const Eqn& e) {
  if ((e.op != &cumsum_op && e.op != &cumprod_op) || e.operand_count != 1) return false;
  const Aval& aval = graph.aval(e.first_result);
  const auto& p = e.params.as<CumulativeParams>();
  // Longer sums are made of several.
  return p.axis == 0 && aval.size() >= shortest && aval.shape()[0] <= sum_block && !aval.weak() &&
         !is_complex(aval.dtype());
}

class Scanning {
 public:
  explicit Scanning(const Graph& graph) : graph_(graph) {}

  GraphRef run() {
    copy_.add_inputs();
    for (const Eqn& e : graph_.eqns()) {
      if (!is_run_in_memory(graph_, e)) {
        copy_.add(e);
        continue;
      }
      const ScopeOf scope(e.scope);
      copy_[e.first_result] = scan(e);
    }
    return builder_.finish(copy_.outputs());
  }

 private:
  /// What changes nothing: a sum of it and −0 is −0.
  ValueId start(const Eqn& e, Dtype dtype, const Shape& shape) {
    const double value = e.op == &cumprod_op ? 1 : is_floating(dtype) ? -0. : 0;
    const ValueId one = builder_.constant(Array(value, dtype));
    return append1(builder_, broadcast_in_dim_op, make_params(BroadcastParams{shape, {}}), {&one, 1}, e.loc);
  }

  ValueId scan(const Eqn& e) {
    const Aval& aval = graph_.aval(e.first_result);
    const auto& p = e.params.as<CumulativeParams>();
    const Dtype dtype = compute_dtype(aval.dtype());
    const Shape entry(aval.shape().begin() + 1, static_cast<std::size_t>(aval.rank() - 1));
    GraphBuilder body;
    const ValueId before = body.input(Aval(dtype, entry)), x = body.input(Aval(aval.dtype(), entry));
    const auto convert = [&](ValueId v, Dtype to) {
      return body.aval(v).dtype() == to
                 ? v
                 : append1(body, convert_op, make_params(ConvertParams{to}), {&v, 1}, e.loc);
    };
    const ValueId both[] = {before, convert(x, dtype)};
    const ValueId total = append1(body, e.op == &cumprod_op ? mul_op : add_op, {}, both, e.loc);
    const ValueId outputs[] = {total, convert(total, aval.dtype())};
    const ScanParams params{body.finish(outputs), 0, 1, aval.shape()[0], p.reverse};
    const ValueId operands[] = {start(e, dtype, entry), copy_[graph_.operands(e)[0]]};
    ValueId results[2];
    builder_.append(scan_op, make_params(params), operands, results, e.loc);
    return results[1];
  }

  const Graph& graph_;
  GraphBuilder builder_;
  GraphCopy copy_{builder_, graph_};
};

GraphRef scan_in(const Graph& graph, bool in_lanes) {
  GraphRef made(&graph);
  if (in_lanes && std::ranges::any_of(graph.eqns(), [&](const Eqn& e) { return is_run_in_memory(graph, e); }))
    made = Scanning(graph).run();
  return with_regions(*made, [&](const Graph& region, const Eqn& e) {
    return scan_in(region, in_lanes || e.op->kind == OpKind::MapLanes);
  });
}

}  // namespace

GraphRef scan_runs(const Graph& graph) { return scan_in(graph, false); }

}  // namespace apsis::detail
