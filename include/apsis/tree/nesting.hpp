#pragma once

// How deep a walk over a tree has gone. Types may contain containers of themselves, so that pointers that
// form a cycle, or a list of many nodes, would use up the stack: they are refused with an error.

#include <string_view>

#include "apsis/base/error.hpp"

namespace apsis::detail {

class TreeVisitor;

/// Of a tree that is nested too deeply. Whoever knows where the user calls adds that place.
class NestingError : public Error {
 public:
  using Error::Error;
  [[noreturn]] void rethrow_at(Loc loc) const;
};

/// A container that is being walked. Those around it are a list on the stack.
class Nesting {
 public:
  using Walk = void (*)(const void* tree, TreeVisitor& visitor);
  /// Python, and so JAX, ends at as many.
  static constexpr int limit = 1000;

  Nesting(const void* tree, Walk walk)
      : outer_(innermost), tree_(tree), walk_(walk), depth_(outer_ ? outer_->depth_ + 1 : 1) {
    if (depth_ > limit) [[unlikely]] {
      const Nesting* outermost = this;
      while (outermost->outer_) outermost = outermost->outer_;
      innermost = nullptr;  // for the walk that finds out what to say; those around set it as they end
      fail(*outermost);
    }
    innermost = this;
  }
  ~Nesting() { innermost = outer_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  [[noreturn]] static void fail(const Nesting& outermost);

  static inline constinit thread_local const Nesting* innermost = nullptr;
  const Nesting* outer_;
  const void* tree_;
  Walk walk_;
  int depth_;
};

}  // namespace apsis::detail
