#pragma once

// The terms of an equation: what diffeqsolve takes first. How solvers see them: slopes.hpp.
//
//   ODETerm{f}                                   y' = f(t, y)
//   MultiTerm{ODETerm{f}, ODETerm{g}}            y' = f(t, y) + g(t, y)
//   std::pair{ODETerm{f}, ODETerm{g}}            q' = f(t, p), p' = g(t, q) for the state std::pair{q, p}
//   DelayTerm{f, history, {1.}}                  y' = f(t, y, past), past(t - 1.) the state at t - 1
//   MultiTerm{ODETerm{f}, ControlTerm{g, path}}  dy = f(t, y) dt + g(t, y) dX, as with Brownian motion X
//   Pond{…}                                      a term of your own: own_term.hpp

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "apsis/diffeq/delay_term.hpp"
#include "apsis/diffeq/langevin_terms.hpp"
#include "apsis/diffeq/own_term.hpp"
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
inline constexpr bool has_control = is_control_term<T> || is_own_term<T>;
template <class T>
inline constexpr bool is_single_term = is_ode_term<T> || has_control<T> || is_langevin_drift<T>;
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
template <class T, class State>
requires is_own_term<T> std::vector<Array> term_slope(const T&, const State&, std::size_t, const Array&,
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

/// Calls `visit` with term `i`, if it has a control.
template <class T, class Visit>
void visit_control(const T& term, std::size_t, const Visit& visit) {
  if constexpr (has_control<T>) visit(term);
}
template <class... T, class Visit>
void visit_control(const MultiTerm<T...>& term, std::size_t i, const Visit& visit) {
  std::size_t k = 0;
  std::apply([&](const auto&... one) { ((k++ == i ? visit_control(one, 0, visit) : void()), ...); },
             term.terms);
}
template <class T>
void add_controls(const T*, std::size_t i, std::vector<std::size_t>& found) {
  if (has_control<T>) found.push_back(i);
}
template <class... T>
void add_controls(const MultiTerm<T...>*, std::size_t i, std::vector<std::size_t>& found) {
  (add_controls(static_cast<const T*>(nullptr), i++, found), ...);
}

/// Whether the control of a term is Brownian motion.
template <class T>
constexpr bool is_brownian_term() {
  if constexpr (ControlsByPath<T>)
    return BrownianPath<std::decay_t<decltype(std::declval<const T&>().control)>>;
  else
    return false;
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
    visit_control(of.term, i, [&]<class T>(const T& term) {
      const auto field = [&term](const Array& at, const State& state) {
        return term.vector_field(at, state);
      };
      if constexpr (is_own_term<T>)
        out = own_field(term, of.like, t, y);
      else
        out = control_field(field, of.like, t, y);
    });
    return out;
  };
  c.increment = [](const void* self, std::size_t i, const Array& t0, const Array& t1,
                   std::vector<Array>& memory) {
    FlatIncrement out;
    visit_control(static_cast<const Of*>(self)->term, i, [&]<class T>(const T& term) {
      if constexpr (ControlsByPath<T>)
        out = path_increment(term.control, t0, t1, memory);
      else
        collect_leaves(own_control_t<T>(term.control(t0, t1)), out.w);
      if constexpr (is_own_term<T>) check_own_control(out.w);
    });
    return out;
  };
  c.product = [](const void* self, std::size_t i, const ControlField& field, std::span<const Array> y,
                 std::span<const Array> control) {
    const Of& of = *static_cast<const Of*>(self);
    std::vector<Array> out;
    visit_control(of.term, i, [&]<class T>(const T& term) {
      if constexpr (is_own_term<T>)
        out = own_product(term, of.like, field, y, of.control_like(i, term, control), control);
      else
        out = control_product(field, y, control);
    });
    return out;
  };
  c.start = [](const void* self, std::size_t i) {
    std::vector<Array> memory;
    visit_control(static_cast<const Of*>(self)->term, i, [&]<class T>(const T& term) {
      if constexpr (is_brownian_term<T>()) memory = term.control.start_memory();
    });
    return memory;
  };
  c.traits = [](const void* self, std::size_t i) {
    std::pair<PathTraits, Calculus> out;
    visit_control(static_cast<const Of*>(self)->term, i, [&]<class T>(const T& term) {
      if constexpr (is_brownian_term<T>()) out.first = term.control.path_traits();
      if constexpr (requires { term.calculus; }) out.second = term.calculus;
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
    std::vector<Array> leaves;
    collect_leaves(State(static_cast<const Of*>(self)->term.history(t)), leaves);
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
  /// What is known of the structure of the controls of own terms, by their number.
  mutable std::vector<std::shared_ptr<const void>> control_likes = {};

  /// The structure of the control of own term `i`: asked for once.
  template <class T>
  const void* control_like(std::size_t i, const T& term, std::span<const Array> control) const {
    control_likes.resize(TermShape<Term>::count);
    if (!control_likes[i]) control_likes[i] = own_control_like(term, control[0].dtype());
    return control_likes[i].get();
  }
  FlatTerms flat(const LeafNames& names) const {
    std::size_t first = 0;
    if constexpr (is_pair<State>) first = count_leaves(like.first);
    const auto slope = [](const void* self, std::size_t i, const Array& t, std::span<const Array> y) {
      const TermsOf& of = *static_cast<const TermsOf*>(self);
      return term_slope(of.term, of.like, i, t, y);
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
/// The same of a term of your own: y' = product(vector_field(t, y), dX/dt).
template <class T>
requires detail::is_own_term<T> && requires(const T& term, const Array& t) { term.control.derivative(t); }
ODETerm<detail::AlongOwnPath<T>> to_ode(const T& term) { return {{term}}; }

}  // namespace apsis
