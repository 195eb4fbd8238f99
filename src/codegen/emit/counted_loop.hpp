#pragma once

// The loop that nests consist of.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codegen/builder/control.hpp"

namespace apsis::detail {

/// A loop `for (i = 0; i < n; i += step)`, written from both ends. The trip count is at least one. `carried`
/// are values that pass from each iteration to the next: on opening they become the current ones, which may
/// be replaced; after `close` they are the last.
class CountedLoop {
 public:
  CountedLoop(Builder& b, Value n, std::span<Value> carried = {});
  /// Positions of vectors of `step` elements in n; the last one is moved back so that it ends at n.
  CountedLoop(Builder& b, std::int64_t n, std::int64_t step, std::span<Value> carried = {});
  CountedLoop(Builder& b, Value n, std::int64_t step);
  Value index() const { return index_; }
  /// Continues after the loop.
  void close();

 private:
  void open();
  Builder& b_;
  Value n_, index_;
  std::int64_t fixed_ = -1, step_ = 1;
  std::span<Value> carried_;
  std::vector<Variable> variables_;  // the index, and what is carried
  std::optional<LoopBlocks> blocks_;
};

}  // namespace apsis::detail
