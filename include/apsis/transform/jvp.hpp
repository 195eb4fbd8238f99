#pragma once

// Forward mode.
//
//   auto [y, dy] = jvp(f, x, dx);                        // one argument
//   auto [z, dz] = jvp(f, std::tuple{x, y}, std::tuple{dx, dy});
//   auto [out, push] = linearize(f, x);                  // push(dx) as often as you like

#include "apsis/transform/grad.hpp"

namespace apsis {

namespace detail {

struct JvpCall {
  std::vector<Array> outs, tangents;
};
/// Throws where a tangent differs from its primal in shape or dtype.
JvpCall jvp_call(const Callee& callee, std::span<const Array> leaves, std::span<const Array> tangents,
                 Loc loc);

/// Tangents, one a non-empty leaf of the primals.
template <class T>
void collect_tangents(const T& primal, const T& tangent, std::vector<Array>& out) {
  std::vector<Array> all;
  for_each_leaf(tangent, [&](const Array& a) { all.push_back(a); });
  std::size_t place = 0;
  for_each_leaf(primal, [&](const Array& a) {
    const Array& t = place < all.size() ? all[place] : Array();
    if (!a.is_empty()) out.push_back(t);
    ++place;
  });
}

inline bool any_tangent(std::span<const Array> tangents, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end && i < tangents.size(); ++i)
    if (!tangents[i].is_empty()) return true;
  return false;
}

template <class F, class... A>
auto jvp_of(const F& f, const std::tuple<A...>& primals, const std::tuple<A...>& tangents, Loc loc) {
  return std::apply(
      [&](const A&... args) {
        FlatFunction<F, A...> flat(f, args...);
        check_floating(flat, "jvp", loc);
        std::vector<Array> ts(flat.begin(0));
        collect_tangents(primals, tangents, ts);
        for (std::size_t i = 0; i < sizeof...(A); ++i)
          if (any_tangent(ts, flat.begin(i), flat.end(i)))
            check_floating(callee_of(flat).inputs, flat.leaves(), flat.begin(i), flat.end(i),
                           static_cast<int>(i), "jvp", loc);
        JvpCall r = jvp_call(callee_of(flat), flat.leaves(), ts, loc);
        return std::pair(flat.rebuild(r.outs), flat.rebuild(r.tangents));
      },
      primals);
}

}  // namespace detail

/// f(primals…) and the tangent of the result along `tangents`, both of the result's type. Empty leaves of a
/// tangent are zero; tangents of results that do not depend on the inputs are zeros, those of integer results
/// are empty. Throws where a tangent has another shape or dtype than its primal, or is given for an argument
/// in which nothing is floating.
template <class F, class... A>
requires(!detail::RefusedCall<F, A...>) auto jvp(const F& f, const std::tuple<A...>& primals,
                                                 const std::tuple<A...>& tangents, Loc loc = Loc::here()) {
  return detail::jvp_of(f, primals, tangents, loc);
}
/// For functions of one argument.
template <class F, class A>
requires(!detail::RefusedCall<F, detail::argument_t<A>>) auto jvp(const F& f, const A& primal,
                                                                  const detail::argument_t<A>& tangent,
                                                                  Loc loc = Loc::here()) {
  using T = std::tuple<detail::argument_t<A>>;
  return detail::jvp_of(f, T(primal), T(tangent), loc);
}
template <class F, class... A>
requires detail::RefusedCall<F, A...>
auto jvp(const F&, const std::tuple<A...>&, const std::tuple<A...>&) {
  detail::refuse_call<F, A...>();
  return std::pair<Array, Array>();
}
template <class F, class A>
requires detail::RefusedCall<F, detail::argument_t<A>>
auto jvp(const F&, const A&, const detail::argument_t<A>&) {
  detail::refuse_call<F, detail::argument_t<A>>();
  return std::pair<Array, Array>();
}
template <class... P, class A, class T>
requires detail::TakesPlace<P...>
auto jvp(Array (*f)(P...), const A& primals, const T& tangents, Loc loc = Loc::here()) {
  return jvp(detail::library_function(f, loc), primals, tangents, loc);
}

/// The push-forward of `linearize`: maps tangents of the arguments to the tangent of the result. May be
/// called again.
template <class Result, class... A>
struct PushForward {
  detail::LinearProgram program;
  Result result;
  std::vector<bool> present;
  std::tuple<A...> arguments;  ///< structure only
  std::vector<bool> arguments_present;
  std::size_t first = 0;  ///< leaves of the callable itself come before those of the arguments

  /// Throws where a tangent is another tree than its argument, or its arrays have other shapes or dtypes.
  Result operator()(const A&... tangents, Loc loc = Loc::here()) const {
    std::vector<Array> ts(first);
    detail::collect_present("linearize", std::tuple<A...>(tangents...), arguments, arguments_present, ts,
                            loc);
    const detail::LeafNames names{this, [](const void* self, std::size_t i) {
                                    auto& p = *static_cast<const PushForward*>(self);
                                    return p.input_path(i);
                                  }};
    std::vector<Array> found = program.push(ts, names, loc);
    Result out = result;
    std::size_t next = 0, place = 0;
    for_each_leaf(out, [&](Array& a) {
      if (present[place++]) a = found[next++];
    });
    return out;
  }
  /// What errors call input `i`, counting the leaves of the callable first.
  std::string input_path(std::size_t i) const {
    return std::apply(
        [&](const A&... a) {
          const detail::NamedTree trees[] = {{tree_ref(a), nullptr}..., {{nullptr, nullptr}, ""}};
          return detail::path_among(trees, i - first, &arguments_present);
        },
        arguments);
  }
};

namespace detail {
template <class F, class... Args>
auto linearize_at(Loc loc, const F& f, const Args&... args) {
  return [loc](const F& fn, const argument_t<Args>&... a) {
    using Flat = FlatFunction<F, argument_t<Args>...>;
    Flat flat(fn, a...);
    check_floating(flat, "linearize", loc);
    LinearizedCall r =
        linearize_call(callee_of(flat), flat.leaves(), std::vector<bool>(flat.leaves().size(), true), loc);
    PushForward<typename Flat::Result, argument_t<Args>...> push{
        r.program, flat.prototype(), flat.present(), flat.arguments(), {}, flat.begin(0)};
    push.arguments_present = take_structure(push.arguments);
    return std::pair(flat.rebuild(r.outs), push);
  }(f, args...);
}
}  // namespace detail

/// `linearize(f, args…)`: f(args…) and its derivative there as a reusable linear function. Throws if nothing
/// in the arguments is floating.
APSIS_TRANSFORM_CALL(linearize)
template <class F, class... Args>
requires detail::RefusedArguments<F, Args...>
auto linearize(const F&, const Args&...) {
  detail::refuse_call<F, detail::argument_t<Args>...>();
  return std::pair<Array, Array>();
}

}  // namespace apsis
