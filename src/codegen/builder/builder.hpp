#pragma once

// What lowering writes programs with: the operations of `Emitter`, and memory, control flow and functions.
// The one implementation is codegen/llvm, a module of its own that is loaded at the first compile; LLVM is
// not visible here.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apsis/core/emitter.hpp"

namespace apsis::detail {

class Arena;

/// An address, the same for all lanes.
struct Pointer {
  void* handle = nullptr;
};

/// The same, to be read only.
struct ConstPointer {
  void* handle = nullptr;
  ConstPointer() = default;
  ConstPointer(Pointer p) : handle(p.handle) {}
};

/// A place that control can jump to.
struct Block {
  void* handle = nullptr;
};

/// A function of the module.
struct Function {
  void* handle = nullptr;
};

/// The type of a parameter, result or variable.
struct Type {
  Dtype dtype = Dtype::I64;
  int lanes = 1;  // 0: a pointer
};
inline constexpr Type pointer_type{Dtype::U64, 0};

/// What may be set again on the way that control takes: a value, or an address.
struct Variable {
  int number = -1;
  bool made() const { return number >= 0; }
};

/// An argument of a call.
struct Operand {
  void* handle;
  Operand(Value v) : handle(v.handle) {}
  Operand(Pointer p) : handle(p.handle) {}
  Operand(ConstPointer p) : handle(p.handle) {}
};

/// Which way a branch goes nearly always.
enum class Likely : std::uint8_t { Unknown, True, False };

/// How hard code generation tries. Straight-line code does well at None, code with loops needs Less.
enum class Level : std::uint8_t { None, Less, Default, Aggressive };

/// The instruction set that code is made for. Native is what the machine has.
enum class Isa : std::uint8_t { Native, Avx2, Avx512 };

struct BuilderOptions {
  Isa isa = Isa::Native;
  /// Uses of an elementary function that are emitted in place, before it becomes a function of the module. A
  /// call costs the spilling of every live vector register, a copy costs compile time, some 30 instructions
  /// each.
  int inline_uses = 2;
  /// The same for those that the library holds: after so many uses they are called there, which costs no
  /// compile time.
  int inline_library_uses = 2;
  /// Multiples of a loop's counter are carried along, as strides are. Where carried values are kept in memory
  /// a multiplication is faster.
  bool carries_multiples = true;
};

struct CodeOptions {
  Level level = Level::Less;
  bool verify = true;
};

/// Machine code in memory; freed when destroyed. Its functions may run on any thread as long as it lives.
class Code {
 public:
  virtual ~Code() = default;
  /// The address of an exported function, or null.
  virtual void* find(const char* name) const = 0;
  /// Bytes of instructions and constants.
  virtual std::size_t size() const = 0;
};

/// Builds one module. Values know their number of lanes; `lanes()` only says how many those have that are
/// made from nothing: constants, loads, phis, lane_numbers. A value with one lane is a scalar. Operands of
/// one operation have equal numbers of lanes. Complex dtypes are not values. A Builder belongs to one thread
/// at a time.
class Builder : public Emitter {
 public:
  // Lanes.
  virtual void set_lanes(int lanes) = 0;
  virtual int lanes() const = 0;
  /// The lanes of a value.
  virtual int lanes_of(Value v) const = 0;
  /// Bytes of the widest vector register of the instruction set: 64 or 32.
  virtual int vector_bytes() const = 0;
  /// A scalar i64 constant, whatever `lanes()` is.
  virtual Value index(std::int64_t value) = 0;
  /// A scalar repeated in `lanes()` lanes.
  virtual Value splat(Value scalar) = 0;
  virtual Value extract(Value v, int lane) = 0;
  virtual Value extract(Value v, Value lane) = 0;  // lane: scalar I64 below lanes_of(v)
  virtual Value insert(Value v, int lane, Value scalar) = 0;
  virtual Value insert(Value v, Value lane, Value scalar) = 0;
  /// Lane i of the result is lane `from[i]` of a and b taken one after the other.
  virtual Value shuffle(Value a, Value b, std::span<const int> from) = 0;
  /// 0, 1, …, lanes()-1 as I64.
  virtual Value lane_numbers() = 0;
  // Of a Bool with any number of lanes; scalars.
  virtual Value any(Value mask) = 0;
  virtual Value all(Value mask) = 0;
  virtual Value mask_bits(Value mask) = 0;    // I64, bit i = lane i; at most 64 lanes
  virtual Value trailing_zeros(Value a) = 0;  // integers, lanewise; the width for 0

