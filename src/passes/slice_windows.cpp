#include "passes/slice_windows.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ir/regions.hpp"
#include "ops/convert_params.hpp"
#include "ops/index_params.hpp"
#include "ops/reduce_params.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"

namespace apsis::detail {
namespace {

/// Integers that grow by `steps[d]` along axis d.
struct Steps {
  std::int64_t first = 0;
  Dims steps;
};
struct Range {
  std::int64_t least, most;
};

/// Sums and products that no 64 bits hold are nothing.
std::optional<std::int64_t> sum(std::int64_t a, std::int64_t b) {
  std::int64_t c;
  return __builtin_add_overflow(a, b, &c) ? std::nullopt : std::optional(c);
}
std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t c;
  return __builtin_mul_overflow(a, b, &c) ? std::nullopt : std::optional(c);
}

std::optional<Range> range_of(const Steps& s, const Shape& shape) {
  Range range{s.first, s.first};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return std::nullopt;
    const auto way = product(s.steps[d], shape[d] - 1);
    if (!way) return std::nullopt;
    const auto end = sum(*way < 0 ? range.least : range.most, *way);
    if (!end) return std::nullopt;
    (*way < 0 ? range.least : range.most) = *end;
  }
  return range;
}

bool holds(Dtype dtype, const Range& range) {
  const int bits = 8 * static_cast<int>(item_size(dtype)) - (is_signed_integer(dtype) ? 1 : 0);
  const std::int64_t most =
      bits > 62 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << bits) - 1;
  return range.least >= (is_signed_integer(dtype) ? -most : 0) && range.most <= most;
}

class Places {
 public:
  explicit Places(const Graph& graph) : graph_(graph) {}

  /// The steps of a value, if it is made of them and no part of it is too large for its type.
  std::optional<Steps> of(ValueId v, int depth = 0) const {
    const Aval& aval = graph_.aval(v);
    const Eqn* e = graph_.definition(v);
    constexpr int most_depth = 12;
    if (!e || !is_integer(aval.dtype()) || e->result_count != 1 || depth > most_depth) return std::nullopt;
    std::optional<Steps> made = made_by(*e, depth + 1);
    if (!made) return std::nullopt;
    const std::optional<Range> range = range_of(*made, aval.shape());
    return range && holds(aval.dtype(), *range) ? made : std::nullopt;
  }

 private:
  std::optional<Steps> made_by(const Eqn& e, int depth) const {
    const auto operands = graph_.operands(e);
    const Shape& shape = graph_.aval(e.first_result).shape();
    Steps made{0, Dims::filled(shape.size(), 0)};
    if (e.op->kind == OpKind::Constant) {
      made.first = constant_value(e.params).item<std::int64_t>();
      return made;
    }
    if (e.op == &iota_op) {
      made.steps[static_cast<std::size_t>(e.params.as<IotaParams>().axis)] = 1;
      return made;
    }
    if (e.op == &select_op) return chosen(e, depth);
    if (operands.empty()) return std::nullopt;
    const std::optional<Steps> a = of(operands[0], depth);
    if (!a) return std::nullopt;
    if (e.op == &convert_op) return a;
    if (e.op->view_kind == ViewKind::Repeated) {
      const Shape& from = graph_.aval(operands[0]).shape();
      const Dims& axes = e.params.as<BroadcastParams>().axes;
      made.first = a->first;
      for (std::size_t i = 0; i < from.size(); ++i)
        if (from[i] != 1) made.steps[static_cast<std::size_t>(axes[i])] = a->steps[i];
      return made;
    }
    if (e.op->view_kind == ViewKind::Reshaped) return reshaped(*a, graph_.aval(operands[0]).shape(), shape);
    if (e.op != &add_op && e.op != &sub_op && e.op != &mul_op) return std::nullopt;
    const std::optional<Steps> b = of(operands[1], depth);
    return b ? combined(*e.op, *a, *b) : std::nullopt;
  }

