#pragma once

#include <optional>

#include "compositions/program.hpp"

namespace apsis::compositions {

struct Failure {
  std::string kind;  // the same for failures that shrinking may take for one
  std::string text;
};

/// How programs were checked, for the test to say.
struct Tally {
  int programs = 0;
  int derived = 0;    // compared with the oracle
  int costly = 0;     // too costly for the oracle
  int undecided = 0;  // with a decision so close that rounding makes it, or values that are not finite
};

/// Runs a program every way there is: staged, as text and back, by the evaluator, compiled at widths and
/// levels that the seed chooses, op by op, in lanes; and compares with each other bit by bit, and with the
/// oracle.
std::optional<Failure> check(const Block& program, std::uint64_t seed, Tally& tally);

/// The same for what generate_nest makes: a batch of such functions, or of their derivatives, in lanes, in
/// lockstep, called one by one, called again; with derivatives by the oracle along directions, or by the
/// other mode.
std::optional<Failure> check_nest(const Block& program, std::uint64_t seed, Tally& tally);

}  // namespace apsis::compositions
