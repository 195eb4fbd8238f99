// Where memory or threads run out the call throws, whichever part of it asked, and the next one works.

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/child.hpp"
#include "transform/checks.hpp"

#ifndef APSIS_SANITIZED  // sanitizers ask for much of the address space

namespace apsis::testing {
namespace {

/// Bytes of address space that are in use.
std::int64_t space_in_use() {
  long long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  EXPECT_EQ(std::fscanf(file, "%lld", &pages), 1);
  std::fclose(file);
  return pages * 4096;
}

class LeftSpace {
 public:
  explicit LeftSpace(std::int64_t bytes) {
    getrlimit(RLIMIT_AS, &old_);
    rlimit limit = old_;
    limit.rlim_cur = static_cast<rlim_t>(space_in_use() + bytes);
    setrlimit(RLIMIT_AS, &limit);
  }
  ~LeftSpace() { setrlimit(RLIMIT_AS, &old_); }
  LeftSpace(const LeftSpace&) = delete;
  LeftSpace& operator=(const LeftSpace&) = delete;

 private:
  rlimit old_{};
};

struct Walk {
  Array step, x, trail;
};

/// A loop that leaves large tapes, of lanes of their own length.
Array walked(const Array& x) {
  return sum(while_loop([](const Walk& w) { return w.step < 300. + w.x[1]; },
                        [](const Walk& w) {
                          Array at = astype(w.step, i32) % 64;
                          return Walk{w.step + 1., w.x + 1e-3 * sin(w.x), w.trail.at(at).set(w.x[0])};
                        },
                        Walk{array(0.), x, zeros({64})})
                 .x);
}

TEST(NoMemoryChild, DISABLED_TheCallThrowsAndTheNextOneWorks) {
  const char* left = std::getenv("APSIS_TEST_LEFT");
  ASSERT_NE(left, nullptr);
  Array x = reshape(arange(6000) * 1e-3, {2000, 3});
  auto program = compile(vmap(grad(walked)), x);
  bool failed = false;
  {
    LeftSpace limited(std::atoll(left));
    try {
      program(x);
    } catch (const Error& error) {
      failed =
          std::string(error.what()).find("memory ran out as a compiled program ran") != std::string::npos;
    }
  }
  EXPECT_EQ(failed, std::atoll(left) < 100'000'000);
  Array gradients = program(x), one = jit(grad(walked))(x[1234]);
  EXPECT_EQ(gradients[1234].to_vector<double>(), one.to_vector<double>());
}

TEST(NoMemory, TheCallThrowsAndTheNextOneWorks) {
  for (std::int64_t left : {40'000, 400'000, 4'000'000, 8'000'000, 11'000'000, 14'000'000, 1'000'000'000})
    Child("NoMemoryChild.DISABLED_TheCallThrowsAndTheNextOneWorks",
          {"APSIS_TEST_LEFT=" + std::to_string(left)});
}

}  // namespace
}  // namespace apsis::testing

#endif
