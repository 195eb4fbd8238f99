#include "codegen/emit/counted_loop.hpp"

namespace apsis::detail {

CountedLoop::CountedLoop(Builder& b, Value n, std::span<Value> carried) : b_(b), n_(n), carried_(carried) {
  open();
}

CountedLoop::CountedLoop(Builder& b, std::int64_t n, std::int64_t step, std::span<Value> carried)
    : b_(b), fixed_(n), step_(step), carried_(carried) {
  open();
}

CountedLoop::CountedLoop(Builder& b, Value n, std::int64_t step) : b_(b), n_(n), step_(step) { open(); }

void CountedLoop::open() {
  b_.set_lanes(1);
  variables_.push_back(b_.make_variable(b_.index(0)));
  for (Value v : carried_) variables_.push_back(b_.make_variable(v));
  blocks_.emplace(b_, variables_);
  index_ = b_.get(variables_[0]);
  for (std::size_t i = 0; i < carried_.size(); ++i) carried_[i] = b_.get(variables_[i + 1]);
}

void CountedLoop::close() {
  b_.set_lanes(1);
  Value next = b_.add(index_, b_.index(step_));
  Value more;
  if (fixed_ >= 0 ? fixed_ % step_ != 0 : step_ > 1) {
    const Value last = fixed_ >= 0 ? b_.index(fixed_ - step_) : b_.sub(n_, b_.index(step_));
    next = b_.select(b_.compare(Compare::Gt, next, last), last, next);
    more = b_.compare(Compare::Ne, index_, last);
  } else {
    more = b_.compare(Compare::Lt, next, fixed_ >= 0 ? b_.index(fixed_) : n_);
  }
  b_.set(variables_[0], next);
  for (std::size_t i = 0; i < carried_.size(); ++i) b_.set(variables_[i + 1], carried_[i]);
  blocks_->close(more, Likely::True);
}

}  // namespace apsis::detail
