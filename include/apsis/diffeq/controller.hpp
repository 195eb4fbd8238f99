#pragma once

// Step size controllers. Options take any type with the two members of the concept `StepController`, held by
// value.

#include <concepts>
#include <span>
#include <vector>

#include "apsis/core/array.hpp"
#include "apsis/diffeq/times.hpp"
#include "apsis/tree/any_tree.hpp"

namespace apsis {

/// A bound of errors: a number; an array that broadcasts to each array of the state; or a tree like the state
/// with such a bound in the place of each array. Empty unless given.
class Tolerance {
 public:
  Tolerance() = default;
  template <class T>
  requires(std::is_convertible_v<const T&, Array> && !std::is_same_v<T, Tolerance>) Tolerance(const T& one) {
    if (Array bound = one; !bound.is_empty()) bounds_.push_back(std::move(bound));
  }
  template <class Tree>
  requires(!std::is_convertible_v<const Tree&, Array> && !std::is_same_v<Tree, Tolerance> &&
           !detail::is_refused(detail::tree_kind<Tree>)) Tolerance(const Tree& tree)
      : of_leaves_(true) {
    for_each_leaf(tree, [this](const Array& bound) { bounds_.push_back(bound); });
  }
  bool is_empty() const { return bounds_.empty(); }
  /// Whether each array of the state has a bound of its own.
  bool of_leaves() const { return of_leaves_; }
  /// All of them: one, or one for each array of the state.
  const std::vector<Array>& bounds() const { return bounds_; }
  /// That of an array of the state.
  const Array& of(std::size_t leaf) const { return bounds_[of_leaves_ ? leaf : 0]; }

 private:
  std::vector<Array> bounds_;
  bool of_leaves_ = false;
  APSIS_FIELDS(Tolerance, bounds_, of_leaves_)
};

/// A norm of errors: a class whose call operator takes the errors as std::span<const Array>, each relative to
/// what is allowed, array after array of the state, and returns a real scalar; what it holds is a tree. Of
/// ten times the errors it is ten times as large. Not given: the root mean square over all elements.
class ErrorNorm {
 public:
  ErrorNorm() = default;
  template <class F>
  requires(!std::is_same_v<F, ErrorNorm>) ErrorNorm(F norm)
      : tree_(static_cast<F&&>(norm)), size_([](const void* f, std::span<const Array> errors) {
          return Array((*static_cast<const F*>(f))(errors));
        }) {
    static_assert(std::is_invocable_r_v<Array, const F&, std::span<const Array>>,
                  "the norm of a PIDController is called as norm(errors): it must take a "
                  "std::span<const Array> and return a scalar Array");
  }
  bool is_set() const { return size_ != nullptr; }
  Array operator()(std::span<const Array> errors) const { return size_(tree_.tree(), errors); }

