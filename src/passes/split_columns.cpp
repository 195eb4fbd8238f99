#include "passes/split_columns.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ir/view.hpp"
#include "ops/dot_order.hpp"
#include "ops/dot_params.hpp"
#include "ops/index_params.hpp"
#include "ops/reduce_params.hpp"
#include "ops/sum_order.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"
#include "passes/analysis/columns.hpp"
#include "passes/analysis/cost.hpp"
#include "passes/analysis/equation_sets.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t smallest = 1 << 12;  // elements of an array
constexpr std::int64_t most_code = 1500;    // instructions of all columns
constexpr std::int64_t long_run = 8;        // elements beside one another that are moved as one

/// The axes before the columns: as few as leave no more columns than loops store together, but one.
std::size_t leading_axes(const Shape& shape) {
  std::size_t first = shape.size();
  for (std::int64_t columns = 1; first > 1 && columns * shape[first - 1] <= most_columns; --first)
    columns *= shape[first - 1];
  return first;
}

/// What becomes of an equation's columns.
enum class Way : char {
  None,         // it is left as it is
  Elementwise,  // each is computed of those of the operands
  Moved,        // they are columns of operands, in another order or several times
  Summed,       // a sum of columns
  Contracted    // sums of products of columns
};

/// Equations that read one another's columns.
struct Component {
  bool splits = false, possible = true;
  std::int64_t code = 0;      // instructions of all columns
  std::int64_t moves = 0;     // equations that put columns where they have not been
  std::int64_t computed = 0;  // equations that compute
  std::int64_t written = 0;   // arrays that are put together
};

class Splitting {
 public:
  explicit Splitting(const Graph& graph)
      : graph_(graph),
        way_(graph.eqns().size(), Way::None),
        sets_(graph),
        read_elsewhere_(graph.value_count(), 0) {}

  /// Whether there is something to split.
  bool plan();
  GraphRef run();

 private:
  const Shape& shape(ValueId v) const { return graph_.aval(v).shape(); }
  std::uint32_t number(const Eqn& e) const { return static_cast<std::uint32_t>(&e - graph_.eqns().data()); }
  /// The member that makes a value; null: none.
  const Eqn* member(ValueId v) const {
    const Eqn* e = graph_.definition(v);
    return e && way_[number(*e)] != Way::None ? e : nullptr;
  }
  /// The axes before the columns of what an equation makes, and of its operands.
  std::size_t lead_of(const Eqn& e) const;
  bool has_columns(ValueId v, std::size_t lead, const Shape& like) const;
  Way way_of(const Eqn& e) const;
  bool is_small_product(const Eqn& e) const;
  bool is_no_product_of_rows(const Eqn& e) const;
  bool moves_columns(const Eqn& e) const;
  bool is_view_of_others(const Eqn& e) const;
  bool splits(const Eqn& e) {
    return way_[number(e)] != Way::None && components_[sets_.root(number(e))].splits;
  }
  void count(const Eqn& e);

  ValueId as(ValueId v, const Shape& shape, Loc loc);
  ValueId sliced(ValueId v, std::size_t lead, std::int64_t column, Loc loc);
  const std::vector<ValueId>& columns(ValueId v, std::size_t lead, Loc loc);
  std::vector<ValueId> moved(const Eqn& e, std::size_t lead);
  std::vector<ValueId> repeated(const Eqn& e, std::size_t lead);
  std::vector<ValueId> joined(const Eqn& e, std::size_t lead);
  std::vector<ValueId> padded(const Eqn& e, std::size_t lead);
  std::vector<ValueId> computed(const Eqn& e, std::size_t lead);
  std::vector<ValueId> summed(const Eqn& e, std::size_t lead);
  std::vector<ValueId> contracted(const Eqn& e, std::size_t lead);
  ValueId put_together(const Eqn& e, const std::vector<ValueId>& columns, std::size_t lead);

