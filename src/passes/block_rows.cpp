#include "passes/block_rows.hpp"

#include <algorithm>
#include <utility>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ir/regions.hpp"
#include "ops/dot_order.hpp"
#include "ops/dot_params.hpp"
#include "ops/index_params.hpp"
#include "ops/reduce_params.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"
#include "passes/analysis/cost.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {
namespace {

// Measured: docs/design/arrays.md.
constexpr std::int64_t worth_blocks = 1 << 19;  // bytes of an array; smaller ones stay in the second cache
constexpr std::int64_t block_bytes = 1 << 14;   // of the largest array in a block, if rows are short
constexpr std::int64_t short_row = 1 << 13;     // bytes; of longer ones a block is a single one
constexpr std::int64_t longest_row = 1 << 18;   // bytes; longer ones leave the cache between two readings
constexpr std::int64_t rows_at_once = 8;        // by which reductions go through short rows
constexpr std::int64_t fewest_rows = 24;        // so that one number a row is an array, not in registers
// Of products: what is made and read again leaves the second cache; a matrix that all rows meet is copied for
// each block, which is larger for that.
constexpr std::int64_t worth_products = 1 << 21, product_block_bytes = 1 << 17, most_shared = 1 << 16;

/// Where a value is computed.
enum class Side : char {
  Before,  // without anything of what is done in blocks
  Free,    // so, too, but it is repeated there, not made: a block repeats it for itself
  Block,   // in blocks
  After    // from something that is done in blocks
};

/// What is done in blocks of so many rows, the entries of axis 0.
class Blocking {
 public:
  Blocking(const Graph& graph, std::int64_t rows)
      : graph_(graph), rows_(rows), side_(graph.value_count(), Side::Before) {
    for (const Eqn& e : graph.eqns()) place(e);
    find_readers();
    while (leave_ends()) {
    }
    leave_unconnected();
    find_reads();
  }

  /// Whether some large array is read again with what it was reduced to, and there are many blocks.
  bool is_worth_it() const {
    return std::ranges::find(rereads_, 1) != rereads_.end() && rows_ >= 2 * rows_of_block();
  }
  GraphRef write() const;

 private:
  using Numbers = std::vector<ValueId>;

  bool has_rows(ValueId v) const {
    const Aval& aval = graph_.aval(v);
    return !aval.is_list() && aval.rank() > 0 && aval.shape()[0] == rows_;
  }
  bool is_large(ValueId v) const { return static_cast<std::int64_t>(graph_.aval(v).bytes()) >= worth_blocks; }
  bool is_in_block(const Eqn& e) const { return e.result_count == 1 && side_[e.first_result] == Side::Block; }
  bool is_free(const Eqn& e) const { return e.result_count == 1 && side_[e.first_result] == Side::Free; }
  /// What is free is repeated in the block that reads it.
  bool is_written_in_block(const Eqn& e) const {
    return is_in_block(e) || (is_free(e) && read_[e.first_result]);
  }
  bool keeps_rows(const Eqn& e) const;
  bool is_product(const Eqn& e) const;
  /// Whether it is a product of rows with a matrix that all of them meet, its second operand.
  bool meets_matrix(const Eqn& e) const { return is_product(e) && e.params.as<DotParams>().batch_a.empty(); }
  /// Whether rows of operand k are read for rows of the result, or all of it.
  bool reads_rows(const Eqn& e, std::size_t k) const {
    return !repeats_for_rows(e) && (k == 0 || !meets_matrix(e));
  }
  bool repeats_for_rows(const Eqn& e) const;
  void place(const Eqn& e);
  void find_readers();
  void find_reads();
  bool joins_loop_after(ValueId v) const;
  bool is_made_again(const Eqn& e) const;
  bool leave_ends();
  void leave_unconnected();

  std::int64_t rows_of_block() const;
  std::int64_t least_part(const Eqn& e) const;
  std::int64_t rows_left() const;
  Params with_rows(const Eqn& e, std::int64_t rows) const;
  void add_rows(GraphBuilder& builder, Numbers& numbers, const Numbers& fixed, std::int64_t rows) const;

