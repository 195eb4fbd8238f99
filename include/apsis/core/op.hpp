#pragma once

// An op is one row of plain function pointers, its rules; `bind` runs it.
// For authors of ops, not part of apsis.hpp.

#include <concepts>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "apsis/core/array.hpp"
#include "apsis/core/params.hpp"

namespace apsis {

class Emitter;
struct Op;
namespace detail {
class GraphBuilder;
struct GatherParams;
struct Value;
struct View;
}  // namespace detail

/// What an op is to fusion, batching and code generation.
enum class OpKind : std::uint8_t {
  Constant,     ///< a literal
  Elementwise,  ///< out[i] = f(in0[i], in1[i], …), equal shapes
  View,         ///< out is a strided view of its one operand (broadcast, transpose, slice, reshape, reverse)
  Reduce,       ///< sums and the like over axes
  Contract,     ///< dot_general
  Index,  ///< gather, scatter, dynamic slices, concatenate, pad, iota, sort: a kernel, or unrolled when small
  While,
  Scan,
  Cond,
  MapLanes,
  Call,        ///< a region called as a function
  Custom,      ///< a call with rules of its own; compiled as a call of its first region, on all operands
  Collective,  ///< works across the lanes of a named axis; gone when the vmap of that axis has run
  Effect       ///< callbacks, prints, checks
};

/// What a view op does with the elements of its operand.
enum class ViewKind : std::uint8_t {
  None,      ///< no view, or one that nothing is known of
  Part,      ///< the result has some of them
  Reversed,  ///< all, in the opposite order along some axes
  Permuted,  ///< all, with the axes in another order
  Reshaped,  ///< all in row-major order: only the shape differs
  Repeated   ///< all, repeated along further axes
};

/// What an elementwise op computes, of the few that passes look for: the sum of two operands, their product,
/// the first two multiplied and the third added in one rounding.
enum class Arithmetic : std::uint8_t { None, Sum, Product, ProductSum };

/// What a boolean result says of boolean operands, or of the elements that a reduction meets.
enum class Logic : std::uint8_t { None, Any, All };

/// How a fused loop reads operand 0 of an op that is not elementwise.
enum class FusedRead : std::uint8_t {
  None,       ///< not at all: the op is no part of a fused loop
  AtIndices,  ///< at the places that the other operands give, element by element
  Padded      ///< where the result's element lies inside of it; elsewhere operand 1, a scalar, is the result
};

/// Arguments and results of an op's jvp rule. A tangent that is zero is an empty Array; a rule is called only
/// if at least one tangent is not. The rule computes the primal results and the tangents of the results, both
/// by `bind`.
struct JvpRule {
  const Params& params;
  std::span<const Array> primals;
  std::span<const Array> tangents;
  std::span<Array> outs;          ///< to be filled in
  std::span<Array> out_tangents;  ///< to be filled in; left empty = zero
};

/// A boolean for some of the axes of an array: axis i of `holds` is axis `axes[i]` of the array, in this
/// order. Empty: it holds everywhere.
struct AxesCondition {
  Array holds;
  Dims axes;
  /// For the first axes of an array: a scalar, one boolean for each lane, one for each element.
  static AxesCondition for_first_axes(Array holds) {
    const auto count = holds.is_empty() ? 0 : static_cast<std::size_t>(holds.ndim());
    return {std::move(holds), Dims::counting(count)};
  }
};

/// The cotangent of one operand, as the transpose rule of an op makes it.
class Accumulator {
 public:
  Accumulator() = default;
  Accumulator(bool linear, Aval aval, Array sum = {})
      : linear_(linear), aval_(std::move(aval)), sum_(std::move(sum)) {}

  /// Whether the op is linear in the operand. What is added for another operand is dropped.
  bool is_linear() const { return linear_; }
  /// Of the operand.
  const Aval& aval() const { return aval_; }
  /// Adds `cotangent`; an empty one is zero.
  void add(Array cotangent) { add_if(std::move(cotangent), {}); }
  /// Adds `cotangent`, which is zero where `condition` does not hold, so that what it is multiplied with on
  /// its way back does not matter there, be it infinite.
  void add_if(Array cotangent, AxesCondition condition) {
    if (linear_ && !cotangent.is_empty()) terms_.push_back({std::move(cotangent), std::move(condition)});
  }
  /// What other equations have added before, if the operand is a large array; else empty. A rule that goes on
  /// from this sum, instead of making one of its own from zeros, takes it and adds the new sum.
  Array take_sum() { return std::exchange(sum_, {}); }
  bool has_sum() const { return !sum_.is_empty(); }

