#include "passes/push_slices.hpp"

#include <algorithm>
#include <optional>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ops/index_params.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"
#include "passes/analysis/cost.hpp"
#include "passes/analysis/fusible.hpp"
#include "passes/analysis/gathered_rows.hpp"
#include "passes/analysis/repeated_number.hpp"

namespace apsis::detail {
namespace {

/// A part of an array: what the parameters of a slice say.
using Part = SliceParams;

bool same(const Part& a, const Part& b) {
  return a.start == b.start && a.limit == b.limit && a.stride == b.stride;
}
std::int64_t length(const Part& part, std::size_t axis) {
  return (part.limit[axis] - part.start[axis] + part.stride[axis] - 1) / part.stride[axis];
}
Shape shape_of(const Part& part) {
  Shape shape;
  for (std::size_t d = 0; d < part.start.size(); ++d) shape.push_back(length(part, d));
  return shape;
}
Part whole_of(const Shape& shape) {
  return {Dims::filled(shape.size(), 0), shape, Dims::filled(shape.size(), 1)};
}
void copy_axis(Part& to, std::size_t axis, const Part& from, std::size_t from_axis) {
  to.start[axis] = from.start[from_axis];
  to.limit[axis] = from.limit[from_axis];
  to.stride[axis] = from.stride[from_axis];
}
/// `inner` of what `outer` takes.
Part part_of_part(const Part& outer, const Part& inner) {
  Part all;
  for (std::size_t d = 0; d < outer.start.size(); ++d) {
    const std::int64_t count = length(inner, d), stride = outer.stride[d] * inner.stride[d],
                       start = count == 0 ? 0 : outer.start[d] + inner.start[d] * outer.stride[d];
    all.start.push_back(start);
    all.limit.push_back(count == 0 ? 0 : start + (count - 1) * stride + 1);
    all.stride.push_back(stride);
  }
  return all;
}

/// What a slice takes, or a pad that only crops.
std::optional<Part> taken_by(const Graph& graph, const Eqn& e) {
  if (e.op->view_kind == ViewKind::Part) return e.params.as<SliceParams>();
  if (e.op != &pad_op || graph.aval(graph.operands(e)[0]).weak() != graph.aval(e.first_result).weak())
    return std::nullopt;
  const auto& p = e.params.as<PadParams>();
  Part part = whole_of(graph.aval(graph.operands(e)[0]).shape());
  for (std::size_t d = 0; d < p.low.size(); ++d) {
    if (p.low[d] > 0 || p.high[d] > 0 || p.interior[d] != 0) return std::nullopt;
    part.start[d] -= p.low[d];
    part.limit[d] += p.high[d];
    if (part.start[d] > part.limit[d]) return std::nullopt;
  }
  return part;
}
bool is_slice(const Graph& graph, const Eqn& e) { return taken_by(graph, e).has_value(); }
bool is_concatenation(const Eqn& e) { return e.op->joins; }
bool is_pad(const Eqn& e) { return e.op == &pad_op; }
bool is_gather(const Eqn& e) { return e.op == &gather_op; }

/// A part of the result of an op: most often the same op, with other parameters, of parts of operands.
struct PartOfResult {
  struct Operand {
    std::size_t number;
    Part part;
  };
  const Op* op;  // null: the part of the only operand itself
  Params params;
  std::vector<Operand> operands;
};

/// What a part of a reshaped array is of the array as it was, where that is a part: axes other than those of
/// length 1 are the same, in the same order, but for two neighbours that become one, or are made of one, if
/// the part has one entry of the second.
std::optional<Part> part_before_reshape(const Shape& from, const Shape& to, const Part& part) {
  const auto long_axes = [](const Shape& shape) {
    std::vector<std::size_t> axes;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (shape[d] != 1) axes.push_back(d);
    return axes;
  };
  const std::vector<std::size_t> old_axes = long_axes(from), new_axes = long_axes(to);
  Part of = whole_of(from);
  const auto take = [&](std::size_t axis, std::int64_t start, std::int64_t count, std::int64_t stride) {
    of.start[axis] = start;
    of.stride[axis] = stride;
    of.limit[axis] = start + (count - 1) * stride + 1;
  };
  std::size_t i = 0, k = 0;
  while (i < old_axes.size() && k < new_axes.size()) {
    const std::size_t was = old_axes[i++], is = new_axes[k++];
    const std::int64_t count = length(part, is), start = part.start[is], stride = part.stride[is];
    if (from[was] == to[is]) {
      copy_axis(of, was, part, is);
    } else if (k < new_axes.size() && from[was] == to[is] * to[new_axes[k]]) {
      const std::size_t second = new_axes[k++];
      if (count == 0 || length(part, second) != 1) return std::nullopt;
      take(was, start * to[second] + part.start[second], count, stride * to[second]);
    } else if (i < old_axes.size() && from[was] * from[old_axes[i]] == to[is]) {
      const std::size_t second = old_axes[i++];
      if (count == 0 || (count > 1 && stride % from[second] != 0)) return std::nullopt;
      take(was, start / from[second], count, std::max<std::int64_t>(stride / from[second], 1));
      take(second, start % from[second], 1, 1);
    } else {
      return std::nullopt;
    }
  }
  return i == old_axes.size() && k == new_axes.size() ? std::optional(of) : std::nullopt;
}

class Pushing {
 public:
  explicit Pushing(const Graph& graph)
      : graph_(graph), uses_(count_uses(graph)), wanted_(graph.value_count()) {}

