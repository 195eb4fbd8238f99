// Tracing and compiling on a stack that is not the thread's own, as coroutines have: how much of it is left
// cannot be known.

#include <ucontext.h>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

ucontext_t outside, inside;
std::string thrown;
Array slope;

void differentiate() {
  try {
    slope = jit(grad([](const Array& x) { return sum(sin(x)); }))(array({0., 1.}));
  } catch (const std::exception& error) {
    thrown = error.what();
  }
}

TEST(CoroutineStack, TracesAndCompiles) {
  std::vector<char> stack(4 << 20);
  ASSERT_EQ(getcontext(&inside), 0);
  inside.uc_stack.ss_sp = stack.data();
  inside.uc_stack.ss_size = stack.size();
  inside.uc_link = &outside;
  makecontext(&inside, differentiate, 0);
  ASSERT_EQ(swapcontext(&outside, &inside), 0);
  EXPECT_EQ(thrown, "");
  expect_near(slope, cos(array({0., 1.})));
}

}  // namespace
}  // namespace apsis::testing
