#pragma once

// Reverse mode.
//
//   auto slope = grad([](const Array& x) { return sum(x * x); });
//   Array g = slope(x);                                        // 2 x
//   auto [value, gradient] = value_and_grad(loss)(model, data);   // gradient is a Model
//   auto [out, pull] = vjp(f, x, y);                           // pull(cotangent) → tuple of cotangents

#include "apsis/transform/declare.hpp"
#include "apsis/tree/static_object.hpp"

namespace apsis {

namespace detail {

/// A linear program with its residuals; see linearize. A tree: the residuals are leaves, the program is
/// static, so that what vjp and linearize return may cross transformations.
class LinearProgram {
  APSIS_FIELDS(LinearProgram, residuals_, program_)

 public:
  LinearProgram() = default;
  LinearProgram(std::vector<Array> residuals, StaticObject program)
      : residuals_(static_cast<std::vector<Array>&&>(residuals)),
        program_(static_cast<StaticObject&&>(program)) {}
  /// One tangent an input (empty = zero) → one an output; the transpose likewise.
  std::vector<Array> push(std::span<const Array> tangents, const LeafNames& names = {}, Loc loc = {}) const;
  std::vector<Array> pull(std::span<const Array> cotangents, const LeafNames& names = {}, Loc loc = {}) const;

 private:
  std::vector<Array> residuals_;
  StaticObject program_;
};

struct LinearizedCall {
  std::vector<Array> outs;
  LinearProgram program;
};
/// `differentiate[i]` asks for input i; inputs that are not inexact are left out of it.
LinearizedCall linearize_call(const Callee& callee, std::span<const Array> leaves,
                              std::vector<bool> differentiate, Loc loc);

struct GradientCall {
  std::vector<Array> outs;
  std::vector<Array> gradients;  // one an input; empty where not asked for or not differentiable
};
/// Of a function whose first output is a real scalar; throws otherwise, naming the transformation.
GradientCall gradient_call(const Callee& callee, std::span<const Array> leaves,
                           std::vector<bool> differentiate, const char* name, Loc loc);

[[noreturn]] void fail_other_tree(const char* name, ConstTreeRef expected, ConstTreeRef given, Loc loc);
/// The leaves of `tree` that are `present` in what it must be like. Throws where its structure is another.
template <class T>
void collect_present(const char* name, const T& tree, const T& like, const std::vector<bool>& present,
                     std::vector<Array>& out, Loc loc) {
  std::size_t place = 0;
  for_each_leaf(tree, [&](const Array& a) {
    if (place < present.size() && present[place]) out.push_back(a);
    ++place;
  });
  if (place != present.size()) fail_other_tree(name, tree_ref(like), tree_ref(tree), loc);
}

/// Throws unless one of the leaves [begin, end), those of argument `number`, or of all arguments if it is -1,
/// can be differentiated by.
void check_floating(const LeafNames& names, std::span<const Array> leaves, std::size_t begin, std::size_t end,
                    int number, const char* transformation, Loc loc);
template <class Flat>
void check_floating(Flat& flat, const char* transformation, Loc loc) {
  check_floating(callee_of(flat).inputs, flat.leaves(), flat.begin(0), flat.leaves().size(), -1,
                 transformation, loc);
}

/// Marks the leaves of the arguments N…, by each of which the transformation differentiates.
template <std::size_t... N, class Flat>
std::vector<bool> mark_arguments(Flat& flat, const char* transformation, Loc loc) {
  std::vector<bool> marks(flat.leaves().size(), false);
  auto mark = [&](std::size_t i) {
    check_floating(callee_of(flat).inputs, flat.leaves(), flat.begin(i), flat.end(i), static_cast<int>(i),
                   transformation, loc);
    for (std::size_t l = flat.begin(i); l < flat.end(i); ++l) marks[l] = true;
  };
  (mark(N), ...);
  return marks;
}

template <std::size_t N, class Flat>
auto argument_like(const Flat& flat, std::span<const Array> values) {
  return with_leaves(std::get<N>(flat.arguments()),
                     values.subspan(flat.begin(N), flat.end(N) - flat.begin(N)));
}
/// One gradient as itself, several as a tuple.
template <std::size_t... N, class Flat>
auto arguments_like(const Flat& flat, std::span<const Array> values) {
  if constexpr (sizeof...(N) == 1)
    return (argument_like<N>(flat, values), ...);
  else
    return std::tuple(argument_like<N>(flat, values)...);
}

template <class R>
struct LossResult {
  static_assert(
      std::is_same_v<R, Array>,
      "grad needs a function that returns one scalar Array, or a pair of that and auxiliary results");
  static constexpr bool has_aux = false;
};
template <class V, class Aux>
struct LossResult<std::pair<V, Aux>> {
  static_assert(std::is_same_v<V, Array>,
                "grad needs the first of the returned pair to be the scalar Array to differentiate");
  static constexpr bool has_aux = true;
};
template <class V, class Aux>
struct LossResult<std::tuple<V, Aux>> : LossResult<std::pair<V, Aux>> {};

}  // namespace detail

/// What `value_and_grad` returns; see there.
template <class F, std::size_t... N>
struct ValueAndGrad : detail::Transformed<ValueAndGrad<F, N...>, F> {
  static constexpr std::size_t apsis_arguments = detail::count_from(N...);
  F f;
  Loc loc;
  const char* name;  ///< what errors call it
  explicit ValueAndGrad(F function, Loc l = {}, const char* name_ = "grad")
      : f(static_cast<F&&>(function)), loc(l), name(name_) {}