  static std::optional<Steps> reshaped(const Steps& a, const Shape& from, const Shape& to) {
    Steps made{a.first, Dims::filled(to.size(), 0)};
    std::size_t axis = 0;
    for (std::size_t d = 0; d < to.size(); ++d) {
      if (to[d] == 1) continue;
      while (axis < from.size() && from[axis] == 1) ++axis;
      if (axis == from.size() || from[axis] != to[d]) return std::nullopt;
      made.steps[d] = a.steps[axis++];
    }
    return made;
  }

  static std::optional<Steps> combined(const Op& op, const Steps& a, const Steps& b) {
    const auto is_number = [](const Steps& s) {
      return std::ranges::all_of(s.steps, [](std::int64_t n) { return n == 0; });
    };
    if (&op == &mul_op && !is_number(b)) return is_number(a) ? combined(op, b, a) : std::nullopt;
    const std::int64_t factor = &op == &mul_op ? b.first : &op == &sub_op ? -1 : 1;
    bool fits = true;
    const auto one = [&](std::int64_t x, std::int64_t y) {
      auto z = product(&op == &mul_op ? x : y, factor);
      if (z && &op != &mul_op) z = sum(x, *z);
      fits = fits && z;
      return z.value_or(0);
    };
    Steps made{one(a.first, b.first), a.steps};
    for (std::size_t d = 0; d < a.steps.size(); ++d) made.steps[d] = one(a.steps[d], b.steps[d]);
    return fits ? std::optional(made) : std::nullopt;
  }

  /// Where the places are counted from the end if they are negative: none is, or all are.
  std::optional<Steps> chosen(const Eqn& e, int depth) const {
    const auto operands = graph_.operands(e);
    const Eqn* less = graph_.definition(operands[0]);
    if (!less || less->op != &lt_op) return std::nullopt;
    const std::optional<Steps> a = of(graph_.operands(*less)[0], depth),
                               b = of(graph_.operands(*less)[1], depth);
    if (!a || !b) return std::nullopt;
    const Shape& shape = graph_.aval(operands[0]).shape();
    const std::optional<Range> x = range_of(*a, shape), y = range_of(*b, shape);
    if (!x || !y) return std::nullopt;
    if (x->least >= y->most) return of(operands[2], depth);
    return x->most < y->least ? of(operands[1], depth) : std::nullopt;
  }

  const Graph& graph_;
};

/// Element k of row i is at `first` + i · `row` + k · `column`.
struct Windows {
  std::int64_t rows, columns, first, row, column;
  bool side_by_side;  ///< few columns; else rows of neighbours, of which sums are made
};

/// What has the elements: the result of a gather, what a scatter brings.
ValueId elements_of(const Graph& graph, const Eqn& e) {
  return e.op->updates >= 0 ? graph.operands(e)[static_cast<std::size_t>(e.op->written)] : e.first_result;
}

bool is_zero(const Graph& graph, ValueId v) {
  const Eqn* e = graph.definition(v);
  if (e && e->op->view_kind == ViewKind::Repeated) e = graph.definition(graph.operands(*e)[0]);
  return e && e->op->kind == OpKind::Constant && e->params.as<ConstantParams>().bits == 0 &&
         e->params.as<ConstantParams>().high_bits == 0;
}