  struct Term {
    Array cotangent;
    AxesCondition condition;  ///< under which it counts
  };
  /// What was added.
  const std::vector<Term>& terms() const { return terms_; }

 private:
  bool linear_ = false;
  Aval aval_;
  Array sum_;
  std::vector<Term> terms_;
};

/// Arguments and results of a transpose rule.
struct TransposeRule {
  const Params& params;
  std::span<const Array> operands;    ///< values; empty where the op is linear in them
  std::span<const Array> cotangents;  ///< one for each result, empty = zero
  std::span<Accumulator> out;         ///< one for each operand
  /// A condition for each of `cotangents`, which are not zero yet where it does not hold. Only rules of ops
  /// with `takes_conditions` are given any; others get zeros.
  std::span<const AxesCondition> given = {};
};

/// The axis that vmap maps: its length, and its name if it has one. Stands for its length where a number is
/// wanted.
struct MappedAxis {
  std::int64_t size = 0;
  std::string_view name = {};
  MappedAxis(std::int64_t size_, std::string_view name_ = {}) : size(size_), name(name_) {}
  operator std::int64_t() const { return size; }
};

/// Arguments and results of a batching rule. `axes[i]` is the mapped axis of operand i, or -1.
struct BatchRule {
  const Params& params;
  MappedAxis size;  ///< of the mapped axis
  std::span<const Array> operands;
  std::span<const int> axes;
  std::vector<Array>& outs;  ///< to be filled in, one per result
  std::vector<int>& out_axes;
};

/// Arguments and results of a linearization rule, for ops whose tangent program is not the jvp rule's (loops,
/// branches, custom rules). `outs` are bound under the parent, which is current, `out_tangents` under
/// `tangent_trace`, which stages what depends on tangents. An operand or result without primal is a value of
/// the tangent program: its own tangent.
struct LinearizeRule {
  const Params& params;
  std::span<const Array> primals;
  std::span<const Array> tangents;
  Trace* tangent_trace;
  std::span<Array> outs;
  std::span<Array> out_tangents;
};

/// Arguments and results of a Taylor-mode rule: operands and results are functions of t at t = 0. `series[i]`
/// holds the derivatives of operand i of order 1 … `order` (empty Arrays: zero), or nothing if it is
/// constant; at least one is not. `out_series` likewise, left without entries for what is constant.
struct JetRule {
  const Params& params;
  std::size_t order;
  std::span<const Array> primals;
  std::span<const std::vector<Array>> series;
  std::span<Array> outs;
  std::span<std::vector<Array>> out_series;
};

/// An operation: its name, how results are computed and compiled, and its rules under each transformation.
/// Ops are constants; a user's own are declared like those of the library.
struct Op {
  const char* name;
  OpKind kind;
  bool effect = false;  ///< never merged with an equal one, never removed
  /// Checks the operands and gives the results' avals. Throws apsis::Error.
  void (*shape)(const Params&, std::span<const Aval> in, std::vector<Aval>& out) = nullptr;
  /// Computes concrete results from concrete operands. `out` is allocated by `shape`.
  void (*evaluate)(const Params&, std::span<const Array> in, std::span<Array> out) = nullptr;
  /// Where an operand is complex: the same, composed of ops on parts, evaluated and staged in the op's place,
  /// but for derivatives and batches. All results may be left empty: then they are the op's own.
  void (*of_complex)(const Params&, std::span<const Array> in, std::span<Array> out) = nullptr;
  void (*jvp)(const JvpRule&) = nullptr;
  void (*linearize)(const LinearizeRule&) = nullptr;
  void (*transpose)(const TransposeRule&) = nullptr;
  void (*batch)(const BatchRule&) = nullptr;
  /// Where there is none, jet differentiates the jvp rule again and again.
  void (*jet)(const JetRule&) = nullptr;
  /// Elementwise ops: one (lane) value per operand and result.
  void (*emit)(Emitter&, const Params&, std::span<const detail::Value> in,
               std::span<detail::Value> out) = nullptr;
  /// Other ops on small arrays: all elements of all operands, one value each, in row-major order; operands
  /// follow each other in `in`, results in `out`, sizes by the avals. Null if the op is never unrolled.
  void (*emit_unrolled)(Emitter&, const Params&, std::span<const Aval> in_avals,
                        std::span<const detail::Value> in, std::span<const Aval> out_avals,
                        std::span<detail::Value> out) = nullptr;
  /// View ops: the strides of the result given those of the operand; false if it is no view of that (a
  /// reshape of something not contiguous).
  bool (*view)(const Params&, const Aval& out, const detail::View& in, detail::View& result) = nullptr;
  /// Collectives: the named axis they work over, "" for every mapped axis. vmap of that axis calls `batch`
  /// even if no operand is mapped.
  std::string_view (*axis)(const Params&) = nullptr;
  /// Why there is no jvp or transpose rule, where there is none on purpose.
  const char* not_differentiable = nullptr;
  /// Staging: adds something better than this op to the graph (fma for a sum with a product, nothing for x +
  /// 0) and returns true, or returns false. A local rule: it sees the definitions of the operands.
  bool (*rewrite)(detail::GraphBuilder&, const Params&, std::span<const std::uint32_t> operands,
                  std::span<std::uint32_t> results, Loc loc) = nullptr;
  /// Reads the parameters from the Graph text form (see `ParamsReader`).
  Params (*parse)(detail::ParamsReader&) = nullptr;

