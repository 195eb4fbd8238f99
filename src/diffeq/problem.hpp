#pragma once

// What the parts of a solve share: its problem and what the loop over steps carries. Times run forwards.

#include <optional>

#include "apsis/diffeq/interpolation.hpp"
#include "apsis/diffeq/solve.hpp"
#include "diffeq/checks.hpp"
#include "diffeq/mass.hpp"

namespace apsis::detail {

class PastStates;

/// What is asked for by one request.
struct SavePart {
  FlatSave request;
  Array ts;                 // save times, forward, or empty
  std::vector<Array> like;  // what a row is like: shapes and dtypes
  std::int64_t step_rows;   // that there is room for

  /// Whether there are times to save at inside of steps.
  bool saves_times() const { return !ts.is_empty() && ts.size() > 0; }
  /// Rows for what is saved between t0 and t1.
  std::int64_t rows() const { return (saves_times() ? ts.size() : 0) + step_rows; }
};

struct Problem {
  SolverRef solver;
  Slopes slopes;
  Array t0, t1;
  Array dt0;  // empty if none was given
  std::vector<Array> y0;
  Array refused;    // a boolean: the solve is over before its first step; empty: it is not
  Array clip_from;  // a step that would end beyond, within rounding of t1 or behind it, ends at t1
  const SolveOptions& options;
  Tolerances tolerances;
  double error_order;  // what step size controllers go by
  ConstTreeRef like;   // a state, whose type the functions of events take
  std::vector<SavePart> saves{};
  std::vector<bool> boolean{};  // of each event: whether its condition is one
  std::optional<Mass> mass{};
  Array inconsistent{};  // a boolean: no state near y0 fulfils the algebraic equations; empty: there are none
  PastStates* past = nullptr;  // of an equation with delays
  Array shortest_delay{};      // empty: there are none
  std::vector<std::int64_t>
      work{};  // of each attempt, where it is always the same; known once one was traced
};

/// What the loop carries of events. Of each: the sign of its condition at the start of the next step (-1, 1,
/// or 0: not known yet), whether that start is a zero of it, and how often it occurred.
struct EventState {
  std::vector<Array> sign, at_zero, counts;
  Array ended_by;  // the number of the event that ended the solve, -1: none
  // The time of the last change, and how many came before it at that time; nothing where no event has one.
  std::vector<Array> last_change, at_once;
  std::vector<Array> saved, ts, which;  // rows written, and what is in them; nothing where none are kept
  std::vector<Array> ys;
};

/// What the loop carries of all steps; see DenseSteps.
struct DenseState {
  Array ts, lengths;
  std::vector<Array> y0, y1, within;
};

/// What the loop carries of what one request asks for.
struct SavedRows {
  Array count;                   // rows written
  std::vector<Array> next_time;  // into ts, where steps are saved too: otherwise it is `count`
  std::vector<Array> ts;         // where steps are saved: of ts alone, the times are known
  std::vector<Array> ys;
};

struct LoopState {
  Array start, end;      // of the next attempt
  std::vector<Array> y;  // at `start`
  std::vector<Array> solver;
  std::vector<Array> controller;
  PathMemory paths;                  // of the last attempt, accepted or not
  Array attempts, accepted, code;    // i64
  std::vector<Array> error_square;   // of the last attempt; nothing where the controller does not tell
  std::vector<SavedRows> saved;      // of each request
  std::optional<EventState> events;  // where there are some
  std::optional<DenseState> dense;   // where all steps are kept
  std::vector<Array> proposed;       // where the next step would end beyond t1; nothing unless asked for
  std::vector<Array> work;   // so far, as StepWork has it; nothing where it is the same for each attempt
  std::vector<Array> trail;  // where steps end, from t0 on; nothing unless the adjoint runs back
};

/// How far a step counts, and the state there: its end, or an event that ends the solve or changes its state,
/// before that change.
struct Reached {
  Array t;
  std::vector<Array> y;
};

/// The dtype of times: the promotion of times and state, at least floating.
Dtype common_dtype(std::span<const Array> times, std::span<const Array> y0);
/// The first slope; tells of vector fields that do not fit the state.
std::vector<Array> first_slope(const Slopes& slopes, const Array& t0, std::span<const Array> y0, Loc loc);

/// Refuses controls that the solver or the step size controller is none for.
void check_controls(InputChecks& checks, const SolverRef& solver, const Slopes& slopes,
                    const GivenTimes& times, const SolveOptions& options);
/// Refuses noise of a kind that the solver does not take, by its vector fields at t0.
void check_noise(InputChecks& checks, const Problem& p);
/// The order of the error estimate; with Brownian motion that of the solver's convergence to the path, and a
/// half.
double error_order_of(const SolverRef& solver, const Slopes& slopes);

/// Room for all steps.
void start_dense(const Problem& p, LoopState& s);
/// Keeps an attempt in the row of the next accepted step, where the one after it takes its place if it is
/// rejected.
void keep_attempt(const LoopState& s, const SolverAttempt& step, const Array& accept, const Reached& reached,
                  LoopState& next);
void collect_dense(const Problem& p, const LoopState& end, FlatSolution& s);

/// The state at t, which runs forwards, between the first and the last step, or by the last one beyond.
std::vector<Array> dense_at(const SolverRef& solver, const DenseSteps<std::vector<Array>>& s, const Array& t,
                            Side side = Side::Left);
/// Refuses Adjoint::Reversible where steps do not run back.
void check_run_back(const SolverRef& solver, const Slopes& slopes, const SolveOptions& options,
                    std::span<const FlatSave> saves, Loc loc);
/// Refuses Adjoint::Backsolve where it is none.
void check_backsolve(const Problem& p, Loc loc);
/// Gives the end of a solve, which has no derivatives, those of Adjoint::Backsolve.
void derive_by_backsolve(const Problem& p, LoopState& end, Loc loc);
/// Room for the ends of steps, where the adjoint runs back.
void start_trail(const Problem& p, LoopState& s);
/// Gives the end of a solve, which has no derivatives, those of Adjoint::Reversible.
void derive_by_running_back(const Problem& p, const LoopState& start, LoopState& end);

/// Refuses memories of another solve that are none to go on with.
void check_memories(InputChecks& checks, const Slopes& slopes, const GivenTimes& times,
                    const SolveOptions& options);
/// What the solver begins with: what another solve kept, or its own start.
std::vector<Array> solver_start_state(const Problem& p, const std::vector<Array>& slope, Loc loc);
/// The same of paths.
PathMemory path_start(const Problem& p, Loc loc);
/// The first step, by the controller or by what it kept in another solve.
FirstStep first_step(const Problem& p, const ControllerStart& start, Loc loc);
/// Memories of the end, where they are asked for.
void collect_memories(const Problem& p, const LoopState& end, FlatSolution& s);

/// What a request asks for, of a problem that knows its state. `ts`: its times, forward.
SavePart save_part(const Problem& p, FlatSave request, const Array& ts);
/// Room for what is saved on the way, unused.
void start_saving(const Problem& p, LoopState& s);
/// Saves what is asked for of this attempt, up to where it counts.
void save_attempt(const Problem& p, const LoopState& s, const SolverAttempt& step, const Array& accept,
                  const Reached& reached, LoopState& next);
/// Adds what an attempt costs.
void count_work(Problem& p, const StepWork& work, LoopState& next);
/// Puts what was asked for together: t0, then ts and steps, then t1.
FlatSolution collect(const Problem& p, const LoopState& end, const Array& code);

/// Looks at the conditions of events at t0, and begins to follow their signs.
void start_events(Problem& p, LoopState& s, Loc loc);
/// Looks for events in an attempt that is accepted, and has `next` go on from there. `decision`: the
/// controller's, of the whole step.
Reached pass_events(const Problem& p, const LoopState& s, const SolverAttempt& step, const NextStep& decision,
                    LoopState& next);
/// Puts together what occurred.
void collect_events(const Problem& p, const LoopState& end, const Array& code, FlatSolution& s);

/// Throws, when the program runs, if the code is one of a solve that failed. `first_slope` is that at t0.
void raise_failure(const Problem& p, const LoopState& end, std::span<const Array> first_slope,
                   const Array& code, Loc loc);

/// No loop is without a bound: where the user gives none it is this, some minutes of the cheapest steps.
inline constexpr std::int64_t most_attempts = 10'000'000'000;
inline std::int64_t attempts_allowed(const SolveOptions& options) {
  return options.max_steps < 0 ? most_attempts : options.max_steps;
}

}  // namespace apsis::detail
