#pragma once

#include <llvm-c/Core.h>

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/builder/builder.hpp"
#include "codegen/plan/arena.hpp"

namespace apsis::detail {

/// The Builder on LLVM's C API. Nothing relies on IR passes: what is asked for is what is compiled, so no
/// operation is marked as one that passes may rearrange, and no fast-math flag is ever set.
class LlvmBuilder final : public Builder {
 public:
  explicit LlvmBuilder(const BuilderOptions& options);
  ~LlvmBuilder() override;
  LlvmBuilder(const LlvmBuilder&) = delete;
  LlvmBuilder& operator=(const LlvmBuilder&) = delete;

  // arithmetic.cpp, those of places in places.cpp
  Value constant(Dtype dtype, std::uint64_t bits) override;
  Value add(Value a, Value b) override;
  Value sub(Value a, Value b) override;
  Value mul(Value a, Value b) override;
  Value div(Value a, Value b) override;
  Value fma(Value a, Value b, Value c) override;
  Value neg(Value a) override;
  Value sqrt(Value a) override;
  Value abs(Value a) override;
  Value floor(Value a) override;
  Value ceil(Value a) override;
  Value trunc(Value a) override;
  Value rint(Value a) override;
  Value integer_div(Value a, Value b) override;
  Value integer_rem(Value a, Value b) override;
  Value bit_and(Value a, Value b) override;
  Value bit_or(Value a, Value b) override;
  Value bit_xor(Value a, Value b) override;
  Value bit_not(Value a) override;
  Value shift_left(Value a, Value count) override;
  Value shift_right(Value a, Value count) override;
  Value population_count(Value a) override;
  Value leading_zeros(Value a) override;
  Value trailing_zeros(Value a) override;
  Value compare(Compare how, Value a, Value b) override;
  Value select(Value condition, Value if_true, Value if_false) override;
  Value bitcast(Value a, Dtype to) override;

  // convert.cpp
  Value convert(Value a, Dtype to) override;

  // functions.cpp
  void function(const char* name, FunctionBody body, const void* context, std::span<const Value> in,
                std::span<Value> out) override;
  Value rare(Value mask, const char* symbol, std::span<const Value> in, Value fast) override;
  Function declare(const char* name, std::span<const Type> parameters, std::span<const Type> results,
                   bool exported) override;
  void begin(Function f) override;
  void end() override;
  Value parameter(int i) override;
  Pointer pointer_parameter(int i) override;
  void return_values(std::span<const Value> results) override;
  void call(Function f, std::span<const Operand> arguments, std::span<Value> results) override;
  Pointer address_of(Function f) override;
  Value call_runtime(const char* symbol, Dtype result, std::span<const Operand> arguments) override;
  Pointer call_runtime_pointer(const char* symbol, std::span<const Operand> arguments) override;
  void call_runtime_void(const char* symbol, std::span<const Operand> arguments) override;

  // parts.cpp
  Pointer divisible(Pointer context, std::int64_t scratch_field, Arena& memory) override;
  std::int64_t written() const override;
  void begin_part() override;
  Value end_part() override;
  void open_pieces() override;
  void next_piece() override;
  void close_pieces() override;

  // lanes.cpp
  void set_lanes(int lanes) override;
  int lanes() const override { return lanes_; }
  int lanes_of(Value v) const override;
  int vector_bytes() const override;
  Value index(std::int64_t value) override;
  Value splat(Value scalar) override;
  Value extract(Value v, int lane) override;
  Value extract(Value v, Value lane) override;
  Value insert(Value v, int lane, Value scalar) override;
  Value insert(Value v, Value lane, Value scalar) override;
  Value shuffle(Value a, Value b, std::span<const int> from) override;
  Value lane_numbers() override;
  Value any(Value mask) override;
  Value all(Value mask) override;
  Value mask_bits(Value mask) override;

  // memory.cpp
  using Builder::offset;
  Pointer offset(Pointer p, std::int64_t bytes) override;
  Pointer offset(Pointer p, Value bytes) override;
  Pointer null_pointer() override;
  Pointer choose(Value condition, ConstPointer if_true, ConstPointer if_false) override;
  Value is_null(ConstPointer p) override;
  bool is_constant(Value v) override;
  Value load(ConstPointer p, Dtype dtype) override;
  void store(Pointer p, Value v) override;
  Value masked_load(ConstPointer p, Dtype dtype, Value mask) override;
  Value expand_load(ConstPointer p, Dtype dtype, Value mask) override;
  void masked_store(Pointer p, Value v, Value mask) override;
  Value load_element(ConstPointer p, Dtype dtype) override;
  Value load_relaxed(ConstPointer p, Dtype dtype) override;
  Value gather(ConstPointer p, Value elements, Dtype dtype) override;
  Value gather(ConstPointer p, Value elements, Dtype dtype, Value mask) override;
  void scatter(Pointer p, Value elements, Value v) override;
  void scatter(Pointer p, Value elements, Value v, Value mask) override;
  Pointer load_pointer(ConstPointer p) override;
  void store_pointer(Pointer p, ConstPointer value) override;
  void prefetch(ConstPointer p) override;
  Pointer stack(std::size_t bytes) override;
  void copy_bytes(Pointer to, ConstPointer from, Value bytes) override;
  void fill_bytes(Pointer to, std::uint8_t byte, Value bytes) override;
  Pointer constant_data(std::span<const std::byte> bytes) override;

