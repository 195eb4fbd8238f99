#include <array>
#include <cmath>

#include <apsis/apsis.hpp>

#include "apsis/diffeq/solve.hpp"
#include "errors/provoke.hpp"

using namespace apsis;

namespace {

const auto decay = [](const Array&, const Array& y) { return -y; };
const auto explosion = [](const Array&, const Array& y) { return y * y; };
const Array initial = array({1., 2.});
const PIDController adaptive{.rtol = 1e-6, .atol = 1e-9};

PIDController with(void (*change)(PIDController&)) {
  PIDController c = adaptive;
  change(c);
  return c;
}
void solve(const SolveOptions& options, const Array& dt0 = {}) {
  diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., dt0, initial, options);
}

struct OwnTable {
  static RungeKutta& method() {
    static RungeKutta table;
    return table;
  }
};
void solve_by(const RungeKutta& table) {
  OwnTable::method() = table;
  diffeqsolve(ODETerm{decay}, OwnTable{}, 0., 1., 0.1, initial);
}

/// A solver that forgets the state.
struct Short {
  StepTraits traits() const { return {.name = "Short", .order = 1}; }
  std::vector<Array> init(const SolverStart&) const { return {}; }
  SolverAttempt step(const SolverStep&) const { return {}; }
  LocalLinearInterpolation interpolation() const { return {}; }
};

}  // namespace

APSIS_PROVOKES(
    max_steps_reached,
    "[diffeqsolve] max_steps = 10 attempts end at t = 2.5, short of t1 = 4.0: the next step would be 0.25 "
    "long; raise max_steps, or make dt0 longer",
    diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 4., 0.25, initial, {.max_steps = 10}))

APSIS_PROVOKES(
    non_finite_start,
    "[diffeqsolve] at t0 = 0.0 y0[1] or its slope is infinite or NaN; check y0 and what the vector field "
    "returns there",
    diffeqsolve(ODETerm{[](const Array& t, const Array& y) {
                  return stack({y[0], y[1] / t});
                }},
                Tsit5{}, 0., 1., 0.1, initial))

APSIS_PROVOKES(
    non_finite,
    "[diffeqsolve] at t = 0.5 y0[1] or its slope is infinite or NaN; check the vector field there; make dt0 "
    "shorter, or let an adaptive controller do so: PIDController{.rtol = 1e-6, .atol = 1e-9}",
    diffeqsolve(ODETerm{[](const Array& t, const Array& y) {
                  return stack({y[0], y[1] / (t - 0.5)});
                }},
                Tsit5{}, 0., 1., 0.25, initial))

APSIS_PROVOKES(
    dt_min_reached,
    "[diffeqsolve] at t = 0.0 the steps became too short to go on: the next one would be 0.5 long, the error "
    "of the last attempt was nan times its tolerance, and y0[0] changes fastest for its tolerance; lower "
    "dtmin, loosen rtol and atol, or let steps of dtmin be accepted by force_dtmin",
    diffeqsolve(ODETerm{[](const Array& t, const Array& y) { return where(t > 0., t / 0., y); }}, Tsit5{}, 0.,
                2., 0.5, array({1., 1.}),
                {.controller = PIDController{
                     .rtol = 1e-6, .atol = 1e-9, .dtmin = 0.5, .force_dtmin = false}}))

APSIS_PROVOKES(
    nonlinear_divergence,
    "[diffeqsolve] at t = 0.0 the equations of ImplicitEuler were not solved by its iterations in a step "
    "0.25 "
    "long; make dt0 shorter, or let an adaptive controller do so: PIDController{.rtol = 1e-6, .atol = 1e-9}",
    diffeqsolve(ODETerm{[](const Array&, const Array& y) { return where(y > 0.5, -1e3, 1e3) + 0. * y; }},
                ImplicitEuler{{.rtol = 1e-8, .atol = 1e-8}}, 0., 1., 0.25, initial))