  /// Whether any op is taken apart.
  bool plan();
  GraphRef run();

 private:
  static constexpr std::int64_t few = 32;        // elements, which are in registers
  static constexpr std::size_t most_parts = 16;  // of a value
  struct Wanted {
    bool whole = false, apart = false;  // apart: made part by part, beside the whole if that is wanted, too
    bool in_memory = false;  // not only elementwise code reads it, as it is or with something around it
    bool padded = false;     // so it is read with something around it
    std::vector<Part> parts;
    std::vector<ValueId> made;  // by part
  };

  const Aval& aval(ValueId v) const { return graph_.aval(v); }
  void want(ValueId v, const Part& part);
  bool is_by_element(const Eqn& e) const { return e.op->kind == OpKind::Elementwise && fusible(graph_, e); }
  std::int64_t work_of(const Eqn& e, std::int64_t most) const;
  bool comes_apart(const Eqn& e) const;
  bool is_made_for_others(const Eqn& e) const;
  bool is_made_again(const Eqn& e) const;
  bool is_cheap_again(const Eqn& e, std::int64_t elements) const;
  bool is_apart(const Eqn& e) const { return e.result_count == 1 && wanted_[e.first_result].apart; }
  bool has_parts(const Eqn& e) const;
  bool has_padded_in_each(const Eqn& e) const;
  bool is_padded_for_loops(const Eqn& e) const;
  PartOfResult part_of(const Eqn& e, const Part& part) const;
  PartOfResult part_of_concatenated(const Eqn& e, const Part& part) const;
  PartOfResult part_of_padded(const Eqn& e, const Part& part) const;
  PartOfResult part_of_view(const Eqn& e, const Part& part) const;
  PartOfResult part_of_gathered(const Eqn& e, const Part& part) const;
  bool has_gathered_parts(const Eqn& e) const;
  ValueId made_part(ValueId v, const Part& part);

