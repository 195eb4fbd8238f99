#include "codegen/emit/place_access.hpp"

#include <algorithm>
#include <utility>

#include "codegen/emit/fused_loop.hpp"
#include "codegen/emit/loop_parts.hpp"
#include "core/undefined_memory.hpp"

namespace apsis::detail {
namespace {

/// Whether a copy brings many elements into another order, which takes long code.
bool is_worth_call(const FusedLoop& loop) {
  constexpr std::int64_t worth_sharing = 1024;  // elements that take longer than a call
  if (loop.lanes > 1 || loop.accesses.empty() || loop.sinks[0].mask.handle) return false;
  const Access& from = loop.accesses[0];
  return from.base.handle && loop.shape.product() >= worth_sharing &&
         from.view.strides.back() != loop.sinks[0].view.strides.back();
}

/// Calls the function that copies so; writes it the first time.
void call_copy(Lowering& lowering, FusedLoop loop) {
  Builder& b = lowering.b;
  b.set_lanes(1);
  const auto first = [&](auto& access) {
    const auto bytes = static_cast<std::int64_t>(item_size(access.dtype));
    return b.offset(access.base, std::exchange(access.view.offset, 0) * bytes);
  };
  const Operand arguments[] = {first(loop.accesses[0]), first(loop.sinks[0])};
  const Type parameters[] = {pointer_type, pointer_type};
  auto& known = lowering.shared_loops["copy" + loop.key()];
  if (known.empty()) {
    const Function f = b.declare("copy", parameters, {});
    known.push_back({f, {}});
    b.begin(f);
    loop.accesses[0].base = b.pointer_parameter(0);
    loop.sinks[0].base = b.pointer_parameter(1);
    write_loop(b, loop, lowering.options().optimized);
    b.return_values({});
    b.end();
  }
  b.call(known[0].function, arguments, {});
}

}  // namespace

int PlaceAccess::lanes_of(const Location& place) const {
  if (place.kind != Place::Kind::Registers) return place.lanes;
  int lanes = 1;
  for (Value v : place.elements) lanes = std::max(lanes, b_.lanes_of(v));
  return lanes;
}

Target PlaceAccess::update(const Place& place) const {
  if (is_own(place)) return Target(place, {});
  APSIS_ASSERT(place.lanes > 1);
  return Target(place, mask_);
}

Destination PlaceAccess::overwrite(const Place& place) const {
  APSIS_ASSERT(is_own(place));
  return Destination(place);
}

Destination PlaceAccess::allocate(const Aval& aval, int lanes) {
  const BufferOwner memory = lowering_.allocate(static_cast<std::int64_t>(aval.bytes()) * lanes);
  return allocate_in(memory, lowering_.scratch(memory->offset), 0, aval, lanes);
}
Destination PlaceAccess::allocate_in(const BufferOwner& memory, Pointer base, std::int64_t offset,
                                     const Aval& aval, int lanes) {
  Place place;
  place.kind = Place::Kind::Memory;
  place.lanes = lanes;
  place.view = View::contiguous(aval.shape());
  place.view.offset = offset;
  place.buffer = BufferReader(memory);
  place.base = base;
  place.kept = mask_;
  if (marks_memory) mark_unwritten(place, aval);
  return Destination(std::move(place));
}

std::vector<Value> PlaceAccess::registers(const Place& place, const Aval& aval) {
  auto size = static_cast<std::size_t>(aval.size());
  if (place.kind == Place::Kind::Registers)
    return place.elements.size() == size ? place.elements : Values(size, place.elements[0]);
  Values values;
  values.reserve(size);
  for (std::size_t k = 0; k < size; ++k) {
    std::int64_t at = place.view.at(static_cast<std::int64_t>(k));
    b_.set_lanes(1);
    if (place.kind == Place::Kind::Iota) {
      values.push_back(from_index(b_, b_.index(at), aval.dtype()));
      continue;
    }
    const ConstPointer p = b_.offset(place.base, at * bytes_of(place, aval.dtype()));
    if (place.lanes > 1) {
      b_.set_lanes(place.lanes);
      values.push_back(place.apart.handle ? b_.gather(p, place.apart, aval.dtype())
                                          : b_.load(p, aval.dtype()));
    } else {
      values.push_back(b_.load_element(p, aval.dtype()));
    }
  }
  return values;
}

/// For valgrind: what was there before is gone. Of lanes at rest anything may be read, since nothing comes of
/// it.
void PlaceAccess::mark_unwritten(const Place& place, const Aval& aval) {
  const int lanes_now = b_.lanes();
  const Value active = place.lanes > 1 && mask_.handle ? b_.mask_bits(mask_) : b_.index(-1);
  b_.set_lanes(1);
  const ConstPointer first = b_.offset(place.base, place.view.offset * bytes_of(place, aval.dtype()));
  const Operand arguments[] = {first, b_.index(aval.size()),
                               b_.index(static_cast<std::int64_t>(item_size(aval.dtype()))),
                               b_.index(place.lanes), active};
  b_.call_runtime_void("apsis_mark_unwritten", arguments);
  b_.set_lanes(lanes_now);
}

Place PlaceAccess::in_memory(const Place& place, const Aval& aval) {
  if (place.kind == Place::Kind::Memory) return place;
  if (place.kind == Place::Kind::Iota) return contiguous(place, aval);
  bool splat = place.elements.size() == 1 && aval.size() != 1;
  Aval stored = splat ? Aval(aval.dtype(), {}) : aval;
  const Destination made = allocate(stored, lanes_of(place));
  Place memory = made.place();
  for (std::size_t k = 0; k < place.elements.size(); ++k) {
    Value v = place.elements[k];
    b_.set_lanes(memory.lanes);
    if (memory.lanes > b_.lanes_of(v)) v = b_.splat(v);
    made.store(b_, static_cast<std::int64_t>(k) * bytes_of(memory, aval.dtype()), v);
  }
  if (splat) memory.view = {aval.shape(), Dims::filled(aval.shape().size(), 0), 0};
  return memory;
}

Place PlaceAccess::contiguous(const Place& place, const Aval& aval) {
  if (place.kind == Place::Kind::Memory && place.view.is_contiguous()) return place;
  if (place.kind == Place::Kind::Registers && (place.elements.size() > 1 || aval.size() <= 1))
    return in_memory(place, aval);
  const Destination memory = allocate(aval, lanes_of(place));
  copy(place, aval, memory);
  return memory.place();
}

void PlaceAccess::copy(const Place& from, const Aval& aval, const Target& target) {
  constexpr int most_phases = 16;
  if (aval.size() == 0) return;
  const Place& to = target.place();
  auto item = static_cast<std::int64_t>(item_size(aval.dtype()));
  if (from.apart.handle || to.apart.handle) {
    b_.set_lanes(1);
    const Value all =
        b_.index(static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - std::max(from.lanes, to.lanes))));
    return each_bit(b_, mask_.handle ? b_.mask_bits(mask_) : all,
                    [&](Value lane) { copy(of_lane(from, aval, lane), aval, of_lane(target, aval, lane)); });
  }
  if (from.kind == Place::Kind::Memory && from.view.is_contiguous() && to.view.is_contiguous() &&
      from.lanes == to.lanes && !target.mask_.handle) {
    b_.set_lanes(1);
    const ConstPointer first = b_.offset(from.base, from.view.offset * bytes_of(from, aval.dtype()));
    const Pointer made = b_.offset(target.base_, to.view.offset * bytes_of(to, aval.dtype()));
    const std::int64_t bytes = aval.size() * item * to.lanes;
    const View whole = View::contiguous({bytes});
    const FusedLoop loop{.shape = {bytes},
                         .accesses = {{whole, first, Dtype::U8}},
                         .sinks = {{whole, made, Dtype::U8, 1, {}}}};
    if (!write_in_parts(lowering_, loop, 0)) b_.copy_bytes(made, first, b_.index(bytes));
    return;
  }
  if (from.kind == Place::Kind::Registers && static_cast<std::int64_t>(from.elements.size()) == aval.size()) {
    for (std::int64_t k = 0; k < aval.size(); ++k) {
      b_.set_lanes(to.lanes);
      Value v = from.elements[static_cast<std::size_t>(k)];
      if (to.lanes > b_.lanes_of(v)) v = b_.splat(v);
      target.store(b_, to.view.at(k) * bytes_of(to, aval.dtype()), v);
    }
    return;
  }
  // Half-width and complex elements move as integers of their size.
  bool pair = aval.dtype() == Dtype::C128;
  Shape shape = aval.shape();
  Sink sink = target.sink(aval.dtype());
  std::vector<Access> reads;
  if (from.kind != Place::Kind::Registers) reads.push_back({from.view, from.base, aval.dtype(), from.lanes});
  if (is_complex(aval.dtype())) {
    const auto as_words = [&](auto& a) {
      a.dtype = Dtype::U64;
      if (!pair) return;
      // Two words: an axis more, the last.
      for (auto& s : a.view.strides) s *= 2;
      a.view.offset *= 2;
      a.view.shape.push_back(2);
      a.view.strides.push_back(1);
    };
    as_words(sink);
    for (Access& a : reads) as_words(a);
    if (pair) shape.push_back(2);
  }
  if (from.kind == Place::Kind::Iota) reads[0].base = {};
  const int lanes = std::max(to.lanes, lanes_of(from));
  FusedLoop loop{.shape = shape, .accesses = reads, .sinks = {sink}, .lanes = lanes};
  if (reads.empty()) loop.scalars = {from.elements[0]};
  loop.width = lanes > 1 ? 1 : lowering_.vector_lanes(item_size(sink.dtype));
  loop.most_phases = most_phases;
  if (!sink.mask.handle && write_in_parts(lowering_, loop, 0)) return;
  if (is_worth_call(loop))
    call_copy(lowering_, std::move(loop));
  else
    write_loop(b_, loop, lowering_.options().optimized);
}