APSIS_PROVOKES(
    newton_tolerance,
    "[Kvaerno5] the step size controller has no rtol for the equations within a step; write "
    "Kvaerno5{.newton = {.rtol = 1e-8, .atol = 1e-10}}, or use PIDController{.rtol = 1e-6, .atol = "
    "1e-9}",
    diffeqsolve(ODETerm{decay}, Kvaerno5{}, 0., 1., 0.25, initial))

APSIS_PROVOKES(no_first_step,
               "[ConstantStepSize] dt0 must be given; or use an adaptive controller, which finds it: "
               "PIDController{.rtol = 1e-6, .atol = 1e-9}",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., {}, initial))

APSIS_PROVOKES(first_step_given, "[StepTo] dt0 must be empty ({}): the steps are those of StepTo::ts",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, initial,
                           {.controller = StepTo{array({0., 1.})}}))

APSIS_PROVOKES(step_to_times, "[StepTo] ts must hold at least two times, from t0 to t1, got f64[1]",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., {}, initial, {.controller = StepTo{{0.}}}))

APSIS_PROVOKES(no_error_estimate,
               "[PIDController] the solver estimates no error; use ConstantStepSize, or HalfSolver{…} of it, "
               "or another solver such as Tsit5",
               diffeqsolve(ODETerm{decay}, Euler{}, 0., 1., 0.1, initial, {.controller = adaptive}))

APSIS_PROVOKES(
    missing_tolerance,
    "[PIDController] rtol and atol must be given, such as PIDController{.rtol = 1e-6, .atol = 1e-9}",
    diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, initial, {.controller = PIDController{}}))

APSIS_PROVOKES(slope_mismatch,
               "[diffeqsolve] the vector field must return the shapes and dtypes of the state: y0 is "
               "f64[2] in the state and f64[] in the slope",
               diffeqsolve(ODETerm{[](const Array&, const Array& y) { return sum(y); }}, Tsit5{}, 0., 1., 0.1,
                           initial))

APSIS_PROVOKES(state_complex,
               "[diffeqsolve] y0 is c128[2]: states are real; take real and imaginary parts as a pair, "
               "std::pair{real(y), imag(y)}, and return such a pair from the vector field",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, complex(array({1., 2.}), array({0., 1.}))))

APSIS_PROVOKES(state_not_floating,
               "[diffeqsolve] y0 is i32[2]: states must be floating; convert with astype, "
               "or write 1. instead of 1",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, array({1, 2})))

APSIS_PROVOKES(time_not_scalar,
               "[diffeqsolve] t1 must be a scalar, got f64[2]; to solve for many times at once use vmap",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., initial, 0.1, initial))

APSIS_PROVOKES(save_times,
               "[diffeqsolve] saveat.ts must be one-dimensional, got f64[]; write .ts = {0.5} for one time",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, initial, {.saveat = {.ts = array(0.5)}}))

APSIS_PROVOKES(steps_without_bound,
               "[diffeqsolve] saveat.steps needs a bound on the number of steps; give max_steps",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, initial,
                           {.saveat = {.steps = 1}, .max_steps = -1}))

APSIS_PROVOKES(saveat_twice,
               "[diffeqsolve] what to save is said behind the options, and once more by saveat.t1: leave it "
               "out there, and give a tuple of requests",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, initial, {.saveat = {.t1 = true}},
                           SubSaveAt({.t0 = true})))
APSIS_PROVOKES(save_nothing,
               "[diffeqsolve] saves[1] returns nothing to save: its function must return at least one array",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, initial, {},
                           std::tuple{SubSaveAt({.t1 = true}), SubSaveAt([](const Array&, const Array&) {
                                        return std::vector<Array>();
                                      })}))

