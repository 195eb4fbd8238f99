#include "codegen/emit/fused_loop.hpp"

#include <algorithm>
#include <optional>

#include "codegen/emit/combine.hpp"
#include "codegen/emit/element_at.hpp"
#include "codegen/emit/parted_values.hpp"
#include "codegen/emit/product_loop.hpp"
#include "ops/index_rules.hpp"
#include "ops/table.hpp"
#include "passes/analysis/pick.hpp"

namespace apsis::detail {
namespace {

void append_word(std::string& key, std::uint64_t word) {
  key.append(reinterpret_cast<const char*>(&word), sizeof word);
}

template <class A>
void append_view(std::string& key, const A& a) {
  append_word(key, static_cast<std::uint64_t>(a.dtype) | static_cast<std::uint64_t>(a.lanes) << 8);
  for (std::int64_t s : a.view.strides) append_word(key, static_cast<std::uint64_t>(s));
  append_word(key, static_cast<std::uint64_t>(a.walk.outer));
  append_word(key, static_cast<std::uint64_t>(a.walk.inner));
}

/// Whether a reduction is accumulated in the negative: that no element was set so far. A comparison under a
/// mask of lanes is one instruction.
bool accumulates_negated(const Op& op, Dtype dtype) { return op.logic == Logic::Any && dtype == Dtype::Bool; }

/// Whether some element was set, as a byte in memory that is written when one is met: for code that would
/// keep a mask on the stack, and take it from there and put it back in every iteration.
class Mark {
 public:
  explicit Mark(Builder& b) : b_(b), byte_(b.stack(1)) { set(false); }
  void set_if_any(Value v) {
    if_(
        b_, b_.lanes_of(v) > 1 ? b_.any(v) : v, [&] { set(true); }, Likely::False);
  }
  Value get() const {
    b_.set_lanes(1);
    return b_.load_element(byte_, Dtype::Bool);
  }