Place PlaceAccess::of_lane(const Place& place, const Aval& aval, Value lane) {
  Place part = place;
  for (Value& v : part.elements) v = b_.extract(v, lane);
  if (place.kind != Place::Kind::Memory || place.lanes == 1) return part;
  b_.set_lanes(1);
  const Value first = place.apart.handle ? b_.extract(place.apart, lane) : lane;
  part.base =
      b_.offset(place.base, b_.mul(first, b_.index(static_cast<std::int64_t>(item_size(aval.dtype())))));
  part.lanes = 1;
  part.apart = {};
  if (place.apart.handle) return part;
  part.view.offset *= place.lanes;
  for (auto& s : part.view.strides) s *= place.lanes;
  return part;
}

Target PlaceAccess::of_lane(const Target& target, const Aval& aval, Value lane) {
  return Target(of_lane(target.place(), aval, lane), {});
}

void PlaceAccess::copy_given(const Place& from, const Aval& aval, const Destination& to) {
  const bool given = from.kind == Place::Kind::Memory && !from.buffer;
  if (!given || !from.view.is_contiguous() || !to.place().view.is_contiguous() || from.lanes > 1 ||
      to.place().lanes > 1)
    return copy(from, aval, to);
  b_.set_lanes(1);
  const auto item = static_cast<std::int64_t>(item_size(aval.dtype()));
  const Operand arguments[] = {to.first(b_, item), b_.offset(from.base, from.view.offset * item),
                               b_.index(aval.size() * item)};
  b_.call_runtime_void("apsis_copy_given", arguments);
}

}  // namespace apsis::detail

#ifdef APSIS_VALGRIND
extern "C" void apsis_mark_unwritten(char* memory, std::int64_t elements, std::int64_t bytes,
                                     std::int64_t lanes, std::int64_t active) noexcept {
  for (std::int64_t k = 0; k < elements * lanes; ++k)
    if (active >> k % lanes & 1)
      (void)VALGRIND_MAKE_MEM_UNDEFINED(memory + k * bytes, bytes);
    else
      (void)VALGRIND_MAKE_MEM_DEFINED(memory + k * bytes, bytes);
}
extern "C" void apsis_mark_written(char* memory, std::int64_t bytes) noexcept {
  (void)VALGRIND_MAKE_MEM_DEFINED(memory, bytes);
}
#endif
