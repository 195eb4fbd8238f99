#include "transform/jit/in_use.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <thread>

namespace apsis::detail {

constinit thread_local InUse* in_use_if_any = nullptr;
bool barriers_from_outside = false;

namespace {

/// The announcements of a thread; those of threads that have ended serve new ones.
struct Record {
  InUse in_use;
  bool taken = true;
};

struct Records {
  std::mutex mutex;
  std::vector<Record*> all;  // never freed: as many as there were threads at once
  std::vector<Retired> retired;
};
Records& records() {
  static auto* r = new Records;  // outlives static jit objects
  return *r;
}

/// When the thread ends.
struct GiveBack {
  Record* mine = nullptr;
  ~GiveBack() {
    if (!mine) return;
    Records& r = records();
    std::scoped_lock lock(r.mutex);
    mine->taken = false;
    in_use_if_any = nullptr;
  }
};

bool ask_for_barriers() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

Record* take_record() {
  Records& r = records();
  std::scoped_lock lock(r.mutex);
  if (r.all.empty()) barriers_from_outside = ask_for_barriers();
  auto free = std::ranges::find(r.all, false, &Record::taken);
  if (free != r.all.end()) {
    (*free)->taken = true;
    return *free;
  }
  r.all.push_back(new Record);
  return r.all.back();
}

/// What threads announce, none of them looking in `table`.
std::vector<const void*> announced(const Records& r, const void* table) {
  if (barriers_from_outside) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  std::vector<const void*> found;
  for (Record* record : r.all)
    for (auto& slot : record->in_use.slots) {
      const void* what = slot.load(std::memory_order_seq_cst);
      while (what == table) {
        std::this_thread::yield();
        what = slot.load(std::memory_order_seq_cst);
      }
      if (what) found.push_back(what);
    }
  return found;
}

}  // namespace

InUse& take_in_use() {
  thread_local GiveBack at_exit;
  at_exit.mine = take_record();
  in_use_if_any = &at_exit.mine->in_use;
  return *in_use_if_any;
}

void retire(const void* table, std::vector<Retired> objects) {
  Records& r = records();
  std::vector<Retired> unused;
  {
    std::scoped_lock lock(r.mutex);
    r.retired.insert(r.retired.end(), objects.begin(), objects.end());
    if (r.retired.empty()) return;
    std::vector<const void*> used = announced(r, table);
    auto first = std::partition(r.retired.begin(), r.retired.end(), [&](const Retired& o) {
      return std::ranges::find(used, o.object) != used.end();
    });
    unused.assign(first, r.retired.end());
    r.retired.erase(first, r.retired.end());
  }
  for (const Retired& o : unused) o.release(o.object);  // may run the user's destructors
}

}  // namespace apsis::detail