 private:
  void set(bool value) {
    b_.set_lanes(1);
    b_.store(byte_, b_.constant(Dtype::Bool, value));
  }
  Builder& b_;
  Pointer byte_;
};

/// A reduction in any order while the loop is written.
struct Reduction {
  Combine combine;
  bool negated;
  std::optional<Mark> mark;  // stands for what is carried
  std::size_t carried;
};

void accumulate(Builder& b, LoopNest& nest, Reduction& reduction, Value v) {
  if (reduction.mark) return reduction.mark->set_if_any(v);
  Value& total = nest.carried(reduction.carried);
  b.set_lanes(b.lanes_of(v));
  if (v.dtype != total.dtype) v = b.convert(v, total.dtype);
  if (reduction.negated) v = b.bit_not(v);
  b.set_lanes(b.lanes_of(total));
  if (b.lanes_of(v) < b.lanes_of(total)) v = b.splat(v);
  total = reduction.combine(total, v);
}

/// The elements of a table at these indices, one a lane.
Value pick(Builder& b, const Access& table, const PickParams& p, std::span<const Value> indices) {
  b.set_lanes(std::max(table.lanes, b.lanes_of(indices[0])));
  ElementAt at(b, p.mode);
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const auto axis = static_cast<std::size_t>(p.axes[k]);
    at.add(indices[k], table.view.shape[axis] - 1, table.view.strides[axis]);
  }
  const Value element = at.element_of_lane(table.lanes);
  const auto bytes = static_cast<std::int64_t>(item_size(table.dtype));
  const ConstPointer first = b.offset(table.base, table.view.offset * bytes * table.lanes);
  Value v;
  if (b.lanes() > 1)
    v = b.gather(first, element, table.dtype);
  else
    v = b.load_element(b.offset(first, b.mul(element, b.index(bytes))), table.dtype);
  if (!at.inside().handle) return v;
  return b.select(at.inside(), v, b.constant(table.dtype, missing_bits(table.dtype, p.mode)));
}

/// Puts the current elements at their places, one after the other in their order. `in`: what is put, and the
/// indices.
void put(Builder& b, LoopNest& nest, const Access& array, const PutParams& p, std::span<const Value> in) {
  const int width = nest.width();
  const auto bytes = static_cast<std::int64_t>(item_size(array.dtype));
  const Pointer first = b.offset(Pointer{array.base.handle}, array.view.offset * bytes);
  int lanes = 1;  // of the indices
  for (Value v : in.subspan(1)) lanes = std::max(lanes, b.lanes_of(v));
  b.set_lanes(lanes);
  ElementAt at(b, p.at.mode);
  for (std::size_t k = 1; k < in.size(); ++k) {
    const auto axis = static_cast<std::size_t>(p.at.axes[k - 1]);
    at.add(in[k], array.view.shape[axis] - 1, array.view.strides[axis]);
  }
  b.set_lanes(lanes);
  Value places = at.element();
  const Value inside = at.inside();
  if (inside.handle) places = b.select(inside, places, b.constant(Dtype::I64, ~std::uint64_t{0}));
  // A vector goes through memory, which takes less time than to take each element out of a register.
  const auto one_of = [&](Value v) {
    const auto item = static_cast<std::int64_t>(item_size(v.dtype));
    Pointer all;
    if (b.lanes_of(v) > 1) {
      all = b.stack(static_cast<std::size_t>(item * b.lanes_of(v)));
      b.store(all, v);
    }
    return [&b, v, all, item](Value lane) {
      return all.handle ? b.load_element(b.offset(all, b.mul(lane, b.index(item))), v.dtype) : v;
    };
  };
  const auto place_of = one_of(places), element_of = one_of(in[0]);
  // One after the other by the same instructions: those of several would each have to find out anew that an
  // element may have just been written.
  b.set_lanes(1);
  const Value done = nest.done();
  CountedLoop each(b, done.handle ? b.sub(b.index(width), done) : b.index(width));
  const Value lane = done.handle ? b.add(done, each.index()) : each.index();
  const Value place = place_of(lane), element = element_of(lane);
  const auto combine = [&] {
    const Pointer to = b.offset(first, b.mul(place, b.index(bytes)));
    const bool sets = p.kind == ScatterKind::Set;
    b.store(to, sets ? element : emit_combined(b, p.kind, b.load_element(to, array.dtype), element));
  };
  if (inside.handle)
    if_(b, b.compare(Compare::Ge, place, b.index(0)), combine, Likely::True);
  else
    combine();
  each.close();
}

/// An array in a part of the shape, and `filling` around it.
Value load_padded(Builder& b, LoopNest& nest, std::uint32_t access, Value filling) {
  if (nest.is_outside()) return filling;
  Value choice[3];
  choice[1] = nest.load_within(access, choice[0]);
  choice[2] = filling;
  align(b, choice);
  return b.select(choice[0], choice[1], choice[2]);
}

}  // namespace