  const Graph& graph_;
  std::vector<std::uint32_t> uses_;  // by value
  std::vector<Wanted> wanted_;       // by value
  GraphBuilder builder_;
  GraphCopy copy_{builder_, graph_};
};

void Pushing::want(ValueId v, const Part& part) {
  auto& parts = wanted_[v].parts;
  if (std::ranges::none_of(parts, [&](const Part& p) { return same(p, part); })) parts.push_back(part);
}

/// Whether parts of the result are results of the op on parts.
bool Pushing::has_parts(const Eqn& e) const {
  if (e.result_count != 1 || has_effect(*e.op, e.params)) return false;
  const Shape& shape = aval(e.first_result).shape();
  const auto operands = graph_.operands(e);
  switch (e.op->view_kind) {
    case ViewKind::Reversed:
    case ViewKind::Permuted:
    case ViewKind::Repeated:
      return true;
    case ViewKind::Reshaped:
      return std::ranges::all_of(wanted_[e.first_result].parts, [&](const Part& part) {
        return part_before_reshape(aval(operands[0]).shape(), shape, part).has_value();
      });
    default:
      break;
  }
  if (is_concatenation(e)) return true;
  if (is_gather(e)) return has_gathered_parts(e);
  if (is_pad(e)) {
    const auto weak = aval(e.first_result).weak();
    return std::ranges::all_of(e.params.as<PadParams>().interior, [](std::int64_t n) { return n == 0; }) &&
           std::ranges::all_of(operands, [&](ValueId v) { return aval(v).weak() == weak; });
  }
  return e.op->kind == OpKind::Elementwise && !operands.empty() &&
         std::ranges::all_of(operands, [&](ValueId v) { return aval(v).shape() == shape; });
}

/// Parts instead of the whole, if they are no more work, or so little that memory takes longer.
bool Pushing::comes_apart(const Eqn& e) const {
  if (!has_parts(e)) return false;
  const Wanted& wanted = wanted_[e.first_result];
  if (wanted.parts.empty() || wanted.parts.size() > most_parts) return false;
  if (wanted.whole) return is_made_again(e);
  const std::int64_t size = aval(e.first_result).size();
  const bool made = is_concatenation(e) && is_made_for_others(e);
  std::int64_t elements = 0;
  if (is_pad(e) && is_padded_for_loops(e)) return true;
  for (const Part& part : wanted.parts) {
    const std::int64_t here = shape_of(part).product();
    if (here == 0) return false;
    // A part of one operand is there.
    if (is_concatenation(e) && part_of_concatenated(e, part).operands.size() == 1) continue;
    if (made) return false;
    elements += here;
  }
  return size > few && (elements <= size || is_cheap_again(e, elements));
}

/// Whether a long operand of a concatenation is computed and read by others, too: it is written where the
/// whole is to be, of which parts can be read.
bool Pushing::is_made_for_others(const Eqn& e) const {
  return std::ranges::any_of(graph_.operands(e), [&](ValueId v) {
    const Eqn* made = graph_.definition(v);
    return made && is_by_element(*made) && uses_[v] > 1 && 2 * aval(v).size() > aval(e.first_result).size();
  });
}

/// Whether parts of a large array are made beside the whole, of which loops read each element: a negation of
/// what is in memory in any case, or that times a number.
bool Pushing::is_made_again(const Eqn& e) const {
  constexpr std::int64_t large = 1 << 12;
  if (!is_by_element(e) || wanted_[e.first_result].in_memory || aval(e.first_result).size() < large ||
      emission_cost(graph_, e) > 1)
    return false;
  std::optional<ValueId> only;
  for (ValueId v : graph_.operands(e)) {
    if (repeated_number(graph_, v)) continue;
    if (only) return false;
    only = v;
  }
  if (!only) return false;
  const Eqn* made = graph_.definition(*only);
  return wanted_[*only].in_memory || !wanted_[*only].parts.empty() || !made || !is_by_element(*made);
}

/// Instructions and loads for an element, counted up to where they are more than `most`. What is repeated
/// takes nothing, other arrays a load, slices too: what they are of is asked for itself.
std::int64_t Pushing::work_of(const Eqn& e, std::int64_t most) const {
  std::vector<ValueId> met = {e.first_result};
  std::int64_t work = 0;
  for (std::size_t next = 0; next < met.size() && work <= most; ++next) {
    const Eqn* made = graph_.definition(met[next]);
    if (!made || made->result_count != 1 || !is_by_element(*made)) {
      work += made && made->op->view_kind == ViewKind::Repeated ? 0 : 1;
      continue;
    }
    work += emission_cost(graph_, *made);
    for (ValueId v : graph_.operands(*made))
      if (std::ranges::find(met, v) == met.end()) met.push_back(v);
  }
  return work;
}

/// Whether it takes less time to compute elements that several parts have once for each, in the loops that
/// read them, than to bring them to memory and back.
bool Pushing::is_cheap_again(const Eqn& e, std::int64_t elements) const {
  constexpr std::size_t cached_bytes = 1 << 20;
  const Aval& made = aval(e.first_result);
  const std::int64_t cheap = made.bytes() > cached_bytes ? 12 : 8, again = elements - made.size();
  if (!is_by_element(e) || wanted_[e.first_result].in_memory || wanted_[e.first_result].padded ||
      item_size(made.dtype()) < 4)
    return false;
  constexpr std::int64_t most = 256;
  const std::int64_t work = work_of(e, most);
  return work <= most && again * work <= cheap * made.size();
}

PartOfResult Pushing::part_of_concatenated(const Eqn& e, const Part& part) const {
  const auto axis = static_cast<std::size_t>(e.params.as<ConcatenateParams>().axis);
  const auto operands = graph_.operands(e);
  PartOfResult made{e.op, e.params, {}};
  std::int64_t first = 0, next = part.start[axis];  // of the operand; of the part
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const std::int64_t end = first + aval(operands[k]).shape()[axis];
    if (next < end && next < part.limit[axis]) {
      const std::int64_t limit = std::min(end, part.limit[axis]), stride = part.stride[axis],
                         count = (limit - next + stride - 1) / stride;
      Part of = part;
      of.start[axis] = next - first;
      of.limit[axis] = next - first + (count - 1) * stride + 1;
      made.operands.push_back({k, of});
      next += count * stride;
    }
    first = end;
  }
  if (made.operands.size() == 1) made.op = nullptr;
  return made;
}

/// Whether each part has neighbouring elements, and some of the array that is padded.
bool Pushing::has_padded_in_each(const Eqn& e) const {
  const auto& p = e.params.as<PadParams>();
  const Shape& from = aval(graph_.operands(e)[0]).shape();
  return std::ranges::all_of(wanted_[e.first_result].parts, [&](const Part& part) {
    for (std::size_t d = 0; d < from.size(); ++d)
      if (part.stride[d] != 1 ||
          std::max(p.low[d], part.start[d]) >= std::min(p.low[d] + from[d], part.limit[d]))
        return false;
    return true;
  });
}

/// Whether elementwise code alone reads parts of a large pad, and has rows to read as they are: it reads the
/// array that is padded. Where something is around each row, only a few parts, of what leaves the cache; many
/// parts of what stays near are read of a copy, which takes no time beside them.
bool Pushing::is_padded_for_loops(const Eqn& e) const {
  constexpr std::int64_t large = 1 << 12, much = 64;  // elements; times as long as what is around
  constexpr std::size_t cached_bytes = 1 << 21, few_parts = 5;
  const Aval& made = aval(e.first_result);
  const auto& p = e.params.as<PadParams>();
  if (made.size() < large || wanted_[e.first_result].in_memory || !pads_around(graph_, e)) return false;
  const std::int64_t around =
      std::max<std::int64_t>(p.low.back(), 0) + std::max<std::int64_t>(p.high.back(), 0);
  const bool rows = made.rank() > 1 && around > 0;
  const bool many = wanted_[e.first_result].parts.size() > few_parts;
  // Where parts leave out some of the array, loops are not cut at its borders, and read under masks.
  const std::int64_t length_of_array = aval(graph_.operands(e)[0]).shape().back();
  const bool cropped =
      around > 0 && std::ranges::any_of(wanted_[e.first_result].parts, [&](const Part& part) {
        const std::int64_t low = p.low.back() - part.start.back();
        return low < 0 || length(part, part.start.size() - 1) - low < length_of_array;
      });
  if (rows ? many || made.bytes() < cached_bytes : (many || cropped) && made.bytes() < cached_bytes / 4)
    return false;
  return much * around <= made.shape().back() && has_padded_in_each(e);
}

/// All of what is padded, with less around it, where each part has some of it; else what the part has of the
/// array, with what it has of the value around it.
PartOfResult Pushing::part_of_padded(const Eqn& e, const Part& part) const {
  const Shape& from = aval(graph_.operands(e)[0]).shape();
  const Part value = whole_of({});
  const auto& p = e.params.as<PadParams>();
  PadParams around = p;
  if (has_padded_in_each(e)) {
    for (std::size_t d = 0; d < from.size(); ++d) {
      around.low[d] -= part.start[d];
      around.high[d] = length(part, d) - around.low[d] - from[d];
    }
    return {e.op, make_params(around), {{0, whole_of(from)}, {1, value}}};
  }
  Part of = part;
  bool inside = true;
  for (std::size_t d = 0; d < from.size(); ++d) {
    // Of the part's elements, which are some steps apart, those from `first` up to `end` are the array's.
    const std::int64_t stride = part.stride[d], count = length(part, d);
    const auto steps_to = [&](std::int64_t place) {
      const std::int64_t way = place - part.start[d];
      return way <= 0 ? 0 : std::min((way + stride - 1) / stride, count);
    };
    const std::int64_t first = steps_to(p.low[d]), end = steps_to(p.low[d] + from[d]);
    if (end <= first)
      return {&broadcast_in_dim_op, make_params(BroadcastParams{shape_of(part), {}}), {{1, value}}};
    of.start[d] = part.start[d] + first * stride - p.low[d];
    of.limit[d] = of.start[d] + (end - first - 1) * stride + 1;
    around.low[d] = first;
    around.high[d] = count - end;
    inside = inside && first == 0 && end == count;
  }
  if (inside) return {nullptr, {}, {{0, of}}};
  return {e.op, make_params(around), {{0, of}, {1, value}}};
}

PartOfResult Pushing::part_of_view(const Eqn& e, const Part& part) const {
  const Shape& from = aval(graph_.operands(e)[0]).shape();
  Part of = whole_of(from);
  if (e.op->view_kind == ViewKind::Repeated) {
    const auto& p = e.params.as<BroadcastParams>();
    for (std::size_t d = 0; d < from.size(); ++d)
      if (from[d] != 1) copy_axis(of, d, part, static_cast<std::size_t>(p.axes[d]));
    return {e.op, make_params(BroadcastParams{shape_of(part), p.axes}), {{0, of}}};
  }
  if (e.op->view_kind == ViewKind::Permuted) {
    const Dims& permutation = e.params.as<TransposeParams>().permutation;
    for (std::size_t d = 0; d < from.size(); ++d)
      copy_axis(of, static_cast<std::size_t>(permutation[d]), part, d);
    return {e.op, e.params, {{0, of}}};
  }
  of = part;  // reversed
  for (std::int64_t reversed : e.params.as<ReverseParams>().axes) {
    const auto d = static_cast<std::size_t>(reversed);
    const std::int64_t covered = (length(part, d) - 1) * part.stride[d] + 1;
    of.start[d] = from[d] - part.start[d] - covered;
    of.limit[d] = of.start[d] + covered;
  }
  return {e.op, e.params, {{0, of}}};
}

/// Parts of rows are rows of a part of the array. Columns of it are read where they are; others are brought
/// together first, which must not take longer than to read the rows.
bool Pushing::has_gathered_parts(const Eqn& e) const {
  const std::optional<Dims> axes = axes_of_rows(graph_, e);
  if (!axes) return false;
  const auto is_column = [&](const Part& part) {
    for (std::size_t d = 0; d < axes->size(); ++d)
      if ((*axes)[d] >= 0 && length(part, d) != 1) return false;
    return true;
  };
  return aval(graph_.operands(e)[0]).size() <= aval(e.first_result).size() ||
         std::ranges::all_of(wanted_[e.first_result].parts, is_column);
}

PartOfResult Pushing::part_of_gathered(const Eqn& e, const Part& part) const {
  const Dims axes = *axes_of_rows(graph_, e);
  GatherParams p = e.params.as<GatherParams>();
  Part rows = whole_of(aval(graph_.operands(e)[0]).shape()),
       indices = whole_of(aval(graph_.operands(e)[1]).shape());
  std::size_t next = 0;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    if (axes[d] < 0) {
      copy_axis(indices, next++, part, d);
      continue;
    }
    const auto axis = static_cast<std::size_t>(axes[d]);
    copy_axis(rows, axis, part, d);
    p.slice_sizes[axis] = length(part, d);
  }
  return {e.op, make_params(p), {{0, rows}, {1, indices}}};
}

