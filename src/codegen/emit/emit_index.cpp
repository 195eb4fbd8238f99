// Ops that move elements of arrays in memory: as views where they can be, else as copies.

#include <algorithm>

#include "codegen/emit/region.hpp"
#include "ops/index_params.hpp"

namespace apsis::detail {
namespace {

constexpr int most_interleaved = 8;

bool has_few_columns(const Aval& aval) {
  return aval.rank() > 0 && aval.shape().back() <= most_interleaved && !is_complex(aval.dtype());
}

/// Columns of the padding value before and behind all of those of the array.
bool is_pad_of_columns(const PadParams& p) {
  const auto none = [](const Dims& n, std::size_t count) {
    return std::all_of(n.begin(), n.begin() + static_cast<std::ptrdiff_t>(count),
                       [](auto k) { return k == 0; });
  };
  const std::size_t last = p.low.size() - 1;
  return none(p.interior, last + 1) && none(p.low, last) && none(p.high, last) && p.low[last] >= 0 &&
         p.high[last] >= 0;
}

}  // namespace

bool Region::emit_iota(const Eqn& e) {
  if (is_complex(graph_.aval(e.first_result).dtype())) return false;
  const auto& p = e.params.as<IotaParams>();
  Place place;
  place.kind = Place::Kind::Iota;
  place.view = {p.shape, Dims::filled(p.shape.size(), 0), 0};
  place.view.strides[static_cast<std::size_t>(p.axis)] = 1;
  if (in_registers(graph_.aval(e.first_result)))
    define_loaded(e.first_result, place);
  else
    define(e.first_result, std::move(place));
  return true;
}

/// The columns of an array, each as if it were the array.
void Region::append_columns(const Place& array, std::int64_t count, Dtype dtype,
                            std::vector<Access>& columns) {
  for (std::int64_t column = 0; column < count; ++column) {
    columns.push_back({array.view, array.base, dtype, 1});
    View& view = columns.back().view;
    const std::size_t last = view.strides.size() - 1;
    view.offset += column * view.strides[last];
    view.strides[last] = 0;
  }
}

/// An array with few columns, from these: its vectors are put together in registers. False if there are too
/// few rows for it.
bool Region::interleave(const Aval& aval, std::span<const Access> columns, const Destination& whole) {
  const Sink sink = whole.sink(aval.dtype());
  LoopNest nest(b_, aval.shape(), {columns.begin(), columns.end()}, {&sink, 1},
                lowering_.vector_lanes(item_size(aval.dtype())), 1, most_interleaved);
  if (nest.phases() != std::ssize(columns)) return false;
  nest.open();
  for (int phase = 0; phase < nest.phases(); ++phase) {
    nest.set_phase(phase);
    Value all;
    for (std::size_t column = 0; column < columns.size(); ++column) {
      Value one = nest.load(column);
      b_.set_lanes(nest.width());
      if (b_.lanes_of(one) == 1) one = b_.splat(one);
      std::vector<int> from;
      for (int lane = 0; lane < nest.width(); ++lane) {
        const bool own = static_cast<std::size_t>((phase * nest.width() + lane) % nest.phases()) == column;
        from.push_back(own ? nest.width() + lane : lane);
      }
      all = column == 0 ? one : b_.shuffle(all, one, from);
    }
    nest.store(0, all);
  }
  nest.close();
  ++lowering_.loops;
  return true;
}

/// Each part is copied to its own slice of the result.
bool Region::emit_concatenate(const Eqn& e) {
  const Aval& aval = graph_.aval(e.first_result);
  auto axis = static_cast<std::size_t>(e.params.as<ConcatenateParams>().axis);
  int lanes = 1;
  for (ValueId v : graph_.operands(e)) lanes = std::max(lanes, lanes_of(places_[v]));
  const Destination whole = in_registers(aval) ? allocate(aval, lanes) : destination(e.first_result, lanes);
  if (lanes == 1 && has_few_columns(aval) && axis + 1 == aval.shape().size()) {
    std::vector<Place> parts;  // alive until they have been read
    std::vector<Access> columns;
    for (ValueId v : graph_.operands(e)) {
      parts.push_back(in_memory(places_[v], graph_.aval(v)));
      append_columns(parts.back(), parts.back().view.shape.back(), aval.dtype(), columns);
    }
    if (interleave(aval, columns, whole)) return define(e.first_result, whole.place()), true;
  }
  View part = whole.place().view;
  Lowering::Pieces pieces(lowering_);
  for (ValueId v : graph_.operands(e)) {
    pieces.next();
    part.shape = graph_.aval(v).shape();
    copy(places_[v], graph_.aval(v), whole.part(b_, part, 0));
    part.offset += part.shape[axis] * part.strides[axis];
  }
  pieces.end();
  if (in_registers(aval))
    define_loaded(e.first_result, whole.place());
  else
    define(e.first_result, whole.place());
  return true;
}

/// The array, and slabs of the padding value before and behind it along each axis. Where the value goes
/// between elements too, it goes everywhere first.
void Region::emit_pad(const Eqn& e) {
  const auto operands = graph_.operands(e);
  const Aval& aval = graph_.aval(e.first_result);
  const auto& p = e.params.as<PadParams>();
  Place array = in_memory(places_[operands[0]], graph_.aval(operands[0])), value = places_[operands[1]];
  const int lanes = std::max(array.lanes, lanes_of(value));
  const Destination whole = in_registers(aval) ? allocate(aval, lanes) : destination(e.first_result, lanes);
  const auto fill = [&](const View& slab) {
    value.view.shape = slab.shape;
    value.view.strides = Dims::filled(slab.shape.size(), 0);
    copy(value, Aval(aval.dtype(), slab.shape), whole.part(b_, slab, 0));
  };
  const Landing land = landing(p, array.view, whole.place().view);
  if (lanes == 1 && has_few_columns(aval) && is_pad_of_columns(p)) {
    const Place one = in_memory(value, Aval(aval.dtype(), {}));
    const Access beside{
        {aval.shape(), Dims::filled(aval.shape().size(), 0), one.view.offset}, one.base, aval.dtype(), 1};
    std::vector<Access> columns(static_cast<std::size_t>(p.low.back()), beside);
    append_columns(array, array.view.shape.back(), aval.dtype(), columns);
    columns.insert(columns.end(), static_cast<std::size_t>(p.high.back()), beside);
    if (interleave(aval, columns, whole)) return define(e.first_result, whole.place());
  }
  View around = whole.place().view;
  const bool apart = std::ranges::any_of(p.interior, [](std::int64_t n) { return n > 0; });
  if (apart) fill(around);
  for (std::size_t d = 0; d < p.low.size() && !apart; ++d) {
    const std::int64_t before = std::min(std::max<std::int64_t>(p.low[d], 0), around.shape[d]);
    View slab = around;
    slab.shape[d] = before;
    fill(slab);
    const std::int64_t behind = before + land.to.shape[d];
    slab.shape[d] = around.shape[d] - behind;
    slab.offset += behind * slab.strides[d];
    fill(slab);
    around.shape[d] = land.to.shape[d];
    around.offset += before * around.strides[d];
  }
  array.view = land.from;
  copy(array, Aval(aval.dtype(), land.to.shape), whole.part(b_, land.to, 0));
  if (in_registers(aval))
    define_loaded(e.first_result, whole.place());
  else
    define(e.first_result, whole.place());
}

Value Region::clamped_index(ValueId index, std::int64_t limit) {
  Value i = registers(places_[index], graph_.aval(index))[0];
  b_.set_lanes(b_.lanes_of(i));
  auto constant = [&](std::int64_t value) {
    return b_.constant(Dtype::I64, static_cast<std::uint64_t>(value));
  };
  if (i.dtype != Dtype::I64) i = b_.convert(i, Dtype::I64);
  i = b_.select(b_.compare(Compare::Lt, i, constant(0)), constant(0), i);
  return b_.select(b_.compare(Compare::Gt, i, constant(limit)), constant(limit), i);
}

/// The byte offset, in the array's view, of the slice that begins at `starts`; no handle when lanes differ.
Value Region::dynamic_offset(const Place& array, const Aval& aval, std::span<const ValueId> starts,
                             const Shape& sizes) {
  Value offset = {};
  for (ValueId s : starts)
    if (lanes_of(places_[s]) > 1) return offset;
  b_.set_lanes(1);
  offset = b_.index(0);
  for (std::size_t d = 0; d < starts.size(); ++d) {
    std::int64_t room = aval.shape()[d] - sizes[d];
    if (room == 0 || array.view.strides[d] == 0) continue;
    Value start = clamped_index(starts[d], room);
    offset = b_.add(offset, b_.mul(start, b_.index(array.view.strides[d] * bytes_of(array, aval.dtype()))));
  }
  return offset;
}

/// Where lanes differ: the element of the array at which each lane's slice begins, counted in elements of
/// memory.
Value Region::lane_starts(const Place& array, const Aval& aval, std::span<const ValueId> starts,
                          const Shape& sizes) {
  b_.set_lanes(lanes_);
  Value first = b_.constant(Dtype::I64, static_cast<std::uint64_t>(array.view.offset));
  for (std::size_t d = 0; d < starts.size(); ++d) {
    const std::int64_t room = aval.shape()[d] - sizes[d], stride = array.view.strides[d];
    if (room == 0 || stride == 0) continue;
    Value start = clamped_index(starts[d], room);
    b_.set_lanes(lanes_);
    if (b_.lanes_of(start) == 1) start = b_.splat(start);
    first = b_.add(first, b_.mul(start, b_.constant(Dtype::I64, static_cast<std::uint64_t>(stride))));
  }
  if (array.apart.handle) return b_.add(first, array.apart);
  if (array.lanes == 1) return first;
  return b_.add(b_.mul(first, b_.constant(Dtype::I64, static_cast<std::uint64_t>(lanes_))),
                b_.lane_numbers());
}

/// Runs `body(offset, k)` for the elements of a slice: element k of the slice is `offset` bytes, in the
/// array, from its first. False if there are too many to unroll and they have gaps.
template <class Body>
bool Region::each_of_slice(const Place& array, const Aval& slice, Body&& body) {
  const std::int64_t bytes = bytes_of(array, slice.dtype());
  const View view{slice.shape(), array.view.strides, 0};
  if (in_registers(slice)) {
    for (std::int64_t k = 0; k < slice.size(); ++k) {
      b_.set_lanes(1);
      body(b_.index(view.at(k) * bytes), b_.index(k));
    }
    return true;
  }
  if (!view.is_contiguous()) return false;
  b_.set_lanes(1);
  CountedLoop loop(b_, b_.index(slice.size()));
  body(b_.mul(loop.index(), b_.index(bytes)), loop.index());
  loop.close();
  return true;
}

bool Region::emit_dynamic_slice(const Eqn& e) {
  auto operands = graph_.operands(e);
  const Aval &in = graph_.aval(operands[0]), &out = graph_.aval(e.first_result);
  Place place = in_memory(places_[operands[0]], in);
  const bool apart = place.apart.handle || std::ranges::any_of(operands.subspan(1), [&](ValueId s) {
                       return lanes_of(places_[s]) > 1;
                     });
  if (!apart) {
    Value offset = dynamic_offset(place, in, operands.subspan(1), out.shape());
    place.base = b_.offset(place.base, offset);
    place.view.shape = out.shape();
    const Home& target = hints_[e.first_result];
    if (in_registers(out)) {
      define_loaded(e.first_result, place);
    } else if (is_copied(e) || (target && target.lanes == place.lanes)) {
      // Made at its place at once: the array may then be overwritten.
      const Destination made = destination(e.first_result, place.lanes);
      copy(place, out, made);
      define(e.first_result, made.place());
    } else {
      define(e.first_result, std::move(place));
    }
    return true;
  }
  if (place.lanes > 1 && place.lanes != lanes_) return false;
  const Value first = lane_starts(place, in, operands.subspan(1), out.shape());
  const auto element = [&](Value offset) {
    b_.set_lanes(lanes_);
    return b_.gather(b_.offset(place.base, offset), first, out.dtype());
  };
  if (in_registers(out)) {
    Place result;
    result.kind = Place::Kind::Registers;
    each_of_slice(place, out, [&](Value offset, Value) { result.elements.push_back(element(offset)); });
    define(e.first_result, std::move(result));
    return true;
  }
  if (!View{out.shape(), place.view.strides, 0}.is_contiguous()) return false;
  const Destination made = destination(e.first_result, lanes_);
  if (!made.place().view.is_contiguous()) return false;
  const std::int64_t bytes = bytes_of(made.place(), out.dtype());
  each_of_slice(place, out, [&](Value offset, Value k) {
    const Value v = element(offset);
    b_.set_lanes(1);
    const Target at = made.part(b_, made.place().view, b_.mul(k, b_.index(bytes)));
    b_.set_lanes(lanes_);
    at.store(b_, made.place().view.offset * bytes, v);
  });
  define(e.first_result, made.place());
  return true;
}

Target Region::updated(const Eqn& e, int lanes) {
  const ValueId operand = graph_.operands(e)[0];
  const Place& old = places_[operand];
  if (uses_[operand] == 1 && may_update(old) && old.lanes == lanes) return update(old);
  const Destination made = destination(e.first_result, lanes);
  copy_given(old, graph_.aval(operand), made);
  return made;
}

/// In place when nobody else needs the array: a buffer carried through a loop then costs the slice alone.
bool Region::emit_dynamic_update_slice(const Eqn& e) {
  auto operands = graph_.operands(e);
  const Aval &aval = graph_.aval(operands[0]), &update = graph_.aval(operands[1]);
  if (in_registers(aval)) return false;
  const auto starts = operands.subspan(2);
  const bool apart = places_[operands[0]].apart.handle ||
                     std::ranges::any_of(starts, [&](ValueId s) { return lanes_of(places_[s]) > 1; });
  int lanes = apart ? lanes_ : std::max(lanes_of(places_[operands[0]]), lanes_of(places_[operands[1]]));
  if (apart && !in_registers(update) &&
      !View{update.shape(), View::contiguous(aval.shape()).strides, 0}.is_contiguous())
    return false;
  const Target target = updated(e, lanes);
  const Place& place = target.place();
  if (!apart) {
    const Value offset = dynamic_offset(place, aval, starts, update.shape());
    View slice = place.view;
    slice.shape = update.shape();
    copy(places_[operands[1]], update, target.part(b_, std::move(slice), offset));
    define(e.first_result, place);
    return true;
  }
  const Value first = lane_starts(place, aval, starts, update.shape());
  const Place source = in_registers(update) ? places_[operands[1]] : contiguous(places_[operands[1]], update);
  const Values elements = in_registers(update) ? registers(source, update) : Values{};
  std::size_t next = 0;
  each_of_slice(place, update, [&](Value offset, Value k) {
    Value v;
    if (in_registers(update)) {
      v = elements[next++];
    } else {
      b_.set_lanes(1);
      const std::int64_t bytes = bytes_of(source, update.dtype());
      const ConstPointer p =
          b_.offset(b_.offset(source.base, source.view.offset * bytes), b_.mul(k, b_.index(bytes)));
      b_.set_lanes(source.lanes);
      v = source.lanes > 1 ? b_.load(p, update.dtype()) : b_.load_element(p, update.dtype());
    }
    b_.set_lanes(1);
    const Target at = target.part(b_, place.view, offset);
    b_.set_lanes(lanes_);
    if (b_.lanes_of(v) == 1) v = b_.splat(v);
    at.scatter(b_, 0, first, v);
  });
  define(e.first_result, place);
  return true;
}

}  // namespace apsis::detail