  // Facts, by which passes, derivatives and code generation treat all ops that have them alike. An op of
  // which a fact is not known leaves it at its default.

  /// A NaN in any floating operand always shows as a NaN in a result that is floating and has elements.
  bool spreads_nan = false;
  /// Elements of the result are elements of operands, chosen without a look at their values.
  bool moves = false;
  /// The result is the operands one after the other along an axis (`detail::ConcatenateParams`).
  bool joins = false;
  /// Operands (condition, a, b): the element of a where the condition holds, else that of b.
  bool chooses = false;
  /// The operand by which it divides, where a zero is worth a warning; -1: none.
  std::int8_t divisor = -1;
  Arithmetic arithmetic = Arithmetic::None;
  Logic logic = Logic::None;
  ViewKind view_kind = ViewKind::None;
  FusedRead fused_read = FusedRead::None;
  /// Of an index op: to compute the result again costs no more than to keep it.
  bool cheap = false;
  /// The operand that the result is an update of, so that it may lie in the same memory; -1: none.
  std::int8_t updates = -1;
  /// The operand that holds the new elements of an update; -1: none.
  std::int8_t written = -1;
  /// The first of the operands that say where a slice of operand 0 starts, one for each axis; -1: none.
  std::int8_t starts = -1;
  /// Which elements of operand 0 the index vectors in operand 1 mean.
  const detail::GatherParams& (*places)(const Params&) = nullptr;
  /// The axis of operand k whose entries are, one by one, what those of axis `axis` of the result are
  /// computed from; -1: there is none. Elementwise ops need no rule.
  std::int64_t (*operand_axis)(const Params&, std::span<const Aval> in, const Aval& out, std::size_t k,
                               std::int64_t axis) = nullptr;
  /// Reductions that fused loops may hold: the bits of the element that changes no result.
  std::uint64_t (*neutral)(Dtype) = nullptr;
  /// Reductions: elements may be met in any order, and more than once.
  bool any_order = false;
  /// How many operands, the first ones, get their cotangents by moving or repeating elements of the result's.
  std::uint8_t moves_cotangents = 0;
  /// Whether the transpose rule makes use of `TransposeRule::given`.
  bool takes_conditions = false;
  /// Effects: compiled code has them written out, where others call a function of the host for each lane.
  bool written_out = false;
  /// Effects: one for all lanes together, whether or not some of them have ended.
  bool shared_by_lanes = false;

  /// Of an op from outside the library: programs that hold it are kept on disk only if this is not 0. Raise
  /// it when the op's results change.
  std::uint32_t version = 0;
};

/// A transformation in progress. Traces stack: each knows its parent, and unwraps only its own tracers.
class Trace {
 public:
  Trace(Trace* parent, const char* name, Loc loc = {});
  virtual ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  virtual void process(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out,
                       Loc loc) = 0;