  // compile.cpp
  std::vector<std::byte> object(const CodeOptions& options) override;
  std::string text() const override;

 private:
  // control.cpp
  Block make_block(const char* name) override;
  void set_position(Block block) override;
  Block position() const override;
  void jump(Block to) override;
  void branch(Value condition, Block if_true, Block if_false, Likely likely) override;
  void switch_to(Value index, std::span<const Block> blocks) override;
  Operand phi(Type type) override;
  void add_incoming(Operand phi, Operand v, Block from) override;

  struct FunctionInfo {
    LLVMValueRef value;
    LLVMTypeRef type;
    std::vector<Type> parameters, results;
  };
  struct Divided;
  // A function that may be divided, or one in which it goes on.
  struct Part {
    Divided* whole = nullptr;
    const Part* parent = nullptr;
    LLVMValueRef function = nullptr;
    LLVMValueRef call = nullptr;  // in the parent
    std::int64_t called = 0;      // when, as pieces count
    LLVMValueRef context = nullptr, scratch = nullptr;
    std::unordered_map<LLVMValueRef, LLVMValueRef> known;  // what other parts made, as it is here now
  };
  struct Divided {
    std::int64_t scratch_field = 0;
    Arena* memory = nullptr;
    std::deque<Part> parts;
    std::unordered_map<LLVMValueRef, Part*> by_function;
    std::unordered_map<LLVMValueRef, std::int64_t> slots;  // in the scratch memory, by value
    std::int64_t next = 0, end = 0;                        // of the page of slots
  };
  // The pieces of code that a region consists of. Where one begins is passed before all that follows in the
  // region, and before nothing around it.
  struct Pieces {
    LLVMBasicBlockRef block = nullptr;  // where the last one begins: in this block
    LLVMValueRef before = nullptr;      // after this instruction; null: first
    std::int64_t at = 0;
    std::size_t known = 0;  // entries of Frame::brought outside the region
  };
  // A function being defined. Its first block holds the stack slots, and what a part begins with.
  struct Frame {
    const FunctionInfo* function;
    LLVMBasicBlockRef slots, body, outer_position;
    int outer_lanes;
    Part* part = nullptr;
    std::int64_t operands = 0;  // read so far
    std::vector<Pieces> pieces;
    std::vector<LLVMValueRef> brought;  // the keys of Part::known
    bool has_vectors = false;           // of more than the stack is aligned to
  };
  // What a block computes of two operands.
  struct Computed {
    LLVMBasicBlockRef block;
    LLVMOpcode what;
    LLVMValueRef a, b;
    bool operator==(const Computed&) const = default;
    struct Hash {
      std::size_t operator()(const Computed& c) const;
    };
  };
  // A named function of the elementary ones, by name, dtypes and lanes.
  struct Named {
    int uses = 0;
    std::string symbol;  // where the library holds it
    Function function;
    std::vector<Type> results;
  };

  // Operands of what is written now: made in this part of the function, or brought here from another.
  LLVMValueRef ref(Value v) { return local(static_cast<LLVMValueRef>(v.handle)); }
  LLVMValueRef ref(ConstPointer p) { return local(static_cast<LLVMValueRef>(p.handle)); }
  static LLVMTypeRef type_of(Value v) { return LLVMTypeOf(static_cast<LLVMValueRef>(v.handle)); }
  static LLVMBasicBlockRef ref(Block b) { return static_cast<LLVMBasicBlockRef>(b.handle); }
  static const FunctionInfo& info(Function f) { return *static_cast<const FunctionInfo*>(f.handle); }
  static void check_equal(Value a, Value b);

  LLVMValueRef local(LLVMValueRef v);
  LLVMValueRef brought(LLVMValueRef v, LLVMValueRef function);
  static bool is_within(const Part& part, const Part& outer);
  void position_after(LLVMBasicBlockRef block, LLVMValueRef instruction);
  void position_to_bring(const Part& here, const Part& maker);
  bool is_bool_type(LLVMTypeRef type) const;
  LLVMTypeRef as_bytes(LLVMTypeRef type) const;
  static unsigned alignment_of(LLVMTypeRef type);
  LLVMValueRef address_in(const Part& part, std::int64_t slot);
  std::int64_t slot_of(LLVMValueRef v, const Part& maker);

