#pragma once

// The values in the body of a loop.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "codegen/builder/builder.hpp"

namespace apsis::detail {

/// By number, each in one vector or in several neighbouring ones, which have a register each.
///
/// Where a mask is a vector of lanes as wide as those that were compared, LLVM packs the masks of several
/// registers before it combines them and unpacks what comes out, ten instructions for one. There what is
/// computed of long vectors is computed a register at a time.
class PartedValues {
 public:
  PartedValues(Builder& b, std::size_t count) : b_(b), values_(count) {}

  bool has(std::uint32_t v) const { return values_[v].count > 0; }
  void set(std::uint32_t v, Value whole) { values_[v] = {{whole}, 1}; }
  /// The next part of a value that is set part by part.
  void add_part(std::uint32_t v, Value part);

  /// In how many parts these go into an operation.
  int parts_of(std::span<const std::uint32_t> operands) const;
  Value part(std::uint32_t v, int i, int parts);
  Value whole(std::uint32_t v) const;

 private:
  static constexpr int most_parts = 8;
  struct Parts {
    std::array<Value, most_parts> part = {};
    int count = 0;
  };

  int lanes_of(const Parts& value) const { return value.count * b_.lanes_of(value.part[0]); }

  Builder& b_;
  std::vector<Parts> values_;
};

}  // namespace apsis::detail
