#pragma once

// Dense derivative matrices, by batches of tangents (jacfwd) or cotangents (jacrev).
//
//   Array j = jacrev(f)(x);                   // Array → Array: shape of out + shape of in
//   auto h = hessian(loss)(model, data);      // Jacobian<Model, Model>
//   Array block = h.block(&Model::alpha, &Model::beta), all = h.matrix();

#include "apsis/transform/grad.hpp"
#include "apsis/transform/holomorphic.hpp"

namespace apsis {

namespace detail {

struct JacobianCall {
  std::vector<Array> outs;
  std::vector<Array> blocks;  // by output, then input; empty where not differentiable
};
/// Throws if nothing in the result is floating, and where complex numbers stand in the way, unless the
/// function is said to be holomorphic.
JacobianCall jacobian_call(const Callee& callee, std::span<const Array> leaves,
                           std::vector<bool> differentiate, bool forward, const char* name, Loc loc,
                           bool holomorphic = false);
template <class F>
inline constexpr bool is_holomorphic = false;
template <class F>
inline constexpr bool is_holomorphic<Holomorphic<F>> = true;
Array join_blocks(std::span<const Array> blocks, std::span<const std::int64_t> heights,
                  std::span<const std::int64_t> widths);

/// The number of the leaf at this address.
template <class T>
std::size_t leaf_number(const T& tree, const Array* leaf) {
  std::size_t found = 0, next = 0;
  for_each_leaf(tree, [&](const Array& a) {
    if (&a == leaf) found = next;
    ++next;
  });
  return found;
}

}  // namespace detail

/// The derivative of a tree with respect to a tree: a block for each pair of leaves, of the output leaf's
/// shape followed by the input leaf's; empty where either is not floating.
template <class Out, class In>
struct Jacobian {
  std::vector<Array> blocks;                  ///< by leaf of Out, then leaf of In
  std::vector<std::int64_t> heights, widths;  ///< elements of each leaf of Out and In
  Out out;                                    ///< structures; their leaves are empty
  In in;

  /// The block of an Array member of Out and one of In.
  Array block(Array Out::*row, Array In::*column) const {
    return blocks[detail::leaf_number(out, &(out.*row)) * leaf_count(in) +
                  detail::leaf_number(in, &(in.*column))];
  }
  /// All blocks in one matrix: a row for each element of Out, a column for each element of In, in leaf order.
  Array matrix(Loc loc = Loc::here()) const {
    const LocScope place(loc);
    return detail::join_blocks(blocks, heights, widths);
  }
};

/// What jacfwd and jacrev return; see there.
template <class F, bool forward, std::size_t... N>
struct JacobianOf : detail::Transformed<JacobianOf<F, forward, N...>, F> {
  static constexpr std::size_t apsis_arguments = detail::count_from(N...);
  F f;
  Loc loc;
  const char* name;  ///< what errors call it
  explicit JacobianOf(F function, Loc l = {}, const char* name_ = forward ? "jacfwd" : "jacrev")
      : f(static_cast<F&&>(function)), loc(l), name(name_) {}