// Solves that go on where another ended.
const SaveAt memories{.t1 = true, .solver_state = true, .controller_state = true};
auto halfway() {
  return diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., {}, initial,
                     {.controller = adaptive, .saveat = memories});
}
void go_on(double t1, const Array& dt0, const SolveOptions& options) {
  diffeqsolve(ODETerm{decay}, Tsit5{}, 1., t1, dt0, initial, options);
}
APSIS_PROVOKES(
    memory_mismatch,
    "[diffeqsolve] solver_state holds f64[2], and Heun keeps nothing: give what a solve by the same "
    "solver and controller, of a state of the same shapes, saved by saveat.solver_state",
    diffeqsolve(ODETerm{decay}, Heun{}, 1., 2., 0.1, initial, {.solver_state = halfway().solver_state}))
APSIS_PROVOKES(memory_of_paths,
               "[diffeqsolve] solver_state holds the memory of 1 paths, and the equation has 0: give what a "
               "solve of the same equation saved by saveat.solver_state",
               go_on(2., 0.1,
                     {.solver_state = {.direction = 1., .own = halfway().solver_state.own, .paths = {{}}}}))
APSIS_PROVOKES(
    memory_of_delays,
    "[diffeqsolve] saveat.solver_state says nothing of the states before the end of a solve, which an "
    "equation with delays needs: leave it out, and give the history by dense_interpolation of the "
    "solve before",
    const auto field = [](const Array& t, const Array&, const Past<Array>& past) { return -past(t - 1.); };
    const auto before = [](const Array&) { return initial; };
    diffeqsolve(DelayTerm{field, before, {1.}}, Tsit5{}, 0., 1., {}, initial,
                {.controller = adaptive, .saveat = memories}))
APSIS_PROVOKES(memory_of_step_to,
               "[diffeqsolve] StepTo says itself where all steps end: leave controller_state out",
               go_on(2., {},
                     {.controller = StepTo{{1., 2.}}, .controller_state = halfway().controller_state}))
APSIS_PROVOKES(
    memory_and_first_step,
    "[diffeqsolve] dt0 and controller_state both say how long the first step is: leave one of them "
    "out",
    go_on(2., 0.1, {.controller = adaptive, .controller_state = halfway().controller_state}))
APSIS_PROVOKES(
    memory_turned,
    "[diffeqsolve] solver_state is of a solve in the other direction of time: leave it out, and the "
    "solve begins anew",
    go_on(0., {}, {.controller = adaptive, .solver_state = halfway().solver_state}))

APSIS_PROVOKES(tolerance_leaves,
               "[PIDController] atol is a tree of 2 bounds, and the state has 1 arrays: give a tree like the "
               "state, or one bound for all",
               solve({.controller = PIDController{.rtol = 1e-6, .atol = std::vector{array(1.), array(1.)}}}))
APSIS_PROVOKES(
    all_left_out,
    "[PIDController] atol is infinite for all of the state, so that no error counts: leave some of it "
    "in, or use ConstantStepSize",
    solve({.controller = PIDController{.rtol = 1e-6, .atol = std::numeric_limits<double>::infinity()}}))
struct NormOfVectors {
  Array operator()(std::span<const Array> errors) const { return errors[0]; }
};
APSIS_PROVOKES(error_norm,
               "[PIDController] norm returns f64[2]: it must return a real scalar, how large the errors are "
               "together",
               solve({.controller = PIDController{.rtol = 1e-6, .atol = 1e-9, .norm = NormOfVectors{}}}))

APSIS_PROVOKES(
    backsolve_without,
    "[diffeqsolve] Adjoint::Backsolve does not go together with saveat.dense: leave one of them out",
    solve({.controller = adaptive, .saveat = {.dense = true}, .adjoint = Adjoint::Backsolve}))
APSIS_PROVOKES(backsolve_seminorm,
               "[diffeqsolve] backsolve.seminorm is a norm of a PIDController: give one, as .backsolve = "
               "{.controller = PIDController{.rtol = 1e-6, .atol = 1e-9}, .seminorm = true}",
               solve({.adjoint = Adjoint::Backsolve, .backsolve = {.seminorm = true}}, 0.1))
