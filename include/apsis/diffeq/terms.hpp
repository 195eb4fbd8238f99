#pragma once

// The terms of an equation: what diffeqsolve takes first. How solvers see them: slopes.hpp.
//
//   ODETerm{f}                                   y' = f(t, y)
//   MultiTerm{ODETerm{f}, ODETerm{g}}            y' = f(t, y) + g(t, y)
//   std::pair{ODETerm{f}, ODETerm{g}}            q' = f(t, p), p' = g(t, q) for the state std::pair{q, p}
//   DelayTerm{f, history, {1.}}                  y' = f(t, y, past), past(t - 1.) the state at t - 1
//   MultiTerm{ODETerm{f}, ControlTerm{g, path}}  dy = f(t, y) dt + g(t, y) dX, as with Brownian motion X

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "apsis/diffeq/delay_term.hpp"
#include "apsis/diffeq/langevin_terms.hpp"
#include "apsis/diffeq/slopes.hpp"
#include "apsis/transform/function.hpp"
#include "apsis/tree/fields.hpp"

namespace apsis {

/// y' = vector_field(t, y). The state is any tree of floating arrays; the slope has its type, shapes and
/// dtypes. Fields of the vector field are leaves: differentiable, mappable parameters.
template <class F>
struct ODETerm {
  F vector_field;
};
template <class F>
ODETerm(F) -> ODETerm<F>;

/// The sum of its terms. Most solvers see the sum; those that split (KenCarp3 and its like) take two terms,
/// of which the second is the stiff one: it is integrated implicitly, the first explicitly.
template <class... T>
class MultiTerm {
 public:
  std::tuple<T...> terms;
  explicit MultiTerm(T... t) : terms(static_cast<T&&>(t)...) {}

