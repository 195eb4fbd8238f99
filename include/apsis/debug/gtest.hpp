#pragma once

// For tests with GoogleTest; not part of apsis.hpp.
//
//   EXPECT_HOLDS(assert_trees_close(got, want));
//   for_each_variant(f, [&](const auto& g) { EXPECT_HOLDS(assert_trees_close(g(x), want)); });

#include <gtest/gtest.h>

#include "apsis/base/error.hpp"
#include "apsis/debug/assert_array.hpp"
#include "apsis/transform/disable_jit.hpp"
#include "apsis/transform/jit.hpp"

namespace apsis {

/// Success where the call throws no Error; otherwise a failure with its text. Assertions are on meanwhile.
template <class Call>
::testing::AssertionResult holds(const Call& call) {
  const bool enabled = asserts_enabled();
  enable_asserts();
  ::testing::AssertionResult result = ::testing::AssertionSuccess();
  try {
    call();
  } catch (const Error& error) {
    result = ::testing::AssertionFailure() << error.what();
  }
  enable_asserts(enabled);
  return result;
}

/// Calls `check` with f as it is, under jit with and without compilation, and compiled ahead of time: one
/// test for all.
template <class F, class Check>
void for_each_variant(const F& f, const Check& check) {
  {
    SCOPED_TRACE("called as it is");
    check(f);
  }
  {
    SCOPED_TRACE("under jit, without compilation");
    DisableJit interpreted;
    check(jit(f));
  }
  {
    SCOPED_TRACE("under jit");
    check(jit(f));
  }
  {
    SCOPED_TRACE("compiled ahead of time");
    check([&f](const auto&... arguments) { return lower(f, arguments...).compile()(arguments...); });
  }
}

}  // namespace apsis

/// Goes on when an assertion of Apsis fails, or leaves the function.
#define EXPECT_HOLDS(...) EXPECT_TRUE(::apsis::holds([&] { __VA_ARGS__; }))
#define ASSERT_HOLDS(...) ASSERT_TRUE(::apsis::holds([&] { __VA_ARGS__; }))