 private:
  AnyTree tree_;
  Array (*size_)(const void*, std::span<const Array>) = nullptr;
  APSIS_FIELDS(ErrorNorm, tree_)
};

/// What errors a controller lets pass; empty without a bound.
struct Tolerances {
  Tolerance rtol, atol;
  ErrorNorm norm = {};
};
/// What a controller sees before the first step. Times run forwards: a solve from 2 to 1 runs from -2 to -1.
struct ControllerStart {
  const Array& t0;
  const Array& t1;
  const Array& dt0;  ///< empty if none was given
  std::span<const Array> y0;
  std::span<const Array> slope;  ///< dy/dt there
  double order;                  ///< of the error estimate; 0 if the solver has none
  std::vector<Array> (*slope_at)(const void* context, const Array& t, std::span<const Array> y);
  const void* context;
  Array direction = 1.;  ///< -1 in a solve that goes back: what a time of the user's is multiplied with
  /// Of a solve that goes on where another ended: where its first step ends, if t1 is not before that, and
  /// what the controller kept; empty of any other.
  Array end = {};
  std::span<const Array> state = {};
};
/// What a controller says of the first step.
struct FirstStep {
  Array end;                 ///< of the first step
  std::vector<Array> state;  ///< the controller's own
  bool tells_error = false;  ///< whether next_step fills in error_square
};
/// What it sees after each attempt.
struct ControllerStep {
  const Array& t0;
  const Array& t1;
  const Array& end;  ///< of the whole solve
  std::span<const Array> y0, y1;
  std::span<const Array> error;  ///< the estimate; empty if the solver has none
  double order;
  std::span<const Array> state;
};
/// What it says of an attempt, and of the next.
struct NextStep {
  Array accept;      ///< boolean
  Array start, end;  ///< of the next attempt
  std::vector<Array> state;
  Array code;  ///< i64: a SolveResult, 0 to go on
  /// The square of this attempt's error relative to what is allowed, for what a failed solve says; empty: not
  /// known.
  Array error_square = {};
  /// A boolean: if the attempt counts, the next one begins behind a discontinuity, and the solver anew;
  /// empty: it never does.
  Array jump = {};
};

/// A step size controller: says how long the first step is, and after each attempt whether it counts and how
/// long the next one is.
template <class C>
concept StepController = requires(const C& c, const ControllerStart& start, const ControllerStep& step) {
  { c.first_step(start) } -> std::same_as<FirstStep>;
  { c.next_step(step) } -> std::same_as<NextStep>;
};

/// Steps of the length dt0, which must be given; the last is shorter if need be. Stops if the state is not
/// finite. dt0 has the sign of t1 - t0, and is long enough that t0 + dt0 is not t0.
struct ConstantStepSize {
  FirstStep first_step(const ControllerStart& start) const;
  NextStep next_step(const ControllerStep& step) const;
};

/// Steps that end at the given times: ts[0] is t0, the last t1, up to rounding; dt0 must not be given.
struct StepTo {
  Times ts;  ///< at least two, each beyond the one before
  FirstStep first_step(const ControllerStart& start) const;
  NextStep next_step(const ControllerStep& step) const;
};

/// Steps as long as the estimated error allows: it stays below atol + rtol |y| in the root mean square over
/// all elements, or in another norm (Söderlind, Automatic control and adaptive time-stepping, Numer.
/// Algorithms 31, 2002). With the error r relative to that bound, a step is accepted if r < 1, and the next
/// is as long as this one times safety · r^(-β₁) · …, where β = (p+i+d, -(p+2d), d) / order weigh the errors
/// of the last three steps.
struct PIDController {
  /// Finite, 0 or more, not both 0; scalars, arrays that broadcast to the state, or trees like the state.
  /// They must be given. Elements whose atol is infinite are left out: their errors do not count, nor do they
  /// in the mean.
  Tolerance rtol, atol;
  /// Finite scalars whose sum is above 0.
  Array pcoeff = 0., icoeff = 1., dcoeff = 0.;
  /// The shortest and the longest step, lengths above 0 in solves of either direction; empty: no limit.
  Array dtmin = {}, dtmax = {};
  /// At dtmin accept whatever the error, instead of stopping.
  bool force_dtmin = true;
  /// The least and the greatest factor from one step to the next, in (0, 1] and [1, inf]; what they are
  /// multiplied with, in (0, 1).
  Array factormin = 0.2, factormax = 10., safety = 0.9;
  /// Says how large an error is, in the place of the root mean square.
  ErrorNorm norm = {};
  APSIS_FIELDS(PIDController, rtol, atol, pcoeff, icoeff, dcoeff, dtmin, dtmax, force_dtmin, factormin,
               factormax, safety, norm)
  FirstStep first_step(const ControllerStart& start) const;
  NextStep next_step(const ControllerStep& step) const;
};

class Controller;
namespace detail {
/// Whether it is made around another controller.
template <class C>
concept WrapsController = requires(const C& c) {
  { &c.controller } -> std::same_as<const Controller*>;
};
}  // namespace detail

/// Holds any StepController; a tree, so that tolerances may be traced.
class Controller {
 public:
  Controller() : Controller(ConstantStepSize{}) {}
  template <StepController C>
  Controller(C controller)
      : tree_(static_cast<C&&>(controller)),
        first_(
            [](const void* c, const ControllerStart& s) { return static_cast<const C*>(c)->first_step(s); }),
        next_([](const void* c, const ControllerStep& s) { return static_cast<const C*>(c)->next_step(s); }),
        tolerances_([](const void* c) {
          if constexpr (requires(const C& own) { Tolerances{own.rtol, own.atol, own.norm}; })
            return Tolerances{static_cast<const C*>(c)->rtol, static_cast<const C*>(c)->atol,
                              static_cast<const C*>(c)->norm};
          else if constexpr (requires(const C& own) { Tolerances{own.rtol, own.atol}; })
            return Tolerances{static_cast<const C*>(c)->rtol, static_cast<const C*>(c)->atol};
          else if constexpr (detail::WrapsController<C>)
            return static_cast<const C*>(c)->controller.tolerances();
          else
            return Tolerances();
        }) {
    if constexpr (detail::WrapsController<C>)
      inner_ = [](const void* c) { return &static_cast<const C*>(c)->controller; };
  }
  FirstStep first_step(const ControllerStart& s) const { return first_(tree_.tree(), s); }
  NextStep next_step(const ControllerStep& s) const { return next_(tree_.tree(), s); }
  /// Those of a controller with members rtol and atol, or of the one that it wraps.
  Tolerances tolerances() const { return tolerances_(tree_.tree()); }
  /// What is held, if it is a `C`; otherwise null.
  template <StepController C>
  const C* as() const {
    return tree_.as<C>();
  }
  /// The controller in its `controller`, and so on; itself where there is none.
  const Controller& innermost() const { return inner_ ? inner_(tree_.tree())->innermost() : *this; }

 private:
  AnyTree tree_;
  FirstStep (*first_)(const void*, const ControllerStart&);
  NextStep (*next_)(const void*, const ControllerStep&);
  Tolerances (*tolerances_)(const void*);
  const Controller* (*inner_)(const void*) = nullptr;
  APSIS_FIELDS(Controller, tree_)
};

/// The steps of another controller, made to end where they must (Diffrax: ClipStepSizeController).
///
///   ClipStepSizeController{.controller = PIDController{.rtol = 1e-6, .atol = 1e-9}, .jump_ts = {1., 2.}}
struct ClipStepSizeController {
  Controller controller;  ///< says how long steps may be
  /// Where steps must end, in any order: the state there is that of a step's end, not of dense output. A step
  /// that would end within rounding (8 ULP) before one ends there. Those not between t0 and t1 do not count.
  Times step_ts = {};
  /// Where the vector field, or its derivatives, jump: steps end at the last number before and begin at the
  /// next one behind, and what the solver knows of slopes is forgotten.
  Times jump_ts = {};
  /// Where steps were rejected, later ones end, too: up to so many at a time are remembered, 0 or more; where
  /// there are more the solve fails. For adaptive steps along Brownian motion, whose law would be changed a
  /// little by steps that were rejected for what it did (Foster, Jelinčič, On the convergence of adaptive
  /// approximations for stochastic differential equations, 2024).
  std::int64_t store_rejected_steps = 0;
  FirstStep first_step(const ControllerStart& start) const;
  NextStep next_step(const ControllerStep& step) const;
};

}  // namespace apsis