APSIS_PROVOKES(backsolve_controller,
               "[diffeqsolve] the step size controller is for the state alone (StepTo), and "
               "Adjoint::Backsolve solves for more than the state: say how, as .backsolve = {.controller = "
               "PIDController{.rtol = 1e-6, .atol = 1e-9}}",
               solve({.controller = StepTo{{0., 1.}}, .adjoint = Adjoint::Backsolve}))

APSIS_PROVOKES(empty_state, "[diffeqsolve] the state has no arrays; y0 must hold at least one",
               diffeqsolve(ODETerm{[](const Array&, const Array&) { return Array(); }}, Tsit5{}, 0., 1., 0.1,
                           Array()))

APSIS_PROVOKES(
    step_to_ends,
    "[StepTo] ts goes from 0.0 to 2.0, the solve from t0 = 0.0 to t1 = 1.0: begin it with t0 and end it with "
    "t1",
    solve({.controller = StepTo{{0., 0.5, 2.}}}))

APSIS_PROVOKES(
    step_to_order,
    "[StepTo] ts[2] is 0.25, after 0.5: the times must go from t0 to t1, each beyond the one before",
    solve({.controller = StepTo{{0., 0.5, 0.25, 1.}}}))

APSIS_PROVOKES(
    no_tolerance,
    "[PIDController] rtol and atol are both 0, and no step is without error; give one of them, such as "
    "PIDController{.rtol = 1e-6, .atol = 1e-9}",
    solve({.controller = PIDController{.rtol = 0., .atol = 0.}}))

APSIS_PROVOKES(tolerance_shape,
               "[PIDController] atol is f64[3], but y0 is f64[2]: give a scalar, or an array that broadcasts "
               "to the state",
               solve({.controller = PIDController{.rtol = 1e-6, .atol = full({3}, 1e-9)}}))

APSIS_PROVOKES(option_shape, "[PIDController] dtmax is f64[2]: give a scalar",
               solve({.controller = with([](PIDController& c) { c.dtmax = ones({2}); })}))

APSIS_PROVOKES(
    option_range,
    "[PIDController] safety is 1.0: give a factor between 0 and 1, such as 0.9: from 1 on, a rejected step "
    "would be tried again as it is",
    solve({.controller = with([](PIDController& c) { c.safety = 1.; })}))

APSIS_PROVOKES(
    coefficients,
    "[PIDController] pcoeff + icoeff + dcoeff is 0.0: it must be above 0, so that larger errors give shorter "
    "steps, as with icoeff = 1 alone",
    solve({.controller = with([](PIDController& c) { c.icoeff = 0.; })}))

APSIS_PROVOKES(
    step_limits,
    "[PIDController] dtmin is 0.5 and dtmax 0.25: no step is between them; give dtmin the smaller one",
    solve({.controller = with([](PIDController& c) {
             c.dtmin = 0.5;
             c.dtmax = 0.25;
           })}))

APSIS_PROVOKES(
    slope_leaves,
    "[diffeqsolve] the vector field must return a slope like the state: the state has 1 arrays, the slope 2",
    diffeqsolve(ODETerm{[](const Array&, const std::vector<Array>& y) {
                  return std::vector<Array>{y[0], y[0]};
                }},
                Tsit5{}, 0., 1., 0.1, std::vector<Array>{initial}))

APSIS_PROVOKES(
    slope_absent,
    "[diffeqsolve] the vector field must return a slope like the state: array 0, counted from 0, is "
    "there in the state and empty in the slope",
    diffeqsolve(ODETerm{[](const Array&, const std::array<Array, 2>& y) {
                  return std::array<Array, 2>{Array(), y[0]};
                }},
                Tsit5{}, 0., 1., 0.1, std::array<Array, 2>{initial, Array()}))

APSIS_PROVOKES(time_not_real, "[diffeqsolve] t1 is c128[]: times must be real",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., astype(array(1.), c128), 0.1, initial))

