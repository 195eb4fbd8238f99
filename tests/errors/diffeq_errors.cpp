#include <apsis/apsis.hpp>

#include "apsis/diffeq/solve.hpp"
#include "errors/provoke.hpp"

using namespace apsis;

namespace {

const auto decay = [](const Array&, const Array& y) { return -y; };
const auto explosion = [](const Array&, const Array& y) { return y * y; };
const Array y0 = array({1., 2.});
const PIDController adaptive{.rtol = 1e-6, .atol = 1e-9};

}  // namespace

APSIS_PROVOKES(max_steps_reached,
               "[diffeqsolve] the solve took max_steps steps without reaching t1; raise max_steps, loosen "
               "the tolerances, or shorten the interval",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.01, y0, {.max_steps = 10}))

APSIS_PROVOKES(non_finite,
               "[diffeqsolve] the state or its slope became infinite or NaN; check the vector field near the "
               "last time saved, or use an adaptive controller, which shortens its steps there",
               diffeqsolve(ODETerm{[](const Array& t, const Array& y) { return y / t; }}, Tsit5{}, 0., 1.,
                           0.1, y0))

APSIS_PROVOKES(dt_min_reached,
               "[diffeqsolve] the steps became too short to go on: the solution may have a singularity, or "
               "the problem is stiff; loosen the tolerances or lower dtmin",
               diffeqsolve(ODETerm{explosion}, Tsit5{}, 0., 2., {}, y0,
                           {.controller = PIDController{
                                .rtol = 1e-6, .atol = 1e-9, .dtmin = 1e-3, .force_dtmin = false}}))

APSIS_PROVOKES(no_first_step,
               "[ConstantStepSize] dt0 must be given; or use an adaptive controller, which finds it: "
               "PIDController{.rtol = 1e-6, .atol = 1e-9}",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., {}, y0))

APSIS_PROVOKES(first_step_given, "[StepTo] dt0 must be empty ({}): the steps are those of StepTo::ts",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, y0, {.controller = StepTo{array({0., 1.})}}))

APSIS_PROVOKES(step_to_times, "[StepTo] ts must hold at least two times, from t0 to t1, got shape [1]",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., {}, y0, {.controller = StepTo{array({0.})}}))

APSIS_PROVOKES(no_error_estimate,
               "[PIDController] the solver in use estimates no error; use ConstantStepSize, or another "
               "solver such as Tsit5",
               diffeqsolve(ODETerm{decay}, Euler{}, 0., 1., 0.1, y0, {.controller = adaptive}))

APSIS_PROVOKES(
    missing_tolerance,
    "[PIDController] rtol and atol must be given, such as PIDController{.rtol = 1e-6, .atol = 1e-9}",
    diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, y0, {.controller = PIDController{}}))

APSIS_PROVOKES(slope_mismatch,
               "[diffeqsolve] the vector field must return the shapes and dtypes of the state: y0 is "
               "f64[2] in the state and f64[] in the slope",
               diffeqsolve(ODETerm{[](const Array&, const Array& y) { return sum(y); }}, Tsit5{}, 0., 1., 0.1,
                           y0))

APSIS_PROVOKES(state_not_floating,
               "[diffeqsolve] y0 is i32[2]: states must be floating; convert with astype, "
               "or write 1. instead of 1",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, array({1, 2})))

APSIS_PROVOKES(time_not_scalar,
               "[diffeqsolve] t1 must be a scalar, got f64[2]; to solve for many times at once use vmap",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., y0, 0.1, y0))

APSIS_PROVOKES(save_times, "[diffeqsolve] saveat.ts must be one-dimensional, got ~f64[]",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, y0, {.saveat = {.ts = 0.5}}))

APSIS_PROVOKES(steps_without_bound,
               "[diffeqsolve] saveat.steps needs a bound on the number of steps; give max_steps",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, y0,
                           {.saveat = {.steps = 1}, .max_steps = -1}))

APSIS_PROVOKES(negative_attempts,
               "[diffeqsolve] max_steps is -2: give a number of attempts, or -1 for a solve without bound",
               diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, y0, {.max_steps = -2}))

APSIS_PROVOKES(empty_state, "[diffeqsolve] the state has no arrays; y0 must hold at least one",
               diffeqsolve(ODETerm{[](const Array&, const Array&) { return Array(); }}, Tsit5{}, 0., 1., 0.1,
                           Array()))
