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

 private:
  struct Called {
    GraphRef function;
    std::int64_t calls = 0;
    bool worth_it = false;
  };
  const Called* find(const Graph& function) const;
  void count(const Graph& graph);

  std::int64_t register_limit_ = 0;
  bool all_ = false;
  std::unordered_map<std::uint64_t, std::vector<Called>> called_;  // by hash
};

}  // namespace apsis::detail