  const Graph& graph_;
  std::vector<Way> way_;  // by equation
  EquationSets sets_;
  std::vector<Component> components_;  // by equation, of roots
  std::vector<char> read_elsewhere_;   // by value: not by a member that takes its columns
  // By value and number of leading axes, in the shape of these.
  std::map<std::pair<ValueId, std::size_t>, std::vector<ValueId>> columns_;
  GraphBuilder builder_;
  GraphCopy copy_{builder_, graph_};
};

Shape part(const Shape& shape, std::size_t first, std::size_t end) {
  return Shape(std::vector<std::int64_t>(shape.begin() + static_cast<std::ptrdiff_t>(first),
                                         shape.begin() + static_cast<std::ptrdiff_t>(end)));
}
Shape leading(const Shape& shape, std::size_t lead) { return part(shape, 0, lead); }
Shape trailing(const Shape& shape, std::size_t lead) { return part(shape, lead, shape.size()); }

/// Of fewer columns than the operand has, the axes before them are the operand's.
std::size_t Splitting::lead_of(const Eqn& e) const {
  const Shape& made = shape(e.first_result);
  if (e.op == &dot_general_op) return e.params.as<DotParams>().batch_a.size();
  const bool fewer = e.op == &slice_op || e.op == &reshape_op || e.op->kind == OpKind::Reduce;
  return leading_axes(fewer ? shape(graph_.operands(e)[0]) : made);
}

/// Whether the array has those leading axes, and then no more columns than there may be.
bool Splitting::has_columns(ValueId v, std::size_t lead, const Shape& like) const {
  const Shape& s = shape(v);
  return s.size() >= lead && like.size() >= lead && leading(s, lead) == leading(like, lead) &&
         trailing(s, lead).product() <= most_columns;
}

/// A matrix or vector of columns times another, of the same leading axes.
bool Splitting::is_small_product(const Eqn& e) const {
  const auto& p = e.params.as<DotParams>();
  const auto operands = graph_.operands(e);
  const Dtype dtype = graph_.aval(e.first_result).dtype();
  if (dtype != Dtype::F64 && dtype != Dtype::F32) return false;
  for (ValueId v : operands)
    if (graph_.aval(v).dtype() != dtype || !has_columns(v, p.batch_a.size(), shape(operands[0])))
      return false;
  for (std::size_t d = 0; d < p.batch_a.size(); ++d)
    if (p.batch_a[d] != static_cast<std::int64_t>(d) || p.batch_b[d] != static_cast<std::int64_t>(d))
      return false;
  return p.contract_a.size() == 1 &&
         shape(operands[0])[static_cast<std::size_t>(p.contract_a[0])] < dot_sequential_below;
}

/// Whether rows of the second operand, as they lie, are no vectors that the product could be computed of: it
/// is a vector, or contracted along its rows, or these are short. Measured up to 12 entries of a matrix.
bool Splitting::is_no_product_of_rows(const Eqn& e) const {
  constexpr std::int64_t most_entries = 12, few_entries = 4;
  const std::size_t lead = lead_of(e);
  const auto operands = graph_.operands(e);
  const Shape left = trailing(shape(operands[0]), lead), right = trailing(shape(operands[1]), lead);
  const std::int64_t made = trailing(shape(e.first_result), lead).product();
  const bool along_rows = e.params.as<DotParams>().contract_b[0] + 1 == std::ssize(shape(operands[1]));
  return made == 1 || (std::max(left.product(), right.product()) <= most_entries &&
                       (left.size() == 1 || along_rows || made <= few_entries));
}

