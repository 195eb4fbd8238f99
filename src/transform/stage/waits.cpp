#include "transform/stage/waits.hpp"

#include <mutex>
#include <unordered_map>

namespace apsis::detail {
namespace {

struct Waits {
  std::mutex mutex;
  std::unordered_map<std::thread::id, std::thread::id> owner_of;  // by waiting thread
};
Waits& waits() {
  static auto* w = new Waits;
  return *w;
}

}  // namespace

WaitFor::WaitFor(std::thread::id owner) {
  Waits& w = waits();
  std::scoped_lock lock(w.mutex);
  std::thread::id me = std::this_thread::get_id();
  for (auto next = w.owner_of.find(owner); next != w.owner_of.end(); next = w.owner_of.find(next->second))
    if (next->second == me) allowed_ = false;
  if (owner == me) allowed_ = false;
  if (allowed_) w.owner_of.emplace(me, owner);
}

WaitFor::~WaitFor() {
  if (!allowed_) return;
  Waits& w = waits();
  std::scoped_lock lock(w.mutex);
  w.owner_of.erase(std::this_thread::get_id());
}

}  // namespace apsis::detail