APSIS_PROVOKES(time_not_finite, "[diffeqsolve] t1 is nan: give a finite time",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., std::nan(""), 0.1, initial))

APSIS_PROVOKES(
    first_step_value,
    "[diffeqsolve] dt0 is 0.0: give the first step, finite and not 0; or {} to an adaptive controller, which "
    "finds it",
    solve({}, 0.))

APSIS_PROVOKES(
    first_step_direction,
    "[diffeqsolve] dt0 is -0.5, which leads from t0 = 0.0 away from t1 = 1.0; give it the sign of t1 - t0",
    solve({}, -0.5))

APSIS_PROVOKES(
    first_step_rounds,
    "[diffeqsolve] dt0 is 0.25, which is lost in the rounding of t0 + dt0 at t0 = 1e+17; make it longer, or "
    "shift the times towards 0",
    diffeqsolve(ODETerm{decay}, Tsit5{}, 1e17, 2e17, 0.25, initial))

APSIS_PROVOKES(save_time_outside,
               "[diffeqsolve] saveat.ts[1] is 1.5: save times must lie between t0 = 0.0 and t1 = 1.0",
               solve({.saveat = {.ts = {0.5, 1.5, 2.}}}, 0.5))

APSIS_PROVOKES(save_times_unsorted,
               "[diffeqsolve] saveat.ts[2] is 0.25, after 0.5: save times must be sorted from t0 to t1; "
               "sort(…) does so, "
               "and flip(sort(…)) for a solve that goes back",
               solve({.saveat = {.ts = {0., 0.5, 0.25}}}, 0.5))

APSIS_PROVOKES(
    steps_too_many,
    "[diffeqsolve] saveat.steps keeps room for max_steps / steps = 1000000000000 states, more than memory "
    "holds: lower max_steps, which is 1000000000000, or save every n-th step by a larger n",
    solve({.saveat = {.steps = 1}, .max_steps = 1'000'000'000'000}, 0.5))

APSIS_PROVOKES(solver_part, "[Short] y1 of step() is 0 arrays and must be 1 array: it is the state at t1",
               diffeqsolve(ODETerm{decay}, Short{}, 0., 1., 0.1, initial))

APSIS_PROVOKES(
    table_size, "[Own] a[1] has 0 entries and must have 1: a coefficient for each stage before",
    solve_by({.name = "Own", .order = 1, .c = {0, 1}, .a = {{}, {}}, .b = {0.5, 0.5}, .dense = {{0.5, 0.5}}}))

APSIS_PROVOKES(
    table_value, "[Own] the sum of a[1] is 0.5 and must be 1: c[i] is the time at which stage i is",
    solve_by(
        {.name = "Own", .order = 1, .c = {0, 1}, .a = {{}, {0.5}}, .b = {0.5, 0.5}, .dense = {{0.5, 0.5}}}))

APSIS_PROVOKES(path_times,
               "[LinearInterpolation] the times are f64[1] and must be a real vector of two or more",
               LinearInterpolation{array({0.}), array({1.})}.evaluate(0.))

APSIS_PROVOKES(
    path_time,
    "[LinearInterpolation] the time is f64[2] and must be a real scalar; for many times at once use "
    "vmap",
    LinearInterpolation{array({0., 1.}), array({1., 2.})}.evaluate(array({0., 0.5})))

APSIS_PROVOKES(path_order,
               "[linear_interpolation] ts[2] is 1.0, after 1.0: the times must ascend, each beyond the one "
               "before",
               linear_interpolation(array({0., 1., 1.}), array({1., 2., 3.})))

APSIS_PROVOKES(
    path_rows,
    "[linear_interpolation] an array of the data is f64[2], and its first axis must have 3 entries "
    "of real numbers, one for each time or piece",
    linear_interpolation(array({0., 1., 2.}), array({1., 2.})))

