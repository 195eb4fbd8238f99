#include "passes/hoist_products.hpp"

#include <algorithm>

#include "ops/dot_params.hpp"
#include "ops/view_params.hpp"
#include "passes/with_scans.hpp"

namespace apsis::detail {

extern const Op transpose_op;

namespace {

// Products of more rows than this lose nothing by being one for each iteration.
constexpr std::int64_t most_rows = 64;
// How many times as large as its entry a result may be that is kept for all iterations.
constexpr std::int64_t most_growth = 8;

/// A product in a body of input `entry` and a constant.
struct EntryProduct {
  const Eqn* eqn;
  std::size_t entry;  // by input of the body
  bool entry_first;   // is it the first operand
};

/// Orders of sums depend on the number of terms alone, but for small products.
bool keeps_its_bits(const DotParams& p, const Aval& a, const Aval& b) {
  const bool plain = a.dtype() == b.dtype() && (a.dtype() == Dtype::F32 || a.dtype() == Dtype::F64);
  return plain && p.batch_a.empty() && !is_k_ordered(p, a.shape(), b.shape());
}

std::vector<EntryProduct> products_of_entries(const Loop& loop) {
  std::vector<EntryProduct> found;
  if (loop.length < 2) return found;
  const Graph& body = *loop.body;
  const auto is_entry = [&](ValueId v) {
    return v >= loop.first_x() && v < body.input_count() && !body.aval(v).is_list();
  };
  const auto is_const = [&](ValueId v) { return v < loop.consts && !body.aval(v).is_list(); };
  for (const Eqn& e : body.eqns()) {
    if (e.op->kind != OpKind::Contract) continue;
    const auto& p = e.params.as<DotParams>();
    const ValueId a = body.operands(e)[0], b = body.operands(e)[1];
    const bool first = is_entry(a) && is_const(b);
    if (!first && !(is_const(a) && is_entry(b))) continue;
    if (!keeps_its_bits(p, body.aval(a), body.aval(b))) continue;
    const DotSizes sizes(p, body.aval(a).shape(), body.aval(b).shape());
    const ValueId entry = first ? a : b;
    const bool small = body.aval(e.first_result).bytes() <= most_growth * body.aval(entry).bytes();
    if ((first ? sizes.m : sizes.n) <= most_rows && small) found.push_back({&e, entry, first});
  }
  return found;
}

/// The product of all entries, `entries` and `constant` being values of the builder: axis 0 counts
/// iterations.
ValueId product_of_all(GraphBuilder& builder, const EntryProduct& product, ValueId entries,
                       ValueId constant) {
  DotParams p = product.eqn->params.as<DotParams>();
  (product.entry_first ? p.contract_a : p.contract_b) =
      after_time(product.entry_first ? p.contract_a : p.contract_b);
  ValueId operands[] = {entries, constant}, result[1];
  if (!product.entry_first) std::swap(operands[0], operands[1]);
  builder.add(dot_general_op, make_params(p), operands, result, product.eqn->loc);
  if (product.entry_first) return result[0];
  // The axis of iterations follows the free axes of the constant.
  const std::int64_t rank = builder.aval(result[0]).rank();
  const std::int64_t at = builder.aval(constant).rank() - static_cast<std::int64_t>(p.contract_a.size());
  TransposeParams order;
  order.permutation.push_back(at);
  for (std::int64_t axis = 0; axis < rank; ++axis)
    if (axis != at) order.permutation.push_back(axis);
  ValueId first[1];
  builder.add(transpose_op, make_params(order), result, first, product.eqn->loc);
  return first[0];
}

void add_scan(GraphBuilder& builder, GraphCopy& copy, const Graph& graph, const Eqn& e,
              const std::vector<EntryProduct>& products) {
  ScanParams scan = e.params.as<ScanParams>();
  const Graph& body = *Loop(scan).body;
  std::vector<ValueId> operands = copy(graph.operands(e)), made(e.result_count);
  std::vector<ValueId> given, results;
  for (const EntryProduct& p : products) {
    given.push_back(p.eqn->first_result);
    const std::span<const ValueId> of = body.operands(*p.eqn);
    results.push_back(product_of_all(builder, p, operands[p.entry], operands[of[p.entry_first ? 1 : 0]]));
  }
  scan.body = with_values_given(body, given, body.outputs());
  operands.insert(operands.end(), results.begin(), results.end());
  builder.append(*e.op, make_params(scan), operands, made, e.loc);
  for (std::uint32_t r = 0; r < e.result_count; ++r) copy[e.first_result + r] = made[r];
}

}  // namespace

GraphRef hoist_products(const Graph& graph) {
  return with_scans(*with_regions(graph, hoist_products), products_of_entries, add_scan);
}

}  // namespace apsis::detail
