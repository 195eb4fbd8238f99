#include "apsis/control/cancel.hpp"

#include <signal.h>

#include <atomic>
#include <new>
#include <utility>

#include "codegen/support/cancel.hpp"

namespace apsis {
namespace {

using Action = struct sigaction;

// The token that SIGINT cancels. Lock-free, so that the handler may read it.
std::atomic<CancelToken*> interrupted_token{nullptr};
static_assert(std::atomic<CancelToken*>::is_always_lock_free);

void on_interrupt(int) {
  if (CancelToken* token = interrupted_token.load(std::memory_order_relaxed)) token->cancel();
}

Action& action_in(unsigned char* memory) { return *std::launder(reinterpret_cast<Action*>(memory)); }

}  // namespace

void CancelToken::cancel() noexcept { __atomic_store_n(&flag_, 1u, __ATOMIC_RELAXED); }
void CancelToken::reset() noexcept { __atomic_store_n(&flag_, 0u, __ATOMIC_RELAXED); }
bool CancelToken::cancelled() const noexcept { return __atomic_load_n(&flag_, __ATOMIC_RELAXED) != 0; }

CancelScope::CancelScope(CancelToken& token) : previous_(std::exchange(detail::cancel_flag, &token.flag_)) {}
CancelScope::~CancelScope() { detail::cancel_flag = previous_; }

InterruptScope::InterruptScope() : token_(own_), scope_(token_) { install(); }
InterruptScope::InterruptScope(CancelToken& token) : token_(token), scope_(token_) { install(); }

void InterruptScope::install() {
  static_assert(sizeof(Action) <= sizeof(previous_action_));
  previous_token_ = interrupted_token.exchange(&token_);
  new (previous_action_) Action{};
  Action action{};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &action_in(previous_action_));
}

InterruptScope::~InterruptScope() {
  sigaction(SIGINT, &action_in(previous_action_), nullptr);
  interrupted_token = previous_token_;
}

}  // namespace apsis