APSIS_PROVOKES(
    path_option,
    "[backward_hermite_coefficients] deriv0 is f64[3] and does not broadcast to a row of the data, "
    "which are f64[2,2]",
    backward_hermite_coefficients(array({0., 1.}), ones({2, 2}), {.deriv0 = array({1., 2., 3.})}))

APSIS_PROVOKES(path_coefficients,
               "[CubicInterpolation] coefficients must be alike, one is f64[1,2] and another f64[1]",
               CubicInterpolation{array({0., 1.}),
                                  CubicCoefficients<>{ones({1, 2}), ones({1}), ones({1}), ones({1})}}
                   .evaluate(0.))
namespace {
const auto first_of = [](const Array&, const Array& y) { return y[0]; };
void solve_with(const Event& event) { solve({.controller = adaptive, .events = {event}}); }
}  // namespace

APSIS_PROVOKES(event_empty,
               "[diffeqsolve] events[0] has no condition; write Event{.condition = [](const Array& t, const "
               "State& y) { … }}, State being the type of y0",
               solve_with({}))

APSIS_PROVOKES(event_state,
               "[diffeqsolve] the condition of events[0] takes a state of type std::pair<apsis::Array, "
               "apsis::Array>, but y0 is of type apsis::Array: give it the type of y0",
               solve_with({[](const Array&, const std::pair<Array, Array>& y) { return y.first; }}))

APSIS_PROVOKES(event_condition,
               "[diffeqsolve] the condition of events[0] returns f64[2]: it must return a real scalar, whose "
               "changes of sign are the events, or a boolean one",
               solve_with({[](const Array&, const Array& y) { return y; }}))

APSIS_PROVOKES(
    event_direction,
    "[diffeqsolve] the condition of events[0] is a boolean, and occurs where it becomes true: leave "
    "its direction out, or negate the condition",
    solve_with({.condition = [](const Array&, const Array& y) { return y[0] < 0.5; },
                .direction = Crossing::Down}))

APSIS_PROVOKES(event_change,
               "[diffeqsolve] the change of events[0] must return the shapes and dtypes of the state: y0 is "
               "f64[2] in the state and f64[] after the change",
               solve_with({.condition = first_of,
                           .change = [](const Array&, const Array& y) { return y[0]; }}))

APSIS_PROVOKES(
    event_tolerance,
    "[diffeqsolve] the step size controller has no rtol and atol by which events[0] tells a steady "
    "state; write SteadyState{.rtol = 1e-6, .atol = 1e-9}",
    solve({.events = {Event{SteadyState{}}}}, 0.5))

APSIS_PROVOKES(
    event_accumulates,
    "[diffeqsolve] at t = 0.5000000000000001 an event that changes the state follows upon another with no "
    "time between, as "
    "the bounces of a ball that comes to rest; end the solve before, by stop_after or another event, or make "
    "the change leave its condition",
    diffeqsolve(ODETerm{[](const Array&, const Array& y) { return ones_like(y); }}, Tsit5{}, 0., 1., 0.25,
                array({0.5, 1.}),
                {.events = {
                     {.condition = [](const Array& t, const Array& y) { return t >= 0.5 && y[0] > 0.; },
                      .change = [](const Array&, const Array& y) { return 0. * y - 1e-30; }}}}))

APSIS_PROVOKES(no_events,
               "[diffeqsolve] saveat.events = 3 keeps occurrences of events, but there are none; give events",
               solve({.saveat = {.events = 3}}, 0.5))

APSIS_PROVOKES(
    step_without_result,
    "[diffeqsolve] at t = 0.0 RKC cannot make a step that is 1.0 long; make dt0 shorter, or let an "
    "adaptive controller do so: PIDController{.rtol = 1e-6, .atol = 1e-9}",
    diffeqsolve(ODETerm{[](const Array&, const Array& y) { return -1e6 * y; }}, RKC{.max_stages = 10}, 0., 1.,
                1., initial))