Way Splitting::way_of(const Eqn& e) const {
  if (e.result_count != 1 || e.operand_count == 0 || has_effect(*e.op, e.params)) return Way::None;
  const auto operands = graph_.operands(e);
  if (graph_.aval(operands[0]).is_list()) return Way::None;
  const Aval& aval = graph_.aval(e.first_result);
  const Shape &made = aval.shape(), &from = shape(operands[0]);
  const std::size_t lead = lead_of(e);
  const Shape& whole = made.product() > from.product() ? made : from;
  if (lead == 0 || made.size() < lead || whole.size() < lead || whole.product() < smallest ||
      is_complex(aval.dtype()) || trailing(whole, lead).product() < 2 ||
      !has_columns(e.first_result, lead, whole))
    return Way::None;
  const auto first_axes_stay = [&](const Dims& axes) {
    return std::ranges::all_of(axes, [&](std::int64_t d) { return d >= static_cast<std::int64_t>(lead); });
  };
  if (e.op->kind == OpKind::Elementwise) {
    const bool alike = std::ranges::all_of(operands, [&](ValueId v) { return shape(v) == made; });
    return alike && fusible(graph_, e) ? Way::Elementwise : Way::None;
  }
  if (e.op->kind == OpKind::Reduce) {
    const Dims& axes = e.params.as<ReduceParams>().axes;
    const bool sums = e.op == &reduce_sum_op && (aval.dtype() == Dtype::F64 || aval.dtype() == Dtype::F32);
    return sums && first_axes_stay(axes) &&
                   trailing(from, lead).product() < sum_sequential_below * trailing(made, lead).product()
               ? Way::Summed
               : Way::None;
  }
  if (e.op == &dot_general_op) return is_small_product(e) ? Way::Contracted : Way::None;
  if (e.op->joins) return first_axes_stay({e.params.as<ConcatenateParams>().axis}) ? Way::Moved : Way::None;
  if (e.op == &pad_op) {
    const auto& p = e.params.as<PadParams>();
    for (std::size_t d = 0; d < made.size(); ++d)
      if (p.low[d] < 0 || p.high[d] < 0 || (d < lead && p.low[d] + p.high[d] + p.interior[d] != 0))
        return Way::None;
    return from.product() > 0 ? Way::Moved : Way::None;
  }
  if (e.op == &broadcast_in_dim_op) {
    // Of columns, or of something small along the columns.
    const Dims& axes = e.params.as<BroadcastParams>().axes;
    if (first_axes_stay(axes)) return Way::Moved;
    for (std::size_t d = 0; d < lead; ++d)
      if (axes.size() <= d || axes[d] != static_cast<std::int64_t>(d)) return Way::None;
    return has_columns(operands[0], lead, made) ? Way::Moved : Way::None;
  }
  if (e.op->kind != OpKind::View || !has_columns(operands[0], lead, made)) return Way::None;
  if (e.op == &reshape_op) return Way::Moved;
  if (e.op == &reverse_op) return first_axes_stay(e.params.as<ReverseParams>().axes) ? Way::Moved : Way::None;
  if (e.op == &transpose_op) {
    const Dims& permutation = e.params.as<TransposeParams>().permutation;
    for (std::size_t d = 0; d < lead; ++d)
      if (permutation[d] != static_cast<std::int64_t>(d)) return Way::None;
    return Way::Moved;
  }
  if (e.op == &slice_op) {
    const auto& p = e.params.as<SliceParams>();
    for (std::size_t d = 0; d < lead; ++d)
      if (p.start[d] != 0 || p.limit[d] != from[d] || p.stride[d] != 1) return Way::None;
    return Way::Moved;
  }
  return Way::None;
}

