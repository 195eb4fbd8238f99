#pragma once

// The public face of the room: Graph in, machine code out. When to compile, what to keep and on which thread
// to run is the business of the runtime.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apsis/core/array.hpp"
#include "codegen/builder/abi.hpp"
#include "codegen/builder/builder.hpp"
#include "codegen/support/kernels.hpp"
#include "ir/graph.hpp"

namespace apsis::detail {

struct CodegenOptions {
  int lanes = 0;   // elements an iteration of fused loops, lanes of a packet; 0: what a vector register holds
  int level = -1;  // 0 … 3 as in `Level`; -1: Less for loops and large arrays, else None
  Isa isa = Isa::Native;
  bool parallel = true;  // lanes, and parts of loops, may be shared out to threads
  int part = 0;          // operands after which a function goes on in parts; 0: what is best
  bool all_calls =
      false;  // every function called becomes a machine function, if it can; else where that pays
  bool operator==(const CodegenOptions&) const = default;
};

/// A compiled program before it is loaded: with its graph, all that a Program is made of. It holds no
/// addresses, so it may come from another process (kernels are named by their ops).
struct ProgramImage {
  std::vector<std::byte> object;  // refers to the library by symbols
  std::vector<Kernel> kernels;
  std::int64_t scratch_bytes = 0, equations = 0, loops = 0;
  std::string functions;  // what `explain` tells of functions that places in the program share
};

/// Machine code of one Graph and what a call of it needs. Immutable; any number of threads may run it at
/// once.
struct Program {
  Entry entry = nullptr;
  std::int64_t scratch_bytes = 0;
  std::vector<Kernel> kernels;
  std::vector<Aval> inputs, outputs;
  // What was made of the graph.
  std::int64_t equations = 0;  // written, those of regions included
  std::int64_t loops = 0;      // fused loops over elements
  std::size_t code_bytes = 0;
  std::string functions;  // as in ProgramImage
  std::unique_ptr<Code> code;
};

/// Compiles a graph without loading it. Throws InternalError if the code generator fails, Error if it cannot
/// be loaded.
ProgramImage compile_image(const Graph& graph, const CodegenOptions& options = {});

/// Loads what was compiled from this graph or an equal one. Throws InternalError for an object that cannot be
/// loaded.
std::shared_ptr<const Program> load_program(const Graph& graph, const ProgramImage& image);

/// Both.
std::shared_ptr<const Program> compile(const Graph& graph, const CodegenOptions& options = {});

/// Runs a program on concrete arrays of exactly its inputs' dtypes and shapes. Throws what its ops throw;
/// errors name the places of `graph`, if it is given: the one that was compiled, or an equal one.
std::vector<Array> run(const Program& program, std::span<const Array> inputs, const Graph* graph = nullptr);

/// Throws what a call that returned `status` has to say; nothing for Ok.
[[noreturn]] void raise_failure(Status status, const CallState& state);
inline void raise(Status status, const CallState& state) {
  if (status != Status::Ok || state.error) [[unlikely]]
    raise_failure(status, state);
}

/// Throws what a call has to say that found no memory. `graph`: as for `run`.
[[noreturn]] void fail_memory(const Program& program, const Graph& graph);

/// The code of a program as text, for tests and for people.
std::string code_text(const Graph& graph, const CodegenOptions& options = {});

}  // namespace apsis::detail
