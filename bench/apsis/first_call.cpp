// first-call/*: trace, compile and run chains of elementwise statements.
#include <cstdio>
#include <cstdlib>

#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

auto chain(int statements) {
  return [statements](const Array& start) {
    Array x = start;
    for (int k = 0; k < statements; ++k) {
      if (k % 2 == 0) {
        x = sin(x) * 1.01 + x;
      } else {
        x = exp(-x * x) + 0.5;
      }
    }
    return x;
  };
}

Array argument() { return linspace(-1., 1., 1000); }

std::vector<double> probes(const Array& y) {
  std::vector<double> all = y.to_vector<double>(), answer;
  for (std::size_t i = 0; i < all.size(); i += 111) answer.push_back(all[i]);
  return answer;
}

void measure(const std::string& name, int statements, const Array& x, double limit = 0) {
  Array y;
  double spent = seconds([&] { y = jit(chain(statements))(x); });
  report(name, "ms", spent * 1e3, probes(y), limit);
}

}  // namespace

void chains() {
  warm_compiler();
  Array x = argument();
  for (int statements : {10, 100, 1000})
    measure("first-call/chain-" + std::to_string(statements), statements, x);
}

void chain_5000() {
  warm_compiler();
  measure("first-call/chain-5000", 5000, argument());
}

void shared() {
  warm_compiler();
  const Array x = argument();
  const auto inner = jit(chain(40));
  const auto outer = [&](const Array& start) {
    Array y = start;
    for (int k = 0; k < 30; ++k) y = inner(y) * 0.5;
    return y;
  };
  Array y;
  const double spent = seconds([&] { y = jit(outer)(x); });
  report("first-call/shared-30", "ms", spent * 1e3, probes(y));
}

void cold_process() {
  // The clock starts where the process was spawned, so that loading the library counts.
  const char* spawned = std::getenv("BENCH_SPAWNED_NS");
  auto now = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };
  long long start = spawned ? std::atoll(spawned) : now();
  Array y = jit(chain(100))(argument());
  report("first-call/cold-process", "ms", static_cast<double>(now() - start) * 1e-6, probes(y));
}

void second_process() {
  // Run twice on one directory; the second run finds the disk cache warm, is the one that counts, and must
  // not generate code.
  const char* directory = std::getenv("BENCH_CACHE");
  set_disk_cache({.directory = directory ? directory : ""});
  const bool warm = std::getenv("BENCH_WARM") != nullptr;
  warm_compiler();
  constexpr double at_most = 3;  // ms
  measure("first-call/second-process", 1000, argument(), at_most);
  if (const CacheState state = cache_state(); warm && (state.compiled != 0 || state.loaded == 0)) {
    std::fprintf(stderr, "compiled %lld programs, loaded %lld\n", static_cast<long long>(state.compiled),
                 static_cast<long long>(state.loaded));
    std::exit(1);
  }
}

}  // namespace bench