 private:
  APSIS_FIELDS(MultiTerm, terms)
};
template <class... T>
MultiTerm(T...) -> MultiTerm<T...>;

namespace detail {

template <class T>
inline constexpr bool is_ode_term = false;
template <class F>
inline constexpr bool is_ode_term<ODETerm<F>> = true;
template <class T>
inline constexpr bool is_single_term = is_ode_term<T> || is_control_term<T> || is_langevin_drift<T>;
template <class T>
inline constexpr bool is_delay_term = false;
template <class F, class H>
inline constexpr bool is_delay_term<DelayTerm<F, H>> = true;
/// Whether it is a sum with a DelayTerm in it.
template <class T>
inline constexpr bool sums_delays = false;
template <class... T>
inline constexpr bool sums_delays<MultiTerm<T...>> = (is_delay_term<T> || ...);
template <class T>
inline constexpr bool is_langevin = false;
template <class A, class B>
inline constexpr bool is_langevin<MultiTerm<A, B>> = is_langevin_drift<A>&& is_langevin_diffusion<B>;

/// What a term is: whether it is one, how many there are, and the states it fits.
template <class T>
struct TermShape {
  static constexpr bool is_term = is_single_term<T>;
  static constexpr std::size_t count = 1;
  static constexpr TermStructure structure = TermStructure::Whole;
};
template <class F, class H>
struct TermShape<DelayTerm<F, H>> {
  static constexpr bool is_term = true;
  static constexpr std::size_t count = 1;
  static constexpr TermStructure structure = TermStructure::Whole;
};
template <class... T>
struct TermShape<MultiTerm<T...>> {
  static constexpr bool is_term = sizeof...(T) > 0 && (is_single_term<T> && ...);
  static constexpr std::size_t count = sizeof...(T);
  static constexpr TermStructure structure = TermStructure::Whole;
};
template <class A, class B>
struct TermShape<std::pair<A, B>> {
  static constexpr bool is_term = is_ode_term<A> && is_ode_term<B>;
  static constexpr std::size_t count = 2;
  static constexpr TermStructure structure = TermStructure::Partitioned;
};
template <class T>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;

/// Which leaves of a tree are there.
template <class T>
std::vector<bool> present_leaves(const T& tree) {
  std::vector<bool> present;
  for_each_leaf(tree, [&present](const Array& a) { present.push_back(!a.is_empty()); });
  return present;
}
template <class T>
std::size_t count_leaves(const T& tree) {
  std::size_t count = 0;
  for_each_leaf(tree, [&count](const Array& a) { count += !a.is_empty(); });
  return count;
}
/// Throws if a slope has not the leaves of its state.
void check_slope(const std::vector<bool>& state, const std::vector<bool>& slope);

/// What is wrong with a vector field that takes a time and `In`, and returns `Out`.
enum class FieldFault : std::uint8_t { None, Arguments, Result, Control, Langevin, Delay };
template <class F, class In, class Out>
constexpr FieldFault field_fault() {
  if constexpr (!is_callable_with<F, Array, In>)
    return FieldFault::Arguments;
  else
    return returns_into<Out, F, Array, In> ? FieldFault::None : FieldFault::Result;
}
/// The first fault of the vector fields of a term with such a state.
template <class F, class State>
constexpr FieldFault fault_of(const ODETerm<F>*, const State*) {
  return field_fault<F, State, State>();
}
template <class F, class H, class State>
constexpr FieldFault fault_of(const DelayTerm<F, H>*, const State*) {
  if constexpr (!is_callable_with<F, Array, State, Past<State>> || !is_callable_with<H, Array>)
    return FieldFault::Delay;
  else
    return returns_into<State, F, Array, State, Past<State>> && returns_into<State, H, Array>
               ? FieldFault::None
               : FieldFault::Delay;
}
template <class F, class P, class State>
constexpr FieldFault fault_of(const ControlTerm<F, P>*, const State*) {
  if constexpr (!is_callable_with<F, Array, State>)
    return FieldFault::Arguments;
  else
    return is_control_field<std::decay_t<std::invoke_result_t<const F&, Array, State>>, State>
               ? FieldFault::None
               : FieldFault::Control;
}
template <class G, class U, class F, class State>
constexpr FieldFault fault_of(const UnderdampedLangevinDriftTerm<G, U, F>*, const State*) {
  return FieldFault::Langevin;
}
template <class G, class U, class F, class X>
constexpr FieldFault fault_of(const UnderdampedLangevinDriftTerm<G, U, F>*, const std::pair<X, X>*) {
  return returns_into<X, F, X> ? FieldFault::None : FieldFault::Langevin;
}
template <class G, class U, class P, class State>
constexpr FieldFault fault_of(const UnderdampedLangevinDiffusionTerm<G, U, P>*, const State*) {
  return FieldFault::Langevin;
}
template <class G, class U, class P, class X>
constexpr FieldFault fault_of(const UnderdampedLangevinDiffusionTerm<G, U, P>*, const std::pair<X, X>*) {
  return FieldFault::None;
}
template <class... T, class State>
constexpr FieldFault fault_of(const MultiTerm<T...>*, const State* state) {
  FieldFault fault = FieldFault::None;
  ((fault = fault == FieldFault::None ? fault_of(static_cast<const T*>(nullptr), state) : fault), ...);
  return fault;
}
template <class A, class B, class Q, class P>
constexpr FieldFault fault_of(const std::pair<ODETerm<A>, ODETerm<B>>*, const std::pair<Q, P>*) {
  constexpr FieldFault first = field_fault<A, P, Q>();
  return first == FieldFault::None ? field_fault<B, Q, P>() : first;
}
template <class Term, class State>
inline constexpr FieldFault fields_fault = fault_of(static_cast<const Term*>(nullptr),
                                                    static_cast<const State*>(nullptr));

/// A vector field on leaves: `in` is like what it takes, `out` like what it returns.
template <class F, class In, class Out>
std::vector<Array> field_slope(const F& field, const In& in, const Out& out, const Array& t,
                               std::span<const Array> y) {
  Out slope(field(t, with_leaves(in, y)));
  check_slope(present_leaves(out), present_leaves(slope));
  std::vector<Array> leaves;
  collect_leaves(slope, leaves);
  return leaves;
}
template <class F, class State>
std::vector<Array> term_slope(const ODETerm<F>& term, const State& like, std::size_t, const Array& t,
                              std::span<const Array> y) {
  return field_slope(term.vector_field, like, like, t, y);
}
/// Its slope is that of FlatDelays.
template <class F, class H, class State>
std::vector<Array> term_slope(const DelayTerm<F, H>&, const State&, std::size_t, const Array&,
                              std::span<const Array>) {
  return {};
}
/// Controls have no slope.
template <class F, class P, class State>
std::vector<Array> term_slope(const ControlTerm<F, P>&, const State&, std::size_t, const Array&,
                              std::span<const Array>) {
  return {};
}
template <class G, class U, class F, class State>
std::vector<Array> term_slope(const UnderdampedLangevinDriftTerm<G, U, F>& term, const State& like,
                              std::size_t, const Array& t, std::span<const Array> y) {
  const auto field = [&term](const Array& at, const State& x_and_v) {
    return term.vector_field(at, x_and_v);
  };
  return field_slope(field, like, like, t, y);
}
template <class G, class U, class P, class State>
std::vector<Array> term_slope(const UnderdampedLangevinDiffusionTerm<G, U, P>&, const State&, std::size_t,
                              const Array&, std::span<const Array>) {
  return {};
}
template <class... T, class State>
std::vector<Array> term_slope(const MultiTerm<T...>& term, const State& like, std::size_t i, const Array& t,
                              std::span<const Array> y) {
  std::vector<Array> leaves;
  std::size_t k = 0;
  std::apply(
      [&](const auto&... one) { ((k++ == i ? void(leaves = term_slope(one, like, 0, t, y)) : void()), ...); },
      term.terms);
  return leaves;
}
template <class A, class B, class Q, class P>
std::vector<Array> term_slope(const std::pair<A, B>& terms, const std::pair<Q, P>& like, std::size_t i,
                              const Array& t, std::span<const Array> y) {
  return i == 0 ? field_slope(terms.first.vector_field, like.second, like.first, t, y)
                : field_slope(terms.second.vector_field, like.first, like.second, t, y);
}

/// Calls `visit` with term `i`, if it is a ControlTerm.
template <class T, class Visit>
void visit_control(const T& term, std::size_t, const Visit& visit) {
  if constexpr (is_control_term<T>) visit(term);
}
template <class... T, class Visit>
void visit_control(const MultiTerm<T...>& term, std::size_t i, const Visit& visit) {
  std::size_t k = 0;
  std::apply([&](const auto&... one) { ((k++ == i ? visit_control(one, 0, visit) : void()), ...); },
             term.terms);
}
template <class T>
void add_controls(const T*, std::size_t i, std::vector<std::size_t>& found) {
  if (is_control_term<T>) found.push_back(i);
}
template <class... T>
void add_controls(const MultiTerm<T...>*, std::size_t i, std::vector<std::size_t>& found) {
  (add_controls(static_cast<const T*>(nullptr), i++, found), ...);
}

/// The functions of FlatControls; `Of` is a TermsOf.
template <class Of>
FlatControls flat_controls() {
  FlatControls c;
  using Term = std::remove_cvref_t<decltype(std::declval<const Of&>().term)>;
  add_controls(static_cast<const Term*>(nullptr), 0, c.terms);
  c.field = [](const void* self, std::size_t i, const Array& t, std::span<const Array> y) {
    const Of& of = *static_cast<const Of*>(self);
    ControlField out;
    using State = std::remove_cvref_t<decltype(of.like)>;
    visit_control(of.term, i, [&](const auto& term) {
      const auto field = [&term](const Array& at, const State& state) {
        return term.vector_field(at, state);
      };
      out = control_field(field, of.like, t, y);
    });
    return out;
  };
  c.increment = [](const void* self, std::size_t i, const Array& t0, const Array& t1,
                   std::vector<Array>& memory) {
    FlatIncrement out;
    visit_control(static_cast<const Of*>(self)->term, i,
                  [&](const auto& term) { out = path_increment(term.control, t0, t1, memory); });
    return out;
  };
  c.start = [](const void* self, std::size_t i) {
    std::vector<Array> memory;
    visit_control(static_cast<const Of*>(self)->term, i, [&](const auto& term) {
      if constexpr (BrownianPath<std::decay_t<decltype(term.control)>>) memory = term.control.start_memory();
    });
    return memory;
  };
  c.traits = [](const void* self, std::size_t i) {
    std::pair<PathTraits, Calculus> out;
    visit_control(static_cast<const Of*>(self)->term, i, [&](const auto& term) {
      if constexpr (BrownianPath<std::decay_t<decltype(term.control)>>)
        out.first = term.control.path_traits();
      out.second = term.calculus;
    });
    return out;
  };
  return c;
}

/// The functions of FlatDelays; `Of` is a TermsOf.
template <class Of>
FlatDelays flat_delays(const Of& of) {
  FlatDelays d{nullptr, nullptr, of.term.delays};
  using State = std::remove_cvref_t<decltype(of.like)>;
  d.slope = [](const void* self, const Array& t, std::span<const Array> y, const PastLookup& past) {
    const Of& of = *static_cast<const Of*>(self);
    const auto field = [&](const Array& at, const State& state) {
      return State(of.term.vector_field(at, state, Past<State>(past, at, of.like)));
    };
    return field_slope(field, of.like, of.like, t, y);
  };
  d.history = [](const void* self, const Array& t) {
    const auto& [term, like] = *static_cast<const Of*>(self);
    std::vector<Array> leaves;
    collect_leaves(State(term.history(t)), leaves);
    return leaves;
  };
  return d;
}

/// g(t, y) · dX/dt as the slope of an ordinary equation.
template <class F, class P>
struct AlongPath {
  F vector_field;
  P control;
  template <class State>
  State operator()(const Array& t, const State& y) const {
    std::vector<Array> state, rate;
    collect_leaves(y, state);
    collect_leaves(control.derivative(t), rate);
    return with_leaves(y, control_product(control_field(vector_field, y, t, state), state, rate));
  }
};

/// What the slopes of a solve are made of; points to both.
template <class Term, class State>
struct TermsOf {
  const Term& term;
  const State& like;
  FlatTerms flat(const LeafNames& names) const {
    std::size_t first = 0;
    if constexpr (is_pair<State>) first = count_leaves(like.first);
    const auto slope = [](const void* self, std::size_t i, const Array& t, std::span<const Array> y) {
      const auto& [term, like] = *static_cast<const TermsOf*>(self);
      return term_slope(term, like, i, t, y);
    };
    FlatTerms flat{this, slope, TermShape<Term>::count, first, TermShape<Term>::structure, names};
    if constexpr (TermShape<Term>::structure == TermStructure::Whole)
      flat.controls = flat_controls<TermsOf>();
    if constexpr (is_langevin<Term>) flat.langevin = flat_langevin<TermsOf>();
    if constexpr (is_delay_term<Term>) flat.delays = flat_delays(*this);
    return flat;
  }
};

}  // namespace detail

/// The term of an ordinary equation, y' = g(t, y) · dX/dt, of a path that has a member `derivative(t)`: for
/// solvers of any kind, with their order, as far as the path is smooth.
template <class F, class P>
requires requires(const P& path, const Array& t) { path.derivative(t); }
ODETerm<detail::AlongPath<F, P>> to_ode(const ControlTerm<F, P>& term) {
  return {{term.vector_field, term.control}};
}

}  // namespace apsis
