#pragma once

// Calls that must be refused, whatever way they run.

#include "apsis/apsis.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {

/// The id of the error that a call throws; empty if it throws none. Its text names this file, not one of the
/// library's.
template <class Call>
std::string error_of_call(const Call& call) {
  try {
    call();
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("tests/diffeq/"), std::string::npos) << text;
    EXPECT_EQ(text.find("src/"), std::string::npos) << text;
    return e.id();
  }
  return "";
}

/// Expects the error of a solve of values, `solve(x)` with x an Array: run at once, compiled, in lanes of
/// which the others are right, and differentiated.
template <class Solve>
void expect_refused(const std::string& id, const Solve& solve, const Array& wrong, const Array& right) {
  auto loss = [&](const Array& x) { return sum(solve(x).ys); };
  const Array both = stack({right, wrong, right});
  EXPECT_EQ(error_of_call([&] { solve(wrong); }), id) << "at once";
  EXPECT_EQ(error_of_call([&] { jit(loss)(wrong); }), id) << "compiled";
  EXPECT_EQ(error_of_call([&] { grad(loss)(wrong); }), id) << "differentiated";
  EXPECT_EQ(error_of_call([&] { jit(grad(loss))(wrong); }), id) << "differentiated, compiled";
  EXPECT_EQ(error_of_call([&] { vmap(loss)(both); }), id) << "in lanes";
  EXPECT_EQ(error_of_call([&] { jit(vmap(loss))(both); }), id) << "in lanes, compiled";
  EXPECT_EQ(error_of_call([&] { jit(loss)(right); }), "") << "the right one";
}

}  // namespace apsis::testing