/// Whether columns come to lie beside others than before, few of them in a row.
bool Splitting::moves_columns(const Eqn& e) const {
  if (e.op == &reverse_op || e.op == &transpose_op) return true;
  const Shape& made = shape(e.first_result);
  const auto is_short = [&](ValueId v, std::size_t axis) {
    return shape(v)[axis] * trailing(made, axis + 1).product() < long_run;
  };
  const auto operands = graph_.operands(e);
  if (e.op->joins) {
    const auto axis = static_cast<std::size_t>(e.params.as<ConcatenateParams>().axis);
    return std::ranges::any_of(operands, [&](ValueId v) { return is_short(v, axis); });
  }
  if (e.op == &pad_op) {
    std::size_t axis = made.size() - 1;  // the last along which something is around the array
    while (axis > 0 && shape(operands[0])[axis] == made[axis]) --axis;
    return is_short(operands[0], axis);
  }
  if (e.op != &broadcast_in_dim_op) return false;
  const std::size_t lead = lead_of(e);
  if (!has_columns(operands[0], lead, made) || trailing(shape(operands[0]), lead).product() == 1)
    return false;
  const auto last = static_cast<std::size_t>(e.params.as<BroadcastParams>().axes.back());
  return last + 1 != made.size() || made.back() < long_run;
}

/// Whether others may read it as it is.
bool Splitting::is_view_of_others(const Eqn& e) const {
  return read_elsewhere_[e.first_result] && e.op->kind == OpKind::View &&
         std::ranges::none_of(graph_.operands(e), [&](ValueId v) { return member(v) != nullptr; });
}

void Splitting::count(const Eqn& e) {
  Component& c = components_[sets_.root(number(e))];
  const Way way = way_[number(e)];
  const std::int64_t count = trailing(shape(e.first_result), lead_of(e)).product();
  c.moves += moves_columns(e) || (way == Way::Contracted && is_no_product_of_rows(e));
  if (read_elsewhere_[e.first_result] && count > 1 && !is_view_of_others(e)) {
    ++c.written;
    c.possible = c.possible && item_size(graph_.aval(e.first_result).dtype()) >= 4;
  }
  if (way == Way::Elementwise) c.code += emission_cost(graph_, e) * count;
  if (way == Way::Summed) c.code += trailing(shape(graph_.operands(e)[0]), lead_of(e)).product();
  if (way == Way::Contracted)
    c.code += count *
              shape(graph_.operands(e)[0])[static_cast<std::size_t>(e.params.as<DotParams>().contract_a[0])];
  c.computed += way != Way::Moved;
}

bool Splitting::plan() {
  const auto eqns = graph_.eqns();
  for (std::uint32_t i = 0; i < eqns.size(); ++i) {
    sets_.add(i);
    way_[i] = way_of(eqns[i]);
    for (ValueId v : graph_.operands(eqns[i])) {
      const Eqn* made = member(v);
      const bool takes_columns = way_[i] != Way::None && made && lead_of(*made) == lead_of(eqns[i]) &&
                                 has_columns(v, lead_of(eqns[i]), shape(made->first_result));
      if (takes_columns)
        sets_.join(i, number(*made));
      else
        read_elsewhere_[v] = 1;
    }
  }
  for (ValueId v : graph_.outputs()) read_elsewhere_[v] = 1;
  components_.resize(eqns.size());
  std::vector<std::vector<ValueId>> others(eqns.size());
  for (const Eqn& e : eqns) {
    if (way_[number(e)] == Way::None) continue;
    count(e);
    auto& read = others[sets_.root(number(e))];
    for (ValueId v : graph_.operands(e)) {
      const bool columns =
          has_columns(v, lead_of(e), shape(e.first_result)) && trailing(shape(v), lead_of(e)).product() > 1;
      if (columns && !member(v) && std::ranges::find(read, v) == read.end()) read.push_back(v);
    }
  }
  bool any = false;
  for (std::uint32_t i = 0; i < eqns.size(); ++i) {
    Component& c = components_[i];
    if (way_[i] == Way::None || sets_.root(i) != i) continue;
    c.splits = c.possible && c.moves > 0 && c.computed + c.moves > 1 && c.code <= most_code &&
               c.written <= c.moves && std::ssize(others[i]) <= 2 * c.moves;
    any = any || c.splits;
  }
  return any;
}

