#pragma once

// Which axes of a value count the lanes of a vmap. Like the place of an equation this is no part of the
// program: it follows values from one transformation to the next, so that an error found in whole arrays can
// name the lane.

#include <cstddef>
#include <cstdint>

#include "apsis/core/array.hpp"

namespace apsis::detail {

class GraphBuilder;

/// The axes of a value that are lanes, those of the outermost vmap first; none if that is not known.
class LaneAxes {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  int operator[](std::size_t i) const { return axes_[i]; }
  bool contains(std::int64_t axis) const;
  void push_back(std::int64_t axis) { axes_[count_++] = static_cast<std::uint8_t>(axis); }
  /// Those of the whole value, of which `axis` is mapped by one more vmap around. None if they are too many.
  LaneAxes within(int axis) const;

 private:
  static constexpr std::size_t limit = 7;
  std::uint8_t count_ = 0, axes_[limit] = {};
};

/// Notes the lanes of a value that is being traced, in each graph that it is part of. Of two notes the one
/// that knows more vmaps stays.
void note_lanes(const Array& a, const LaneAxes& lanes);

/// While it lives, the tracers with this tag on this thread are values of `builder`.
class StagedIn {
 public:
  StagedIn(std::uint64_t tag, GraphBuilder& builder);
  ~StagedIn();
  StagedIn(const StagedIn&) = delete;
  StagedIn& operator=(const StagedIn&) = delete;

 private:
  friend void note_lanes(const Array& a, const LaneAxes& lanes);
  std::uint64_t tag_;
  GraphBuilder& builder_;
  StagedIn* outer_;
};

}  // namespace apsis::detail