/// `by_column`: whether the elements are read, or made, column by column.
std::optional<Windows> windows_of(const Graph& graph, const Eqn& e, bool by_column) {
  constexpr std::int64_t few_rows = 32, few_columns = 8;
  if (!e.op->places) return std::nullopt;
  const bool puts = e.op->updates >= 0;
  const auto operands = graph.operands(e);
  const GatherParams& p = e.op->places(e.params);
  const Aval &array = graph.aval(operands[0]), &elements = graph.aval(elements_of(graph, e));
  const auto lead = static_cast<std::size_t>(array.rank()) - 1;
  if (array.rank() == 0 || is_complex(array.dtype()) || item_size(array.dtype()) < 4 || array.weak() ||
      elements.weak() || elements.shape().size() != lead + 2 || !p.operand_batching_dims.empty() ||
      p.start_index_map.size() != 1 || p.start_index_map[0] != static_cast<std::int64_t>(lead) ||
      p.collapsed_slice_dims.size() != 1 || p.collapsed_slice_dims[0] != static_cast<std::int64_t>(lead) ||
      p.offset_dims.size() != lead || p.slice_sizes[lead] != 1)
    return std::nullopt;
  for (std::size_t d = 0; d < lead; ++d)
    if (p.offset_dims[d] != static_cast<std::int64_t>(d) || p.slice_sizes[d] != array.shape()[d])
      return std::nullopt;
  // Updates of the same element are added in the order of the rows: in that of the columns, the last one
  // first.
  if (puts && (e.params.as<ScatterParams>().kind != ScatterKind::Add || !is_zero(graph, operands[0])))
    return std::nullopt;
  const Shape& vectors = graph.aval(operands[1]).shape();
  if (vectors.size() != 3 || vectors[0] < few_rows || vectors[1] < 2) return std::nullopt;
  const std::optional<Steps> places = Places(graph).of(operands[1]);
  if (!places) return std::nullopt;
  const Windows w{vectors[0],       vectors[1],       places->first,
                  places->steps[0], places->steps[1], vectors[1] <= few_columns};
  const std::optional<Range> range = range_of(*places, vectors);
  if (w.row < 1 || w.column < 1 || range->least < 0 || range->most >= array.shape()[lead])
    return std::nullopt;
  if (w.side_by_side ? !puts && !by_column : !puts || w.column != 1 || lead > 0) return std::nullopt;
  return w;
}

/// By equation: the windows that it gathers, or adds up.
std::vector<std::optional<Windows>> all_windows(const Graph& graph) {
  const auto eqns = graph.eqns();
  std::vector<std::optional<Windows>> found(eqns.size());
  // Whether a value is read by nothing but elementwise code, sums of rows, and sums of windows.
  std::vector<char> by_column(graph.value_count(), 1);
  for (ValueId v : graph.outputs()) by_column[v] = 0;
  for (std::size_t i = eqns.size(); i-- > 0;) {
    const Eqn& e = eqns[i];
    const auto operands = graph.operands(e);
    if (e.result_count == 1) found[i] = windows_of(graph, e, by_column[e.first_result] != 0);
    for (ValueId v : operands) {
      const auto rank = graph.aval(v).rank();
      bool keeps = e.op->kind == OpKind::Elementwise && e.result_count == 1 && by_column[e.first_result];
      if (e.op == &reduce_sum_op || e.op == &reduce_max_op || e.op == &reduce_min_op) {
        const Dims& axes = e.params.as<ReduceParams>().axes;
        keeps = axes.size() == 1 && axes[0] + 1 == static_cast<std::int64_t>(rank);
      }
      if (found[i] && e.op->updates >= 0) keeps = v == operands[static_cast<std::size_t>(e.op->written)];
      by_column[v] &= static_cast<char>(keeps);
    }
  }
  return found;
}

class Rewriter {
 public:
  Rewriter(GraphBuilder& builder, GraphCopy& copy, const Graph& graph)
      : builder_(builder), copy_(copy), graph_(graph) {}

  void replace(const Eqn& e, const Windows& w) {
    const ScopeOf scope(e.scope);
    loc_ = e.loc;
    copy_[e.first_result] = !w.side_by_side ? rows(e, w) : e.op->updates >= 0 ? added(e, w) : columns(e, w);
  }

 private:
  /// Slices of the array, side by side.
  ValueId columns(const Eqn& e, const Windows& w) {
    const ValueId array = copy_[graph_.operands(e)[0]];
    std::vector<ValueId> parts;
    const Shape shape = builder_.aval(array).shape();
    for (std::int64_t k = 0; k < w.columns; ++k) {
      SliceParams slice{Dims::filled(shape.size(), 0), shape, Dims::filled(shape.size(), 1)};
      const std::size_t last = shape.size() - 1;
      slice.start[last] = w.first + k * w.column;
      slice.limit[last] = slice.start[last] + (w.rows - 1) * w.row + 1;
      slice.stride[last] = w.row;
      const ValueId part = made(slice_op, make_params(slice), {array});
      Shape column = builder_.aval(part).shape();
      column.push_back(1);
      parts.push_back(made(reshape_op, make_params(ReshapeParams{column}), {part}));
    }
    return append1(builder_, concatenate_op, make_params(ConcatenateParams{shape.rank()}), parts, loc_);
  }

