#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <string>
#include <thread>

#include "apsis/core/op.hpp"
#include "apsis/core/watch.hpp"
#include "base/own_of_thread.hpp"
#include "base/place.hpp"
#include "core/current_trace.hpp"
#include "core/given_up.hpp"
#include "core/in_progress.hpp"
#include "core/messages.hpp"

namespace apsis {

constinit thread_local Trace* detail::trace_of_thread = nullptr;

namespace {

using detail::trace_of_thread;

std::atomic<std::uint64_t> next_tag{1};

std::uint64_t thread_number() {
  static std::atomic<std::uint64_t> next{1};
  thread_local std::uint64_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

void evaluate(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out, Loc loc) {
  struct Avals {
    std::vector<Aval> in, out;
  };
  auto& [in_avals, out_avals] = detail::own_of_thread<Avals, Avals>();
  for (const Array& a : in)
    if (detail::is_tracer(a)) detail::fail_leaked(a, op.name, loc);
  if (is_of_complex(op, in)) {
    const LocScope place(loc);
    op.of_complex(params, in, out);
    // Results are left empty where the op takes complex operands as they are.
    if (out.empty() || !out[0].is_empty()) return;
  }
  if (!op.evaluate) fail(messages::no_evaluate, {op.name}, loc);
  if (!op.shape) fail(messages::no_shape, {op.name}, loc);
  in_avals.clear();
  out_avals.clear();
  for (const Array& a : in) in_avals.push_back(a.aval());
  op.shape(params, in_avals, out_avals);
  APSIS_ASSERT(out_avals.size() == out.size());
  bool elements = false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out_avals[i].is_list()) out[i] = allocate(out_avals[i]);
    elements |= out_avals[i].is_list() || out_avals[i].size() != 0;
  }
  if (!elements && op.kind < OpKind::While) return;  // the other sizes may be huge
  // What has regions or calls the host may fail as it runs.
  if (op.kind < OpKind::While) return op.evaluate(params, in, out);
  const LocScope place(loc);
  op.evaluate(params, in, out);
}

[[noreturn]] void fail_memory(const Op& op, std::span<const Array> in, Loc loc) {
  std::string operands;
  for (const Array& a : in) operands += (operands.empty() ? "" : ", ") + to_string(a.aval());
  fail(messages::no_memory_for_op, {op.name, operands.empty() ? "none" : operands}, loc);
}

/// Whether the stack of this thread has room for a trace and for compiling what was traced. Unknown on a
/// stack that is not the thread's own, a coroutine's.
bool stack_has_room() {
#ifdef APSIS_VALGRIND
  return true;  // it maps the stack of the main thread page by page: that is all that there seems to be
#endif
  struct Stack {
    const char *lowest = nullptr, *end = nullptr;
  };
  thread_local const Stack own = [] {
    Stack found;
    pthread_attr_t attributes;
    void* lowest = nullptr;
    std::size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      pthread_attr_getstack(&attributes, &lowest, &size);
      pthread_attr_destroy(&attributes);
      found.lowest = static_cast<const char*>(lowest);
      found.end = found.lowest + size;
    }
    return found;
  }();
  const auto* at = static_cast<const char*>(__builtin_frame_address(0));
  if (at < own.lowest || at >= own.end) return true;
  return at - own.lowest > std::min<std::ptrdiff_t>(512 << 10, (own.end - own.lowest) / 4);
}

/// Nothing recurses over the length of a program, but each trace within another does, and whoever goes
/// through the regions that they make.
void check_depth(const Trace* parent, const char* name, Loc loc) {
  constexpr std::size_t deepest = 1000;
  std::size_t depth = 0;
  for (const Trace* t = parent; t; t = t->parent()) ++depth;
  if (depth < deepest && stack_has_room()) return;
  fail(messages::trace_depth, {name, std::to_string(depth)}, loc);
}

}  // namespace

Trace::Trace(Trace* parent, const char* name, Loc loc)
    : parent_(parent), tag_(next_tag.fetch_add(1, std::memory_order_relaxed)), name_(name), loc_(loc) {
  check_depth(parent, name, loc);
}
Trace::~Trace() = default;

Trace* current_trace() { return trace_of_thread; }

TraceScope::TraceScope(Trace* trace) : previous_(trace_of_thread) { trace_of_thread = trace; }
TraceScope::~TraceScope() { trace_of_thread = previous_; }