  template <class... A>
  auto call(const A&... args) const {
    detail::FlatFunction<F, A...> flat(f, args...);
    detail::GradientCall r = detail::gradient_call(detail::callee_of(flat), flat.leaves(),
                                                   detail::mark_arguments<N...>(flat, name, loc), name, loc);
    using Result = typename decltype(flat)::Result;
    if constexpr (detail::LossResult<Result>::has_aux) {
      auto [value, aux] = flat.rebuild(r.outs);
      return std::tuple(value, aux, detail::arguments_like<N...>(flat, r.gradients));
    } else {
      return std::pair(flat.rebuild(r.outs), detail::arguments_like<N...>(flat, r.gradients));
    }
  }
};

/// What `grad` returns; see there.
template <class F, std::size_t... N>
struct Grad : detail::Transformed<Grad<F, N...>, F> {
  static constexpr std::size_t apsis_arguments = detail::count_from(N...);
  ValueAndGrad<F, N...> inner;
  explicit Grad(F function, Loc loc = {}, const char* name = "grad")
      : inner(static_cast<F&&>(function), loc, name) {}

  template <class... A>
  auto call(const A&... args) const {
    auto result = inner.template call<A...>(args...);
    if constexpr (std::tuple_size_v<decltype(result)> == 3)
      return std::pair(std::get<2>(result), std::get<1>(result));
    else
      return result.second;
  }
};

// What transformations return is a tree if what it was made from is one.
template <detail::TreeFunction F, std::size_t... N>
struct tree_trait<ValueAndGrad<F, N...>> {
  static constexpr const char* names = "function";
  static constexpr decltype(auto) fields(auto& self, auto&& visit) { return visit(self.f); }
};
template <detail::TreeFunction F, std::size_t... N>
struct tree_trait<Grad<F, N...>> {
  static constexpr const char* names = "function";
  static constexpr decltype(auto) fields(auto& self, auto&& visit) { return visit(self.inner.f); }
};

/// The value of `f` and its gradient with respect to the arguments N… (the first, by default). `f` returns a
/// real scalar Array, or a pair of that and anything (auxiliary results). The call returns (value, gradient),
/// or (value, aux, gradient); a gradient has the type of its argument, its leaves empty where they are not
/// floating; several arguments give a tuple. Throws if the value is no real scalar, if nothing in an argument
/// is floating, or if an op on the way cannot be differentiated.
template <std::size_t... N, class F>
auto value_and_grad(F f, Loc loc = Loc::here()) {
  if constexpr (sizeof...(N) == 0)
    return ValueAndGrad<F, 0>(static_cast<F&&>(f), loc);
  else
    return ValueAndGrad<F, N...>(static_cast<F&&>(f), loc);
}

template <std::size_t... N, class... P>
requires detail::TakesPlace<P...>
auto value_and_grad(Array (*f)(P...), Loc loc = Loc::here()) {
  return value_and_grad<N...>(detail::library_function(f, loc), loc);
}

/// The gradient alone; (gradient, aux) if `f` returns auxiliary results. See value_and_grad.
template <std::size_t... N, class F>
auto grad(F f, Loc loc = Loc::here()) {
  if constexpr (sizeof...(N) == 0)
    return Grad<F, 0>(static_cast<F&&>(f), loc);
  else
    return Grad<F, N...>(static_cast<F&&>(f), loc);
}
template <std::size_t... N, class... P>
requires detail::TakesPlace<P...>
auto grad(Array (*f)(P...), Loc loc = Loc::here()) {
  return grad<N...>(detail::library_function(f, loc), loc);
}

APSIS_REFUSE_ARGUMENTS(value_and_grad, Loc)
APSIS_REFUSE_ARGUMENTS(grad, Loc)

/// The pull-back of `vjp`: maps a cotangent of the result to cotangents of all arguments, a tuple. May be
/// called again.
template <class Result, class... A>
struct PullBack {
  detail::LinearProgram program;
  Result result;  ///< structure only: leaves are empty
  std::vector<bool> present;
  std::tuple<A...> arguments;  ///< structure only
  std::vector<bool> arguments_present;
  std::size_t first = 0;  ///< leaves of the callable itself come before those of the arguments

