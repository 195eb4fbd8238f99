#pragma once

// Derivative and batching rules of the user's own.
//
//   auto log1pexp = custom_jvp([](const Array& x) { return log1p(exp(x)); },
//                              [](const Array& x, const Array& dx) {
//                                return std::pair{log1p(exp(x)), dx / (1. + exp(-x))};
//                              });
//   auto clipped = custom_vjp([](const Array& x, const Array&) { return x; },
//                             [](const Array& x, const Array& limit) { return std::pair{x, limit}; },
//                             [](const Array& limit, const Array& ct) {
//                               return std::tuple{clip(ct, -limit, limit), Array()};
//                             });

#include "apsis/control/rule_fit.hpp"
#include "apsis/transform/transformed.hpp"
#include "apsis/tree/any_tree.hpp"

namespace apsis {

/// Asks custom_jvp and custom_vjp for zeros as empty Arrays, and for which inputs are differentiated.
struct SymbolicZeros {};
/// The tag: `custom_jvp(f, rule, symbolic_zeros)`.
inline constexpr SymbolicZeros symbolic_zeros{};

namespace detail {

/// A rule without its types: runs on flat leaves. Kept by the programs that hold the op.
class ErasedRule {
 public:
  ErasedRule() = default;
  ErasedRule(const ErasedRule&) = delete;
  ErasedRule& operator=(const ErasedRule&) = delete;
  virtual ~ErasedRule();
  struct Run {
    std::span<const Array> in;
    const std::vector<bool>& flags;  // a leaf of the arguments: is it differentiated, or mapped
    std::int64_t lanes;
    std::vector<Array>& out;  // empty = zero, where a derivative stands
    AnyTree& kept;            // the structure of what a forward rule leaves to its backward rule
  };
  virtual void run(const Run& run) const = 0;
};

/// True while something is being transformed: then what runs is recorded, or carries more than values.
bool tracing();

/// What the core needs to know of a call. The rules are taken over.
struct CustomCall {
  const Callee& function;
  std::span<const Array> leaves;
  std::size_t own;  // leaves of the function itself, which come before those of the arguments
  bool symbolic;
  Loc loc;
};
/// `capturing`: the rule may hold traced values. `rule`: (primals, tangents) → (results, tangents).
std::vector<Array> custom_jvp_call(const CustomCall& call, const ErasedRule* rule, bool capturing);
/// `forward`: primals → (results, residuals); `backward`: (residuals, cotangents) → cotangents.
std::vector<Array> custom_vjp_call(const CustomCall& call, const ErasedRule* forward,
                                   const ErasedRule* backward, bool capturing);
/// `rule`: arguments, mapped ones with the lanes along axis 0 → results so.
std::vector<Array> custom_batch_call(const CustomCall& call, const ErasedRule* rule, bool capturing);

template <class... A>
auto bundle(const std::tuple<A...>& args) {
  if constexpr (sizeof...(A) == 1)
    return std::get<0>(args);
  else
    return args;
}

/// A copy that remembers which leaves are there, and no values.
template <class T>
T marked_copy(const T& tree) {
  T out = tree;
  for_each_leaf(out, [](Array& a) {
    if (!a.is_empty()) a = Array(false);
  });
  return out;
}
/// The leaves of `tree` at the places where `structure` has some; those that are missing are empty.
template <class T, class S>
void collect_at(const S& structure, const T& tree, std::vector<Array>& out) {
  std::vector<Array> all;
  for_each_leaf(tree, [&](const Array& a) { all.push_back(a); });
  std::size_t place = 0;
  for_each_leaf(structure, [&](const Array& a) {
    if (!a.is_empty()) out.push_back(place < all.size() ? all[place] : Array());
    ++place;
  });
}

/// The structure of a call's arguments, which rules are given anew.
template <class... A>
class RuleArguments {
 public:
  explicit RuleArguments(const A&... args) : structure_(marked_copy(std::tuple<A...>(args...))) {
    for_each_leaf(structure_, [this](const Array& a) { size_ += !a.is_empty(); });
  }
  std::size_t size() const { return size_; }
  const std::tuple<A...>& structure() const { return structure_; }
  std::tuple<A...> with(std::span<const Array> leaves) const { return with_leaves(structure_, leaves); }
  /// A boolean scalar at each leaf.
  auto flags(const std::vector<bool>& flags) const {
    std::vector<Array> leaves;
    for (bool f : flags) leaves.push_back(Array(f));
    return bundle(with(leaves));
  }

 private:
  std::tuple<A...> structure_;
  std::size_t size_ = 0;
};

template <class Rule, class R, class... A>
class JvpRuleOf : public ErasedRule {
 public:
  JvpRuleOf(const Rule& rule, const A&... args) : rule_(rule), args_(args...) {}
  void run(const Run& r) const override {
    auto [y, dy] =
        rule_(bundle(args_.with(r.in.first(args_.size()))), bundle(args_.with(r.in.subspan(args_.size()))));
    R result(y);
    collect_leaves(result, r.out);
    collect_at(result, R(dy), r.out);
  }

