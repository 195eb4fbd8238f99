#pragma once

#include "transform/jit/jit_entry.hpp"

namespace apsis::detail {

/// The arrays that a call was given with std::move, while it runs. They are held here; what the caller has
/// says that it was given up.
class GivenUp {
 public:
  explicit GivenUp(const JitCall& call);
  /// Makes results in the memory of arrays that nobody else has, where the program allows it.
  void reuse(const JitEntry& entry, const Program& program, const JitCall& call, Array* results);

 private:
  std::vector<Array> held_;  // by node of the call; empty = not given up
};

}  // namespace apsis::detail