/// Reshapes of reshapes become one, or none: loops fuse what is read as it is made.
ValueId Splitting::as(ValueId v, const Shape& shape, Loc loc) {
  if (builder_.aval(v).shape() == shape) return v;
  ValueId made = 0;
  builder_.add(reshape_op, make_params(ReshapeParams{shape}), {&v, 1}, {&made, 1}, loc);
  return made;
}

/// A column of an array that is there.
ValueId Splitting::sliced(ValueId v, std::size_t lead, std::int64_t column, Loc loc) {
  const Shape of = builder_.aval(v).shape();
  SliceParams p{Dims::filled(of.size(), 0), of, Dims::filled(of.size(), 1)};
  for (std::size_t d = of.size(); d-- > lead;) {
    p.start[d] = column % of[d];
    p.limit[d] = p.start[d] + 1;
    column /= of[d];
  }
  const bool whole = trailing(of, lead).product() == 1;
  return as(whole ? v : append1(builder_, slice_op, make_params(p), {&v, 1}, loc), leading(of, lead), loc);
}

const std::vector<ValueId>& Splitting::columns(ValueId v, std::size_t lead, Loc loc) {
  std::vector<ValueId>& all = columns_[{v, lead}];
  if (all.empty()) {
    const std::int64_t count = trailing(shape(v), lead).product();
    for (std::int64_t k = 0; k < count; ++k) all.push_back(sliced(copy_[v], lead, k, loc));
  }
  return all;
}

/// By a view of the columns.
std::vector<ValueId> Splitting::moved(const Eqn& e, std::size_t lead) {
  const ValueId operand = graph_.operands(e)[0];
  const std::vector<ValueId>& from = columns(operand, lead, e.loc);
  // The view of an array with one entry along each leading axis.
  Shape ones = shape(operand), made = shape(e.first_result);
  for (std::size_t d = 0; d < lead; ++d) ones[d] = made[d] = 1;
  Params params = e.params;
  if (e.op == &slice_op) {
    SliceParams p = e.params.as<SliceParams>();
    for (std::size_t d = 0; d < lead; ++d) p.limit[d] = 1;
    params = make_params(p);
  } else if (e.op == &reshape_op) {
    return from;
  }
  View view;
  const Aval& aval = graph_.aval(e.first_result);
  const bool there = e.op->view(params, Aval(aval.dtype(), made, aval.weak()), View::contiguous(ones), view);
  APSIS_ASSERT(there);
  std::vector<ValueId> all;
  for (std::int64_t k = 0; k < made.product(); ++k) all.push_back(from[static_cast<std::size_t>(view.at(k))]);
  return all;
}

std::vector<ValueId> Splitting::repeated(const Eqn& e, std::size_t lead) {
  const ValueId operand = graph_.operands(e)[0];
  const Shape &from = shape(operand), &made = shape(e.first_result);
  const Dims& axes = e.params.as<BroadcastParams>().axes;
  const bool of_columns = !axes.empty() && axes[0] < static_cast<std::int64_t>(lead);
  const Shape few = trailing(made, lead);
  std::vector<ValueId> all;
  for (std::int64_t k = 0; k < few.product(); ++k) {
    // The place in the operand: row-major, of the axes that are not leading ones.
    std::int64_t place = 0;
    for (std::size_t d = of_columns ? lead : 0; d < from.size(); ++d) {
      const auto axis = static_cast<std::size_t>(axes[d]);
      std::int64_t behind = 1;
      for (std::size_t later = axis + 1; later < made.size(); ++later) behind *= made[later];
      place = place * from[d] + (from[d] == 1 ? 0 : k / behind % made[axis]);
    }
    if (of_columns) {
      all.push_back(columns(operand, lead, e.loc)[static_cast<std::size_t>(place)]);
    } else {
      const ValueId number = sliced(copy_[operand], 0, place, e.loc);
      all.push_back(append1(builder_, broadcast_in_dim_op,
                            make_params(BroadcastParams{leading(made, lead), {}}), {&number, 1}, e.loc));
    }
  }
  return all;
}