  // Memory. A Bool is one byte, 0 or 1. Addresses need the alignment of the element only.
  virtual Pointer offset(Pointer p, std::int64_t bytes) = 0;
  virtual Pointer offset(Pointer p, Value bytes) = 0;  // scalar I64
  ConstPointer offset(ConstPointer p, std::int64_t bytes) { return offset(Pointer{p.handle}, bytes); }
  ConstPointer offset(ConstPointer p, Value bytes) { return offset(Pointer{p.handle}, bytes); }
  virtual Pointer null_pointer() = 0;
  virtual Pointer choose(Value condition, ConstPointer if_true,
                         ConstPointer if_false) = 0;  // condition: scalar
  virtual Value is_null(ConstPointer p) = 0;
  /// Whether the value is known while code is written. Then all functions may use it.
  virtual bool is_constant(Value v) = 0;
  /// `lanes()` neighbouring elements.
  virtual Value load(ConstPointer p, Dtype dtype) = 0;
  /// As many elements as `v` has lanes.
  virtual void store(Pointer p, Value v) = 0;
  /// Elements of unset lanes are not touched; they read as zero.
  virtual Value masked_load(ConstPointer p, Dtype dtype, Value mask) = 0;
  virtual void masked_store(Pointer p, Value v, Value mask) = 0;
  /// The set lanes get neighbouring elements, in their order. An instruction where registers have 64 bytes,
  /// of elements of 4 bytes and more.
  virtual Value expand_load(ConstPointer p, Dtype dtype, Value mask) = 0;
  /// One element, as a scalar whatever `lanes()` is.
  virtual Value load_element(ConstPointer p, Dtype dtype) = 0;
  /// The same as a relaxed atomic load, for flags that other threads set.
  virtual Value load_relaxed(ConstPointer p, Dtype dtype) = 0;
  /// Element `elements[lane]` (I64, counted in elements from p) for each lane of `elements`; unset lanes as
  /// above.
  virtual Value gather(ConstPointer p, Value elements, Dtype dtype) = 0;
  virtual Value gather(ConstPointer p, Value elements, Dtype dtype, Value mask) = 0;
  /// Of lanes that name the same element the highest is stored.
  virtual void scatter(Pointer p, Value elements, Value v) = 0;
  virtual void scatter(Pointer p, Value elements, Value v, Value mask) = 0;
  /// Asks for what will be read: of any address.
  virtual void prefetch(ConstPointer p) = 0;
  virtual Pointer load_pointer(ConstPointer p) = 0;
  virtual void store_pointer(Pointer p, ConstPointer value) = 0;
  /// Uninitialised memory of the current function's frame, aligned to 64 bytes, the same at each passage.
  virtual Pointer stack(std::size_t bytes) = 0;
  virtual void copy_bytes(Pointer to, ConstPointer from, Value bytes) = 0;  // no overlap
  virtual void fill_bytes(Pointer to, std::uint8_t byte, Value bytes) = 0;
  /// Read-only data of the module, aligned to 64 bytes.
  virtual Pointer constant_data(std::span<const std::byte> bytes) = 0;

  // Variables. What is set in a loop or on one of several ways is seen after it: see control.hpp.
  Variable make_variable(Type type);
  Variable make_variable(Value initial);
  Variable make_variable(ConstPointer initial);
  void set(Variable variable, Value v);
  void set(Variable variable, ConstPointer p);
  Value get(Variable variable) const;
  Pointer get_pointer(Variable variable) const;

