#include "passes/analysis/cost.hpp"

#include <unordered_map>

#include "apsis/core/emitter.hpp"
#include "base/hash.hpp"
#include "base/own_of_thread.hpp"

namespace apsis::detail {
namespace {

/// An Emitter that counts what it is asked for.
class CountingEmitter final : public Emitter {
 public:
  std::int64_t count = 0;
  bool combines_truths = false;

  Value constant(Dtype dtype, std::uint64_t) override { return {this, dtype}; }
  Value add(Value a, Value) override { return one(a.dtype); }
  Value sub(Value a, Value) override { return one(a.dtype); }
  Value mul(Value a, Value) override { return one(a.dtype); }
  Value div(Value a, Value) override { return one(a.dtype, slow); }
  Value fma(Value a, Value, Value) override { return one(a.dtype); }
  Value neg(Value a) override { return one(a.dtype); }
  Value sqrt(Value a) override { return one(a.dtype, slow); }
  Value abs(Value a) override { return one(a.dtype); }
  Value floor(Value a) override { return one(a.dtype); }
  Value ceil(Value a) override { return one(a.dtype); }
  Value trunc(Value a) override { return one(a.dtype); }
  Value rint(Value a) override { return one(a.dtype); }
  Value integer_div(Value a, Value) override { return one(a.dtype, 4 * slow); }
  Value integer_rem(Value a, Value) override { return one(a.dtype, 4 * slow); }
  Value bit_and(Value a, Value) override { return bits(a.dtype); }
  Value bit_or(Value a, Value) override { return bits(a.dtype); }
  Value bit_xor(Value a, Value) override { return bits(a.dtype); }
  Value bit_not(Value a) override { return bits(a.dtype); }
  Value shift_left(Value a, Value) override { return one(a.dtype); }
  Value shift_right(Value a, Value) override { return one(a.dtype); }
  Value population_count(Value a) override { return one(a.dtype); }
  Value leading_zeros(Value a) override { return one(a.dtype); }
  Value compare(detail::Compare, Value, Value) override { return one(Dtype::Bool); }
  Value select(Value, Value a, Value) override { return one(a.dtype); }
  Value bitcast(Value, Dtype to) override { return {this, to}; }
  Value convert(Value, Dtype to) override { return one(to); }
  void function(const char*, FunctionBody body, const void* context, std::span<const Value> in,
                std::span<Value> out) override {
    body(*this, context, in, out);
  }
  Value rare(Value, const char*, std::span<const Value>, Value fast) override { return one(fast.dtype, 2); }

 private:
  static constexpr std::int64_t slow = 8;
  Value bits(Dtype dtype) {
    combines_truths = combines_truths || dtype == Dtype::Bool;
    return one(dtype);
  }
  Value one(Dtype dtype, std::int64_t cost = 1) {
    count += cost;
    return {this, dtype};
  }
};

/// By op and dtypes: parameters make little difference.
struct Emission {
  std::int64_t count = 0;
  bool combines_truths = false;
};

Emission emission_of(const Graph& graph, const Eqn& eqn) {
  struct Known : std::unordered_map<std::uint64_t, Emission> {};
  auto& known = own_of_thread<Known, Known>();
  std::uint64_t key = reinterpret_cast<std::uintptr_t>(eqn.op);
  for (ValueId v : graph.operands(eqn))
    key = hash_mix(key, static_cast<std::uint64_t>(graph.aval(v).dtype()));
  if (eqn.result_count) key = hash_mix(key, static_cast<std::uint64_t>(graph.aval(eqn.first_result).dtype()));
  auto [it, fresh] = known.try_emplace(key);
  if (fresh) {
    CountingEmitter counter;
    std::vector<Value> in, out(eqn.result_count);
    for (ValueId v : graph.operands(eqn)) in.push_back({&counter, graph.aval(v).dtype()});
    eqn.op->emit(counter, eqn.params, in, out);
    it->second = {counter.count, counter.combines_truths};
  }
  return it->second;
}

}  // namespace

std::int64_t emission_cost(const Graph& graph, const Eqn& eqn) {
  constexpr std::int64_t pick_cost = 12;  // an index
  constexpr std::int64_t pad_cost = 4;
  if (eqn.op->fused_read == FusedRead::Padded) return pad_cost;
  if (eqn.op->fused_read == FusedRead::AtIndices) return pick_cost * (eqn.operand_count - 1);
  return emission_of(graph, eqn).count;
}

bool combines_truths(const Graph& graph, const Eqn& eqn) {
  return eqn.op->fused_read == FusedRead::None && emission_of(graph, eqn).combines_truths;
}

}  // namespace apsis::detail