  LLVMTypeRef type_of(Dtype dtype, int lanes) const;
  LLVMTypeRef type_of(Type type) const { return type.lanes ? type_of(type.dtype, type.lanes) : pointer_; }
  // What stands for a value of this type among the parameters and results of a function.
  LLVMTypeRef passed_type(Type type) const;
  LLVMValueRef to_passed(LLVMValueRef value, Type type);
  LLVMValueRef from_passed(LLVMValueRef value, Type type);
  // A Bool is an i8 in memory.
  LLVMTypeRef stored_type(Dtype dtype, int lanes) const {
    return type_of(dtype == Dtype::Bool ? Dtype::U8 : dtype, lanes);
  }
  bool is_place(Value v) const { return type_of(v) == i64_; }
  LLVMValueRef place_sum(LLVMValueRef a, LLVMValueRef b);
  LLVMValueRef place_product(LLVMValueRef a, LLVMValueRef b);
  LLVMValueRef address_at(LLVMValueRef p, LLVMValueRef bytes);
  bool varies_here(LLVMValueRef v, int depth = 0) const;
  LLVMValueRef multiple(LLVMValueRef counter, LLVMValueRef factor);
  void carry_multiples(LLVMValueRef counter, LLVMValueRef next);
  template <class F>
  LLVMValueRef once(LLVMOpcode what, LLVMValueRef a, LLVMValueRef b, const F& make);
  Value constant(Dtype dtype, std::uint64_t bits, int lanes);
  Value zero(Dtype dtype, int lanes) { return constant(dtype, 0, lanes); }
  LLVMValueRef intrinsic(const char* name, std::initializer_list<LLVMTypeRef> overloads,
                         std::initializer_list<LLVMValueRef> arguments);
  LLVMValueRef known_constant(Value v);
  std::optional<double> known_number(Value v);
  Value upper_product(Value x, std::uint64_t factor);
  std::optional<Value> whole_quotient(Value x, Value y);
  template <class T>
  std::optional<Value> divided_by(Value x, T y);
  Value unary_intrinsic(const char* name, Value a);
  LLVMValueRef mask_integer(Value mask);
  Value float_of_half(Value a);
  Value half_of_float(Value a, Dtype to);
  Value longs_of_doubles(Value a, Dtype to);
  Value doubles_of_longs(Value a);
  Value from_storage(LLVMValueRef stored, Dtype dtype, int lanes);
  LLVMValueRef to_storage(Value v);
  LLVMValueRef element_addresses(ConstPointer p, Value elements, Dtype dtype);
  LLVMValueRef masked_access(const char* name, std::initializer_list<LLVMTypeRef> overloads,
                             LLVMValueRef value, LLVMValueRef address, Dtype dtype, LLVMValueRef mask);
  // `fast`, or what `slow` writes if a lane of the mask is set.
  template <class F>
  Value where_rare(Value mask, Value fast, const F& slow) {
    const Block before = position(), cold = make_block("rare"), after = make_block("after");
    branch(any(mask), cold, after, Likely::False);
    set_position(cold);
    const Value other = slow();
    jump(after);
    set_position(after);
    const Value result{phi({fast.dtype, lanes_of(fast)}).handle, fast.dtype};
    add_incoming(result, fast, before);
    add_incoming(result, other, cold);
    return result;
  }
  Function rare_function(const char* symbol, std::size_t arguments, Dtype dtype, int lanes);
  LLVMValueRef call_symbol(const char* symbol, LLVMTypeRef result, std::span<const Operand> arguments);
  LLVMValueRef add_function(const char* name, LLVMTypeRef type, LLVMLinkage linkage);
  void note_vector(Dtype dtype);
  LLVMBasicBlockRef current() const { return LLVMGetInsertBlock(ir_); }

  Isa isa_;
  int inline_uses_, inline_library_uses_;
  bool carries_multiples_;
  int lanes_ = 1;
  LLVMContextRef context_;
  LLVMModuleRef module_;
  LLVMBuilderRef ir_;
  LLVMTypeRef pointer_, i1_, i8_, i32_, i64_, void_;
  LLVMTypeRef scalars_[dtype_count];
  LLVMAttributeRef no_unwind_, wide_vectors_, aligned_stack_;
  LLVMValueRef weights_[2] = {};
  std::string diagnosis_;
  std::deque<FunctionInfo> functions_;  // addresses stay
  std::vector<Frame> frames_;
  std::deque<Divided> divided_;
  std::int64_t time_ = 0;  // pieces and parts begun
  std::unordered_map<Computed, LLVMValueRef, Computed::Hash> computed_;
  struct Multiple {
    LLVMValueRef factor, phi;
  };
  std::unordered_map<LLVMValueRef, std::vector<Multiple>> multiples_;  // by counter of a loop
  std::unordered_map<std::string, Named> named_;
  std::unordered_map<std::string, Function> rare_;
};

}  // namespace apsis::detail
