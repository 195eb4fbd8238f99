#pragma once

// What compiled code calls for ops without a lowering of their own: the op's evaluator on buffers.

#include <atomic>
#include <exception>
#include <vector>

#include "apsis/core/op.hpp"
#include "codegen/builder/abi.hpp"
#include "codegen/support/lists.hpp"

namespace apsis::detail {

class Graph;

struct Kernel {
  const Op* op;
  Params params;
  std::vector<Aval> in, out;
  const std::atomic<std::int64_t>* skipped_steps =
      nullptr;               // of a progress equation's meter, for compiled code
  std::uint32_t packed = 0;  // if there are any: see `evaluate_packed`
};

/// What a call keeps beside the memory it works in. `CallContext::runtime` points here.
struct CallState {
  CallLists lists;
  const Graph* graph = nullptr;   // the caller's, equal to what was compiled: names the places of errors
  CallState* call = nullptr;      // of a chunk of lanes: the state of the whole call, whose lists they share
  std::exception_ptr error;       // thrown by an op; rethrown when the program has returned
  std::int64_t failed_lane = -1;  // of a chunk of lanes: the one whose op threw it
};

/// Does what compiled code asked for; what that throws, the call will throw when its program has returned.
template <class Work>
std::int32_t keep_error(CallContext* context, Work&& work) noexcept {
  try {
    work();
    return static_cast<std::int32_t>(Status::Ok);
  } catch (...) {
    static_cast<CallState*>(context->runtime)->error = std::current_exception();
    return static_cast<std::int32_t>(Status::Failed);
  }
}

}  // namespace apsis::detail

extern "C" {
/// Evaluates kernel `index` on the elements at `pointers`: the operands', then the results'. Returns a
/// Status.
std::int32_t apsis_call_kernel(apsis::detail::CallContext* context, std::int64_t index,
                               void* const* pointers) noexcept;
/// Copies an input to where it is updated, unless it was given up and lies there.
void apsis_copy_given(void* to, const void* from, std::int64_t bytes) noexcept;
/// Keeps the error of a loop that went past its declared bound. Returns Failed.
/// `site`: see passes/error_sites.hpp.
std::int32_t apsis_fail_max_steps(apsis::detail::CallContext* context, std::int64_t max_steps,
                                  std::int64_t site) noexcept;
}
