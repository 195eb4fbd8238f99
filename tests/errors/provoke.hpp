#pragma once

// One case for each row of the message tables (src/<room>/messages.inc): the call that provokes it, and its
// whole text but for the place in the user's source. table_test.cpp fails for a row without a case.
//
//   APSIS_PROVOKES(bad_axis, "[dim] axis 3 is out of range …", array({1., 2.}).dim(3))

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "apsis/base/error.hpp"

namespace apsis::testing {

/// The ids that some case provokes.
inline std::set<std::string>& provoked_ids() {
  static std::set<std::string> ids;
  return ids;
}

template <class Body>
void expect_error(const char* id, const std::string& text, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    std::string what = error.what();
    EXPECT_STREQ(id, error.id()) << what;
    EXPECT_EQ(text, what.substr(0, what.find("\n  at ")));
    return;
  }
  ADD_FAILURE() << "nothing was thrown";
}

}  // namespace apsis::testing

#define APSIS_PROVOKES(id, text, ...)                                                  \
  static const bool provoked_##id = apsis::testing::provoked_ids().insert(#id).second; \
  TEST(Errors, id) {                                                                   \
    ASSERT_TRUE(provoked_##id) << "two cases for one id";                              \
    apsis::testing::expect_error(#id, text, [] { __VA_ARGS__; });                      \
  }