std::vector<ValueId> Splitting::joined(const Eqn& e, std::size_t lead) {
  const auto axis = static_cast<std::size_t>(e.params.as<ConcatenateParams>().axis);
  const Shape& made = shape(e.first_result);
  const std::int64_t outer = part(made, lead, axis).product(), inner = trailing(made, axis + 1).product();
  std::vector<ValueId> all;
  for (std::int64_t o = 0; o < outer; ++o)
    for (ValueId v : graph_.operands(e)) {
      const std::int64_t count = shape(v)[axis] * inner;
      for (std::int64_t k = 0; k < count; ++k)
        all.push_back(columns(v, lead, e.loc)[static_cast<std::size_t>(o * count + k)]);
    }
  return all;
}

std::vector<ValueId> Splitting::padded(const Eqn& e, std::size_t lead) {
  const auto& p = e.params.as<PadParams>();
  const auto operands = graph_.operands(e);
  const Shape &from = shape(operands[0]), &made = shape(e.first_result);
  const ValueId number = copy_[operands[1]];
  const ValueId around = append1(builder_, broadcast_in_dim_op,
                                 make_params(BroadcastParams{leading(made, lead), {}}), {&number, 1}, e.loc);
  std::vector<ValueId> all;
  for (std::int64_t k = 0; k < trailing(made, lead).product(); ++k) {
    std::int64_t rest = k, place = 0, stride = 1;
    bool inside = true;
    for (std::size_t d = made.size(); d-- > lead; rest /= made[d]) {
      const std::int64_t within = rest % made[d] - p.low[d], step = p.interior[d] + 1;
      inside = inside && within >= 0 && within % step == 0 && within / step < from[d];
      place += within / step * stride;
      stride *= from[d];
    }
    all.push_back(inside ? columns(operands[0], lead, e.loc)[static_cast<std::size_t>(place)] : around);
  }
  return all;
}

std::vector<ValueId> Splitting::computed(const Eqn& e, std::size_t lead) {
  std::vector<ValueId> all, operands;
  for (std::int64_t k = 0; k < trailing(shape(e.first_result), lead).product(); ++k) {
    operands.clear();
    for (ValueId v : graph_.operands(e))
      operands.push_back(columns(v, lead, e.loc)[static_cast<std::size_t>(k)]);
    all.push_back(append1(builder_, *e.op, e.params, operands, e.loc));
  }
  return all;
}

/// So few terms are added one after the other.
std::vector<ValueId> Splitting::summed(const Eqn& e, std::size_t lead) {
  const ValueId operand = graph_.operands(e)[0];
  const std::vector<ValueId>& terms = columns(operand, lead, e.loc);
  const Shape few = trailing(shape(operand), lead);
  const Dims& axes = e.params.as<ReduceParams>().axes;
  std::vector<ValueId> totals(static_cast<std::size_t>(trailing(shape(e.first_result), lead).product()));
  std::vector<char> begun(totals.size(), 0);
  for (std::size_t k = 0; k < terms.size(); ++k) {
    // Where the term is along the axes that are left.
    std::int64_t rest = static_cast<std::int64_t>(k), place = 0, stride = 1;
    for (std::size_t d = few.size(); d-- > 0; rest /= few[d]) {
      if (std::ranges::find(axes, static_cast<std::int64_t>(lead + d)) != axes.end()) continue;
      place += rest % few[d] * stride;
      stride *= few[d];
    }
    const auto at = static_cast<std::size_t>(place);
    totals[at] = begun[at] ? append1(builder_, add_op, {}, {{totals[at], terms[k]}}, e.loc) : terms[k];
    begun[at] = 1;
  }
  return totals;
}

