#pragma once

// One case for each row of the message tables (src/<room>/messages.inc): the call that provokes it, and its
// whole text but for the place in the user's source. table_test.cpp fails for a row without a case.
//
//   APSIS_PROVOKES(bad_axis, "[dim] axis 3 is out of range …", array({1., 2.}).dim(3))
//
// The place must be in the case's own file: users are told their line, never one of the library's. Where
// there is none to tell (a text is at fault that names its own lines, or a file), say so:
// APSIS_PROVOKES_WITHOUT_PLACE.

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
void expect_error(const char* id, const std::string& text, const char* file, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    std::string what = error.what();
    EXPECT_STREQ(id, error.id()) << what;
    const std::size_t place = what.find("\n  at ");
    EXPECT_EQ(text, what.substr(0, place));
    if (file)
      EXPECT_TRUE(place != std::string::npos && what.substr(place + 6).starts_with(file))
          << "the place is not the user's: " << what;
    else
      EXPECT_EQ(place, std::string::npos) << what;
    return;
  }
  ADD_FAILURE() << "nothing was thrown";
}

}  // namespace apsis::testing

#define APSIS_PROVOKES(id, text, ...) APSIS_PROVOKES_AT(id, text, __FILE__, __VA_ARGS__)
#define APSIS_PROVOKES_WITHOUT_PLACE(id, text, ...) APSIS_PROVOKES_AT(id, text, nullptr, __VA_ARGS__)
#define APSIS_PROVOKES_AT(id, text, file, ...)                                         \
  static const bool provoked_##id = apsis::testing::provoked_ids().insert(#id).second; \
  TEST(Errors, id) {                                                                   \
    ASSERT_TRUE(provoked_##id) << "two cases for one id";                              \
    apsis::testing::expect_error(#id, text, file, [] { __VA_ARGS__; });                \
  }
