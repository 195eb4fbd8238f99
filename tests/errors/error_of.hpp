#pragma once

#include <string>

#include "apsis/base/error.hpp"

namespace apsis::testing {

/// The text of the Error that `run` throws, without its place; empty if none.
template <class Run>
std::string error_of(const Run& run) {
  try {
    run();
  } catch (const Error& e) {
    const std::string what = e.what();
    return what.substr(0, what.find("\n  at "));
  }
  return {};
}

}  // namespace apsis::testing
