#pragma once

// Which elements of a program's inputs each element of its results may depend on: sparsity patterns, by
// abstract interpretation. Ops are known by their facts (`moves`, `chooses`, `places`, `operand_axis`); of
// one without, every element depends on all that the operands do. What depends on no input is computed, so
// that indices, masks and counters of loops are known.

#include <unordered_map>

#include "ir/graph.hpp"

namespace apsis::detail {

/// Sets of numbers, each kept once.
class NumberSets {
 public:
  using Id = std::uint32_t;  // 0: the empty set
  NumberSets() : sets_(1) {}
  Id single(std::uint32_t number) { return intern({number}); }
  Id joined(Id a, Id b);
  /// The order of the list changes.
  Id joined(std::vector<Id>& ids);
  std::span<const std::uint32_t> numbers(Id id) const { return sets_[id]; }

 private:
  Id intern(std::vector<std::uint32_t> numbers);
  std::vector<std::vector<std::uint32_t>> sets_;
  std::unordered_multimap<std::uint64_t, Id> by_hash_;
  std::unordered_map<std::uint64_t, Id> joined_;
};

/// What is known of a value.
struct Dependence {
  std::vector<NumberSets::Id> elements;  ///< by element, the inputs it may depend on; empty: none do on any
  Array known;                           ///< the value itself, where it depends on no input whatever
};

/// The outputs of a program, given its inputs. Loops are followed step by step as long as it is known whether
/// they go on, and they are not too long; else until nothing changes.
std::vector<Dependence> dependences(const Graph& graph, std::vector<Dependence> inputs, NumberSets& sets);

}  // namespace apsis::detail
