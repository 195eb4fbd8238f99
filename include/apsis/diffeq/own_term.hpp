#pragma once

// Terms of your own: a type with these members stands wherever a ControlTerm does, alone or in a MultiTerm.
//
//   struct Pond {                                            // dy = area · d rain - drying · y · d sun
//     Array area, drying;
//     Weather vector_field(const Array& t, const Array& y) const { return {area, drying * y}; }
//     Weather control(const Array& t0, const Array& t1) const { return weather(t1) - weather(t0); }
//     Array product(const Weather& field, const Weather& control) const {
//       return field.rain * control.rain - field.sun * control.sun;
//     }
//   };

#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "apsis/diffeq/control_term.hpp"
#include "apsis/diffeq/langevin_terms.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/transform/eval_shape.hpp"

namespace apsis {

namespace detail {

/// The terms that have a control and are the library's.
template <class T>
inline constexpr bool is_given_control_term = false;
template <class F, class P>
inline constexpr bool is_given_control_term<ControlTerm<F, P>> = true;
template <class G, class U, class P>
inline constexpr bool is_given_control_term<UnderdampedLangevinDiffusionTerm<G, U, P>> = true;

/// Whether the control is a member function, or a path.
template <class T>
concept ControlsByFunction = requires(const T& term, const Array& t) {
  term.control(t, t);
};
template <class T>
concept ControlsByPath = requires(const T& term, const Array& t) {
  term.control.evaluate(t, t);
};
template <class T>
inline constexpr bool is_own_term = !is_given_control_term<T> && (ControlsByFunction<T> || ControlsByPath<T>);
/// Whether it looks like one, whatever it lacks.
template <class T>
inline constexpr bool resembles_own_term = requires {
  &T::product;
}
|| requires { &T::vector_field; }
|| is_own_term<T>;

/// What the control does from t0 to t1.
template <class T>
requires is_own_term<T>
auto own_control(const T& term, const Array& t0, const Array& t1) {
  if constexpr (ControlsByPath<T>)
    return term.control.evaluate(t0, t1);
  else
    return term.control(t0, t1);
}
template <class T>
using own_control_t = argument_t<decltype(own_control(std::declval<const T&>(), Array(), Array()))>;
template <class T, class Y>
using own_field_t =
    argument_t<std::decay_t<decltype(std::declval<const T&>().vector_field(Array(), std::declval<Y>()))>>;

template <class T, class Y>
concept OwnVectorField = requires(const T& term, const Array& t, const Y& y) {
  term.vector_field(t, y);
};
template <class T, class Y>
concept OwnProduct = requires(const T& term, const own_field_t<T, Y>& field,
                              const own_control_t<T>& control) {
  Y(term.product(field, control));
};

/// Throws if the control is none that solvers can scale.
void check_own_control(std::span<const Array> control);
/// Throws if the product is not like the state.
void check_own_product(std::span<const Array> y, std::span<const Array> product);

template <class T, class State>
ControlField own_field(const T& term, const State& like, const Array& t, std::span<const Array> y) {
  const auto field =
      std::make_shared<const own_field_t<T, State>>(term.vector_field(t, with_leaves(like, y)));
  ControlField out;
  collect_leaves(*field, out.leaves);
  out.like = field;
  return out;
}
/// The structure of its control, for times of this dtype.
template <class T>
std::shared_ptr<const void> own_control_like(const T& term, Dtype dtype) {
  const auto control = [&term](const Array& at) -> own_control_t<T> { return own_control(term, at, at); };
  return std::make_shared<const own_control_t<T>>(eval_shape(control, astype(Array(0.), dtype)));
}
template <class T, class State>
std::vector<Array> own_product(const T& term, const State&, const ControlField& field,
                               std::span<const Array> y, const void* control_like,
                               std::span<const Array> control) {
  const auto& f = *static_cast<const own_field_t<T, State>*>(field.like.get());
  const auto& c = *static_cast<const own_control_t<T>*>(control_like);
  const State product(term.product(with_leaves(f, field.leaves), with_leaves(c, control)));
  std::vector<Array> leaves;
  collect_leaves(product, leaves);
  check_own_product(y, leaves);
  return leaves;
}

/// product(vector field, dX/dt) as the slope of an ordinary equation.
template <class T>
struct AlongOwnPath {
  T term;
  template <class State>
  State operator()(const Array& t, const State& y) const {
    return State(term.product(term.vector_field(t, y), term.control.derivative(t)));
  }
};

}  // namespace detail

/// A term of your own, for states of type Y: it adds product(vector_field(t, y), dX) to dy. Its members are
/// - `vector_field(t, y)`, which returns any tree of arrays: whatever the product needs;
/// - `control(t0, t1)`, what the control X does from t0 to t1 (t1 may lie before t0), a tree of floating
///   arrays; or a path as data member `control`, of any type with `evaluate(t0, t1)`, such as Brownian
///   motion;
/// - `product(field, control)`, which returns a tree like the state, of its shapes and dtypes. It must be
///   linear in the control: solvers scale and add controls. Fields are not added;
/// - `calculus` may be one of the members, and says what an equation along Brownian motion means.
/// All that takes a ControlTerm takes such a term, by the same rules of noise; a solve throws before its
/// first step where the product is not like the state, or the solver takes no control. Arrays among its
/// members are parameters of the solve, as those of vector fields are. (After AbstractTerm in Diffrax, of P.
/// Kidger, On Neural Differential Equations, 2021, whose `contr` is `control`, and `prod` `product`.)
template <class T, class Y>
concept OwnTerm = detail::is_own_term<T> && detail::OwnVectorField<T, Y> && detail::OwnProduct<T, Y>;

}  // namespace apsis
