#include "control/flow/late_sums.hpp"

#include <algorithm>

#include "ir/loop.hpp"
#include "ops/lax.hpp"

namespace apsis::detail {

namespace {

// Smaller results stay in registers or the first cache from one iteration to the next.
constexpr std::int64_t least_elements = 1024;
// Bytes that an iteration may keep for each byte of results.
constexpr std::int64_t most_kept = 2;

bool is_read_once(const Graph& body, ValueId v) {
  std::size_t reads = 0;
  for (const Eqn& e : body.eqns()) reads += static_cast<std::size_t>(std::ranges::count(body.operands(e), v));
  return reads + static_cast<std::size_t>(std::ranges::count(body.outputs(), v)) == 1;
}

/// The product that makes a value, if it is a large one.
const Eqn* large_product(const Graph& body, ValueId v) {
  const Eqn* e = body.definition(v);
  if (!e || e->op->kind != OpKind::Contract || e->params.as<DotParams>().k_ordered) return nullptr;
  return body.aval(v).size() >= least_elements && is_floating(body.aval(v).dtype()) ? e : nullptr;
}

}  // namespace

std::vector<LateProduct> late_products(const Graph& body, ValueId sum, ValueId output,
                                       const std::vector<char>& stacked) {
  std::vector<LateProduct> found;
  std::vector<ValueId> kept;
  for (ValueId v = output; v != sum;) {
    const Eqn* add = body.definition(v);
    if (!add || add->op->arithmetic != Arithmetic::Sum || !is_read_once(body, v)) return {};
    const ValueId left = body.operands(*add)[0], right = body.operands(*add)[1];
    const Eqn* product = large_product(body, right);
    v = left;
    if (!product) {
      product = large_product(body, left);
      v = right;
    }
    if (!product) return {};
    found.push_back(
        {product->params.as<DotParams>(), body.operands(*product)[0], body.operands(*product)[1]});
    for (ValueId operand : body.operands(*product)) {
      if (operand < body.input_count() && !stacked[operand])
        return {};  // the same in all iterations, or carried
      if (operand >= body.input_count()) kept.push_back(operand);
    }
  }
  if (found.empty() || !is_read_once(body, sum)) return {};
  std::ranges::sort(kept);
  kept.erase(std::ranges::unique(kept).begin(), kept.end());
  std::int64_t bytes = 0;
  for (ValueId v : kept) bytes += static_cast<std::int64_t>(body.aval(v).bytes());
  const auto result = static_cast<std::int64_t>(body.aval(sum).bytes());
  if (bytes > most_kept * result) return {};
  std::ranges::reverse(found);
  return found;
}

Array product_of_all(const DotParams& params, const Array& a, const Array& b) {
  Dims contract_a{0}, contract_b{0};
  for (std::int64_t axis : after_time(params.contract_a)) contract_a.push_back(axis);
  for (std::int64_t axis : after_time(params.contract_b)) contract_b.push_back(axis);
  return lax::dot_general(a, b, contract_a, contract_b, after_time(params.batch_a),
                          after_time(params.batch_b));
}

}  // namespace apsis::detail