  const Graph& graph_;
  std::int64_t rows_;
  std::vector<Side> side_;                        // by value
  std::vector<std::vector<const Eqn*>> readers_;  // by value
  std::vector<char> is_output_;                   // by value
  std::vector<char> read_;                        // by value: in a block
  std::vector<char> rereads_;                     // by equation
  bool has_products_ = false;                     // in blocks
};

/// Whether each row of the result is computed from that row of the operands.
bool Blocking::keeps_rows(const Eqn& e) const {
  const auto operands = graph_.operands(e);
  if (e.result_count != 1 || operands.empty() || !has_rows(e.first_result) ||
      is_complex(graph_.aval(e.first_result).dtype()) ||
      !std::ranges::all_of(operands, [&](ValueId v) { return has_rows(v); }))
    return false;
  if (e.op->kind == OpKind::Elementwise) return e.op->fused_read == FusedRead::None && fusible(graph_, e);
  if (reduces(graph_, e))
    return std::ranges::find(e.params.as<ReduceParams>().axes, 0) == e.params.as<ReduceParams>().axes.end();
  if (e.op == &broadcast_in_dim_op) return e.params.as<BroadcastParams>().axes[0] == 0;
  return e.op == &reshape_op;
}

/// Whether it is a product whose rows are computed from those of its first operand: each with a matrix of its
/// own, or all with one small matrix.
bool Blocking::is_product(const Eqn& e) const {
  if (e.op != &dot_general_op || !has_rows(e.first_result) || !has_rows(graph_.operands(e)[0])) return false;
  const Dtype dtype = graph_.aval(e.first_result).dtype();
  if (dtype != Dtype::F32 && dtype != Dtype::F64) return false;
  const auto& p = e.params.as<DotParams>();
  if (!p.batch_a.empty()) return p.batch_a[0] == 0 && p.batch_b[0] == 0;
  return std::ranges::find(p.contract_a, 0) == p.contract_a.end() &&
         static_cast<std::int64_t>(graph_.aval(graph_.operands(e)[1]).bytes()) <= most_shared;
}

/// The rows that a product must have, so that its sums are in the order of the whole one.
std::int64_t Blocking::least_part(const Eqn& e) const {
  const auto& p = e.params.as<DotParams>();
  const auto operands = graph_.operands(e);
  const Shape &a = graph_.aval(operands[0]).shape(), &b = graph_.aval(operands[1]).shape();
  const DotSizes sizes(p, a, b);
  if (sizes.k < dot_sequential_below || is_k_ordered(p, a, b) || !meets_matrix(e)) return 1;
  return inline_dot_limit / std::max<std::int64_t>(1, sizes.m / rows_ * sizes.n * sizes.k) + 1;
}

/// Whether all rows of the result are the same.
bool Blocking::repeats_for_rows(const Eqn& e) const {
  if (e.result_count != 1 || !has_rows(e.first_result)) return false;
  if (e.op == &iota_op) return e.params.as<IotaParams>().axis != 0;
  if (e.op != &broadcast_in_dim_op) return false;
  const Dims& axes = e.params.as<BroadcastParams>().axes;
  return std::ranges::find(axes, 0) == axes.end();
}

void Blocking::place(const Eqn& e) {
  Side latest = Side::Before;
  bool has_matrix = true;  // outside of blocks
  const auto operands = graph_.operands(e);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    latest = std::max(latest, side_[operands[k]]);
    has_matrix = has_matrix && (reads_rows(e, k) || side_[operands[k]] <= Side::Free);
  }
  Side side = latest >= Side::Block ? Side::After : Side::Before;
  if (repeats_for_rows(e) && latest <= Side::Free) side = Side::Free;
  if ((keeps_rows(e) || (is_product(e) && has_matrix)) && latest != Side::After) {
    if (e.op->kind != OpKind::View)
      side = Side::Block;
    else if (latest != Side::Before)
      side = latest;
    else if (e.op == &broadcast_in_dim_op)
      side = Side::Free;
  }
  for (std::uint32_t r = 0; r < e.result_count; ++r) side_[e.first_result + r] = side;
}

void Blocking::find_readers() {
  readers_.resize(graph_.value_count());
  is_output_.resize(graph_.value_count());
  for (const Eqn& e : graph_.eqns())
    for (ValueId v : graph_.operands(e)) readers_[v].push_back(&e);
  for (ValueId v : graph_.outputs()) is_output_[v] = 1;
}

