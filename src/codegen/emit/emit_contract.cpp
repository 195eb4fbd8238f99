// Contractions whose order of accumulation is fixed (see dot_params.hpp). Others, the large ones, are calls
// of the evaluator, which has a kernel for them.

#include <algorithm>
#include <optional>
#include <utility>

#include "codegen/emit/contraction.hpp"
#include "codegen/emit/equations.hpp"
#include "codegen/emit/small_product.hpp"
#include "ops/dot_order.hpp"
#include "ops/dot_params.hpp"
#include "ops/dtype_set.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t worth_sharing = 128;  // multiply-adds that take longer than a call
constexpr std::int64_t packing_reuse =
    4;  // reading an operand so often pays for a copy in the order of reading

/// The contracted axes as one walk through both operands; false if they are not one.
bool merge_contracted(const DotParams& p, const View& a, const View& b, std::int64_t& stride_a,
                      std::int64_t& stride_b) {
  stride_a = stride_b = 0;
  std::int64_t count = 1;
  for (std::size_t i = p.contract_a.size(); i-- > 0;) {
    auto axis_a = static_cast<std::size_t>(p.contract_a[i]),
         axis_b = static_cast<std::size_t>(p.contract_b[i]);
    std::int64_t n = a.shape[axis_a];
    if (n == 1) continue;
    if (count == 1) {
      stride_a = a.strides[axis_a];
      stride_b = b.strides[axis_b];
    } else if (a.strides[axis_a] != stride_a * count || b.strides[axis_b] != stride_b * count) {
      return false;
    }
    count *= n;
  }
  return true;
}

/// A copy with the elements along `axis` next to each other.
Place packed(Region& region, const Place& place, const Aval& aval, std::size_t axis) {
  Place copy_of = region.allocate(aval, place.lanes).place();
  std::int64_t step = aval.shape()[axis];
  copy_of.view.strides[axis] = 1;
  for (std::size_t d = aval.shape().size(); d-- > 0;) {
    if (d == axis) continue;
    copy_of.view.strides[d] = step;
    step *= aval.shape()[d];
  }
  region.copy(place, aval, region.overwrite(copy_of));
  return copy_of;
}

/// A copy in which columns along `axis` are side by side, as many as a tile has, in the order of the rows
/// that `down` is; then the next so many. Its view leads to the first ones.
Place in_panels(Region& region, const Place& place, const Aval& aval, std::size_t axis, std::size_t down,
                std::int64_t columns) {
  const std::int64_t rows = aval.shape()[down];
  const Aval panels(aval.dtype(), {aval.shape()[axis] / columns, columns, rows});
  Place from = place, made = region.allocate(panels, 1).place();
  const Dims& strides = place.view.strides;
  from.view = {panels.shape(), {strides[axis] * columns, strides[axis], strides[down]}, place.view.offset};
  made.view.strides = {rows * columns, 1, columns};
  region.copy(from, panels, region.overwrite(made));
  View first{aval.shape(), {rows, rows}, made.view.offset};
  first.strides[down] = columns;
  made.view = first;
  return made;
}

/// A contraction whose result has no place yet, and what holds its operands.
struct Prepared {
  Contraction contraction;
  Place a, b;
};