APSIS_PROVOKES(dense_without_bound,
               "[diffeqsolve] saveat.dense needs a bound on the number of steps; give max_steps",
               solve({.saveat = {.dense = true}, .max_steps = -1}, 0.1))

APSIS_PROVOKES(dense_too_many,
               "[diffeqsolve] saveat.dense keeps room for max_steps = 1000000000000 steps, more than memory "
               "holds: lower max_steps",
               solve({.saveat = {.dense = true}, .max_steps = 1'000'000'000'000}, 0.1))

APSIS_PROVOKES(dense_missing,
               "[dense_interpolation] the solve kept no steps: ask for them by .saveat = {.dense = true}",
               dense_interpolation(Tsit5{}, diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, initial)))

APSIS_PROVOKES(
    dense_time,
    "[DenseInterpolation] the time is f64[2] and must be a real scalar; for many times at once use "
    "vmap",
    dense_interpolation(Tsit5{}, diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.25, initial,
                                             {.saveat = {.dense = true}, .max_steps = 8}))
        .evaluate(array({0., 0.5})))
APSIS_PROVOKES(mass_not_taken,
               "[diffeqsolve] Tsit5 takes no mass matrix; use Rodas5P, Radau5 or BackwardDifferences",
               solve({.mass = array({1., 1.})}, 0.5))

namespace {
void solve_mass(const Array& mass) {
  diffeqsolve(ODETerm{decay}, Rodas5P{}, 0., 1., 0.5, initial, {.mass = mass});
}
}  // namespace

APSIS_PROVOKES(
    mass_not_known,
    "[diffeqsolve] the mass matrix must be known when the program is made, and is a traced f64[2]; make it "
    "of numbers, and have the vector field depend on what is traced",
    jit([](const Array& m) {
      solve_mass(m);
      return m;
    })(array({1., 1.})))

APSIS_PROVOKES(
    mass_shape,
    "[diffeqsolve] the mass matrix is f64[3], and the state has 2 elements: give a real matrix [2, 2], or "
    "its diagonal [2]",
    solve_mass(array({1., 1., 1.})))

APSIS_PROVOKES(mass_not_finite, "[diffeqsolve] the mass matrix has infinite elements or NaN",
               solve_mass(array({1., double(NAN)})))

APSIS_PROVOKES(inconsistent_start,
               "[diffeqsolve] at t0 = 0.0 Newton's method finds no state near y0 that fulfils the algebraic "
               "equations, those "
               "whose rows of the mass matrix are 0; give a y0 that is nearer to one, and check that these "
               "equations determine "
               "the part of the state that has no derivative (index 1)",
               diffeqsolve(ODETerm{[](const Array&, const Array& y) {
                             return stack({-y[0], y[1] * y[1] + 1.});
                           }},
                           Rodas5P{}, 0., 1., 0.5, initial,
                           {.controller = adaptive, .mass = array({1., 0.})}))

APSIS_PROVOKES(
    steady_saveat,
    "[diffeqsolve] Adjoint::SteadyState has derivatives of the state at t1 alone: save nothing else",
    solve({.saveat = {.t0 = true}, .adjoint = Adjoint::SteadyState}, 0.5))

APSIS_PROVOKES(clip_step_to,
               "[ClipStepSizeController] StepTo says where all steps end: give its ts the other times, too",
               solve({.controller = ClipStepSizeController{.controller = StepTo{{0., 1.}},
                                                           .step_ts = {0.5}}}))

APSIS_PROVOKES(
    clip_times,
    "[ClipStepSizeController] jump_ts is f64[1,2]: give real times, as a vector or a list of numbers",
    solve({.controller = ClipStepSizeController{.controller = adaptive, .jump_ts = array({{0.5, 0.6}})}}))

APSIS_PROVOKES(clip_nan, "[ClipStepSizeController] step_ts[1] is NaN: give times",
               solve({.controller = ClipStepSizeController{.controller = adaptive, .step_ts = {0.5, NAN}}}))