/// What blocks read; and which equations in them read a large array with what one was reduced to.
void Blocking::find_reads() {
  read_.assign(graph_.value_count(), 0);
  for (std::size_t i = graph_.eqns().size(); i-- > 0;) {
    const Eqn& e = graph_.eqns()[i];
    const bool view = e.op->kind == OpKind::View;
    if (is_in_block(e) ? view && !read_[e.first_result] : !is_free(e) || !read_[e.first_result]) continue;
    const auto operands = graph_.operands(e);
    for (std::size_t k = 0; k < operands.size(); ++k)
      if (repeats_for_rows(e) || reads_rows(e, k)) read_[operands[k]] = 1;
  }
  rereads_.assign(graph_.eqns().size(), 0);
  has_products_ = false;
  std::vector<char> reduced(graph_.value_count(), 0), multiplied(graph_.value_count(), 0);
  for (std::size_t i = 0; i < graph_.eqns().size(); ++i) {
    const Eqn& e = graph_.eqns()[i];
    if (!is_in_block(e)) continue;
    const auto operands = graph_.operands(e);
    const bool large = std::ranges::any_of(operands, [&](ValueId v) { return is_large(v); });
    const bool of_reduced = std::ranges::any_of(operands, [&](ValueId v) { return reduced[v] != 0; });
    const bool of_product = std::ranges::any_of(operands, [&](ValueId v) { return multiplied[v] != 0; });
    const bool view = e.op->kind == OpKind::View, product = is_product(e);
    rereads_[i] = static_cast<char>(!view && ((large && of_reduced) || of_product));
    reduced[e.first_result] = static_cast<char>(of_reduced || (large && reduces(graph_, e)));
    multiplied[e.first_result] =
        static_cast<char>((of_product || product) &&
                          static_cast<std::int64_t>(graph_.aval(e.first_result).bytes()) >= worth_products);
    has_products_ = has_products_ || meets_matrix(e);
  }
}

/// Whether a loop outside would make v as it reads it.
bool Blocking::joins_loop_after(ValueId v) const {
  return std::ranges::any_of(readers_[v], [&](const Eqn* e) {
    if (e->op->kind == OpKind::View) return joins_loop_after(e->first_result);
    return !is_in_block(*e) && (fusible(graph_, *e) || reduces(graph_, *e));
  });
}

/// Whether what is outside makes for itself what it reads of this equation, though it is in a block: views,
/// and cheap elementwise code on one large array and small ones.
bool Blocking::is_made_again(const Eqn& e) const {
  constexpr std::int64_t cheap = 4;
  const ValueId v = e.first_result;
  if (!is_in_block(e)) return false;
  if (e.op->kind == OpKind::View) return true;
  if (e.op->kind != OpKind::Elementwise || is_output_[v] || !joins_loop_after(v)) return false;
  if (emission_cost(graph_, e) > cheap) return false;
  std::size_t arrays = 0;
  for (ValueId operand : graph_.operands(e)) {
    const Eqn* made = graph_.definition(operand);
    while (made && made->op->kind == OpKind::View && !is_large(graph_.operands(*made)[0]))
      made = graph_.definition(operand = graph_.operands(*made)[0]);
    if (!is_large(operand)) continue;
    if (side_[operand] != Side::Before || ++arrays > 1) return false;
  }
  return true;
}

/// The last equations of a block are left to loops outside that read them anyway: in a block they would be
/// written to memory. Whether there was one.
bool Blocking::leave_ends() {
  find_reads();
  bool left = false;
  for (const Eqn& e : graph_.eqns()) {
    const ValueId v = e.first_result;
    if (!is_in_block(e) || read_[v] || reduces(graph_, e) || is_product(e)) continue;
    if (e.op->kind != OpKind::View && (is_output_[v] || !joins_loop_after(v))) continue;
    side_[v] = Side::After;
    left = true;
  }
  return left;
}

/// Equations that have nothing to do with one that reads an array again.
void Blocking::leave_unconnected() {
  find_reads();
  std::vector<char> connected(graph_.value_count(), 0);
  std::vector<const Eqn*> next;
  const auto meet = [&](const Eqn* e) {
    if (!e || !is_in_block(*e) || connected[e->first_result]) return;
    connected[e->first_result] = 1;
    next.push_back(e);
  };
  for (const Eqn& e : graph_.eqns())
    if (rereads_[static_cast<std::size_t>(&e - graph_.eqns().data())]) meet(&e);
  while (!next.empty()) {
    const Eqn* e = next.back();
    next.pop_back();
    for (ValueId v : graph_.operands(*e)) meet(graph_.definition(v));
    for (const Eqn* reader : readers_[e->first_result]) meet(reader);
  }
  for (const Eqn& e : graph_.eqns())
    if (is_in_block(e) && !connected[e.first_result]) side_[e.first_result] = Side::Before;
}

