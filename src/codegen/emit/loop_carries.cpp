#include "codegen/emit/loop_carries.hpp"

namespace apsis::detail {
namespace {

/// One buffer in the name of two, for an array that is in either.
BufferOwner both(BufferReader a, const BufferReader& b) {
  auto buffer = std::make_shared<Buffer>();
  buffer->parts = {std::move(a), b};
  return buffer;
}

}  // namespace

LoopCarries::LoopCarries(Region& outer, const Graph& body, std::size_t first_input, std::vector<char> varying)
    : outer_(outer),
      b_(outer.lowering().b),
      body_(body),
      first_input_(first_input),
      varying_(std::move(varying)) {}

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
    c.initial.kind = Place::Kind::Registers;
    c.initial.elements = outer_.registers(initial, c.aval);
    for (Value& v : c.initial.elements) {
      b_.set_lanes(c.lanes);
      if (c.lanes > b_.lanes_of(v)) v = b_.splat(v);
    }
    return;
  }
  // An array that is made anew each time is written as a whole, in a home of this loop's own.
  const bool adopt = last && outer_.may_update(initial) && initial.view.offset == 0 &&
                     initial.lanes == c.lanes && (c.use == CarryUse::InPlace || outer_.is_own(initial));
  if (adopt) {
    c.initial = std::move(initial);
  } else {
    const Destination home =
        c.use == CarryUse::InPlace ? outer_.destination(result, c.lanes) : outer_.allocate(c.aval, c.lanes);
    outer_.copy_given(initial, c.aval, home);
    c.initial = home.place();
  }
  c.initial.view = View::contiguous(c.aval.shape());
  if (c.use == CarryUse::Replaced) c.next = outer_.allocate(c.aval, c.lanes).place();
}

void LoopCarries::open(Block before) {
  for (Carry& c : carries_) {
    if (c.use == CarryUse::Unchanged) continue;
    if (c.initial.kind == Place::Kind::Registers) {
      b_.set_lanes(c.lanes);
      c.now.kind = Place::Kind::Registers;
      for (Value v : c.initial.elements) {
        Value phi = b_.phi(c.aval.dtype());
        b_.add_incoming(phi, v, before);
        c.phis.push_back(phi);
      }
      c.now.elements = c.phis;
    } else if (c.use == CarryUse::Replaced) {
      c.now_phi = b_.pointer_phi();
      c.next_phi = b_.pointer_phi();
      b_.add_incoming(c.now_phi, c.initial.base, before);
      b_.add_incoming(c.next_phi, c.next.base, before);
      // Not writable while the loop runs: the array is made anew in the other one.
      c.either = both(std::move(c.initial.buffer), c.next.buffer);
      c.now = {std::move(c.initial), BufferReader(c.either)};
      c.now.base = c.now_phi;
      c.next.base = c.next_phi;
    } else {
      // Places of the body may overwrite the home once nothing else in the body reads it.
      c.home = Home(std::move(c.initial));
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
    if (c.now.kind == Place::Kind::Registers) {
      c.updated = outer_.registers(made, c.aval);
      for (std::size_t k = 0; k < c.updated.size(); ++k) {
        b_.set_lanes(c.lanes);
        if (c.lanes > b_.lanes_of(c.updated[k])) c.updated[k] = b_.splat(c.updated[k]);
        if (mask.handle) c.updated[k] = b_.select(mask, c.updated[k], c.phis[k]);
      }
    } else if (c.use == CarryUse::Replaced && !same_memory(made, c.next)) {
      body.copy(made, c.aval, body.overwrite(c.next));
    }
  }
  for (std::size_t i = 0; i < carries_.size(); ++i) {
    Carry& c = carries_[i];
    if (c.now.kind == Place::Kind::Registers || c.use == CarryUse::Unchanged) continue;
    if (c.use == CarryUse::InPlace) {
      if (!same_memory(body.output(i), c.home))
        body.copy(body.output(i), c.aval, body.update(c.home.value()));
    } else if (mask.handle) {
      body.copy(c.next, c.aval, body.update(c.now));
    }
  }
  masked_ = mask.handle != nullptr;
}

void LoopCarries::link(Block latch) {
  for (Carry& c : carries_) {
    for (std::size_t k = 0; k < c.phis.size(); ++k) b_.add_incoming(c.phis[k], c.updated[k], latch);
    if (c.now_phi.handle) {
      b_.add_incoming(c.now_phi, masked_ ? c.now_phi : c.next_phi, latch);
      b_.add_incoming(c.next_phi, masked_ ? c.next_phi : c.now_phi, latch);
    }
    if (c.either) c.either->writable = true;
  }
}

}  // namespace apsis::detail
