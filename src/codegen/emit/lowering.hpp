#pragma once

// What the regions of one program share while code is written.

#include <deque>
#include <string>
#include <unordered_map>

#include "codegen/builder/abi.hpp"
#include "codegen/builder/control.hpp"
#include "codegen/plan/arena.hpp"
#include "codegen/plan/place.hpp"
#include "codegen/plan/shared_calls.hpp"
#include "codegen/support/kernels.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {

struct LoweringOptions {
  int vector_lanes = 0;  // of fused loops; 0: as many as a vector register holds
  std::int64_t register_limit = usual_register_limit;  // arrays up to this size live in registers
  std::ptrdiff_t many_loops = 6;  // programs with so many fused loops write equal ones once, as functions
  bool parallel = true;           // lanes are shared out to threads
  bool optimized = true;          // what loops carry stays in registers
  bool all_calls = false;         // see CodegenOptions
  // Operands that a region writes before it goes on in parts: what loops repeat, and all else, which the
  // loops in it do not count for. Within the first, values stay in registers as long as there are any; what
  // is longer has more values alive than registers. Parts are short in both.
  std::int64_t longest_repeated = 8000, longest_part = 1500;
};

class Lowering {
 public:
  Lowering(Builder& builder, const LoweringOptions& options) : b(builder), options_(options) {}
  Lowering(Builder& builder, const LoweringOptions& options, const Graph& program)
      : b(builder), shared_calls(program, options.register_limit, options.all_calls), options_(options) {}

  Builder& b;
  Arena arena;
  std::vector<Kernel> kernels;
  std::int64_t loops = 0, equations = 0;
  std::int64_t in_loops = 0;  // operands written in loops so far
  bool repeated = false;      // what is written runs many times in a call
  /// Fused loops written as functions, by what they do but for the parameters of their ops.
  struct SharedLoop {
    Function function;
    std::vector<Params> params;
  };
  std::unordered_map<std::string, std::vector<SharedLoop>> shared_loops;

  /// What the program calls that becomes functions; those written so far, by what calls pass.
  SharedCalls shared_calls;
  struct SharedFunction {
    GraphRef graph;
    std::string name;  // of the call that it was written for
    Function function;
    std::int64_t scratch_bytes = 0, calls = 0;
    bool may_fail = false;
  };
  std::unordered_map<std::string, std::deque<SharedFunction>> shared_functions;
  /// What `explain` tells of them, a line each.
  std::string told_functions() const;

  /// What copies large arrays of lanes from one layout to the other, by which way, dtype and lanes.
  std::unordered_map<std::string, Function> lane_copies;

  const LoweringOptions& options() const { return options_; }
  /// Starts the function whose first parameter is the call's context, and reads from it what the code needs.
  void enter(Pointer context);
  /// The same for a function written in the middle of another, with scratch memory of its own; and back to
  /// the other one.
  void begin_function(Pointer context);
  /// Whether what is written is such a function.
  bool is_inner() const { return !outer_.empty(); }
  /// The scratch memory that the inner function needs.
  std::int64_t end_function();
  /// Whether the function being written can end with another status than Ok.
  bool may_fail() const { return failure_.is_used(); }
  /// The region being written consists of pieces of code: goes on in parts of their own where a function has
  /// become long.
  class Pieces {
   public:
    explicit Pieces(Lowering& lowering)
        : lowering_(lowering), start_(lowering.b.written()), start_in_loops_(lowering.in_loops) {
      lowering_.b.open_pieces();
    }
    Pieces(const Pieces&) = delete;
    Pieces& operator=(const Pieces&) = delete;
    /// Before each piece.
    void next();
    /// After the last one.
    void end();

   private:
    bool is_long() const;
    void join();
    Lowering& lowering_;
    std::int64_t start_, start_in_loops_;  // written before the piece, in all and in loops
    bool in_part_ = false;
  };
  Pointer context() const { return context_; }
  /// The address of a range of scratch memory.
  Pointer scratch(std::int64_t offset) { return b.offset(scratch_, offset); }
  /// A buffer of its own.
  BufferOwner allocate(std::int64_t bytes);
  /// Leaves the function with `status` unless it is Ok.
  void check(Value status);
  /// What an entry of the runtime makes; leaves the function if it could not.
  Pointer make(const char* symbol, std::span<const Operand> arguments);
  /// Leaves the function when the call was cancelled.
  void poll();
  /// Leaves the function with a fixed status.
  void fail(Status status);
  /// The same where `condition` holds.
  void fail_if(Value condition, Status status);

  int vector_lanes(std::size_t item_bytes) const;

 private:
  Value status_value(Status status) { return b.constant(Dtype::I32, static_cast<std::uint64_t>(status)); }
  struct Outer {
    Arena arena;
    bool repeated;
    std::int64_t in_loops;
    Pointer context, scratch, cancel;
    FunctionExit failure;
  };
  std::vector<FunctionExit> failures_;  // of the functions whose parts are being written
  LoweringOptions options_;
  Pointer context_, scratch_, cancel_;
  FunctionExit failure_;
  std::vector<Outer> outer_;
};

}  // namespace apsis::detail