bool is_of_complex(const Op& op, std::span<const Array> in) {
  return op.of_complex && std::ranges::any_of(in, [](const Array& a) { return is_complex(a.dtype()); });
}

void bind(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out, Loc loc) {
  // What runs at once has no use for the place but in errors, which look for the user's themselves.
  if (!loc.known() || trace_of_thread) loc = detail::users_place(loc);
  for (const Array& a : in)
    if (a.is_empty()) fail(messages::empty_array, {}, loc);
  // Shape rules and allocations know of no place.
  try {
    if (trace_of_thread)
      trace_of_thread->process(op, params, in, out, loc);
    else
      evaluate(op, params, in, out, loc);
  } catch (const Error& error) {
    detail::rethrow_at(error, loc);
  } catch (const std::bad_alloc&) {
    fail_memory(op, in, loc);
  }
}

Array bind1(const Op& op, const Params& params, std::initializer_list<Array> in, Loc loc) {
  Array out;
  bind(op, params, {in.begin(), in.size()}, {&out, 1}, loc);
  return out;
}

std::vector<Array> bind_all(const Op& op, const Params& params, std::span<const Array> in, Loc loc) {
  const LocScope place(loc);
  std::vector<Aval> avals, results;
  for (const Array& a : in) avals.push_back(a.aval());
  if (!op.shape) fail(messages::no_shape, {op.name}, loc);
  op.shape(params, avals, results);
  std::vector<Array> out(results.size());
  bind(op, params, in, out, loc);
  return out;
}

namespace detail {

TracerNode::TracerNode(NodeKind kind_, Aval aval_, const Trace& trace, Loc loc_)
    : Node(kind_, std::move(aval_)),
      tag(trace.tag()),
      thread(thread_number()),
      loc(loc_.known() ? loc_ : trace.loc()) {
  if (tracers_watched.load(std::memory_order_relaxed)) note_tracer(this, tag, loc);
}
TracerNode::TracerNode(NodeKind kind_, Aval aval_)
    : Node(kind_, std::move(aval_)), tag(0), thread(thread_number()) {}
DualNode::DualNode(NodeKind kind_, const Trace& trace, Array primal_, Array tangent_, Loc loc_)
    : TracerNode(kind_, primal_.aval(), trace, loc_),
      primal(std::move(primal_)),
      tangent(std::move(tangent_)) {}
BatchNode::BatchNode(const Trace& trace, Aval lane_aval, Array value_, int axis_, Loc loc_)
    : TracerNode(NodeKind::Batch, std::move(lane_aval), trace, loc_), value(std::move(value_)), axis(axis_) {}
AbstractNode::AbstractNode(Aval aval_) : TracerNode(NodeKind::Abstract, std::move(aval_)) {}
StageNode::StageNode(const Trace& trace, Aval aval_, std::uint32_t id_, Loc loc_)
    : TracerNode(NodeKind::Stage, std::move(aval_), trace, loc_), id(id_) {}

bool is_in_progress(const Array& tracer) {
  const std::uint64_t tag = static_cast<TracerNode*>(tracer.node())->tag;
  for (const Trace* t = trace_of_thread; t; t = t->parent())
    if (t->tag() == tag) return true;
  return false;
}

void fail_leaked(const Array& tracer, const char* op_name, Loc loc) {
  auto* node = static_cast<TracerNode*>(tracer.node());
  if (node->kind == NodeKind::Abstract) fail_abstract(tracer, op_name, loc);
  // Where a function takes any number of arguments, C++ has no room for a place: then the function's name is
  // all there is.
  std::string made = node->loc.known()
                         ? "at " + std::string(node->loc.file) + ":" + std::to_string(node->loc.line)
                     : *node->loc.function ? "by a call of " + std::string(node->loc.function)
                                           : "at an unknown place";
  if (node->thread != thread_number())
    fail(messages::foreign_thread, {op_name, to_string(node->aval), made}, loc);
  const char* kind = node->kind == NodeKind::Stage   ? "jit or staged region"
                     : node->kind == NodeKind::Batch ? "vmap"
                                                     : "derivative";
  fail(messages::leaked_tracer, {op_name, to_string(node->aval), kind, made}, loc);
}

}  // namespace detail
}  // namespace apsis