  /// Throws where the cotangent is another tree than the result, or its arrays have other shapes or dtypes.
  std::tuple<A...> operator()(const Result& cotangent, Loc loc = Loc::here()) const {
    std::vector<Array> cts;
    detail::collect_present("vjp", cotangent, result, present, cts, loc);
    const detail::LeafNames names{this, [](const void* self, std::size_t i) {
                                    auto& p = *static_cast<const PullBack*>(self);
                                    detail::NamedTree tree{tree_ref(p.result), "result"};
                                    return detail::path_among({&tree, 1}, i, &p.present);
                                  }};
    std::vector<Array> found = program.pull(cts, names, loc);
    std::tuple<A...> out = arguments;
    std::size_t next = first, given = 0;
    for_each_leaf(out, [&](Array& a) {
      if (arguments_present[given++]) a = found[next++];
    });
    return out;
  }
};

namespace detail {
template <class F, class... Args>
auto vjp_at(Loc loc, const F& f, const Args&... args) {
  return [loc](const F& fn, const argument_t<Args>&... a) {
    using Flat = FlatFunction<F, argument_t<Args>...>;
    Flat flat(fn, a...);
    check_floating(flat, "vjp", loc);
    LinearizedCall r =
        linearize_call(callee_of(flat), flat.leaves(), std::vector<bool>(flat.leaves().size(), true), loc);
    PullBack<typename Flat::Result, argument_t<Args>...> pull{
        r.program, flat.prototype(), flat.present(), flat.arguments(), {}, flat.begin(0)};
    pull.arguments_present = take_structure(pull.arguments);
    return std::pair(flat.rebuild(r.outs), pull);
  }(f, args...);
}
}  // namespace detail

/// `vjp(f, args…)`: f(args…) and its pull-back there. Empty leaves in a cotangent are zero. Throws if nothing
/// in the arguments is floating.
APSIS_TRANSFORM_CALL(vjp)
template <class F, class... Args>
requires detail::RefusedArguments<F, Args...>
auto vjp(const F&, const Args&...) {
  detail::refuse_call<F, detail::argument_t<Args>...>();
  return std::pair<Array, Array>();
}

}  // namespace apsis