std::int64_t Blocking::rows_of_block() const {
  std::int64_t row = 1;
  for (ValueId v = 0; v < graph_.value_count(); ++v)
    if (has_rows(v) && (read_[v] || side_[v] == Side::Block))
      row = std::max(row, static_cast<std::int64_t>(graph_.aval(v).bytes()) / rows_);
  if (row > longest_row || (row > short_row && has_products_)) return rows_;
  if (row > short_row) return 1;
  std::int64_t fewest = fewest_rows;
  for (const Eqn& e : graph_.eqns())
    if (is_in_block(e) && is_product(e)) fewest = std::max(fewest, least_part(e));
  const std::int64_t bytes = has_products_ ? product_block_bytes : block_bytes,
                     least = std::max(fewest, bytes / row / rows_at_once * rows_at_once);
  for (std::int64_t rows = least; rows <= 2 * least; rows += rows_at_once)
    if (rows_ % rows == 0) return rows;
  return least;
}

/// Behind the last whole block; with one more block where these would be too few.
std::int64_t Blocking::rows_left() const {
  const std::int64_t rows = rows_of_block(), left = rows_ % rows;
  const bool too_few = std::ranges::any_of(
      graph_.eqns(), [&](const Eqn& e) { return is_in_block(e) && is_product(e) && left < least_part(e); });
  return left > 0 && too_few ? left + rows : left;
}

Params Blocking::with_rows(const Eqn& e, std::int64_t rows) const {
  if (e.op == &broadcast_in_dim_op) {
    BroadcastParams p = e.params.as<BroadcastParams>();
    p.shape[0] = rows;
    return make_params(p);
  }
  if (e.op == &reshape_op) {
    ReshapeParams p = e.params.as<ReshapeParams>();
    p.shape[0] = rows;
    return make_params(p);
  }
  if (e.op == &iota_op) {
    IotaParams p = e.params.as<IotaParams>();
    p.shape[0] = rows;
    return make_params(p);
  }
  return e.params;
}

/// The equations of a block of so many rows. `numbers`: what stands for values with rows, `fixed`: for
/// others.
void Blocking::add_rows(GraphBuilder& builder, Numbers& numbers, const Numbers& fixed,
                        std::int64_t rows) const {
  std::vector<ValueId> operands;
  for (const Eqn& e : graph_.eqns()) {
    if (!is_written_in_block(e)) continue;
    const ScopeOf scope(e.scope);
    operands.clear();
    for (ValueId v : graph_.operands(e))
      operands.push_back((reads_rows(e, operands.size()) ? numbers : fixed)[v]);
    numbers[e.first_result] = append1(builder, *e.op, with_rows(e, rows), operands, e.loc);
  }
}

