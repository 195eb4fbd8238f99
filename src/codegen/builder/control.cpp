#include "codegen/builder/control.hpp"

#include <utility>

#include "apsis/base/error.hpp"

namespace apsis::detail {

Variable Builder::make_variable(Type type) {
  variables_.push_back({type, nullptr});
  return {static_cast<int>(variables_.size()) - 1};
}

Variable Builder::make_variable(Value initial) {
  variables_.push_back({{initial.dtype, lanes_of(initial)}, initial.handle});
  return {static_cast<int>(variables_.size()) - 1};
}

Variable Builder::make_variable(ConstPointer initial) {
  variables_.push_back({pointer_type, initial.handle});
  return {static_cast<int>(variables_.size()) - 1};
}

void Builder::set(Variable variable, Value v) {
  const Type type = state_of(variable).type;
  APSIS_ASSERT(type.dtype == v.dtype && type.lanes == lanes_of(v));
  set_handle(variable, v.handle);
}

void Builder::set(Variable variable, ConstPointer p) {
  APSIS_ASSERT(state_of(variable).type.lanes == 0);
  set_handle(variable, p.handle);
}

Value Builder::get(Variable variable) const {
  const VariableState& state = state_of(variable);
  APSIS_ASSERT(state.now && state.type.lanes > 0);
  return {state.now, state.type.dtype};
}

Pointer Builder::get_pointer(Variable variable) const {
  const VariableState& state = state_of(variable);
  APSIS_ASSERT(state.now && state.type.lanes == 0);
  return {state.now};
}

void Builder::set_handle(Variable variable, void* handle) {
  VariableState& state = state_of(variable);
  if (!scopes_.empty()) settings_.push_back({variable.number, state.now});
  state.now = handle;
}

void* Builder::make_phi(Variable variable) { return phi(state_of(variable).type).handle; }

void Builder::open_scope() { scopes_.push_back({settings_.size(), static_cast<int>(variables_.size())}); }

std::map<int, void*> Builder::close_scope() {
  const Scope scope = scopes_.back();
  scopes_.pop_back();
  std::map<int, void*> set;
  while (settings_.size() > scope.settings) {
    const Setting last = settings_.back();
    settings_.pop_back();
    VariableState& state = state_of({last.variable});
    if (last.variable < scope.variables) set.try_emplace(last.variable, state.now);
    state.now = last.before;
  }
  return set;
}

Ways::Ways(Builder& b, Value condition, int count, Likely likely) : b_(b) {
  for (int k = 0; k < count; ++k) starts_.push_back(b.make_block("way"));
  after_ = b.make_block("after");
  if (count == 1) ends_.push_back({b.position(), {}});
  b.branch(condition, starts_[0], count == 1 ? after_ : starts_[1], likely);
}

Ways::Ways(Builder& b, Value number, int count) : b_(b) {
  for (int k = 0; k < count; ++k) starts_.push_back(b.make_block("way"));
  after_ = b.make_block("after");
  if (count == 1)
    b.jump(starts_[0]);
  else if (count == 2)
    b.branch(b.compare(Compare::Eq, number, b.index(0)), starts_[0], starts_[1], Likely::Unknown);
  else
    b.switch_to(number, starts_);
}

void Ways::begin() {
  b_.set_position(starts_[next_++]);
  b_.open_scope();
}

void Ways::end() {
  std::map<int, void*> set = b_.close_scope();
  if (std::exchange(b_.left_, false)) return;
  ends_.push_back({b_.position(), std::move(set)});
  b_.jump(after_);
}

void Ways::meet() {
  b_.set_position(after_);
  std::map<int, std::vector<void*>> set;  // what each way gives
  for (std::size_t way = 0; way < ends_.size(); ++way)
    for (const auto& [variable, now] : ends_[way].set)
      set.try_emplace(variable, ends_.size(), b_.state_of({variable}).now).first->second[way] = now;
  for (const auto& [variable, values] : set) {
    void* phi = b_.make_phi({variable});
    for (std::size_t way = 0; way < ends_.size(); ++way) {
      APSIS_ASSERT(values[way]);
      b_.add_incoming(Pointer{phi}, Pointer{values[way]}, ends_[way].block);
    }
    b_.set_handle({variable}, phi);
  }
}

LoopBlocks::LoopBlocks(Builder& b, std::span<const Variable> carried)
    : b_(b), carried_(carried.begin(), carried.end()) {
  const Block before = b.position();
  head_ = b.make_block("loop");
  b.jump(head_);
  b.set_position(head_);
  b.open_scope();
  for (Variable v : carried_) {
    phis_.push_back(b.make_phi(v));
    APSIS_ASSERT(b.state_of(v).now);
    b.add_incoming(Pointer{phis_.back()}, Pointer{b.state_of(v).now}, before);
    b.set_handle(v, phis_.back());
  }
}

void LoopBlocks::test(Value go_on, Likely likely) {
  const Block inside = b_.make_block("body");
  after_ = b_.make_block("after");
  for (Variable v : carried_) last_.push_back(b_.state_of(v).now);
  b_.branch(go_on, inside, after_, likely);
  b_.set_position(inside);
}

/// To the next iteration.
void LoopBlocks::carry_on() {
  for (std::size_t i = 0; i < carried_.size(); ++i)
    b_.add_incoming(Pointer{phis_[i]}, Pointer{b_.state_of(carried_[i]).now}, b_.position());
}

void LoopBlocks::leave() {
  std::map<int, void*> set = b_.close_scope();
  for (Variable v : carried_) set.erase(v.number);
  APSIS_ASSERT(set.empty());
  b_.set_position(after_);
  for (std::size_t i = 0; i < carried_.size(); ++i) b_.set_handle(carried_[i], last_[i]);
}

void LoopBlocks::close() {
  carry_on();
  b_.jump(head_);
  leave();
}

void LoopBlocks::close(Value again, Likely likely) {
  after_ = b_.make_block("after");
  for (Variable v : carried_) last_.push_back(b_.state_of(v).now);
  carry_on();
  b_.branch(again, head_, after_, likely);
  leave();
}

void FunctionExit::open(Builder& b) {
  if (block_.handle) return;
  const Block here = b.position();
  block_ = b.make_block("exit");
  b.set_position(block_);
  const Operand phi = b.phi({Dtype::I32, 1});
  result_ = phi.handle;
  const Value result{phi.handle, Dtype::I32};
  b.return_values({&result, 1});
  b.set_position(here);
}

void FunctionExit::leave_if(Builder& b, Value condition, Value result) {
  open(b);
  const Block go_on = b.make_block("go_on");
  b.add_incoming(Pointer{result_}, result, b.position());
  b.branch(condition, block_, go_on, Likely::False);
  b.set_position(go_on);
}

void FunctionExit::leave(Builder& b, Value result) {
  open(b);
  b.add_incoming(Pointer{result_}, result, b.position());
  b.jump(block_);
  b.left_ = true;
}

}  // namespace apsis::detail