PartOfResult Pushing::part_of(const Eqn& e, const Part& part) const {
  if (is_gather(e)) return part_of_gathered(e, part);
  if (is_concatenation(e)) return part_of_concatenated(e, part);
  if (is_pad(e)) return part_of_padded(e, part);
  if (e.op->view_kind == ViewKind::Reshaped)
    return {
        e.op,
        make_params(ReshapeParams{shape_of(part)}),
        {{0, *part_before_reshape(aval(graph_.operands(e)[0]).shape(), aval(e.first_result).shape(), part)}}};
  if (e.op->kind == OpKind::View) return part_of_view(e, part);
  PartOfResult made{e.op, e.params, {}};
  for (std::size_t k = 0; k < e.operand_count; ++k) made.operands.push_back({k, part});
  return made;
}

bool Pushing::plan() {
  bool any = false;
  for (ValueId v : graph_.outputs()) wanted_[v].whole = wanted_[v].in_memory = true;
  const auto eqns = graph_.eqns();
  for (auto e = eqns.rbegin(); e != eqns.rend(); ++e) {
    const auto operands = graph_.operands(*e);
    const std::optional<Part> slice = taken_by(graph_, *e);
    const bool moves = slice || is_pad(*e);
    for (ValueId v : operands) {
      // What few elements become does not matter.
      if (slice && aval(e->first_result).size() * 16 < aval(v).size()) continue;
      wanted_[v].in_memory |= moves ? wanted_[e->first_result].in_memory : !is_by_element(*e);
      wanted_[v].padded |= is_pad(*e) || (slice && wanted_[e->first_result].padded);
    }
    if (slice) {
      const Wanted& wanted = wanted_[e->first_result];
      const Part& taken = *slice;
      if (wanted.whole) want(operands[0], taken);
      for (const Part& part : wanted.parts) want(operands[0], part_of_part(taken, part));
    } else if (comes_apart(*e)) {
      Wanted& wanted = wanted_[e->first_result];
      any = wanted.apart = true;
      if (wanted.whole) wanted_[operands[0]].whole = true;
      for (const Part& part : wanted.parts)
        for (const auto& [k, of] : part_of(*e, part).operands) {
          if (same(of, whole_of(aval(operands[k]).shape())))
            wanted_[operands[k]].whole = true;
          else
            want(operands[k], of);
        }
    } else {
      for (ValueId v : operands) wanted_[v].whole = true;
    }
  }
  return any;
}