GraphRef Blocking::write() const {
  // What blocks take: parts of arrays, and what is the same for all rows.
  std::vector<ValueId> parts, fixed, results;
  std::vector<const Eqn*> literals;
  std::vector<char> taken(graph_.value_count(), 0), kept(graph_.value_count(), 0);
  for (const Eqn& e : graph_.eqns()) {
    if (!is_written_in_block(e)) continue;
    const auto operands = graph_.operands(e);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const ValueId v = operands[k];
      if (!reads_rows(e, k)) {
        if (std::exchange(kept[v], 1)) continue;
        const Eqn* made = graph_.definition(v);
        if (made && made->op->kind == OpKind::Constant)
          literals.push_back(made);
        else
          fixed.push_back(v);
      } else if (side_[v] == Side::Before && !std::exchange(taken[v], 1)) {
        parts.push_back(v);
      }
    }
  }
  // And what is read of them outside.
  std::vector<char> outside = is_output_;
  for (std::size_t i = graph_.eqns().size(); i-- > 0;) {
    const Eqn& e = graph_.eqns()[i];
    if (side_[e.first_result] != Side::After && !(outside[e.first_result] && is_made_again(e))) continue;
    for (ValueId v : graph_.operands(e)) outside[v] = 1;
  }
  for (const Eqn& e : graph_.eqns())
    if (is_in_block(e) && outside[e.first_result] && !is_made_again(e)) results.push_back(e.first_result);

  GraphBuilder builder;
  GraphCopy copy(builder, graph_);
  copy.add_inputs();
  for (const Eqn& e : graph_.eqns())
    if (side_[e.first_result] <= Side::Free) copy.add(e);

  const std::int64_t rows = rows_of_block(), rest = rows_left(), blocks = (rows_ - rest) / rows;
  Numbers numbers(graph_.value_count()), same(graph_.value_count());
  GraphBuilder body;
  for (ValueId v : fixed) same[v] = body.input(graph_.aval(v));
  for (ValueId v : parts) {
    const Aval& aval = graph_.aval(v);
    Shape shape = aval.shape();
    shape[0] = rows;
    numbers[v] = body.input(Aval(aval.dtype(), shape, aval.weak()));
  }
  for (const Eqn* e : literals) same[e->first_result] = append1(body, *e->op, e->params, {}, e->loc);
  add_rows(body, numbers, same, rows);
  std::vector<ValueId> outputs;
  for (ValueId v : results) outputs.push_back(numbers[v]);
  MapLanesParams map{.region = body.finish(outputs), .lanes = blocks};
  for (std::size_t i = 0; i < fixed.size(); ++i) map.in_axes.push_back(-1);
  for (std::size_t i = 0; i < parts.size(); ++i) map.in_axes.push_back(0);

  const auto rows_between = [&](ValueId v, std::int64_t first, std::int64_t end) {
    const Shape& shape = builder.aval(v).shape();
    if (end - first == shape[0]) return v;
    SliceParams p{{}, Dims(shape), {}};
    for (std::size_t d = 0; d < shape.size(); ++d) {
      p.start.push_back(0);
      p.stride.push_back(1);
    }
    p.start[0] = first;
    p.limit[0] = end;
    return append1(builder, slice_op, make_params(p), {&v, 1});
  };
  const auto reshaped = [&](ValueId v, const Shape& shape) {
    return append1(builder, reshape_op, make_params(ReshapeParams{shape}), {&v, 1});
  };
  std::vector<ValueId> operands = copy(fixed), made(results.size());
  for (ValueId v : parts) {
    Shape shape = graph_.aval(v).shape();
    shape[0] = rows;
    shape.insert(0, blocks);
    operands.push_back(reshaped(rows_between(copy[v], 0, blocks * rows), shape));
  }
  builder.append(map_lanes_op, make_params(map), operands, made);
  Numbers left(graph_.value_count());
  if (rest > 0) {
    Numbers outer(graph_.value_count());
    for (ValueId v : fixed) outer[v] = copy[v];
    for (const Eqn* e : literals) outer[e->first_result] = copy[e->first_result];
    for (ValueId v : parts) left[v] = rows_between(copy[v], blocks * rows, rows_);
    add_rows(builder, left, outer, rest);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    Shape shape = graph_.aval(results[i]).shape();
    shape[0] = blocks * rows;
    const ValueId most = reshaped(made[i], shape), all[] = {most, left[results[i]]};
    copy[results[i]] =
        rest == 0 ? most : append1(builder, concatenate_op, make_params(ConcatenateParams{0}), all);
  }
  for (const Eqn& e : graph_.eqns()) {
    if (side_[e.first_result] == Side::After || (outside[e.first_result] && is_made_again(e))) copy.add(e);
  }
  return builder.finish(copy.outputs());
}

/// The numbers of rows of large arrays that are reduced row by row, and of products.
std::vector<std::int64_t> numbers_of_rows(const Graph& graph) {
  std::vector<std::int64_t> found;
  for (const Eqn& e : graph.eqns()) {
    const bool product = e.op == &dot_general_op;
    if (!reduces(graph, e) && !product) continue;
    const Aval& aval = graph.aval(product ? e.first_result : graph.operands(e)[0]);
    if (static_cast<std::int64_t>(aval.bytes()) < worth_blocks || graph.aval(e.first_result).rank() == 0)
      continue;
    const std::int64_t rows = aval.shape()[0];
    if (graph.aval(e.first_result).shape()[0] == rows && std::ranges::find(found, rows) == found.end())
      found.push_back(rows);
  }
  return found;
}

}  // namespace

GraphRef block_rows(const Graph& graph) {
  GraphRef made(&graph);
  const bool effects =
      std::ranges::any_of(graph.eqns(), [](const Eqn& e) { return has_effect(*e.op, e.params); });
  if (!effects)
    for (std::int64_t rows : numbers_of_rows(graph))
      for (;;) {
        const Blocking blocking(*made, rows);
        if (!blocking.is_worth_it()) break;
        made = blocking.write();
      }
  std::vector<Params> params;
  bool changes = false;
  for (const Eqn& e : made->eqns())
    params.push_back(e.op->kind == OpKind::MapLanes ? e.params
                                                    : map_regions(e.params, [&](const Graph& region) {
                                                        GraphRef inner = block_rows(region);
                                                        changes = changes || inner.get() != &region;
                                                        return inner;
                                                      }));
  return changes ? with_params(*made, params) : made;
}

}  // namespace apsis::detail
