#pragma once

// A function of one entry, along an axis: one entry after the other, or block after block.
//
//   Array ys = sequential_map(f, xs);                          // the memory of one entry at a time
//   Array zs = sequential_map(f, xs, {.batch_size = 64});      // vmap(f) on 64 entries at a time

#include "apsis/control/scan.hpp"
#include "apsis/transform/vmap.hpp"

namespace apsis {

/// Options of `map`.
struct MapOptions {
  /// Entries that run at once, by vmap; 0: one by one.
  std::int64_t batch_size = 0;
};

namespace detail {

/// The entries of each array along axis 0 as blocks of `size` (one axis more), and what is left over.
struct Blocks {
  std::vector<Array> whole, rest;
  std::int64_t count = 0, left = 0;
};
Blocks split_blocks(std::span<const Array> xs, std::int64_t size);
/// The inverse on results; `rest` is empty where nothing is left over.
std::vector<Array> join_entries(std::span<const Array> whole, std::span<const Array> rest);

}  // namespace detail

/// `f(x)` for each entry x along axis 0 of the arrays of `xs`, one after the other; the results are stacked.
/// What `vmap(f)(xs)` computes, in the memory of one entry, or of `batch_size` entries, at a time.
/// Differentiable both ways. Throws if the xs differ in length. (JAX: lax.map.)
template <class F, class Xs>
requires(detail::is_callable_with<F, Xs>) auto sequential_map(const F& f, const Xs& xs,
                                                              const MapOptions& options = {},
                                                              Loc loc = Loc::here()) {
  using namespace detail;
  auto one_by_one = [&loc](const auto& g, const Xs& entries) {
    return named_scan(
               "sequential_map",
               [&g](const Nothing&, const Xs& x) {
                 return std::pair{Nothing{}, g(x)};
               },
               Nothing{}, entries, ScanOptions(), loc)
        .second;
  };
  std::vector<Array> leaves;
  collect_leaves(xs, leaves);
  const NamedTree named{tree_ref(xs), "xs"};
  first_entries("sequential_map", leaves, names_of(named), {}, loc);  // throws where the lengths differ
  std::int64_t length = leaves[0].shape()[0];
  if (options.batch_size <= 0 || length == 0) return one_by_one(f, xs);
  auto block = vmap([&f](const Xs& x) { return f(x); }, VmapOptions(), loc);
  if (length <= options.batch_size) return block(xs);
  Blocks blocks = split_blocks(leaves, options.batch_size);
  auto ys = one_by_one(block, with_leaves(xs, blocks.whole));
  std::vector<Array> whole, rest;
  collect_leaves(ys, whole);
  if (blocks.left > 0) collect_leaves(block(with_leaves(xs, blocks.rest)), rest);
  return with_leaves(ys, join_entries(whole, rest));
}

/// Refuses what cannot be called so.
template <class F, class Xs>
requires(!detail::is_callable_with<F, Xs>) Xs sequential_map(const F&, const Xs& xs, const MapOptions& = {}) {
  static_assert(detail::is_callable_with<F, Xs>,
                "sequential_map calls its function as f(x): it must take the type of xs");
  return xs;
}

}  // namespace apsis