  // Functions. Exported ones (found by `Code::find`) follow the C convention and have scalar or pointer
  // parameters and at most one result; so do those whose address is taken. Any number of results stays in
  // registers where it can.
  virtual Function declare(const char* name, std::span<const Type> parameters, std::span<const Type> results,
                           bool exported = false) = 0;
  /// Positions at the start of f's body; sets one lane. Definitions may nest: `end` restores position and
  /// lanes.
  virtual void begin(Function f) = 0;
  virtual void end() = 0;
  /// Of the function being defined.
  virtual Value parameter(int i) = 0;
  virtual Pointer pointer_parameter(int i) = 0;
  virtual void return_values(std::span<const Value> results) = 0;
  virtual void call(Function f, std::span<const Operand> arguments, std::span<Value> results) = 0;
  /// To hand it to the runtime.
  virtual Pointer address_of(Function f) = 0;
  /// Calls a C function of the library by its symbol: scalars and pointers in, a scalar of `result` dtype
  /// out. It must not throw. Its symbol is resolved when the code is loaded.
  virtual Value call_runtime(const char* symbol, Dtype result, std::span<const Operand> arguments) = 0;
  virtual Pointer call_runtime_pointer(const char* symbol, std::span<const Operand> arguments) = 0;
  virtual void call_runtime_void(const char* symbol, std::span<const Operand> arguments) = 0;

  // Parts. A compiler takes longer for each instruction of a long function than for one of a short function.
  // A function can go on in parts, functions of their own, which use each other's values as if they were one.
  /// The function being defined, whose parameter `context` is, may be divided. Returns the scratch memory
  /// that the context has at `scratch_field`; `memory` plans it.
  virtual Pointer divisible(Pointer context, std::int64_t scratch_field, Arena& memory) = 0;
  /// How much was written into the function or part being defined, in operands; 0 where none may be divided.
  virtual std::int64_t written() const = 0;
  /// Calls a part here and goes on in it. It returns a status, as the function does that is divided.
  virtual void begin_part() = 0;
  /// Goes on after the call: its status. The part has returned.
  virtual Value end_part() = 0;
  /// Around code that consists of pieces, one after the other, and at the start of each: what such code reads
  /// of other parts is read where the piece begins.
  virtual void open_pieces() = 0;
  virtual void next_piece() = 0;
  virtual void close_pieces() = 0;

  /// Verifies and compiles the module to a relocatable object (see loader.hpp); the Builder is spent. Throws
  /// InternalError with the compiler's text.
  virtual std::vector<std::byte> object(const CodeOptions& options) = 0;
  /// The same, loaded.
  std::unique_ptr<Code> finish(const CodeOptions& options);
  /// The module as text, for tests and for people.
  virtual std::string text() const = 0;

 protected:
  // Blocks and phis are the business of control.hpp alone.
  friend class Ways;
  friend class LoopBlocks;
  friend class FunctionExit;
  virtual Block make_block(const char* name) = 0;
  /// What follows a jump, a branch or a return needs a new position.
  virtual void set_position(Block block) = 0;
  virtual Block position() const = 0;
  virtual void jump(Block to) = 0;
  virtual void branch(Value condition, Block if_true, Block if_false, Likely likely) = 0;
  /// To `blocks[index]`; to the last one when the scalar I64 index is out of range.
  virtual void switch_to(Value index, std::span<const Block> blocks) = 0;
  /// First in its block. Its incoming values may be added later, one a predecessor.
  virtual Operand phi(Type type) = 0;
  virtual void add_incoming(Operand phi, Operand v, Block from) = 0;

 private:
  struct VariableState {
    Type type;
    void* now;  // null: not set yet
  };
  struct Setting {
    int variable;
    void* before;
  };
  // A loop or a way that is being written: what there was before it.
  struct Scope {
    std::size_t settings;
    int variables;
  };
  VariableState& state_of(Variable v) { return variables_[static_cast<std::size_t>(v.number)]; }
  const VariableState& state_of(Variable v) const { return variables_[static_cast<std::size_t>(v.number)]; }
  void set_handle(Variable variable, void* handle);
  void* make_phi(Variable variable);
  void open_scope();
  /// The variables from outside that were set in the scope, and what they are; they are as before it again.
  std::map<int, void*> close_scope();
  std::vector<VariableState> variables_;
  std::vector<Setting> settings_;  // in the scopes
  std::vector<Scope> scopes_;
  bool left_ = false;  // control has left the way being written
};

/// A Builder of an empty module. Loads the module of code generation the first time; throws Error when that
/// cannot be found.
std::unique_ptr<Builder> make_builder(const BuilderOptions& options = {});

/// The address of a C function that compiled code may call, or null: one that was added, or one that the
/// program's libraries export.
void* find_symbol(const char* name);
/// Makes a function known that no library exports: one of an executable. The name is kept; the last one added
/// counts.
void add_symbol(const char* name, void* address);

}  // namespace apsis::detail