std::string FusedLoop::key() const {
  std::string key;
  append_word(key, shape.size());
  for (std::int64_t n : shape) append_word(key, static_cast<std::uint64_t>(n));
  append_word(key, static_cast<std::uint64_t>(in_order) << 63 | static_cast<std::uint64_t>(lanes) << 32 |
                       static_cast<std::uint64_t>(most_vectors) << 16 | static_cast<std::uint64_t>(width));
  append_word(key, static_cast<std::uint64_t>(walk.terms));
  append_word(key, static_cast<std::uint64_t>(walk.inner) << 3 | static_cast<std::uint64_t>(walk.cheap) << 2 |
                       static_cast<std::uint64_t>(walk.turned) << 1 | static_cast<std::uint64_t>(walk.along));
  for (const Access& a : accesses) {
    append_view(key, a);
    for (const Span& s : a.within) {
      append_word(key, static_cast<std::uint64_t>(s.low));
      append_word(key, static_cast<std::uint64_t>(s.high));
    }
    // The place of an iota is in the code, not in its address.
    append_word(key, a.base.handle ? ~std::uint64_t{0} : static_cast<std::uint64_t>(a.view.offset));
  }
  for (const Access& t : tables) {
    append_view(key, t);
    for (std::int64_t n : t.view.shape) append_word(key, static_cast<std::uint64_t>(n));
  }
  for (const Sink& s : sinks) append_view(key, s);
  if (product)
    for (std::int64_t n : {product->step_a, product->step_b, product->count, std::int64_t{product->in_panels},
                           std::int64_t{product->once}, static_cast<std::int64_t>(product->compute),
                           std::int64_t{product->store}})
      append_word(key, static_cast<std::uint64_t>(n));
  std::size_t scalar = 0;
  for (std::uint32_t a : leaf_access)
    append_word(key, a == none ? 1000 + static_cast<std::uint64_t>(scalars[scalar++].dtype) : a);
  for (const Step& s : steps) {
    append_word(key, reinterpret_cast<std::uintptr_t>(s.eqn->op));
    for (std::uint32_t v : s.operands) append_word(key, v);
    for (std::uint32_t a : s.stores) append_word(key, a);
    append_word(key, static_cast<std::uint64_t>(s.table) << 32 | s.padded);
  }
  return key;
}

bool FusedLoop::same_params(const std::vector<Params>& params) const {
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (!(steps[i].eqn->params == params[i])) return false;
  return true;
}

FusedLoop part_of(const FusedLoop& loop, std::size_t axis, std::int64_t first, std::int64_t entries) {
  FusedLoop part = loop;
  part.shape[axis] = entries;
  const auto narrow = [&](auto& access) {
    access.view.shape = part.shape;
    access.view.offset += first * access.view.strides[axis];
  };
  for (Access& a : part.accesses) {
    narrow(a);
    if (!a.within.empty()) a.within[axis] = {0, entries};
  }
  for (Sink& s : part.sinks) narrow(s);
  return part;
}

int align(Builder& b, std::span<Value> values) {
  int lanes = 1;
  for (Value v : values) lanes = std::max(lanes, b.lanes_of(v));
  b.set_lanes(lanes);
  if (lanes > 1)
    for (Value& v : values)
      if (b.lanes_of(v) == 1) v = b.splat(v);
  return lanes;
}

void write_elements(Builder& b, const FusedLoop& loop, LoopNest& nest,
                    const std::function<void(std::size_t, Value)>& reduce) {
  PartedValues values(b, loop.values);
  std::vector<Value> in, out;
  std::size_t scalar = 0, reduced = 0;
  for (std::uint32_t leaf = 0; leaf < loop.leaf_access.size(); ++leaf)
    if (loop.leaf_access[leaf] == FusedLoop::none) values.set(leaf, loop.scalars[scalar++]);
  auto next = static_cast<std::uint32_t>(loop.leaf_access.size());
  for (const FusedLoop::Step& step : loop.steps) {
    const auto take = [&](int part, int parts) {
      in.clear();
      for (std::uint32_t v : step.operands) in.push_back(values.part(v, part, parts));
    };
    for (std::uint32_t v : step.operands)
      if (!values.has(v)) values.set(v, nest.load(loop.leaf_access[v]));
    if (step.stores.empty()) {
      reduce(reduced++, values.whole(step.operands[0]));
      continue;
    }
    if (puts(*step.eqn)) {
      take(0, 1);
      put(b, nest, loop.tables[step.table], step.eqn->params.as<PutParams>(), in);
      ++next;
      continue;
    }
    const bool reads = step.table != FusedLoop::none || step.padded != FusedLoop::none;
    const int parts = !reads && step.has_masks ? values.parts_of(step.operands) : 1;
    for (int part = 0; part < parts; ++part) {
      take(part, parts);
      out.assign(step.stores.size(), {});
      align(b, in);
      if (step.table != FusedLoop::none)
        out[0] = pick(b, loop.tables[step.table], step.eqn->params.as<PickParams>(), in);
      else if (step.padded != FusedLoop::none)
        out[0] = load_padded(b, nest, step.padded, in[0]);
      else
        step.eqn->op->emit(b, step.eqn->params, in, out);
      for (std::uint32_t r = 0; r < out.size(); ++r) values.add_part(next + r, out[r]);
    }
    for (std::uint32_t store : step.stores) {
      if (store != FusedLoop::none) nest.store(store, values.whole(next));
      ++next;
    }
  }
}

