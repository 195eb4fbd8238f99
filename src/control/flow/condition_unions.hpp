#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "ir/graph.hpp"

namespace apsis::detail {

/// Where one of some conditions holds, by their numbers; of those for more than the first `axes` axes, where
/// it holds in any entry along the others. No parts: nowhere.
struct Union {
  std::vector<std::size_t> parts;
  std::size_t axes = static_cast<std::size_t>(-1);
  friend bool operator==(const Union&, const Union&) = default;
};

bool within(const Union& a, const Union& b);
Union either(const Union& a, const Union& b);

/// The conditions that the cotangents of a loop are given with, and unions of these. All of a union are for
/// first axes of the same arrays.
class Unions {
 public:
  Union of(const Array& holds);
  /// Of a condition by entry of a loop: whether it holds in any.
  Union of_any(const Array& by_entry);
  /// Where a union that is not empty holds in any entry along some of its axes: for the others.
  Union of_any_along(const Union& all, const Dims& axes);
  bool has(const Array& holds) const;
  /// Another array that says the same as a union.
  void add(const Array& holds, const Union& as);
  /// Of a union that is not empty.
  Array made_of(const Union& all);

 private:
  struct Known {
    Array holds;
    Union as;
  };
  struct Reduced {
    Array from;
    Dims axes;
    Array any;
  };
  Array any_along(const Array& holds, const Dims& axes);

  std::deque<Known> known_;
  std::vector<Array> bases_;
  std::vector<Reduced> reduced_;
};

/// A union that a value implies, and whether it is that union. Nothing: another one.
struct Implied {
  std::optional<Union> as;
  bool equal = false;
};

/// For each value of a graph, given those of its inputs.
std::vector<Implied> implied(const Graph& graph, std::span<const Implied> inputs, Unions& unions);

}  // namespace apsis::detail