  template <class... A>
  auto call(const A&... args) const {
    using namespace detail;
    // Forward mode takes the function itself, reverse mode its real part.
    constexpr bool whole = forward && is_holomorphic<F>;
    const auto& function = [&]() -> const auto& {
      if constexpr (whole)
        return f.f;
      else
        return f;
    }
    ();
    using Flat = FlatFunction<std::remove_cvref_t<decltype(function)>, A...>;
    using Out = typename Flat::Result;
    Flat flat(function, args...);
    JacobianCall r = jacobian_call(callee_of(flat), flat.leaves(), mark_arguments<N...>(flat, name, loc),
                                   forward, name, loc, whole);
    const std::size_t ins = flat.leaves().size();
    const auto row = [&](std::size_t out) {
      return std::span<const Array>(r.blocks).subspan(out * ins, ins);
    };
    auto in = arguments_like<N...>(flat, flat.leaves());
    using In = decltype(in);
    if constexpr (std::is_same_v<Out, Array>) {
      return arguments_like<N...>(flat, row(0));
    } else if constexpr (std::is_same_v<In, Array>) {
      std::vector<Array> column;
      for (std::size_t o = 0; o < r.outs.size(); ++o) column.push_back(row(o)[(flat.begin(N) + ...)]);
      return flat.rebuild(column);
    } else {
      std::vector<std::size_t> columns;  // the leaves of the arguments in question, in their order
      const auto add_columns = [&](std::size_t i) {
        for (std::size_t l = flat.begin(i); l < flat.end(i); ++l) columns.push_back(l);
      };
      (add_columns(N), ...);
      Jacobian<Out, In> j{{}, {}, {}, flat.prototype(), std::move(in)};
      // Leaves that are empty in the argument or the result have empty blocks.
      std::vector<bool> in_present;
      for_each_leaf(j.in, [&](Array& a) {
        in_present.push_back(!a.is_empty());
        j.widths.push_back(a.is_empty() ? 0 : a.size());
        a = Array();
      });
      std::size_t next_out = 0;
      for (bool out_there : flat.present()) {
        std::size_t next_in = 0;
        for (bool in_there : in_present)
          j.blocks.push_back(out_there && in_there ? row(next_out)[columns[next_in++]] : Array());
        j.heights.push_back(out_there ? r.outs[next_out].size() : 0);
        next_out += out_there;
      }
      return j;
    }
  }
};

template <detail::TreeFunction F, bool forward, std::size_t... N>
struct tree_trait<JacobianOf<F, forward, N...>> {
  static constexpr const char* names = "function";
  static constexpr decltype(auto) fields(auto& self, auto&& visit) { return visit(self.f); }
};

/// The Jacobian with respect to the arguments N… (the first, by default) by forward mode: best when they have
/// fewer elements than the result. One Array out gives the arguments' types, several arguments a tuple, each
/// leaf of shape out + in; one Array in gives the result's type; all else a Jacobian. Throws if nothing in an
/// argument, or nothing in the result, is floating.
template <std::size_t... N, class F>
auto jacfwd(F f, Loc loc = Loc::here()) {
  if constexpr (sizeof...(N) == 0)
    return JacobianOf<F, true, 0>(static_cast<F&&>(f), loc);
  else
    return JacobianOf<F, true, N...>(static_cast<F&&>(f), loc);
}
template <std::size_t... N, class... P>
requires detail::TakesPlace<P...>
auto jacfwd(Array (*f)(P...), Loc loc = Loc::here()) {
  return jacfwd<N...>(detail::library_function(f, loc), loc);
}
/// The same by reverse mode: best when the result has fewer elements.
template <std::size_t... N, class F>
auto jacrev(F f, Loc loc = Loc::here()) {
  if constexpr (sizeof...(N) == 0)
    return JacobianOf<F, false, 0>(static_cast<F&&>(f), loc);
  else
    return JacobianOf<F, false, N...>(static_cast<F&&>(f), loc);
}
template <std::size_t... N, class... P>
requires detail::TakesPlace<P...>
auto jacrev(Array (*f)(P...), Loc loc = Loc::here()) {
  return jacrev<N...>(detail::library_function(f, loc), loc);
}
/// The second derivatives of a scalar loss with respect to its arguments N… (the first, by default): forward
/// over reverse.
template <std::size_t... N, class F>
auto hessian(F f, Loc loc = Loc::here()) {
  if constexpr (sizeof...(N) == 0) {
    return hessian<0>(static_cast<F&&>(f), loc);
  } else {
    using G = Grad<F, N...>;
    return JacobianOf<G, true, N...>(G(static_cast<F&&>(f), loc, "hessian"), loc, "hessian");
  }
}
template <std::size_t... N, class... P>
requires detail::TakesPlace<P...>
auto hessian(Array (*f)(P...), Loc loc = Loc::here()) {
  return hessian<N...>(detail::library_function(f, loc), loc);
}

APSIS_REFUSE_ARGUMENTS(jacfwd, Loc)
APSIS_REFUSE_ARGUMENTS(jacrev, Loc)
APSIS_REFUSE_ARGUMENTS(hessian, Loc)

}  // namespace apsis