 private:
  Rule rule_;
  RuleArguments<A...> args_;
};

template <class Rule, bool symbolic, class R, class... A>
class ForwardRuleOf : public ErasedRule {
 public:
  ForwardRuleOf(const Rule& rule, const A&... args) : rule_(rule), args_(args...) {}
  static auto call(const Rule& rule, const RuleArguments<A...>& shape, const Run& r) {
    return std::apply(
        [&](const A&... a) {
          if constexpr (symbolic)
            return rule(shape.flags(r.flags), a...);
          else
            return rule(a...);
        },
        shape.with(r.in));
  }
  using Result = decltype(call(std::declval<const Rule&>(), std::declval<const RuleArguments<A...>&>(),
                               std::declval<const Run&>()));
  using Residuals = std::decay_t<std::tuple_element_t<1, Result>>;
  void run(const Run& r) const override {
    auto [y, residuals] = call(rule_, args_, r);
    R result(y);
    collect_leaves(result, r.out);
    collect_leaves(residuals, r.out);
    r.kept = AnyTree(std::pair<R, Residuals>(marked_copy(result), marked_copy(residuals)));
  }

 private:
  Rule rule_;
  RuleArguments<A...> args_;
};

template <class Rule, bool symbolic, class Residuals, class R, class... A>
class BackwardRuleOf : public ErasedRule {
 public:
  BackwardRuleOf(const Rule& rule, const A&... args) : rule_(rule), args_(args...) {}
  void run(const Run& r) const override {
    auto kept = *r.kept.template as<std::pair<R, Residuals>>();
    std::size_t next = 0;
    replace_leaves(kept.second, r.in, next);
    replace_leaves(kept.first, r.in, next);
    using Found = typename Bundle<A...>::type;
    auto found = [&]() -> Found {
      if constexpr (symbolic)
        return rule_(args_.flags(r.flags), kept.second, kept.first);
      else
        return rule_(kept.second, kept.first);
    }();
    if constexpr (sizeof...(A) == 1)
      collect_at(args_.structure(), std::tuple<A...>(found), r.out);
    else
      collect_at(args_.structure(), found, r.out);
  }

 private:
  Rule rule_;
  RuleArguments<A...> args_;
};

template <class Rule, class R, class... A>
class BatchRuleOf : public ErasedRule {
 public:
  BatchRuleOf(const Rule& rule, const A&... args) : rule_(rule), args_(args...) {}
  void run(const Run& r) const override {
    R result = std::apply([&](const A&... a) { return R(rule_(r.lanes, args_.flags(r.flags), a...)); },
                          args_.with(r.in));
    collect_leaves(result, r.out);
  }

 private:
  Rule rule_;
  RuleArguments<A...> args_;
};

/// A function with rules, which `Derived` binds: `bound<R, A...>(call, args…)` → results.
template <class Derived, class F>
struct Ruled : Transformed<Derived, F> {
  F f;
  Loc loc;
  Ruled(F function, Loc l) : f(static_cast<F&&>(function)), loc(l) {}

  template <class... A>
  auto call(const A&... args) const {
    FlatFunction<F, A...> flat(f, args...);
    using R = typename decltype(flat)::Result;
    if (!tracing()) return R(f(args...));
    const Callee callee = callee_of(flat);
    return flat.rebuild(static_cast<const Derived*>(this)->template bound<R, A...>(
        {callee, flat.leaves(), flat.begin(0), Derived::symbolic, loc}, args...));
  }
};

}  // namespace detail

/// What custom_jvp returns; see there.
template <class F, class Rule, bool symbolic_>
struct CustomJvp : detail::Ruled<CustomJvp<F, Rule, symbolic_>, F> {
  static constexpr bool symbolic = symbolic_;
  Rule rule;
  CustomJvp(F function, Rule r, Loc l)
      : CustomJvp::Ruled(static_cast<F&&>(function), l), rule(static_cast<Rule&&>(r)) {}

  template <class R, class... A>
  std::vector<Array> bound(const detail::CustomCall& call, const A&... args) const {
    return custom_jvp_call(call, new detail::JvpRuleOf<Rule, R, A...>(rule, args...), !std::is_empty_v<Rule>);
  }
  template <class R, class... A>
  using Fit = detail::JvpRuleFit<Rule, R, A...>;
};

/// What custom_vjp returns; see there.
template <class F, class Forward, class Backward, bool symbolic_>
struct CustomVjp : detail::Ruled<CustomVjp<F, Forward, Backward, symbolic_>, F> {
  static constexpr bool symbolic = symbolic_;
  Forward forward;
  Backward backward;
  CustomVjp(F function, Forward fwd, Backward bwd, Loc l)
      : CustomVjp::Ruled(static_cast<F&&>(function), l),
        forward(static_cast<Forward&&>(fwd)),
        backward(static_cast<Backward&&>(bwd)) {}

