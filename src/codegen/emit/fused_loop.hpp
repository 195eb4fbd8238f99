#pragma once

// A loop over the elements of arrays of one shape before it is written: elementwise equations, and reductions
// of what they give. Those that come out the same in any order reduce the whole array. Sums have an order
// (ops/sum_order.hpp), and the loop then goes over the elements in it.

#include <functional>
#include <optional>
#include <string>

#include "codegen/emit/loop_nest.hpp"
#include "codegen/emit/products.hpp"
#include "ir/graph.hpp"

namespace apsis::detail {

/// Values are numbered: leaves by their first use, then results. Without equations it is a copy of the array
/// that it reads, or of its scalar.
struct FusedLoop {
  static constexpr std::uint32_t none = 0xffffffffu, made = none - 1;
  struct Step {
    const Eqn* eqn;
    std::vector<std::uint32_t> operands;
    std::vector<std::uint32_t> stores;  // by result: a sink, or none; nothing for a reduction
    std::uint32_t table = none;         // of a pick or a put: the array
    std::uint32_t padded = none;        // of a pad: the access
    bool has_masks = false;             // takes truths, gives them or combines them
  };

  /// A product of matrices whose results are a leaf. Its operands are accesses of their own.
  struct Product {
    std::uint32_t leaf, a = 0, b = 0;
    std::int64_t step_a, step_b, count;  // along k
    bool in_panels;                      // see Contraction
    Dtype compute;                       // what is added up; the result is rounded from it
    ProductTile tile;
    bool once;                   // what is stored may lie where other operands are: no element is made twice
    std::uint32_t store = none;  // the sink of the results, if they are read elsewhere, too
  };

  Shape shape;                             // without the axes that sums are over
  std::vector<Access> accesses;            // leaves in memory
  std::vector<Access> tables;              // what elements are picked from or put into
  std::vector<Sink> sinks;                 // what is stored; then, by sum, its results
  std::vector<Value> scalars;              // leaves in registers
  std::vector<std::uint32_t> leaf_access;  // by leaf: its access, none, or `made` by the product
  std::vector<Step> steps;
  std::vector<Type> totals;  // by reduction
  std::uint32_t values = 0;
  int lanes = 1, width = 1, most_phases = 1;
  int most_vectors = 1;   // side by side in an iteration
  bool in_order = false;  // elements come in row-major order
  std::optional<Product> product;
  /// Of sums: the terms of each. They are walked along one axis, or along two, the second of `inner` places.
  /// `along`: terms are neighbours in memory, and a vector holds several of them. `turned`: they are, too,
  /// but few; a vector holds those of several sums.
  struct Walk {
    std::int64_t terms = 0, inner = 1;
    bool along = false, turned = false;
    bool cheap = false;  // the code of a term is short
  } walk;

  /// What makes two loops the same code: all but addresses, scalars and the parameters of ops.
  std::string key() const;
  bool same_params(const std::vector<Params>& params) const;
};

/// The loop over `entries` places of the axis, from `first` on.
FusedLoop part_of(const FusedLoop& loop, std::size_t axis, std::int64_t first, std::int64_t entries);

/// Writes all equations for the current elements. `reduce` gets the number of each reduction, and what it is
/// given.
void write_elements(Builder& b, const FusedLoop& loop, LoopNest& nest,
                    const std::function<void(std::size_t, Value)>& reduce);

/// Brings values to one number of lanes and makes that current.
int align(Builder& b, std::span<Value> values);

/// Writes the loop. Gives what its reductions come to; sums are stored. `optimized`: what is carried stays in
/// registers.
std::vector<Value> write_loop(Builder& b, const FusedLoop& loop, bool optimized);

/// The same of a loop with sums.
void write_sums(Builder& b, const FusedLoop& loop, bool optimized);

}  // namespace apsis::detail
