#pragma once

// Loops of known length.
//
//   auto [total, partial] = scan([](const Array& c, const Array& x) { return std::pair{c + x, c + x}; }, 0.,
//   xs); Array p = fori_loop(0, 10, [&](const Array& i, const Array& x) { return x * a; }, x);

#include "apsis/control/while_loop.hpp"

namespace apsis {

/// Options of `scan`.
struct ScanOptions {
  /// Needed only without xs.
  std::int64_t length = -1;
  /// From the last entry to the first; results stay at the index of their entry.
  bool reverse = false;
  /// How many iterations are one in compiled code, which grows with it; progress counts these.
  std::int64_t unroll = 1;
  /// As in WhileOptions; as the length is known, with the fewest forward steps that are possible.
  std::int64_t checkpoints = 0;
  std::int64_t checkpoint_bytes = 0;
  Progress progress = {};
};

/// As in ScanOptions; where a bound is traced, as in WhileOptions. Reports tell the fraction either way.
struct ForiOptions {
  std::int64_t checkpoints = 0;
  std::int64_t checkpoint_bytes = 0;
  Progress progress = {};
};

/// No xs, or no ys.
struct Nothing {};

namespace detail {

struct ScanCall {
  std::vector<Array> carry, ys;
};
/// `body`: (carry leaves, x leaves) → (carry leaves, y leaves).
/// `name`: what users called, as errors say it.
ScanCall scan_call(const char* name, const Callee& body, std::span<const Array> carry,
                   std::span<const Array> xs, const ScanOptions& options, Loc loc);
/// How many iterations a loop from lo up to hi makes; -1 if a bound is not concrete. Throws unless both are
/// integer scalars.
std::int64_t range_length(const Array& lo, const Array& hi, Loc loc);
/// i < hi, i + 1, and a strong i64 scalar, for loops over indices.
Array less(const Array& i, const Array& hi);
Array next_index(const Array& i);
Array as_index(const Array& i);
/// Reports that the iterations before `next`, of those from lo up to hi, have been made.
void report_range(const Progress& progress, const Array& lo, const Array& hi, const Array& next, Loc loc);
std::vector<Array> first_entries(const char* name, std::span<const Array> xs, const LeafNames& names,
                                 const ScanOptions& options, Loc loc);

}  // namespace detail

namespace detail {

/// scan under the name that errors say.
template <class F, class Carry, class Xs>
auto named_scan(const char* name, const F& f, const Carry& init, const Xs& xs, const ScanOptions& options,
                Loc loc) {
  using C = carry_t<Carry>;
  C start = init;
  std::vector<Array> stacked, carry;
  collect_leaves(xs, stacked);
  const NamedTree named{tree_ref(xs), "xs"};
  Xs entry = with_leaves(xs, first_entries(name, stacked, names_of(named), options, loc));
  using Y = std::decay_t<decltype(f(start, xs).second)>;
  auto step = [&f, name, loc](const C& c, const Xs& x) {
    auto result = f(c, x);
    std::pair<C, Y> next(result.first, result.second);
    check_carry_structure(name, c, next.first, loc);
    return next;
  };
  std::int64_t length = stacked.empty() ? options.length : stacked[0].shape()[0];
  // Without an entry only the body, staged, says what the ys are like.
  if (runs_directly() && (length > 0 || std::is_empty_v<Y>)) {
    auto report = [&](std::int64_t n) { report_directly(options.progress, n, length, loc); };
    auto [last, ys] = scan_directly(step, start, xs, stacked, length, options.reverse, report);
    return std::pair<C, Y>(last, ys);
  }
  FlatFunction<decltype(step), C, Xs> flat(step, start, entry);
  flat.name_arguments({carry_name<C>, "xs"});
  collect_leaves(start, carry);
  ScanCall r = scan_call(name, callee_of(flat), carry, stacked, options, loc);
  std::vector<Array> all = r.carry;
  all.insert(all.end(), r.ys.begin(), r.ys.end());
  auto [last, ys] = flat.rebuild(all);
  return std::pair<C, Y>(last, ys);
}

}  // namespace detail

/// Runs `(carry, y) = f(carry, x)` for each entry x along axis 0 of the arrays of `xs`; returns the last
/// carry and the stacked ys. The carry keeps its structure, shapes and dtypes. `f` returns a std::pair.
/// Without xs: `scan(f, init, Nothing{}, {.length = n})`, and x is a Nothing. Differentiable both ways.
/// Throws if the xs differ in length, or the carry changes.
template <class F, class Carry, class Xs>
requires(detail::returns_pair<F, detail::carry_t<Carry>, Xs>) auto scan(const F& f, const Carry& init,
                                                                        const Xs& xs,
                                                                        const ScanOptions& options = {},
                                                                        Loc loc = Loc::here()) {
  return detail::named_scan("scan", f, init, xs, options, loc);
}

/// Refuses what cannot be called so.
template <class F, class Carry, class Xs>
requires(!detail::returns_pair<F, detail::carry_t<Carry>, Xs>) auto scan(const F&, const Carry& init,
                                                                         const Xs& xs,
                                                                         const ScanOptions& = {}) {
  static_assert(
      detail::is_callable_with<F, detail::carry_t<Carry>, Xs>,
      "scan calls its body as body(carry, x): it must take the type of the initial carry and that of xs "
      "(`const Nothing&` without xs), and return std::pair{carry, y}");
  static_assert(!detail::is_callable_with<F, detail::carry_t<Carry>, Xs> ||
                    detail::returns_pair<F, detail::carry_t<Carry>, Xs>,
                "the body of scan must return std::pair{carry, y}; without y, std::pair{carry, Nothing{}}");
  return std::pair<detail::carry_t<Carry>, Xs>(init, xs);
}

/// Repeats `carry = body(i, carry)` for i = lo, …, hi - 1 (i is an i64 scalar). Bounds may be traced. The
/// carry keeps its structure, shapes and dtypes. Differentiable both ways. Throws if the carry changes.
template <class Body, class Carry>
requires(detail::returns_into<detail::carry_t<Carry>, Body, Array, detail::carry_t<Carry>>)
    detail::carry_t<Carry> fori_loop(const Array& lo, const Array& hi, const Body& body, const Carry& init,
                                     const ForiOptions& options = {}, Loc loc = Loc::here()) {
  using namespace detail;
  using C = carry_t<Carry>;
  const std::int64_t kept = options.checkpoints, bytes = options.checkpoint_bytes;
  const std::int64_t length = range_length(lo, hi, loc);
  using Indexed = WithCount<C>;
  Indexed start{as_index(lo), C(init)};
  auto step = [&](const Indexed& s) { return Indexed{next_index(s.count), C(body(s.count, s.carry))}; };
  if (length >= 0)
    return named_scan(
               "fori_loop", [&](const Indexed& s, const Nothing&) { return std::pair(step(s), Nothing{}); },
               start, Nothing{},
               ScanOptions{.length = length,
                           .checkpoints = kept,
                           .checkpoint_bytes = bytes,
                           .progress = options.progress},
               loc)
        .first.carry;
  auto reported = [&](const Indexed& s) {
    Indexed next = step(s);
    report_range(options.progress, lo, hi, next.count, loc);
    return next;
  };
  return named_while(
             "fori_loop", [&](const Indexed& s) { return less(s.count, hi); }, reported, start,
             WhileOptions{.checkpoints = kept, .checkpoint_bytes = bytes}, loc)
      .carry;
}

/// Refuses what cannot be called so.
template <class Body, class Carry>
requires(!detail::returns_into<detail::carry_t<Carry>, Body, Array, detail::carry_t<Carry>>)
    detail::carry_t<Carry> fori_loop(const Array&, const Array&, const Body&, const Carry& init,
                                     const ForiOptions& = {}) {
  constexpr bool called = detail::is_callable_with<Body, Array, detail::carry_t<Carry>>;
  static_assert(
      called,
      "fori_loop calls its body as body(i, carry): it must take an Array and the type of the initial carry");
  static_assert(!called || detail::returns_into<detail::carry_t<Carry>, Body, Array, detail::carry_t<Carry>>,
                "the body of a loop must return the type of its carry");
  return init;
}

}  // namespace apsis