  /// Zeros and, from the last one on, the columns where they belong: the order in which a scatter adds.
  ValueId added(const Eqn& e, const Windows& w) {
    const ValueId updates = copy_[elements_of(graph_, e)];
    ValueId total = copy_[graph_.operands(e)[0]];
    const Shape all = builder_.aval(updates).shape();
    const std::size_t last = all.size() - 2;
    Array zero = allocate(Aval(builder_.aval(total).dtype(), {}));
    std::memset(mutable_data<char>(zero), 0, item_size(zero.dtype()));
    const ValueId around = builder_.constant(zero);
    const std::int64_t size = builder_.aval(total).shape()[last];
    Shape column;
    for (std::size_t d = 0; d <= last; ++d) column.push_back(all[d]);
    for (std::int64_t k = w.columns; k-- > 0;) {
      SliceParams slice{Dims::filled(all.size(), 0), all, Dims::filled(all.size(), 1)};
      slice.start[last + 1] = k;
      slice.limit[last + 1] = k + 1;
      const ValueId part = made(reshape_op, make_params(ReshapeParams{column}),
                                {made(slice_op, make_params(slice), {updates})});
      PadParams pad{Dims::filled(column.size(), 0), Dims::filled(column.size(), 0),
                    Dims::filled(column.size(), 0)};
      pad.low[last] = w.first + k * w.column;
      pad.interior[last] = w.row - 1;
      pad.high[last] = size - pad.low[last] - (w.rows - 1) * w.row - 1;
      total = made(add_op, {}, {total, made(pad_op, make_params(pad), {part, around})});
    }
    return total;
  }

  /// The sum with one place a row.
  ValueId rows(const Eqn& e, const Windows& w) {
    std::vector<ValueId> operands = copy_(graph_.operands(e));
    const SliceParams first{Dims{0, 0, 0}, Shape{w.rows, 1, 1}, Dims{1, 1, 1}};
    operands[1] = made(reshape_op, make_params(ReshapeParams{{w.rows, 1}}),
                       {made(slice_op, make_params(first), {operands[1]})});
    ScatterParams scatter = e.params.as<ScatterParams>();
    scatter.places.offset_dims = {1};
    scatter.places.collapsed_slice_dims = {};
    scatter.places.slice_sizes = {w.columns};
    return append1(builder_, *e.op, make_params(scatter), operands, loc_);
  }

  ValueId made(const Op& op, const Params& params, std::initializer_list<ValueId> operands) {
    return append1(builder_, op, params, {operands.begin(), operands.size()}, loc_);
  }

  GraphBuilder& builder_;
  GraphCopy& copy_;
  const Graph& graph_;
  Loc loc_;
};

}  // namespace

GraphRef slice_windows(const Graph& graph) {
  GraphRef made(&graph);
  const auto windows = all_windows(graph);
  if (std::ranges::any_of(windows, [](const auto& w) { return w.has_value(); })) {
    GraphBuilder builder;
    GraphCopy copy(builder, graph);
    copy.add_inputs();
    Rewriter rewriter(builder, copy, graph);
    for (std::size_t i = 0; i < windows.size(); ++i)
      if (const Eqn& e = graph.eqns()[i]; windows[i])
        rewriter.replace(e, *windows[i]);
      else
        copy.add(e);
    made = builder.finish(copy.outputs());
  }
  bool changed = false;
  std::vector<Params> params;
  for (const Eqn& e : made->eqns())
    params.push_back(map_regions(e.params, [&](const Graph& region) {
      GraphRef of_region = e.op->kind == OpKind::MapLanes ? GraphRef(&region) : slice_windows(region);
      changed = changed || of_region.get() != &region;
      return of_region;
    }));
  return changed ? with_params(*made, params) : made;
}

}  // namespace apsis::detail
