#include "compositions/runner.hpp"

#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <new>
#include <stdexcept>
#include <thread>

namespace apsis::compositions {
namespace {

constexpr int found_exit = 33;  // a worker that found something, and wrote it down, ends so

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds that a process has worked: on a busy machine a program may wait long.
double worked(clockid_t clock = CLOCK_PROCESS_CPUTIME_ID) {
  timespec t{};
  if (clock_gettime(clock, &t) != 0) return 0;
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
double worked_by(pid_t process) {
  clockid_t clock;
  return clock_getcpuclockid(process, &clock) == 0 ? worked(clock) : 0;
}
/// A program that waits for itself works not at all.
constexpr double longest_wait = 20;  // times the limit of work

struct Slot {
  std::atomic<std::uint64_t> seed{0};
  std::atomic<double> since{0};        // it runs; 0: none does
  std::atomic<double> work_before{0};  // of the process
  std::atomic<int> length{0};          // of the report
  Tally tally;
  char runs[256] = "";  // what does, in words
  char report[1 << 16];
};
struct Shared {
  std::atomic<std::uint64_t> next{0};
  Slot slots[1];
};

/// Memory that children share with us.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t slots) : bytes_(sizeof(Shared) + slots * sizeof(Slot)) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
    shared = new (memory) Shared;
    for (std::size_t i = 1; i < slots; ++i) new (&shared->slots[i]) Slot;
  }
  ~SharedMemory() { munmap(shared, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  Shared* shared;

 private:
  std::size_t bytes_;
};

Slot* own_slot = nullptr;  // in a child

void report(Slot& slot, const Failure& failure) {
  const std::string text = failure.kind + "\n" + failure.text;
  const std::size_t n = std::min(text.size(), sizeof slot.report);
  memcpy(slot.report, text.data(), n);
  slot.length = static_cast<int>(n);
}
Failure read_report(Slot& slot) {
  const std::string text(slot.report, static_cast<std::size_t>(slot.length.load()));
  const std::size_t end = std::min(text.find('\n'), text.size());
  return {text.substr(0, end), end < text.size() ? text.substr(end + 1) : ""};
}

/// What a child does first: nothing it prints is lost, memory from malloc is not zero, and a program that
/// asks for ever more gets no more.
void begin_child() {
  mallopt(M_PERTURB, 0x81);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit most{std::size_t{8} << 30, std::size_t{8} << 30};
  setrlimit(RLIMIT_AS, &most);
#endif
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
}

template <class F>
pid_t start_child(F&& f) {
  std::cout.flush();
  fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no child process");
  if (child > 0) return child;
  begin_child();
  int code = 0;
  try {
    code = f();
  } catch (...) {
    code = 34;
  }
  fflush(nullptr);
  _exit(code);
}

/// All crashes are of one kind: of one cause, one run may end by another signal than the next.
Failure crash(int status, const Slot& slot) {
  const std::string how =
      WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit with " + std::to_string(WEXITSTATUS(status));
  return {"crash", how + ", in " + slot.runs};
}
Failure endless(double seconds, const Slot& slot) {
  return {"endless", "took more than " + std::to_string(seconds) + " s, in " + slot.runs};
}

}  // namespace

void note_what_runs(const std::string& what) {
  if (!own_slot) return;
  const std::size_t n = std::min(what.size(), sizeof own_slot->runs - 1);
  memcpy(own_slot->runs, what.data(), n);
  own_slot->runs[n] = 0;
}

std::optional<Failure> in_child(const std::function<std::optional<Failure>()>& check, double seconds) {
  SharedMemory memory(1);
  Slot& slot = memory.shared->slots[0];
  const pid_t child = start_child([&] {
    own_slot = &slot;
    const std::optional<Failure> failure = check();
    if (failure) report(slot, *failure);
    return failure ? found_exit : 0;
  });
  const double end = now() + longest_wait * seconds;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (worked_by(child) > seconds || now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return endless(seconds, slot);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFEXITED(status) && WEXITSTATUS(status) == found_exit) return read_report(slot);
  return crash(status, slot);
}

std::uint64_t check_in_children(const Seeds& seeds, const Check& check,
                                const std::function<void(std::uint64_t, const Failure&)>& failed,
                                Tally& tally) {
  const auto workers = static_cast<std::size_t>(std::max(1, seeds.workers));
  SharedMemory memory(workers);
  Shared& shared = *memory.shared;
  shared.next = seeds.first;
  const double end = now() + seeds.seconds;
  const auto work = [&](Slot& slot) {
    own_slot = &slot;
    for (;;) {
      if (now() > end) return 0;
      const std::uint64_t seed = shared.next++;
      if (seed >= seeds.first + seeds.count) return 0;
      slot.seed = seed;
      slot.work_before = worked();
      slot.since = now();
      const std::optional<Failure> failure = check(seed, slot.tally);
      slot.since = 0;
      if (!failure) continue;
      report(slot, *failure);
      return found_exit;
    }
  };
  std::vector<pid_t> children(workers);
  std::vector<bool> late(workers);
  const auto start = [&](std::size_t i) {
    shared.slots[i].since = 0;
    late[i] = false;
    children[i] = start_child([&] { return work(shared.slots[i]); });
  };
  for (std::size_t i = 0; i < workers; ++i) start(i);
  double told = now();
  for (std::size_t running = workers; running > 0;) {
    if (now() - told > 60) {
      told = now();
      std::cout << "at seed " << shared.next.load() << std::endl;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (std::size_t i = 0; i < workers; ++i) {
      if (children[i] == 0) continue;
      Slot& slot = shared.slots[i];
      int status = 0;
      if (waitpid(children[i], &status, WNOHANG) == 0) {
        const double since = slot.since;
        if (since == 0 || late[i]) continue;
        if (worked_by(children[i]) - slot.work_before < seeds.one_limit &&
            now() - since < longest_wait * seeds.one_limit)
          continue;
        late[i] = true;
        kill(children[i], SIGKILL);
        continue;
      }
      children[i] = 0;
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        --running;
        continue;
      }
      if (late[i])
        failed(slot.seed, endless(seeds.one_limit, slot));
      else if (WIFEXITED(status) && WEXITSTATUS(status) == found_exit)
        failed(slot.seed, read_report(slot));
      else
        failed(slot.seed, crash(status, slot));
      start(i);
    }
  }
  for (std::size_t i = 0; i < workers; ++i) {
    const Tally& t = shared.slots[i].tally;
    tally.programs += t.programs;
    tally.derived += t.derived;
    tally.costly += t.costly;
    tally.undecided += t.undecided;
  }
  return std::min(shared.next.load(), seeds.first + seeds.count) - seeds.first;
}

}  // namespace apsis::compositions