  template <class R, class... A>
  std::vector<Array> bound(const detail::CustomCall& call, const A&... args) const {
    using Fwd = detail::ForwardRuleOf<Forward, symbolic, R, A...>;
    using Bwd = detail::BackwardRuleOf<Backward, symbolic, typename Fwd::Residuals, R, A...>;
    return custom_vjp_call(call, new Fwd(forward, args...), new Bwd(backward, args...),
                           !std::is_empty_v<Forward> || !std::is_empty_v<Backward>);
  }
  template <class R, class... A>
  using Fit = detail::VjpRuleFit<Forward, Backward, symbolic_, R, A...>;
};

/// What custom_batch returns; see there.
template <class F, class Rule>
struct CustomBatch : detail::Ruled<CustomBatch<F, Rule>, F> {
  static constexpr bool symbolic = false;
  Rule rule;
  CustomBatch(F function, Rule r, Loc l)
      : CustomBatch::Ruled(static_cast<F&&>(function), l), rule(static_cast<Rule&&>(r)) {}

  template <class R, class... A>
  std::vector<Array> bound(const detail::CustomCall& call, const A&... args) const {
    return custom_batch_call(call, new detail::BatchRuleOf<Rule, R, A...>(rule, args...),
                             !std::is_empty_v<Rule>);
  }
  template <class R, class... A>
  using Fit = detail::BatchRuleFit<Rule, R, A...>;
};

/// `f` with a derivative of your own. `rule(x, dx)` (for several arguments, tuples of them) returns the pair
/// (result, its tangent), both of f's result type, and must be linear in dx: reverse mode transposes it.
/// Tangents of inputs that are not differentiated are zeros, those of integer arrays empty; with
/// `symbolic_zeros` as a third argument all zero tangents are empty Arrays, and the rule may return empty
/// ones. Inside any transformation, `f` and the rule are staged. Arrays they capture are constants: throws if
/// one of those that `f` uses is differentiated, or if the rule's results differ from f's in shape or dtype.
/// (JAX: custom_jvp)
template <class F, class Rule>
auto custom_jvp(F f, Rule rule, Loc loc = Loc::here()) {
  return CustomJvp<F, Rule, false>(static_cast<F&&>(f), static_cast<Rule&&>(rule), loc);
}
template <class F, class Rule>
auto custom_jvp(F f, Rule rule, SymbolicZeros, Loc loc = Loc::here()) {
  return CustomJvp<F, Rule, true>(static_cast<F&&>(f), static_cast<Rule&&>(rule), loc);
}

/// `f` with a reverse-mode derivative of your own. `forward(args…)` returns the pair (result, residuals), the
/// residuals any tree; `backward(residuals, cotangent)` the cotangent of the argument, for several arguments
/// a tuple of them, with empty Arrays for zeros and where nothing is differentiable. With `symbolic_zeros`
/// both rules take, before the others, which leaves are differentiated (the argument, or a tuple, with a
/// boolean scalar at each leaf), and zero cotangents are empty. Forward mode throws, as does differentiating
/// what `f` captures. (JAX: custom_vjp)
template <class F, class Forward, class Backward>
auto custom_vjp(F f, Forward forward, Backward backward, Loc loc = Loc::here()) {
  return CustomVjp<F, Forward, Backward, false>(static_cast<F&&>(f), static_cast<Forward&&>(forward),
                                                static_cast<Backward&&>(backward), loc);
}
template <class F, class Forward, class Backward>
auto custom_vjp(F f, Forward forward, Backward backward, SymbolicZeros, Loc loc = Loc::here()) {
  return CustomVjp<F, Forward, Backward, true>(static_cast<F&&>(f), static_cast<Forward&&>(forward),
                                               static_cast<Backward&&>(backward), loc);
}

/// `f` with a batching rule of your own: under vmap, `rule(lanes, mapped, args…)` runs in the place of `f`.
/// Arguments that are mapped come with the lanes along axis 0; `mapped` (the argument, or a tuple, with a
/// boolean scalar at each leaf) says which those are. Returns f's result with the lanes along axis 0 of every
/// array. Derivatives of `f` are those of its own program: where they need a rule under vmap, give `f` a
/// custom_jvp or custom_vjp whose rules call such functions. Throws if what `f` or the rule captures is
/// mapped. (JAX: custom_vmap)
template <class F, class Rule>
auto custom_batch(F f, Rule rule, Loc loc = Loc::here()) {
  return CustomBatch<F, Rule>(static_cast<F&&>(f), static_cast<Rule&&>(rule), loc);
}

}  // namespace apsis