/// Nothing if its order of accumulation is not fixed.
std::optional<Prepared> prepare(Region& region, const Eqn& e) {
  const auto& p = e.params.as<DotParams>();
  auto operands = region.operands(e);
  const Aval &in_a = region.aval(operands[0]), &in_b = region.aval(operands[1]),
             &out = region.aval(e.first_result);
  DotSizes sizes(p, in_a.shape(), in_b.shape());
  Dtype dtype = out.dtype(), compute = compute_dtype(dtype);
  if (is_complex(dtype) || out.size() == 0 || sizes.k == 0) return {};
  if (!is_k_ordered(p, in_a.shape(), in_b.shape()) && !is_short(sizes)) return {};
  Place a = region.in_memory(operands[0]), b = region.in_memory(operands[1]);
  // Many rows of a meet the columns of b in panels, which are read from one end to the other.
  constexpr std::int64_t many_rows = 16, worth_panels = 1 << 14;  // bytes
  const ProductTile tile = tile_for(region.lowering(), compute);
  const bool in_tiles = a.lanes == 1 && b.lanes == 1 && p.batch_b.empty() && p.contract_b.size() == 1 &&
                        sizes.free_b.size() == 1 && sizes.n % tile.columns == 0 && sizes.m >= many_rows &&
                        in_a.shape()[static_cast<std::size_t>(sizes.free_a.back())] >= tile.rows &&
                        in_b.size() * static_cast<std::int64_t>(item_size(dtype)) >= worth_panels;
  if (in_tiles)
    b = in_panels(region, b, in_b, static_cast<std::size_t>(sizes.free_b[0]),
                  static_cast<std::size_t>(p.contract_b[0]), tile.columns);
  // Neighbouring results read neighbours along the last free axis of b. Where these lie apart, b is
  // transposed first, if enough rows of a share the work.
  if (!in_tiles && a.lanes == 1 && b.lanes == 1 && !sizes.free_b.empty() && sizes.n >= 4 &&
      sizes.m >= packing_reuse) {
    auto last = static_cast<std::size_t>(sizes.free_b.back());
    if (b.view.strides[last] != 1 && b.view.strides[last] != 0) b = packed(region, b, in_b, last);
  }
  // A vector that meets the rows of a matrix is read as they are.
  const bool in_chains = is_floating(compute) && sizes.k >= dot_sequential_below;
  if (in_chains && a.lanes == 1 && b.lanes == 1 && p.contract_a.size() == 1) {
    const auto axis_a = static_cast<std::size_t>(p.contract_a[0]),
               axis_b = static_cast<std::size_t>(p.contract_b[0]);
    const bool rows_a = a.view.strides[axis_a] == 1, rows_b = b.view.strides[axis_b] == 1;
    if (sizes.n == 1 && rows_a && !rows_b)
      b = packed(region, b, in_b, axis_b);
    else if (sizes.m == 1 && rows_b && !rows_a)
      a = packed(region, a, in_a, axis_a);
  }
  std::int64_t step_a = 0, step_b = 0;
  if (!merge_contracted(p, a.view, b.view, step_a, step_b)) {
    a = region.contiguous(a, in_a);
    b = region.contiguous(b, in_b);
    if (!merge_contracted(p, a.view, b.view, step_a, step_b)) return {};
  }

  // Both operands and the result as views of the result's shape.
  View view_a{out.shape(), {}, a.view.offset}, view_b{out.shape(), {}, b.view.offset};
  auto walk = [](View& view, const View& from, const Dims& axes) {
    for (std::int64_t axis : axes) view.strides.push_back(from.strides[static_cast<std::size_t>(axis)]);
  };
  walk(view_a, a.view, p.batch_a);
  walk(view_a, a.view, sizes.free_a);
  for (std::size_t i = 0; i < sizes.free_b.size(); ++i) view_a.strides.push_back(0);
  walk(view_b, b.view, p.batch_b);
  for (std::size_t i = 0; i < sizes.free_a.size(); ++i) view_b.strides.push_back(0);
  walk(view_b, b.view, sizes.free_b);

  Contraction contraction{
      .shape = out.shape(),
      .a = {view_a, a.base, dtype, a.lanes},
      .b = {view_b, b.base, dtype, b.lanes},
      .result = {View::contiguous(out.shape()), {}, dtype, std::max(a.lanes, b.lanes), {}},
      .step_a = step_a,
      .step_b = step_b,
      .count = sizes.k,
      .compute = compute,
      .in_panels = in_tiles};
  return Prepared{std::move(contraction), std::move(a), std::move(b)};
}

void write(Region& region, const Eqn& e, Contraction contraction) {
  const Aval& out = region.aval(e.first_result);
  const Destination result = region.destination(e.first_result, contraction.result.lanes);
  contraction.result = result.sink(out.dtype());
  if (contraction.in_chains() || out.size() * contraction.count >= worth_sharing)
    call_contraction(region.lowering(), contraction);
  else
    write_contraction(region.lowering(), contraction);
  ++region.lowering().loops;
  region.define(e.first_result, result.place());
}

/// Whether the loop can make the results of this product as it goes.
bool can_make(const Graph& graph, const Item& loop, const Eqn& product) {
  constexpr std::int64_t many = 1 << 12;  // elements that are worth code of their own
  const ValueId v = product.first_result;
  if (graph.aval(v).size() < many) return false;
  const auto reads = [&](std::uint32_t i) {
    return std::ranges::find(graph.operands(graph.eqns()[i]), v) != graph.operands(graph.eqns()[i]).end();
  };
  return std::ranges::any_of(loop.eqns, reads) && std::ranges::all_of(loop.eqns, [&](std::uint32_t i) {
           const Eqn& e = graph.eqns()[i];
           return e.op->kind == OpKind::Elementwise && e.op->fused_read == FusedRead::None && !puts(e) &&
                  graph.aval(e.first_result).shape() == graph.aval(v).shape();
         });
}

}  // namespace

bool emit_contract(Region& region, const Eqn& e) {
  const std::optional<Prepared> prepared = prepare(region, e);
  if (prepared) write(region, e, prepared->contraction);
  return prepared.has_value();
}

std::size_t emit_product_and_readers(Region& region, std::span<const Item> items) {
  const Graph& graph = region.graph();
  const auto first_of = [&](const Item& item) -> const Eqn& { return graph.eqns()[item.eqns[0]]; };
  const Eqn& e = first_of(items[0]);
  if (e.op != &dot_general_op || region.lanes() > 1 || region.mask().handle) return 0;
  std::size_t loop = 1;
  const auto is_view_of_others = [&](const Eqn& view) {
    return (view.op->kind == OpKind::View || view.op == &iota_op) &&
           std::ranges::find(graph.operands(view), e.first_result) == graph.operands(view).end();
  };
  while (loop < items.size() && !items[loop].cluster && is_view_of_others(first_of(items[loop]))) ++loop;
  if (loop == items.size() || !items[loop].cluster || !can_make(graph, items[loop], e)) return 0;
  const std::optional<Prepared> prepared = prepare(region, e);
  if (!prepared) return 0;
  for (const Item& view : items.subspan(1, loop - 1)) emit(region, first_of(view));
  if (emit_cluster_of_product(region, items[loop].eqns, e.first_result, prepared->contraction))
    return loop + 1;
  write(region, e, prepared->contraction);
  return loop;
}

}  // namespace apsis::detail
