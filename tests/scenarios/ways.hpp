#pragma once

// What every scenario is put through: its known answer, all the ways a user could run it, and misuses.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>
#include <apsis/apsis.hpp>

namespace apsis::scenarios {

/// A scenario's program as a function of its parameters, one vector.
using Program = std::function<Array(const Array&)>;

/// How closely the ways must agree; relative to the largest entry. What a program makes of one rounding error
/// is its own: a scenario that asks for less than these says why.
struct Ways {
  double eager = 1e-11;       // op by op against compiled: multiply-adds round once or twice
  double modes = 1e-9;        // forward against reverse
  double differences = 1e-5;  // derivatives against central differences of step `step`; 0: not compared
  double step = 1e-6;         // relative to each parameter
  double spread = 1e-3;       // by which the lanes of a batch differ
  double single = 0;          // f32 against f64; 0: not run
  bool forward = true, reverse = true;
  bool second = false;  // Hessians of scalars, three ways
  bool direct = true;   // under DisableJit too
  std::vector<int> lanes = {5};
};

/// Runs `f` at `x` eagerly, compiled, again, directly, in batches of each size by lanes and in lockstep, its
/// derivatives forward and reverse, eager, compiled and in batches; compares all of these. Compiled batches
/// must equal compiled single calls bit for bit.
void expect_all_ways(const Program& f, const Array& x, const Ways& ways = {}, Loc loc = Loc::here());

/// Every element within `tolerance` of the expected one, relative to the largest of those (or 1 if they are
/// all below).
void expect_close(const Array& got, const Array& expected, double tolerance, const std::string& what = "",
                  Loc loc = Loc::here());

/// Runs a misuse: it must throw an Error whose text holds `says`, and whose place is in the file of this
/// call, within the lines from it to its end (at most `lines` further).
void expect_misuse(const char* says, const std::function<void()>& run, unsigned lines = 6,
                   Loc loc = Loc::here());

/// A file of tests/scenarios/data.
std::string data_file(const std::string& name);

}  // namespace apsis::scenarios