  Trace* parent() const { return parent_; }
  std::uint64_t tag() const { return tag_; }
  const char* name() const { return name_; }
  /// Where the user asked for the transformation: the place of its inputs.
  Loc loc() const { return loc_; }

 private:
  Trace* parent_;
  std::uint64_t tag_;
  const char* name_;
  Loc loc_;
};

/// The trace that `bind` asks on this thread; null = evaluate.
Trace* current_trace();
/// Makes a trace current until the end of the scope.
class TraceScope {
 public:
  explicit TraceScope(Trace* trace);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  Trace* previous_;
};

/// Whether an op is to be composed of others, by `Op::of_complex`.
bool is_of_complex(const Op& op, std::span<const Array> in);
/// Runs an op under the current trace. `out` has one empty entry per result.
void bind(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out, Loc loc = {});
/// The same whatever the spans are made of and however the arguments are passed: where one had to be
/// converted, `std::bind`, which lookup finds for their types, would be the better match, and nothing would
/// run.
template <std::convertible_to<const Op&> O, std::convertible_to<const Params&> P,
          std::convertible_to<std::span<const Array>> In, std::convertible_to<std::span<Array>> Out>
void bind(O&& op, P&& params, In&& in, Out&& out) {
  bind(static_cast<const Op&>(op), static_cast<const Params&>(params), std::span<const Array>(in),
       std::span<Array>(out), Loc{});
}
template <std::convertible_to<const Op&> O, std::convertible_to<const Params&> P,
          std::convertible_to<std::span<const Array>> In, std::convertible_to<std::span<Array>> Out,
          std::convertible_to<Loc> L>
void bind(O&& op, P&& params, In&& in, Out&& out, L&& loc) {
  bind(static_cast<const Op&>(op), static_cast<const Params&>(params), std::span<const Array>(in),
       std::span<Array>(out), Loc(loc));
}
/// For ops with one result.
Array bind1(const Op& op, const Params& params, std::initializer_list<Array> in, Loc loc = {});
/// For ops whose number of results `shape` tells.
std::vector<Array> bind_all(const Op& op, const Params& params, std::span<const Array> in, Loc loc = {});

namespace detail {

/// Tracers. The tag says which trace they belong to.
struct TracerNode : Node {
  std::uint64_t tag;
  std::uint64_t thread;
  Loc loc;
  TracerNode(NodeKind kind_, Aval aval_, const Trace& trace, Loc loc_);
  TracerNode(NodeKind kind_, Aval aval_);  // of no trace
};
/// jvp and linearize: the tangent is never empty.
struct DualNode : TracerNode {
  Array primal, tangent;
  DualNode(NodeKind kind_, const Trace& trace, Array primal_, Array tangent_, Loc loc_ = {});
};
/// vmap: `value` has the mapped axis at `axis`; the aval is that of one lane.
struct BatchNode : TracerNode {
  Array value;
  int axis;
  BatchNode(const Trace& trace, Aval lane_aval, Array value_, int axis_, Loc loc_ = {});
};
/// jit and staged regions: value `id` of the graph under construction.
struct StageNode : TracerNode {
  std::uint32_t id;
  StageNode(const Trace& trace, Aval aval_, std::uint32_t id_, Loc loc_);
};

inline bool is_tracer(const Array& a) { return a.node() && a.node()->kind >= NodeKind::Jvp; }
/// An array of `abstract_array`: of no trace, so that every use of its value is refused.
struct AbstractNode : TracerNode {
  explicit AbstractNode(Aval aval_);
};
/// This trace's own tracer, or null.
template <class N>
N* own_tracer(const Array& a, const Trace& trace) {
  if (!is_tracer(a)) return nullptr;
  auto* t = static_cast<TracerNode*>(a.node());
  return t->tag == trace.tag() ? static_cast<N*>(t) : nullptr;
}
/// Throws the leak error that fits: dead trace, or another thread's tracer.
[[noreturn]] void fail_leaked(const Array& tracer, const char* op_name, Loc loc);

/// Marks a rank-0 concrete array as program text: staged inline.
Array literal(Dtype dtype, double value, bool weak = false);

}  // namespace detail
}  // namespace apsis
