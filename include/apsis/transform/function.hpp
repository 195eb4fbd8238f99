#pragma once

// Functions over trees seen as functions over flat arrays: the one template layer under every transformation.
// A callable that is itself a tree (a struct with fields and a call operator) has its leaves among the
// inputs; a lambda is taken as it is, what it captured being part of the program.

#include <array>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "apsis/core/array.hpp"
#include "apsis/transform/callee.hpp"
#include "apsis/transform/library_function.hpp"
#include "apsis/tree/callable.hpp"
#include "apsis/tree/tree.hpp"

namespace apsis::detail {

/// What an argument becomes inside a transformed call: floating-point scalars are weak Arrays, the rest
/// stays.
template <class A>
using argument_t = std::conditional_t<std::is_floating_point_v<std::decay_t<A>>, Array, std::decay_t<A>>;

/// Callables whose fields are leaves; others (lambdas) are opaque.
template <class F>
inline constexpr bool is_tree_callable = tree_kind<F> == TreeKind::Fields;

/// Callables that may stand in a tree: any but lambdas that capture, whose captures nobody can see.
template <class F>
concept TreeFunction = !is_refused(tree_kind<F>);

/// For what copies a tree before it is walked.
template <class T>
const T& checked(const T& tree) {
  check_nesting(tree);
  return tree;
}
template <class T>
void collect_leaves(const T& tree, std::vector<Array>& leaves) {
  for_each_leaf(tree, [&leaves](const Array& a) {
    if (!a.is_empty()) leaves.push_back(a);
  });
}
/// Replaces the non-empty leaves, in order.
template <class T>
void replace_leaves(T& tree, std::span<const Array> leaves, std::size_t& next) {
  for_each_leaf(tree, [&](Array& a) {
    if (!a.is_empty()) a = leaves[next++];
  });
}
template <class T>
void clear_leaves(T& tree) {
  for_each_leaf(tree, [](Array& a) { a = Array(); });
}

/// Empties the leaves; tells which were there.
template <class T>
std::vector<bool> take_structure(T& tree) {
  std::vector<bool> present;
  for_each_leaf(tree, [&present](Array& a) {
    present.push_back(!a.is_empty());
    a = Array();
  });
  return present;
}

/// False for the callables that transformations return, whose parameters were checked when they were made.
template <class F>
inline constexpr bool parameters_are_own = !requires {
  typename F::apsis_parameters;
};

/// A call f(args…) on flat leaves. Runs any number of times; remembers the structure of the last result.
template <class Function, class... A>
class FlatFunction {
 public:
  using F = std::decay_t<Function>;  // a plain function is kept as a pointer
  using Returned = std::decay_t<typename CheckedResult<parameters_are_own<F>, F, const A&...>::type>;
  /// What is refused stands as an Array here, so that no other errors bury the sentence.
  static constexpr bool is_refused =
      std::is_void_v<Returned> || (parameters_are_own<F> && !fits_call<F, A...>());
  using Result = std::conditional_t<is_refused, Array, Returned>;

  FlatFunction(const F& f, const A&... args) : f_(f), args_(checked(args)...) {
    (void)sizeof(CheckReturn<Returned>);
    if constexpr (is_tree_callable<F>) collect_leaves(f_, leaves_);
    function_leaves_ = leaves_.size();
    std::apply(
        [&](const auto&... a) { ((collect_leaves(a, leaves_), ends_[next_end_++] = leaves_.size()), ...); },
        args_);
  }
  const std::vector<Array>& leaves() const { return leaves_; }
  /// Leaves of argument i: [begin(i), end(i)).
  std::size_t begin(std::size_t i) const { return i == 0 ? function_leaves_ : ends_[i - 1]; }
  std::size_t end(std::size_t i) const { return ends_[i]; }
  const std::tuple<A...>& arguments() const { return args_; }
  /// What errors call the arguments, in the place of `argument 0`, …
  void name_arguments(const std::array<const char*, sizeof...(A)>& names) { names_ = names; }
  /// The path of input leaf `i`, as `leaves()` has it.
  std::string input_path(std::size_t i) const {
    std::size_t n = 0;
    return std::apply(
        [&](const A&... a) {
          if constexpr (is_tree_callable<F>) {
            const NamedTree trees[] = {{tree_ref(f_), "function"}, {tree_ref(a), names_[n++]}...};
            return path_among(trees, i);
          } else {
            const NamedTree trees[] = {{tree_ref(a), names_[n++]}..., {{nullptr, nullptr}, ""}};
            return path_among(trees, i);
          }
        },
        args_);
  }
  /// The path of leaf `i` of the last result.
  std::string result_path(std::size_t i) const {
    const NamedTree result{tree_ref(*result_), "result"};
    return path_among({&result, 1}, i, &present_);
  }

  std::vector<Array> operator()(std::span<const Array> in) {
    std::size_t next = 0;
    std::tuple<A...> args = args_;
    auto run = [&](const F& f) {
      std::apply([&](auto&... a) { (replace_leaves(a, in, next), ...); }, args);
      if constexpr (is_refused)
        return (void)f, Result();
      else
        return std::apply([&](const A&... a) { return Result(f(a...)); }, args);
    };
    std::vector<Array> out;
    if constexpr (is_tree_callable<F>) {
      F f = f_;
      replace_leaves(f, in, next);
      set_result(run(f), out);
    } else {
      set_result(run(f_), out);
    }
    return out;
  }
  /// The last result's structure with these leaves in the place of its non-empty ones.
  Result rebuild(std::span<const Array> leaves) const {
    Result r = *result_;
    std::size_t next = 0, place = 0;
    for_each_leaf(r, [&](Array& a) {
      if (present_[place++]) a = leaves[next++];
    });
    return r;
  }
  /// Whether each leaf of the last result was there.
  const std::vector<bool>& present() const { return present_; }
  const Result& prototype() const { return *result_; }

 private:
  void set_result(Result r, std::vector<Array>& out) {
    present_.clear();
    check_nesting(r);
    for_each_leaf(r, [&](Array& a) {
      present_.push_back(!a.is_empty());
      if (!a.is_empty()) out.push_back(a);
      a = Array();
    });
    result_.emplace(static_cast<Result&&>(r));
  }
  F f_;
  std::tuple<A...> args_;
  std::vector<Array> leaves_;
  std::size_t function_leaves_ = 0, next_end_ = 0;
  std::size_t ends_[sizeof...(A) + 1] = {};
  std::optional<Result> result_;
  std::vector<bool> present_;
  std::array<const char*, sizeof...(A)> names_{};
};

/// A copy of `tree` whose i-th non-empty leaf is replaced by values[i] (an empty value empties the leaf).
template <class T>
T with_leaves(const T& tree, std::span<const Array> values) {
  T out = checked(tree);
  std::size_t next = 0;
  replace_leaves(out, values, next);
  return out;
}

}  // namespace apsis::detail
