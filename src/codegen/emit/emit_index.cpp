// Ops that move elements of arrays in memory: as views where they can be, else as copies.

#include <algorithm>

#include "codegen/emit/equations.hpp"
#include "codegen/plan/result_parts.hpp"
#include "ops/index_params.hpp"

namespace apsis::detail {
namespace {

bool has_few_columns(const Aval& aval) {
  return aval.rank() > 0 && aval.shape().back() <= most_columns && !is_complex(aval.dtype());
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

/// The columns of an array, each as if it were the array.
void append_columns(const Place& array, std::int64_t count, Dtype dtype, std::vector<Access>& columns) {
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
bool interleave(Region& region, const Shape& shape, std::span<const Access> columns, const Sink& sink) {
  Builder& b = region.b();
  LoopNest nest(b, shape, {columns.begin(), columns.end()}, {&sink, 1},
                region.lowering().vector_lanes(item_size(sink.dtype)), 1, most_columns);
  if (nest.phases() != std::ssize(columns)) return false;
  nest.open();
  for (int phase = 0; phase < nest.phases(); ++phase) {
    nest.set_phase(phase);
    Value all;
    for (std::size_t column = 0; column < columns.size(); ++column) {
      Value one = nest.load(column);
      b.set_lanes(nest.width());
      if (b.lanes_of(one) == 1) one = b.splat(one);
      std::vector<int> from;
      for (int lane = 0; lane < nest.width(); ++lane) {
        const bool own = static_cast<std::size_t>((phase * nest.width() + lane) % nest.phases()) == column;
        from.push_back(own ? nest.width() + lane : lane);
      }
      all = column == 0 ? one : b.shuffle(all, one, from);
    }
    nest.store(0, all);
  }
  nest.close();
  ++region.lowering().loops;
  return true;
}

/// The same, where a vector of each column is loaded, and what these make is put together. False if the rows
/// are too few for it, or not side by side in memory.
bool put_side_by_side(Region& region, const Shape& shape, std::span<const Access> columns, const Sink& sink) {
  const auto without_columns = [](View view, std::int64_t column) {
    view.offset += column * view.strides.back();
    view.shape.resize(view.shape.size() - 1);
    view.strides.resize(view.strides.size() - 1);
    return view;
  };
  std::vector<Access> reads(columns.begin(), columns.end());
  std::vector<Sink> sinks(columns.size(), sink);
  for (std::size_t column = 0; column < columns.size(); ++column) {
    reads[column].view = without_columns(reads[column].view, 0);
    sinks[column].view = without_columns(sink.view, static_cast<std::int64_t>(column));
  }
  LoopNest nest(region.b(), without_columns({shape, shape, 0}, 0).shape, std::move(reads), sinks,
                region.lowering().vector_lanes(item_size(sink.dtype)));
  if (!nest.stores_columns()) return false;
  nest.open();
  for (std::size_t column = 0; column < columns.size(); ++column) nest.store(column, nest.load(column));
  nest.close();
  ++region.lowering().loops;
  return true;
}

/// The byte offset, in the array's view, of the slice that begins at `starts`, the same for all lanes.
Value dynamic_offset(Region& region, const Place& array, const Aval& aval, std::span<const ValueId> starts,
                     const Shape& sizes) {
  Builder& b = region.b();
  b.set_lanes(1);
  Value offset = b.index(0);
  for (std::size_t d = 0; d < starts.size(); ++d) {
    std::int64_t room = aval.shape()[d] - sizes[d];
    if (room == 0 || array.view.strides[d] == 0) continue;
    Value start = clamped_index(region, starts[d], room);
    offset =
        b.add(offset, b.mul(start, b.index(array.view.strides[d] * region.bytes_of(array, aval.dtype()))));
  }
  return offset;
}

/// Where lanes differ: the element of the array at which each lane's slice begins, counted in elements of
/// memory.
Value lane_starts(Region& region, const Place& array, const Aval& aval, std::span<const ValueId> starts,
                  const Shape& sizes) {
  Builder& b = region.b();
  b.set_lanes(region.lanes());
  Value first = b.constant(Dtype::I64, static_cast<std::uint64_t>(array.view.offset));
  for (std::size_t d = 0; d < starts.size(); ++d) {
    const std::int64_t room = aval.shape()[d] - sizes[d], stride = array.view.strides[d];
    if (room == 0 || stride == 0) continue;
    Value start = clamped_index(region, starts[d], room);
    b.set_lanes(region.lanes());
    if (b.lanes_of(start) == 1) start = b.splat(start);
    first = b.add(first, b.mul(start, b.constant(Dtype::I64, static_cast<std::uint64_t>(stride))));
  }
  if (array.apart.handle) return b.add(first, array.apart);
  if (array.lanes == 1) return first;
  return b.add(b.mul(first, b.constant(Dtype::I64, static_cast<std::uint64_t>(region.lanes()))),
               b.lane_numbers());
}

/// Runs `body(offset, k)` for the elements of a slice: element k of the slice is `offset` bytes, in the
/// array, from its first. If there are too many to unroll, they have no gaps.
template <class Body>
void each_of_slice(Region& region, const Place& array, const Aval& slice, Body&& body) {
  Builder& b = region.b();
  const std::int64_t bytes = region.bytes_of(array, slice.dtype());
  const View view{slice.shape(), array.view.strides, 0};
  if (region.in_registers(slice)) {
    for (std::int64_t k = 0; k < slice.size(); ++k) {
      b.set_lanes(1);
      body(b.index(view.at(k) * bytes), b.index(k));
    }
    return;
  }
  APSIS_ASSERT(view.is_contiguous());
  b.set_lanes(1);
  CountedLoop loop(b, b.index(slice.size()));
  body(b.mul(loop.index(), b.index(bytes)), loop.index());
  loop.close();
}

}  // namespace

bool emit_iota(Region& region, const Eqn& e) {
  if (is_complex(region.aval(e.first_result).dtype())) return false;
  const auto& p = e.params.as<IotaParams>();
  Place place;
  place.kind = Place::Kind::Iota;
  place.view = {p.shape, Dims::filled(p.shape.size(), 0), 0};
  place.view.strides[static_cast<std::size_t>(p.axis)] = 1;
  region.define(e.first_result, std::move(place));
  return true;
}

/// Whether loops have written all operands to their parts of the result.
bool has_all_parts(Region& region, const Eqn& e, const Destination& whole) {
  const std::vector<View> views = parts_of(region.graph(), e, whole.place().view);
  for (std::size_t k = 0; k < views.size(); ++k)
    if (!same_elements(region.place(region.operands(e)[k]), whole.part(region.b(), views[k], 0).place()))
      return false;
  return true;
}

/// Copies operands to their parts of the result. A loop may have written them there.
void copy_parts(Region& region, const Eqn& e, const Destination& whole) {
  const std::vector<View> views = parts_of(region.graph(), e, whole.place().view);
  Lowering::Pieces pieces(region.lowering());
  for (std::size_t k = 0; k < views.size(); ++k) {
    pieces.next();
    const ValueId v = region.operands(e)[k];
    const Target part = whole.part(region.b(), views[k], 0);
    if (!same_elements(region.place(v), part.place())) region.copy(region.place(v), region.aval(v), part);
  }
  pieces.end();
}

void emit_complex(Region& region, const Eqn& e) {
  const Destination whole = region.destination(e.first_result, 1);
  if (!has_all_parts(region, e, whole)) {
    // Real and imaginary parts are two columns.
    const auto pairs = [](View view, std::int64_t step) {
      view.shape.push_back(2);
      view.strides.push_back(step);
      return view;
    };
    std::vector<Place> parts;  // alive until they have been read
    std::vector<Access> columns;
    const Dtype dtype = region.aval(region.operands(e)[0]).dtype();
    for (ValueId v : region.operands(e)) {
      parts.push_back(region.in_memory(v));
      columns.push_back({pairs(parts.back().view, 0), parts.back().base, dtype, 1});
    }
    const View real = parts_of(region.graph(), e, whole.place().view)[0];
    const Sink sink = whole.part(region.b(), pairs(real, 1), 0).sink(dtype);
    if (!interleave(region, sink.view.shape, columns, sink)) copy_parts(region, e, whole);
  }
  region.define(e.first_result, whole.place());
}

bool emit_concatenate(Region& region, const Eqn& e) {
  const Aval& aval = region.aval(e.first_result);
  auto axis = static_cast<std::size_t>(e.params.as<ConcatenateParams>().axis);
  int lanes = 1;
  for (ValueId v : region.operands(e)) lanes = std::max(lanes, region.lanes_of(v));
  const Destination whole = region.destination(e.first_result, lanes);
  if (lanes == 1 && has_few_columns(aval) && axis + 1 == aval.shape().size() &&
      !has_all_parts(region, e, whole)) {
    std::vector<Place> parts;  // alive until they have been read
    std::vector<Access> columns;
    for (ValueId v : region.operands(e)) {
      parts.push_back(region.in_memory(v));
      append_columns(parts.back(), parts.back().view.shape.back(), aval.dtype(), columns);
    }
    const Sink sink = whole.sink(aval.dtype());
    // Where an operand has several columns, rows are copied with less code.
    const bool single = region.operands(e).size() == columns.size();
    if ((single && put_side_by_side(region, aval.shape(), columns, sink)) ||
        interleave(region, aval.shape(), columns, sink))
      return region.define(e.first_result, whole.place()), true;
  }
  copy_parts(region, e, whole);
  region.define(e.first_result, whole.place());
  return true;
}

/// The array, and slabs of the padding value before and behind it along each axis. Where the value goes
/// between elements too, it goes everywhere first.
void emit_pad(Region& region, const Eqn& e) {
  Builder& b = region.b();
  const auto operands = region.operands(e);
  const Aval& aval = region.aval(e.first_result);
  const auto& p = e.params.as<PadParams>();
  Place array = region.in_memory(operands[0]), value = region.place(operands[1]);
  const int lanes = std::max(array.lanes, region.lanes_of(value));
  const Destination whole = region.destination(e.first_result, lanes);
  const auto fill = [&](const View& slab) {
    value.view.shape = slab.shape;
    value.view.strides = Dims::filled(slab.shape.size(), 0);
    region.copy(value, Aval(aval.dtype(), slab.shape), whole.part(b, slab, 0));
  };
  const Landing land = landing(p, array.view, whole.place().view);
  if (lanes == 1 && has_few_columns(aval) && is_pad_of_columns(p)) {
    const Place one = region.in_memory(value, Aval(aval.dtype(), {}));
    const Access beside{
        {aval.shape(), Dims::filled(aval.shape().size(), 0), one.view.offset}, one.base, aval.dtype(), 1};
    std::vector<Access> columns(static_cast<std::size_t>(p.low.back()), beside);
    append_columns(array, array.view.shape.back(), aval.dtype(), columns);
    columns.insert(columns.end(), static_cast<std::size_t>(p.high.back()), beside);
    if (interleave(region, aval.shape(), columns, whole.sink(aval.dtype())))
      return region.define(e.first_result, whole.place());
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
  region.copy(array, Aval(aval.dtype(), land.to.shape), whole.part(b, land.to, 0));
  region.define(e.first_result, whole.place());
}

Value clamped_index(Region& region, ValueId index, std::int64_t limit) {
  Builder& b = region.b();
  Value i = region.registers(index)[0];
  b.set_lanes(b.lanes_of(i));
  auto constant = [&](std::int64_t value) {
    return b.constant(Dtype::I64, static_cast<std::uint64_t>(value));
  };
  if (i.dtype != Dtype::I64) i = b.convert(i, Dtype::I64);
  i = b.select(b.compare(Compare::Lt, i, constant(0)), constant(0), i);
  return b.select(b.compare(Compare::Gt, i, constant(limit)), constant(limit), i);
}

bool emit_dynamic_slice(Region& region, const Eqn& e) {
  Builder& b = region.b();
  auto operands = region.operands(e);
  const Aval &in = region.aval(operands[0]), &out = region.aval(e.first_result);
  Place place = region.in_memory(operands[0]);
  const bool apart = place.apart.handle || std::ranges::any_of(operands.subspan(1), [&](ValueId s) {
                       return region.lanes_of(s) > 1;
                     });
  if (!apart) {
    Value offset = dynamic_offset(region, place, in, operands.subspan(1), out.shape());
    place.base = b.offset(place.base, offset);
    place.view.shape = out.shape();
    const Home& target = region.hint(e.first_result);
    if (!region.in_registers(out) && (region.is_copied(e) || (target && target.lanes == place.lanes))) {
      // Made at its place at once: the array may then be overwritten.
      const Destination made = region.destination(e.first_result, place.lanes);
      region.copy(place, out, made);
      place = made.place();
    }
    region.define(e.first_result, std::move(place));
    return true;
  }
  if (place.lanes > 1 && place.lanes != region.lanes()) return false;
  const Value first = lane_starts(region, place, in, operands.subspan(1), out.shape());
  const auto element = [&](Value offset) {
    b.set_lanes(region.lanes());
    return b.gather(b.offset(place.base, offset), first, out.dtype());
  };
  if (region.in_registers(out)) {
    Place result;
    result.kind = Place::Kind::Registers;
    each_of_slice(region, place, out,
                  [&](Value offset, Value) { result.elements.push_back(element(offset)); });
    region.define(e.first_result, std::move(result));
    return true;
  }
  if (!View{out.shape(), place.view.strides, 0}.is_contiguous()) return false;
  const Destination made = region.destination(e.first_result, region.lanes());
  if (!made.place().view.is_contiguous()) return false;
  const std::int64_t bytes = region.bytes_of(made.place(), out.dtype());
  each_of_slice(region, place, out, [&](Value offset, Value k) {
    const Value v = element(offset);
    b.set_lanes(1);
    const Target at = made.part(b, made.place().view, b.mul(k, b.index(bytes)));
    b.set_lanes(region.lanes());
    at.store(b, made.place().view.offset * bytes, v);
  });
  region.define(e.first_result, made.place());
  return true;
}

Target updated(Region& region, const Eqn& e, int lanes) {
  const ValueId operand = region.operands(e)[0];
  const Place& old = region.place(operand);
  if (region.uses(operand) == 1 && region.may_update(old) && old.lanes == lanes) return region.update(old);
  const Destination made = region.destination(e.first_result, lanes);
  region.copy_given(old, region.aval(operand), made);
  return made;
}

/// In place when nobody else needs the array: a buffer carried through a loop then costs the slice alone.
bool emit_dynamic_update_slice(Region& region, const Eqn& e) {
  Builder& b = region.b();
  auto operands = region.operands(e);
  const Aval &aval = region.aval(operands[0]), &update = region.aval(operands[1]);
  if (region.in_registers(aval)) return false;
  const auto starts = operands.subspan(2);
  const bool apart = region.place(operands[0]).apart.handle ||
                     std::ranges::any_of(starts, [&](ValueId s) { return region.lanes_of(s) > 1; });
  int lanes = apart ? region.lanes() : std::max(region.lanes_of(operands[0]), region.lanes_of(operands[1]));
  if (apart && !region.in_registers(update) &&
      !View{update.shape(), View::contiguous(aval.shape()).strides, 0}.is_contiguous())
    return false;
  const Target target = updated(region, e, lanes);
  const Place& place = target.place();
  if (!apart) {
    const Value offset = dynamic_offset(region, place, aval, starts, update.shape());
    View slice = place.view;
    slice.shape = update.shape();
    region.copy(region.place(operands[1]), update, target.part(b, std::move(slice), offset));
    region.define(e.first_result, place);
    return true;
  }
  const Value first = lane_starts(region, place, aval, starts, update.shape());
  const Place source =
      region.in_registers(update) ? region.place(operands[1]) : region.contiguous(operands[1]);
  const Values elements = region.in_registers(update) ? region.registers(source, update) : Values{};
  std::size_t next = 0;
  each_of_slice(region, place, update, [&](Value offset, Value k) {
    Value v;
    if (region.in_registers(update)) {
      v = elements[next++];
    } else {
      b.set_lanes(1);
      const std::int64_t bytes = region.bytes_of(source, update.dtype());
      const ConstPointer p =
          b.offset(b.offset(source.base, source.view.offset * bytes), b.mul(k, b.index(bytes)));
      b.set_lanes(source.lanes);
      v = source.lanes > 1 ? b.load(p, update.dtype()) : b.load_element(p, update.dtype());
    }
    b.set_lanes(1);
    const Target at = target.part(b, place.view, offset);
    b.set_lanes(region.lanes());
    if (b.lanes_of(v) == 1) v = b.splat(v);
    at.scatter(b, 0, first, v);
  });
  region.define(e.first_result, place);
  return true;
}

}  // namespace apsis::detail
