#pragma once

// Terms with a path: g(t, y) · dX.

#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "apsis/diffeq/path.hpp"
#include "apsis/solve/linear_operator.hpp"
#include "apsis/transform/function.hpp"

namespace apsis {

/// What a vector field of a ControlTerm returns where each element of the state has a control of its own: a
/// tree like the state, to be multiplied by the control element by element (diagonal noise).
template <class Y>
struct Diagonal {
  Y value;
};
template <class Y>
Diagonal(Y) -> Diagonal<Y>;

/// vector_field(t, y) · dX, where X is a path: Brownian motion, or any type with `evaluate(t0, t1)`, its
/// increment. The vector field returns
/// - a tree like the state, whose leaves have the shape of the state's with that of the control's behind it,
///   over which they are summed: a control of scalars multiplies. The control is a tree of as many leaves, or
///   one array for all of them;
/// - or Diagonal{tree like the state}, with a control of the same shapes;
/// - or a LinearOperator, for vectors as state and control.
template <class F, class P>
struct ControlTerm {
  F vector_field;
  P control;
  /// What the equation means; a solver that converges to something else is refused. Otherwise it means what
  /// the solver says.
  Calculus calculus = Calculus::Any;
};
template <class F, class P>
ControlTerm(F, P) -> ControlTerm<F, P>;
template <class F, class P>
ControlTerm(F, P, Calculus) -> ControlTerm<F, P>;

/// A vector field of a ControlTerm at some time and state, on leaves.
struct ControlField {
  std::vector<Array> leaves;
  bool diagonal = false;  ///< each element of the control acts on its own
  std::size_t first = 0;  ///< the leaf of the state at which it begins; it leaves those before
  std::shared_ptr<const void> like = {};  ///< the structure of what was returned
};
/// Values like those of the controls of an equation: leaves for each ControlTerm.
using Controls = std::vector<std::vector<Array>>;
/// What all controls do in a step; `h` and `k` are Lévy areas of Brownian motion, empty where there are none.
struct ControlIncrement {
  Controls w, h, k;
};

namespace detail {
/// What solvers ask of ControlTerms, and of terms of the user's, by their number among all terms.
struct FlatControls {
  std::vector<std::size_t> terms;  // which terms they are
  ControlField (*field)(const void* context, std::size_t term, const Array& t, std::span<const Array> y);
  FlatIncrement (*increment)(const void* context, std::size_t term, const Array& t0, const Array& t1,
                             std::vector<Array>& memory);
  std::vector<Array> (*product)(const void* context, std::size_t term, const ControlField& field,
                                std::span<const Array> y, std::span<const Array> control);
  std::vector<Array> (*start)(const void* context, std::size_t term);
  std::pair<PathTraits, Calculus> (*traits)(const void* context, std::size_t term);
};
/// What paths remember in a solve, for each ControlTerm; see BrownianPath.
using PathMemory = std::vector<std::vector<Array>>;

template <class T>
inline constexpr bool is_control_term = false;
template <class F, ControlPath P>
inline constexpr bool is_control_term<ControlTerm<F, P>> = true;
/// What a vector field of a ControlTerm may return.
template <class G, class State>
inline constexpr bool is_control_field =
    std::is_same_v<G, Diagonal<State>> || std::is_same_v<G, LinearOperator> ||
    std::is_constructible_v<State, G>;
/// A vector field of the second half of a state: the first half is left as it is.
struct SecondHalf {
  std::vector<Array> leaves;
};

template <class F, class State>
ControlField control_field(const F& field, const State& like, const Array& t, std::span<const Array> y) {
  using G = std::decay_t<std::invoke_result_t<const F&, Array, State>>;
  ControlField out;
  if constexpr (std::is_same_v<G, Diagonal<State>>) {
    collect_leaves(field(t, with_leaves(like, y)).value, out.leaves);
    out.diagonal = true;
  } else if constexpr (std::is_same_v<G, LinearOperator>) {
    const auto op = std::make_shared<const LinearOperator>(field(t, with_leaves(like, y)));
    collect_leaves(*op, out.leaves);
    out.diagonal = op->is_diagonal();
    out.like = op;
  } else if constexpr (std::is_same_v<G, SecondHalf>) {
    out.leaves = field(t, with_leaves(like, y)).leaves;
    out.diagonal = true;
    out.first = y.size() - out.leaves.size();
  } else {
    collect_leaves(State(field(t, with_leaves(like, y))), out.leaves);
  }
  return out;
}
template <class P>
FlatIncrement path_increment(const P& path, const Array& t0, const Array& t1, std::vector<Array>& memory) {
  if constexpr (BrownianPath<P>) {
    return path.flat_increment(t0, t1, memory);
  } else {
    FlatIncrement out;
    collect_leaves(path.evaluate(t0, t1), out.w);
    return out;
  }
}

/// field · control, like y. Throws where shapes or dtypes do not fit.
std::vector<Array> control_product(const ControlField& field, std::span<const Array> y,
                                   std::span<const Array> control);

}  // namespace detail
}  // namespace apsis
