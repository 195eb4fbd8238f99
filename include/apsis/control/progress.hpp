#pragma once

// Word from inside a loop that runs, compiled or not.
//
//   auto solution = diffeqsolve(term, Tsit5{}, 0., 1e6, {}, y0, {.progress = {.every_seconds = 1.}});
//   auto end = while_loop(unfinished, improve, start,
//                         {.progress = {.every_steps = 1000, .report = [&](const ProgressReport& r) {
//                           window.show(r.steps);
//                         }}});
//
// Without it the program is the one it always was. With it an iteration costs a comparison more; the clock is
// looked at some ten times between two reports.

#include "apsis/control/host_function.hpp"

namespace apsis {

/// How far a loop or a solve is: the argument of the function that it reports to.
struct ProgressReport {
  std::int64_t steps = 0;  ///< iterations made so far
  double fraction = 0;     ///< how much of the work that is, from 0 to 1; NaN where nobody knows
  /// Under vmap, of loops whose lanes each run at their own pace: the lane that steps and fraction are of,
  /// the outermost vmap first. Empty otherwise.
  std::vector<std::int64_t> lane = {};
};

/// Writes a line to the standard error stream, such as " 42.0 %  12345 steps".
struct TextMeter {
  void operator()(const ProgressReport& report) const;
};

/// Holds any function of a ProgressReport, by value. What it throws ends the loop, and is thrown where the
/// program was called. It may be called from another thread than the program, but one call of it at a time.
class ProgressFunction {
 public:
  ProgressFunction() = default;  ///< a TextMeter
  template <class F>
  requires(std::is_invocable_v<const F&, const ProgressReport&>) ProgressFunction(F f)
      : function_(call_of(static_cast<F&&>(f))), set_(true) {}
  bool is_set() const { return set_; }
  const detail::HostFunction& function() const { return function_; }

 private:
  template <class F>
  static detail::HostFunction call_of(F f) {
    StaticKey key;
    key.append_value(detail::identity_of<F>());
    auto call = [f = static_cast<F&&>(f)](std::span<const Array> in, std::vector<Array>&) {
      const std::span<const std::int64_t> lane = in[2].span<std::int64_t>();
      f(ProgressReport{in[0].item<std::int64_t>(), in[1].item<double>(), {lane.begin(), lane.end()}});
    };
    return detail::HostFunction(static_cast<decltype(call)&&>(call), static_cast<StaticKey&&>(key));
  }
  detail::HostFunction function_;
  bool set_ = false;
};

/// When a loop reports, and to whom. With both intervals 0, the default, never.
struct Progress {
  /// About so often, and at once when the loop has begun.
  double every_seconds = 0;
  /// After so many iterations.
  std::int64_t every_steps = 0;
  ProgressFunction report = {};

  bool on() const { return every_seconds != 0 || every_steps != 0; }
};

/// Reports from the body of a loop that `steps` iterations have been made, which are `fraction` (0 to 1;
/// empty: nobody knows) of all, if a report is due. It is what the option `progress` of loops does, for
/// bodies that know better how far they are. Lanes of a vmap that keep step report together, the most steps
/// and the least fraction; of lanes at their own pace one reports for those that run beside it. Reverse mode
/// reports on the way forwards. Does nothing if `progress` is off. Throws if an interval is negative, or an
/// array is no scalar.
void report_progress(const Progress& progress, const Array& steps, const Array& fraction = {},
                     Loc loc = Loc::here());

}  // namespace apsis