APSIS_PROVOKES(
    max_steps_rejected,
    "[ClipStepSizeController] at t = 0.0 more steps were rejected than store_rejected_steps = 1 has room "
    "for; raise it, or loosen rtol and atol",
    diffeqsolve(ODETerm{[](const Array& t, const Array&) { return 1e5 * cos(1e5 * t); }}, Tsit5{}, 0., 1., 1.,
                0.,
                {.controller = ClipStepSizeController{.controller = adaptive, .store_rejected_steps = 1}}))

namespace {

const auto one = [](const Array&) { return array({1., 1.}); };
const auto delayed = [](const Array& t, const Array&, const Past<Array>& past) { return -past(t - 1.); };
void solve_delayed(const Times& delays, const SolveOptions& options, const Array& dt0 = {}) {
  diffeqsolve(DelayTerm{delayed, one, delays}, Tsit5{}, 0., 2., dt0, initial, options);
}

}  // namespace

APSIS_PROVOKES(delays_shape,
               "[diffeqsolve] DelayTerm::delays is f64[0]: give the delays as a vector or a list of numbers",
               solve_delayed(zeros({0}), {.controller = adaptive}))

APSIS_PROVOKES(delay_range,
               "[diffeqsolve] DelayTerm::delays holds -1.0: delays are finite and above 0; what depends on "
               "the state at the same time is y",
               solve_delayed({1., -1.}, {.controller = adaptive}))

APSIS_PROVOKES(delays_step_to,
               "[diffeqsolve] with delays steps end where derivatives jump, and StepTo cannot: use "
               "PIDController{.rtol = 1e-6, .atol = 1e-9}, or ConstantStepSize",
               solve_delayed({1.}, {.controller = StepTo{{0., 1., 2.}}}))

APSIS_PROVOKES(delays_without_bound,
               "[diffeqsolve] an equation with delays keeps all of its steps: give max_steps",
               solve_delayed({1.}, {.controller = adaptive, .max_steps = -1}))

APSIS_PROVOKES(
    past_too_late,
    "[Past] the state at t = 0.125 was asked for in a slope at t = 1.125, and is known up to t = 0.0 "
    "only: DelayTerm::delays must hold the shortest delay",
    solve_delayed({1.5}, {}, 1.25))

APSIS_PROVOKES(past_time, "[Past] the time is f64[2]: give a real scalar, such as past(t - 1.)",
               diffeqsolve(DelayTerm{[](const Array&, const Array& y, const Past<Array>& past) {
                                       return past(y);
                                     },
                                     one,
                                     {1.}},
                           Tsit5{}, 0., 2., 0.1, initial))

APSIS_PROVOKES(history_mismatch,
               "[diffeqsolve] the history of a DelayTerm must return states: y0 is f64[2] in y0 and f64[] in "
               "the history at t0",
               diffeqsolve(DelayTerm{delayed, [](const Array& t) { return t; }, {1.}}, Tsit5{}, 0., 2., 0.1,
                           initial))

APSIS_PROVOKES(delays_by_hand, "[solver_start] a DelayTerm needs all steps before: use diffeqsolve",
               solver_start(DelayTerm{delayed, one, {1.}}, Tsit5{}, 0., initial))
APSIS_PROVOKES(not_reversible,
               "[diffeqsolve] Adjoint::Reversible runs the steps back, and those of Tsit5 do not run back "
               "exactly: take ReversibleHeun, VelocityVerlet or Yoshida4, or leave the adjoint out",
               solve({.adjoint = Adjoint::Reversible}, 0.5))
APSIS_PROVOKES(
    reversible_without,
    "[diffeqsolve] Adjoint::Reversible does not go together with saveat.steps: leave one of them out",
    diffeqsolve(ODETerm{decay}, ReversibleHeun{}, 0., 1., 0.5, initial,
                {.saveat = {.steps = 1}, .adjoint = Adjoint::Reversible}))
