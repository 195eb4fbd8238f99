#include <cmath>

#include <apsis/apsis.hpp>

#include "errors/provoke.hpp"

using namespace apsis;

namespace {

const auto decay = [](const Array&, const Array& y) { return -y; };
const auto multiplied = [](const Array&, const Array& y) { return Diagonal{0.1 * y}; };
const auto swapped = [](const Array&, const Array& y) {
  return stack({stack({y[1], 0.}), stack({0., y[0]})});
};
const Array initial = array({1., 2.});

VirtualBrownianTree<Array> path_of(const Shape& shape, const BrownianOptions& options = {}) {
  return {0., 1., 0.01, shape, random::key(0), options};
}
template <class Field, class Path, class Solver>
void solve(const Field& field, const Path& path, const Solver& solver, const SolveOptions& options = {},
           const Array& dt0 = 0.1, Calculus calculus = Calculus::Any, Loc loc = Loc::here()) {
  diffeqsolve(MultiTerm{ODETerm{decay}, ControlTerm{field, path, calculus}}, solver, 0., 1., dt0, initial,
              options, loc);
}
const PIDController adaptive{.rtol = 0.1, .atol = 0.1};

struct CountedSteps {
  Array vector_field(const Array&, const Array& y) const { return y; }
  Array control(const Array&, const Array&) const { return array(1); }
  Array product(const Array& field, const Array& control) const { return field * control; }
};
struct LongerProduct {
  Array vector_field(const Array&, const Array&) const { return ones({3}); }
  Array control(const Array& t0, const Array& t1) const { return t1 - t0; }
  Array product(const Array& field, const Array& control) const { return field * control; }
};

}  // namespace

APSIS_PROVOKES(
    brownian_scalar,
    "[VirtualBrownianTree] tol is f64[2]: give a real scalar; for paths on many intervals use vmap",
    VirtualBrownianTree(0., 1., array({0.1, 0.2}), {}, random::key(0)))
APSIS_PROVOKES(
    brownian_times,
    "[VirtualBrownianTree] t0 is 1.0 and t1 is 0.0: give finite times, t0 before t1, also for solves "
    "that go back",
    VirtualBrownianTree(1., 0., 0.1, {}, random::key(0)))
APSIS_PROVOKES(brownian_tolerance,
               "[VirtualBrownianTree] tol is 0.0: give a length above 0, such as half of the shortest step",
               VirtualBrownianTree(0., 1., 0., {}, random::key(0)))
APSIS_PROVOKES(
    brownian_outside,
    "[VirtualBrownianTree] the time 1.5 is outside of the path, which is there from 0.0 to 1.0; make "
    "the path longer",
    path_of({}).evaluate(0.5, 1.5))
APSIS_PROVOKES(brownian_dtype,
               "[UnsafeBrownianPath] array 0 of a path's values is i64[2]: Brownian motion is floating; give "
               "shapes of f64 or f32",
               UnsafeBrownianPath({2}, random::key(0), {.dtype = i64}))
APSIS_PROVOKES(
    brownian_empty,
    "[UnsafeBrownianPath] the values of a path have no arrays: give a shape, or a tree with at least "
    "one array",
    UnsafeBrownianPath(std::vector<Array>(), random::key(0)))
APSIS_PROVOKES(
    control_mismatch,
    "[diffeqsolve] the vector field of a ControlTerm must return the shapes of the state with those "
    "of the control behind: the state is f64[2], the control f64[2], and the vector field returns "
    "f64[2]; for a control for each element return Diagonal{…}",
    solve([](const Array&, const Array& y) { return y; }, path_of({2}), Euler{}))
APSIS_PROVOKES(
    diagonal_mismatch,
    "[diffeqsolve] Diagonal{…} must have the shapes of the state, and so must the control: the state "
    "is f64[2], the control f64[], and the vector field returns f64[2]",
    solve(multiplied, path_of({}), Euler{}))
APSIS_PROVOKES(
    operator_mismatch,
    "[diffeqsolve] a ControlTerm's vector field returns an operator of 2 rows and 2 columns: the "
    "state, f64[2], must be a vector with that many rows, and the control, f64[3], one with that many "
    "columns",
    solve([](const Array&, const Array& y) { return diagonal_operator(y); }, path_of({3}), Euler{}))
APSIS_PROVOKES(
    control_dtype,
    "[diffeqsolve] the product of vector field and control must have the dtype of the state, f32[2]: "
    "the control is f64[2], the vector field returns f32[2]; give the path and what the vector field "
    "returns that dtype",
    diffeqsolve(ControlTerm{multiplied, path_of({2})}, Euler{}, 0., 1., 0.1, astype(initial, f32)))
APSIS_PROVOKES(takes_no_control,
               "[ImplicitEuler] this solver takes no ControlTerm and no term of your own; use one that does, "
               "such as Euler, Heun or ReversibleHeun, or give to_ode(term), where the path has a derivative",
               solve(multiplied, path_of({2}), ImplicitEuler{}))