/// The number that stands for a part of a value.
ValueId Pushing::made_part(ValueId v, const Part& part) {
  const Eqn* e = graph_.definition(v);
  const Wanted& wanted = wanted_[v];
  const std::optional<Part> taken = e ? taken_by(graph_, *e) : std::nullopt;
  if (taken) return made_part(graph_.operands(*e)[0], part_of_part(*taken, part));
  if (wanted.apart) {
    const auto found = std::ranges::find_if(wanted.parts, [&](const Part& p) { return same(p, part); });
    if (found != wanted.parts.end())
      return wanted.made[static_cast<std::size_t>(found - wanted.parts.begin())];
  }
  if (same(part, whole_of(aval(v).shape()))) return copy_[v];
  const ValueId whole = copy_[v];
  return append1(builder_, slice_op, make_params(part), {&whole, 1}, e ? e->loc : Loc{});
}

GraphRef Pushing::run() {
  copy_.add_inputs();
  for (const Eqn& e : graph_.eqns()) {
    const auto operands = graph_.operands(e);
    if (const std::optional<Part> taken = taken_by(graph_, e)) {
      if (!wanted_[e.first_result].whole) continue;
      copy_[e.first_result] = made_part(operands[0], *taken);
    } else if (is_apart(e)) {
      const ScopeOf scope(e.scope);
      Wanted& wanted = wanted_[e.first_result];
      for (const Part& part : wanted.parts) {
        const PartOfResult made = part_of(e, part);
        std::vector<ValueId> of;
        for (const auto& [k, p] : made.operands) of.push_back(made_part(operands[k], p));
        wanted.made.push_back(made.op ? append1(builder_, *made.op, made.params, of, e.loc) : of[0]);
      }
      if (wanted.whole) copy_.add(e);
    } else {
      copy_.add(e);
    }
  }
  return builder_.finish(copy_.outputs());
}

}  // namespace

GraphRef push_slices(const Graph& graph) {
  GraphRef made(&graph);
  if (std::ranges::any_of(graph.eqns(), [&](const Eqn& e) { return is_slice(graph, e); })) {
    Pushing pushing(graph);
    if (pushing.plan()) made = pushing.run();
  }
  return with_regions(*made, push_slices);
}

}  // namespace apsis::detail
