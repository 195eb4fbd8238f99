#pragma once

// Where the conditions of events change their signs within a step.

#include "apsis/ops/arithmetic.hpp"
#include "diffeq/problem.hpp"

namespace apsis::detail {

/// The conditions of the events of a solve, along one step: functions of `theta`, from 0 at its start to 1 at
/// its end.
class AlongStep {
 public:
  /// `p`, `s` and `step` must outlive it.
  AlongStep(const Problem& p, const LoopState& s, const SolverAttempt& step);

  /// Those that have a sign, by their numbers: all but SteadyState.
  const std::vector<std::size_t>& events() const { return events_; }
  bool is_boolean(std::size_t event) const { return p_.boolean[event]; }
  const Event& event(std::size_t i) const { return p_.options.events[i]; }
  Array time(const Array& theta) const { return s_.start + theta * length_; }
  std::vector<Array> state(const Array& theta) const;
  /// A condition as a number: booleans are -1 or 1.
  Array value(std::size_t event, const Array& theta) const;
  /// What of theta is rounding of the time, or within an event's tolerance.
  Array resolution(std::size_t event) const;

 private:
  const Problem& p_;
  const LoopState& s_;
  const SolverAttempt& step_;
  Array length_, h_;
  std::vector<std::size_t> events_;
};

/// A condition as a number: booleans are -1 or 1. `t` runs forwards.
Array condition_value(const Problem& p, std::size_t event, const Array& t, std::span<const Array> y);

/// The first crossing of a step beyond `from`.
struct Found {
  Array found, event, theta;  // event: its number, -1 without one
  std::vector<Array> sign;    // of each event: behind the crossing, or at the end of the step
};
/// `sign`, `at_zero`: as in EventState, at `from`. Nothing of it has a derivative.
Found first_crossing(const AlongStep& along, const Array& from, const std::vector<Array>& sign,
                     const std::vector<Array>& at_zero);

/// The theta of a crossing that was found, with the derivative of the implicit equation condition = 0: one
/// Newton step's worth. That of a boolean has none.
Array differentiable_theta(const AlongStep& along, const Found& found);

}  // namespace apsis::detail
