#pragma once

// Hooks of the debug room (see apsis/debug) into arrays, tracers and compilations. Each costs one test of a
// flag while nobody watches.

#include <string>
#include <vector>

#include "apsis/core/array.hpp"

namespace apsis::detail {

/// While one lives, the arrays made in the process are noted.
class ArrayWatch {
 public:
  ArrayWatch();
  ~ArrayWatch();
  ArrayWatch(const ArrayWatch&) = delete;
  ArrayWatch& operator=(const ArrayWatch&) = delete;
};
/// Those noted that are still there, in the order of their making.
std::vector<Aval> live_avals();

/// Notes the tracers that this thread makes while it lives (the innermost watch gets them).
class TracerWatch {
 public:
  TracerWatch();
  ~TracerWatch();
  TracerWatch(const TracerWatch&) = delete;
  TracerWatch& operator=(const TracerWatch&) = delete;
  struct Left {
    std::uint64_t tag;  // of its trace
    Aval aval;
    Loc loc;
  };
  /// Those that are still there, in the order of their making.
  std::vector<Left> left() const;

 private:
  TracerWatch* outer_;
};

/// A program that was compiled.
struct CompileEvent {
  std::string signature;  // `(f64[3], i64[]) -> (f64[])`
  std::int64_t equations = 0;
  std::size_t code_bytes = 0;
  double seconds = 0;
};
/// Sets who is told of compilations (null: nobody), and returns who was.
using CompileListener = void (*)(const CompileEvent&);
CompileListener on_compile(CompileListener listener);
/// Who is to be told now; null mostly.
CompileListener compile_listener();

// What makes and destroys nodes calls.
extern std::atomic<int> arrays_watched, tracers_watched;
void note_array(const Node* node);
void forget_array(const Node* node);
void note_tracer(const Node* node, std::uint64_t tag, Loc loc);
void forget_tracer(const Node* node);

}  // namespace apsis::detail
