#pragma once

// Equations that passes work on together, as disjoint sets (Tarjan, Efficiency of a good but not linear set
// union algorithm, 1975).

#include <cstdint>
#include <vector>

#include "ir/graph.hpp"

namespace apsis::detail {

class EquationSets {
 public:
  static constexpr std::uint32_t none = 0xffffffffu;

  explicit EquationSets(const Graph& graph) : parent_(graph.eqns().size(), none) {}

  bool contains(std::uint32_t i) const { return parent_[i] != none; }
  /// A set of its own.
  void add(std::uint32_t i) { parent_[i] = i; }
  /// The member that stands for the set.
  std::uint32_t root(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  /// The set of `other` becomes that of i.
  void join(std::uint32_t i, std::uint32_t other) { parent_[root(other)] = root(i); }

  /// By equation: the number of its set, in the order of their first members, or none.
  std::vector<std::uint32_t> numbered() {
    std::vector<std::uint32_t> of_root(parent_.size(), none), numbers(parent_.size(), none);
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i < parent_.size(); ++i) {
      if (!contains(i)) continue;
      std::uint32_t& number = of_root[root(i)];
      if (number == none) number = next++;
      numbers[i] = number;
    }
    return numbers;
  }

 private:
  std::vector<std::uint32_t> parent_;  // by equation
};

}  // namespace apsis::detail
