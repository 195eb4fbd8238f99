#pragma once

// Ordinary differential equations. A solve is an ordinary program: jit, grad and vmap it like any other.
//
//   struct Decay {
//     Array rate;
//     Array operator()(const Array& t, const Array& y) const { return -rate * y; }
//   };
//   auto sol = diffeqsolve(ODETerm{Decay{0.5}}, Tsit5{}, 0., 1., {}, array({1., 2.}),
//                          {.controller = PIDController{.rtol = 1e-6, .atol = 1e-9}, .saveat = {.ts = ts}});
//   sol.ys;                                    // ts.size() × 2

#include "apsis/control/progress.hpp"
#include "apsis/diffeq/controller.hpp"
#include "apsis/diffeq/runge_kutta.hpp"
#include "apsis/transform/function.hpp"

namespace apsis {

/// y' = vector_field(t, y). The state is any tree of floating arrays; the slope has its type, shapes and
/// dtypes. Fields of the vector field are leaves: differentiable, mappable parameters.
template <class F>
struct ODETerm {
  F vector_field;
};
template <class F>
ODETerm(F) -> ODETerm<F>;

/// What to keep of a solve, in this order. With nothing asked for, t1.
struct SaveAt {
  bool t0 = false;
  Array ts = {};  // times between t0 and t1, in the order of the solve; by dense output inside the steps
  std::int64_t steps =
      0;  // every n-th accepted step, 0 = none; the arrays have room for max_steps, unused rows are +inf
  bool t1 = false;
};

/// How a solve ended; the numbers are Diffrax's.
enum class SolveResult : std::int64_t {
  Successful = 0,
  MaxStepsReached = 1,
  NonFinite = 9,
  DtMinReached = 10
};

struct SolveOptions {
  Controller controller = {};
  SaveAt saveat = {};
  /// Attempts, rejected ones included; -1: no limit (then saveat.steps is refused).
  std::int64_t max_steps = 4096;
  /// Whether a solve that fails throws, when it runs; otherwise see Solution::result.
  bool throw_ = true;
  /// As in WhileOptions: reverse mode keeps no more than so many states of the solve, or states of so many
  /// bytes together, and takes steps again instead; 0: a tape of all steps. What is saved is not part of
  /// these states.
  std::int64_t checkpoints = 0;
  std::int64_t checkpoint_bytes = 0;
  /// When the solve says how far between t0 and t1 it is, and to whom; by default it does not.
  Progress progress = {};
};

struct SolveStats {
  Array num_steps, num_accepted_steps, num_rejected_steps;  // i64
};

template <class Y>
struct Solution {
  Array ts;  // times saved
  Y ys;      // states saved, stacked along axis 0
  SolveStats stats;
  Array result;  // i64: a SolveResult
};

namespace detail {

/// The vector field on the leaves of the state.
struct VectorField {
  const void* context;
  std::vector<Array> (*slope)(const void* context, const Array& t, std::span<const Array> y);
  LeafNames state;  // what errors call the leaves of the state
};
struct FlatSolution {
  Array ts;
  std::vector<Array> ys;
  SolveStats stats;
  Array result;
};
FlatSolution solve_flat(const VectorField& field, const RungeKutta& method, const Array& t0, const Array& t1,
                        const Array& dt0, std::vector<Array> y0, const SolveOptions& options, Loc loc);

}  // namespace detail

/// Solves y' = f(t, y), y(t0) = y0 up to t1, which may lie before t0. `dt0` is the first step ({}: chosen by
/// the controller). Times and state are promoted to one floating dtype. The solve is differentiable, both
/// ways, in the parameters of the term, y0, t0, t1 and the save times; adaptive step sizes count as
/// constants. Throws, when it runs, if the solve fails: too many steps, a state or slope that is not finite,
/// or steps that became too short.
template <class F, Solver S, class Y>
Solution<detail::argument_t<Y>> diffeqsolve(const ODETerm<F>& term, S, const Array& t0, const Array& t1,
                                            const Array& dt0, const Y& y0, const SolveOptions& options = {},
                                            Loc loc = Loc::here()) {
  using State = detail::argument_t<Y>;
  struct Context {
    const F& field;
    const State& like;
  };
  State start = y0;
  Context context{term.vector_field, start};
  const detail::NamedTree named{tree_ref(start), "y0"};
  detail::VectorField field{&context,
                            [](const void* c, const Array& t, std::span<const Array> y) {
                              const auto& [f, like] = *static_cast<const Context*>(c);
                              State slope = f(t, detail::with_leaves(like, y));
                              std::vector<Array> leaves;
                              detail::collect_leaves(slope, leaves);
                              return leaves;
                            },
                            detail::names_of(named)};
  std::vector<Array> leaves;
  detail::collect_leaves(start, leaves);
  detail::FlatSolution s = detail::solve_flat(field, S::method(), t0, t1, dt0,
                                              static_cast<std::vector<Array>&&>(leaves), options, loc);
  return {s.ts, detail::with_leaves(start, s.ys), s.stats, s.result};
}

}  // namespace apsis