APSIS_PROVOKES(own_control,
               "[diffeqsolve] the control of a term of your own is i32[]: give floating arrays, since "
               "solvers scale what it does in a step",
               diffeqsolve(CountedSteps{}, Euler{}, 0., 1., 0.1, initial))
APSIS_PROVOKES(own_product,
               "[diffeqsolve] product(field, control) of a term of your own must return the shapes and "
               "dtypes of the state: the state is f64[2], the product f64[3]",
               diffeqsolve(LongerProduct{}, Euler{}, 0., 1., 0.1, initial))
APSIS_PROVOKES(takes_no_noise,
               "[Tsit5] this solver is none for Brownian motion; use Euler for Itô equations, Heun for "
               "Stratonovich ones, or see docs/guide/noise.md",
               solve(multiplied, path_of({2}), Tsit5{}))
APSIS_PROVOKES(levy_area_missing,
               "[SPaRK] this solver needs the Lévy areas of the path; make it with .levy_area = "
               "LevyArea::SpaceTime",
               solve(multiplied, path_of({2}), SPaRK{}))
APSIS_PROVOKES(
    wrong_calculus,
    "[Heun] the term is an Itô integral, and this solver converges to the Stratonovich one; use Euler "
    "or ItoMilstein",
    solve(multiplied, path_of({2}), Heun{}, {}, 0.1, Calculus::Ito))
APSIS_PROVOKES(
    steps_not_fixed,
    "[UnsafeBrownianPath] increments are drawn once, and a controller that rejects steps asks for them "
    "again: use VirtualBrownianTree, or ConstantStepSize or StepTo",
    solve(multiplied, UnsafeBrownianPath({2}, random::key(0)), Heun{}, {.controller = adaptive}))
APSIS_PROVOKES(
    no_first_step_of_noise,
    "[diffeqsolve] dt0 must be given where an equation is driven by Brownian motion: its slope does "
    "not tell how long a step may be",
    solve(multiplied, path_of({2}), Heun{}, {.controller = adaptive}, {}))
APSIS_PROVOKES(
    brownian_too_short,
    "[VirtualBrownianTree] the path is there from 0.0 to 1.0, and the solve goes from 0.0 to 2.0; make "
    "the path as long as the solve",
    diffeqsolve(ControlTerm{multiplied, path_of({2})}, Euler{}, 0., 2., 0.1, initial))
APSIS_PROVOKES(
    brownian_too_coarse,
    "[VirtualBrownianTree] tol is 0.01 and dt0 is 0.001: within tol a path is smooth, and shorter steps lead "
    "to another solution; give a tol below dt0, such as half of it",
    solve(multiplied, path_of({2}), Heun{}, {}, 0.001))
APSIS_PROVOKES(
    noise_not_additive,
    "[SEA] this solver is for additive noise, and the vector field of a ControlTerm depends on the "
    "state; use SPaRK or GeneralShARK",
    solve(multiplied, path_of({2}, {.levy_area = LevyArea::SpaceTime}), SEA{}))
APSIS_PROVOKES(
    adaptive_ito,
    "[Euler] steps whose lengths depend on the path lead this solver to something else than the Itô integral "
    "where the noise depends on the state; use ConstantStepSize, HalfSolver{ItoMilstein{}} for commutative "
    "noise, or SPaRK for the equation in its Stratonovich form",
    solve(multiplied, path_of({2}), HalfSolver{Euler{}}, {.controller = adaptive}))
APSIS_PROVOKES(noise_not_commutative,
               "[ItoMilstein] this solver is for commutative noise, and at t0 = 0.0 the order of the vector "
               "fields matters: D(g_i)·g_j is not D(g_j)·g_i; use Euler, or SPaRK, GeneralShARK or Heun for "
               "Stratonovich equations",
               solve(swapped, path_of({2}), ItoMilstein{}))

namespace {

template <class G, class U>
void solve_langevin(const G& gamma, const U& u, Loc loc = Loc::here()) {
  const auto gradient = [](const std::vector<Array>& x) { return x; };
  const std::vector<Array> x{array({1., 2.}), array({3.})};
  const VirtualBrownianTree path(0., 1., 0.01, x, random::key(0), {.levy_area = LevyArea::SpaceTime});
  diffeqsolve(MultiTerm{UnderdampedLangevinDriftTerm{gamma, u, gradient},
                        UnderdampedLangevinDiffusionTerm{gamma, 1., path}},
              ALIGN{}, 0., 1., 0.1, std::pair{x, x}, {}, loc);
}

}  // namespace

APSIS_PROVOKES(
    langevin_leaves,
    "[underdamped_langevin] gamma has 3 arrays and x has 2: give a tree like x, or one array for all",
    solve_langevin(std::vector<Array>{1., 2., 3.}, 1.))
APSIS_PROVOKES(langevin_shape,
               "[underdamped_langevin] gamma is f64[3] and does not broadcast to the position, f64[2]",
               solve_langevin(array({1., 2., 3.}), 1.))
APSIS_PROVOKES(langevin_differs,
               "[ALIGN] gamma and u of the drift and of the diffusion differ: give both terms the same, as "
               "underdamped_langevin(gamma, u, grad_f, path) does",
               solve_langevin(1., 2.))