/// In the one order of contractions of so few terms.
std::vector<ValueId> Splitting::contracted(const Eqn& e, std::size_t lead) {
  const auto& p = e.params.as<DotParams>();
  const auto operands = graph_.operands(e);
  const std::vector<ValueId>&a = columns(operands[0], lead, e.loc), &b = columns(operands[1], lead, e.loc);
  const auto axis_a = static_cast<std::size_t>(p.contract_a[0]),
             axis_b = static_cast<std::size_t>(p.contract_b[0]);
  const std::int64_t terms = shape(operands[0])[axis_a];
  // The k-th term of what has this number among the entries of the axes that are not contracted.
  const auto term = [&](const std::vector<ValueId>& of, ValueId v, std::size_t axis, std::int64_t free,
                        std::int64_t k) {
    const std::int64_t behind = trailing(shape(v), axis + 1).product();
    return of[static_cast<std::size_t>((free / behind * terms + k) * behind + free % behind)];
  };
  const Aval& aval = graph_.aval(e.first_result);
  const ValueId number =
      append1(builder_, constant_op, make_params(ConstantParams{aval.dtype(), aval.weak(), 0, 0}), {}, e.loc);
  const BroadcastParams everywhere{leading(aval.shape(), lead), {}};
  const ValueId zero = append1(builder_, broadcast_in_dim_op, make_params(everywhere), {&number, 1}, e.loc);
  std::vector<ValueId> all;
  for (std::int64_t i = 0; i < std::ssize(a) / terms; ++i)
    for (std::int64_t j = 0; j < std::ssize(b) / terms; ++j) {
      ValueId total = zero;
      for (std::int64_t k = 0; k < terms; ++k)
        total =
            append1(builder_, fma_op, {},
                    {{term(a, operands[0], axis_a, i, k), term(b, operands[1], axis_b, j, k), total}}, e.loc);
      all.push_back(total);
    }
  return all;
}

ValueId Splitting::put_together(const Eqn& e, const std::vector<ValueId>& columns, std::size_t lead) {
  const Shape& made = shape(e.first_result);
  if (columns.size() == 1) return as(columns[0], made, e.loc);
  Shape single = leading(made, lead);
  single.push_back(1);
  std::vector<ValueId> parts;
  for (ValueId v : columns) parts.push_back(as(v, single, e.loc));
  const ConcatenateParams along{static_cast<std::int64_t>(lead)};
  return as(append1(builder_, concatenate_op, make_params(along), parts, e.loc), made, e.loc);
}

GraphRef Splitting::run() {
  copy_.add_inputs();
  for (const Eqn& e : graph_.eqns()) {
    const ScopeOf scope(e.scope);
    if (!splits(e)) {
      if (e.op == &reshape_op)
        copy_[e.first_result] = as(copy_[graph_.operands(e)[0]], shape(e.first_result), e.loc);
      else
        copy_.add(e);
      continue;
    }
    const std::size_t lead = lead_of(e);
    std::vector<ValueId> made = way_[number(e)] == Way::Elementwise  ? computed(e, lead)
                                : way_[number(e)] == Way::Summed     ? summed(e, lead)
                                : way_[number(e)] == Way::Contracted ? contracted(e, lead)
                                : e.op->joins                        ? joined(e, lead)
                                : e.op == &pad_op                    ? padded(e, lead)
                                : e.op == &broadcast_in_dim_op       ? repeated(e, lead)
                                                                     : moved(e, lead);
    if (is_view_of_others(e))
      copy_.add(e);
    else if (read_elsewhere_[e.first_result])
      copy_[e.first_result] = put_together(e, made, lead);
    columns_[{e.first_result, lead}] = std::move(made);
  }
  return builder_.finish(copy_.outputs());
}

}  // namespace

GraphRef split_columns(const Graph& graph) {
  Splitting splitting(graph);
  const GraphRef made = splitting.plan() ? splitting.run() : GraphRef(&graph);
  return with_regions(*made, split_columns);
}

}  // namespace apsis::detail