namespace {

void write_copy(Builder& b, const FusedLoop& loop) {
  const Sink& to = loop.sinks[0];
  const auto in_one_piece = [&](const Access& from) {
    return from.base.handle && from.view.is_contiguous() && to.view.is_contiguous();
  };
  if (loop.lanes == 1 && !to.mask.handle && !loop.accesses.empty() && in_one_piece(loop.accesses[0])) {
    const Access& from = loop.accesses[0];
    const auto bytes = static_cast<std::int64_t>(item_size(to.dtype));
    b.set_lanes(1);
    return b.copy_bytes(b.offset(to.base, to.view.offset * bytes),
                        b.offset(from.base, from.view.offset * bytes), b.index(loop.shape.product() * bytes));
  }
  LoopNest nest(b, loop.shape, loop.accesses, loop.sinks, loop.width, loop.lanes, loop.most_phases);
  nest.open();
  for (int phase = 0; phase < nest.phases(); ++phase) {
    nest.set_phase(phase);
    nest.store(0, loop.accesses.empty() ? loop.scalars[0] : nest.load(0));
  }
  nest.close();
}

}  // namespace

std::vector<Value> write_loop(Builder& b, const FusedLoop& loop, bool optimized) {
  if (loop.steps.empty()) {
    write_copy(b, loop);
    return {};
  }
  if (loop.walk.terms > 0) {
    write_sums(b, loop, optimized);
    return {};
  }
  if (loop.product) {
    write_product_loop(b, loop, optimized);
    return {};
  }
  LoopNest nest(b, loop.shape, loop.accesses, loop.sinks, loop.width, loop.lanes, loop.most_phases,
                loop.in_order);
  nest.take_vectors(loop.most_vectors);
  std::vector<Reduction> reductions;
  std::size_t carried = 0;
  for (const FusedLoop::Step& step : loop.steps) {
    if (!step.stores.empty()) continue;
    const Type& total = loop.totals[reductions.size()];
    const bool negated = accumulates_negated(*step.eqn->op, total.dtype);
    const Op& op = negated ? reduce_and_op : *step.eqn->op;
    reductions.push_back({Combine(b, op, total.dtype), negated, {}, carried});
    if (negated && loop.lanes == 1 && !optimized) {
      reductions.back().mark.emplace(b);
      continue;
    }
    b.set_lanes(loop.lanes > 1 ? total.lanes : nest.width());
    nest.carry(b.constant(total.dtype, op.neutral(total.dtype)));
    ++carried;
  }
  nest.open();
  const auto write = [&] {
    for (int phase = 0; phase < nest.phases(); ++phase) {
      nest.set_phase(phase);
      write_elements(b, loop, nest, [&](std::size_t i, Value v) { accumulate(b, nest, reductions[i], v); });
    }
  };
  const Value inside = reductions.empty() && !loop.in_order ? nest.any_inside() : Value{};
  if (inside.handle)
    if_else(b, inside, write, [&] {
      nest.leave_arrays();
      write();
    });
  else
    write();
  nest.close();
  std::vector<Value> totals;
  for (const Reduction& reduction : reductions) {
    if (reduction.mark) {
      totals.push_back(reduction.mark->get());
      continue;
    }
    const Value last = nest.carried(reduction.carried);
    const Value total = loop.lanes > 1 ? last : reduction.combine.across(last);
    b.set_lanes(b.lanes_of(total));
    totals.push_back(reduction.negated ? b.bit_not(total) : total);
  }
  return totals;
}

}  // namespace apsis::detail
