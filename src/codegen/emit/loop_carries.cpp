#include "codegen/emit/loop_carries.hpp"

#include "codegen/plan/in_place.hpp"

namespace apsis::detail {
namespace {

/// One buffer in the name of two, for an array that is in either.
BufferOwner both(BufferReader a, const BufferReader& b) {
  auto buffer = std::make_shared<Buffer>();
  buffer->parts = {std::move(a), b};
  return buffer;
}

}  // namespace

LoopCarries::LoopCarries(Region& outer, const Graph& body, std::size_t first_input, std::vector<char> varying,
                         std::int64_t trips)
    : outer_(outer),
      b_(outer.lowering().b),
      body_(body),
      first_input_(first_input),
      varying_(std::move(varying)),
      trips_(trips) {}

void LoopCarries::start(Place initial, bool last, ValueId result) {
  std::size_t i = carries_.size();
  auto input = static_cast<ValueId>(first_input_ + i);
  Carry& c = carries_.emplace_back();
  c.aval = body_.aval(input);
  c.use = carry_use(body_, input, body_.outputs()[i]);
  c.lanes = varying_[i] ? outer_.lanes() : 1;
  if (c.use == CarryUse::Unchanged) {
    c.now = std::move(initial);
    return;
  }
  if (outer_.in_registers(c.aval)) {
    c.now.kind = Place::Kind::Registers;
    for (Value v : outer_.registers(initial, c.aval)) {
      b_.set_lanes(c.lanes);
      c.elements.push_back(b_.make_variable(c.lanes > b_.lanes_of(v) ? b_.splat(v) : v));
    }
    return;
  }
  // An array that is made anew each time is written as a whole, in a home of this loop's own.
  const bool adopt = last && outer_.may_update(initial) && initial.view.offset == 0 &&
                     initial.lanes == c.lanes && (c.use == CarryUse::InPlace || outer_.is_own(initial));
  const bool one = c.use == CarryUse::Replaced && lies_where_it_was(i),
             destined = c.use == CarryUse::Replaced && is_destined(result, c.lanes),
             begins_there = destined && !adopt && (one || trips_ < 0 || trips_ % 2 == 0);
  if (adopt) {
    c.now = std::move(initial);
  } else {
    const Destination home = c.use == CarryUse::InPlace || begins_there ? outer_.destination(result, c.lanes)
                                                                        : outer_.allocate(c.aval, c.lanes);
    outer_.copy_given(initial, c.aval, home);
    c.now = home.place();
  }
  c.now.view = View::contiguous(c.aval.shape());
  if (c.use != CarryUse::Replaced) return;
  if (begins_there) c.destined = Home(Place(c.now));
  if (one) {
    c.next = c.now;
    c.ends_there = begins_there;
    return;
  }
  c.next =
      (destined && !begins_there ? outer_.destination(result, c.lanes) : outer_.allocate(c.aval, c.lanes))
          .place();
  if (destined && !begins_there) c.destined = Home(Place(c.next));
  c.ends_there = destined && trips_ >= 0 && (trips_ % 2 == 0) == begins_there;
  c.now_at = b_.make_variable(c.now.base);
  c.next_at = b_.make_variable(c.next.base);
}

/// Whether the result has memory of its own already, which an array of the carry's kind may be in meanwhile.
bool LoopCarries::is_destined(ValueId result, int lanes) const {
  const Home& hint = outer_.hint(result);
  return hint && lanes == 1 && outer_.lanes() == 1 && !outer_.mask().handle && hint.lanes == 1 &&
         outer_.is_own(hint) && hint.view.offset == 0 && hint.view.is_contiguous();
}

bool LoopCarries::lies_where_it_was(std::size_t i) {
  constexpr std::size_t large = 1 << 18;  // bytes
  if (outer_.lanes() > 1 || outer_.mask().handle || carries_[i].aval.bytes() < large) return false;
  if (in_place_.empty()) in_place_ = carries_made_in_place(body_, first_input_, varying_.size());
  return in_place_[i] != 0;
}

void LoopCarries::add_variables(std::vector<Variable>& carried) const {
  for (const Carry& c : carries_) {
    carried.insert(carried.end(), c.elements.begin(), c.elements.end());
    if (c.now_at.made()) carried.insert(carried.end(), {c.now_at, c.next_at});
  }
}

void LoopCarries::open() {
  for (Carry& c : carries_) {
    for (Variable v : c.elements) c.now.elements.push_back(b_.get(v));
    if (c.next.kind == Place::Kind::Memory) {
      // Not writable while the loop runs, but for the array that is made anew.
      c.either = both(std::move(c.now.buffer), c.next.buffer);
      c.now.buffer = BufferReader(c.either);
    }
    if (c.now_at.made()) {
      c.now.base = b_.get_pointer(c.now_at);
      c.next.base = b_.get_pointer(c.next_at);
    } else if (c.use == CarryUse::InPlace && !c.in_registers()) {
      // Places of the body may overwrite the home once nothing else in the body reads it.
      c.home = Home(std::move(c.now));
    }
  }
}

void LoopCarries::hint(Region& body) {
  for (std::size_t i = 0; i < carries_.size(); ++i) {
    Place& next = carries_[i].next;
    if (next.kind != Place::Kind::Memory) continue;
    // Of lanes that have left, the last values are in the other home.
    next.kept = body.mask();
    body.hint_output(i, next);
  }
}

void LoopCarries::close(Region& body, Value mask) {
  for (std::size_t i = 0; i < carries_.size(); ++i) {
    Carry& c = carries_[i];
    if (c.use == CarryUse::Unchanged) continue;
    const Place& made = body.output(i);
    if (c.in_registers()) {
      const std::vector<Value> updated = outer_.registers(made, c.aval);
      for (std::size_t k = 0; k < updated.size(); ++k) {
        b_.set_lanes(c.lanes);
        Value v = c.lanes > b_.lanes_of(updated[k]) ? b_.splat(updated[k]) : updated[k];
        if (mask.handle) v = b_.select(mask, v, c.now.elements[k]);
        b_.set(c.elements[k], v);
      }
    } else if (c.use == CarryUse::Replaced && !same_memory(made, c.next)) {
      body.copy(made, c.aval, body.overwrite(c.next));
    }
  }
  for (std::size_t i = 0; i < carries_.size(); ++i) {
    Carry& c = carries_[i];
    if (c.in_registers() || c.use == CarryUse::Unchanged) continue;
    if (c.use == CarryUse::InPlace) {
      if (!same_memory(body.output(i), c.home))
        body.copy(body.output(i), c.aval, body.update(c.home.value()));
      continue;
    }
    if (mask.handle) {
      // Lanes leave the loop one by one: those that have left keep their homes.
      body.copy(c.next, c.aval, body.update(c.now));
    } else if (c.now_at.made()) {
      b_.set(c.now_at, c.next.base);
      b_.set(c.next_at, c.now.base);
    }
    c.either->writable = true;
  }
}

Place LoopCarries::last(std::size_t i) {
  Carry& c = carries_[i];
  if (!c.destined) return place(i);
  if (!c.ends_there) {
    // The other one of the two may be where it is.
    b_.set_lanes(1);
    const Operand arguments[] = {outer_.overwrite(c.destined.value()).base(), c.now.base,
                                 b_.index(static_cast<std::int64_t>(c.aval.bytes()))};
    b_.call_runtime_void("apsis_copy_given", arguments);
  }
  return c.destined.value();
}

}  // namespace apsis::detail
