#pragma once

// Which of the functions that a program calls become machine functions. The others are written where they are
// called.

#include <unordered_map>
#include <vector>

#include "ir/graph.hpp"

namespace apsis::detail {

class SharedCalls {
 public:
  SharedCalls() = default;
  /// Counts the calls in a program and in its regions, those of a function once however often it is called.
  /// `all`: one call of any function is enough.
  SharedCalls(const Graph& program, std::int64_t register_limit, bool all);
  /// Whether the program calls the function, or an equal one, several times, and it is long enough that code
  /// of its own costs nothing to speak of.
  bool contains(const Graph& function) const;
  /// What all calls of a function have in common.
  struct Common {
    /// By operand: whether all pass what other calls made and only calls read. It is read where it was made.
    std::vector<char> operands_between;
    /// By operand: whether all repeat one number.
    std::vector<char> operands_numbers;
    /// By result: whether only calls read it.
    std::vector<char> results_between;
  };
  const Common& common(const Graph& function) const;

 private:
  struct Called {
    GraphRef function;
    std::int64_t calls = 0, length = 0;
    bool can_be_called = false;
    Common common;
  };
  const Called* find(const Graph& function) const;
  bool worth_it(const Called& called) const;
  void count(const Graph& graph);

  std::int64_t register_limit_ = 0;
  bool all_ = false;
  std::unordered_map<std::uint64_t, std::vector<Called>> called_;  // by hash
};

}  // namespace apsis::detail
