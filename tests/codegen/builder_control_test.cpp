// Control flow, functions and the two outlined forms; several threads; what is malformed.

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "apsis/base/error.hpp"
#include "codegen/builder/abi.hpp"
#include "codegen/builder/builder.hpp"
#include "codegen/builder/loader.hpp"

namespace apsis::detail {
namespace {

std::int64_t address_as_number(const void* p) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p));
}
std::int32_t run_chunk(Chunk chunk, CallContext* context, void* arguments) {
  return chunk(context, arguments, 3, 9);
}

constexpr Type f64_type{Dtype::F64, 1}, i64_type{Dtype::I64, 1};
constexpr Level levels[] = {Level::None, Level::Less, Level::Default, Level::Aggressive};

Value f64_constant(Builder& b, double x) { return b.constant(Dtype::F64, std::bit_cast<std::uint64_t>(x)); }

// Sums i·x for i below n in a loop of W lanes of partial sums: f(n, x) with n a multiple of W.
std::unique_ptr<Code> weighted_sum(int lanes, Level level) {
  auto b = make_builder();
  const Type parameters[] = {i64_type, f64_type}, results[] = {f64_type};
  b->begin(b->declare("f", parameters, results, true));
  const Value n = b->parameter(0), x = b->parameter(1);
  b->set_lanes(lanes);
  const Block before = b->position(), loop = b->make_block("loop"), done = b->make_block("done");
  const Value zero = f64_constant(*b, 0), all_x = b->splat(x), numbers = b->lane_numbers();
  b->branch(b->compare(Compare::Gt, n, b->index(0)), loop, done, Likely::True);
  b->set_position(loop);
  const Value sum = b->phi(Dtype::F64);
  b->set_lanes(1);
  const Value i = b->phi(Dtype::I64);
  b->set_lanes(lanes);
  const Value term = b->convert(b->add(numbers, b->splat(i)), Dtype::F64);
  const Value next = b->fma(term, all_x, sum), next_i = b->add(i, b->index(lanes));
  b->add_incoming(sum, zero, before);
  b->add_incoming(sum, next, loop);
  b->add_incoming(i, b->index(0), before);
  b->add_incoming(i, next_i, loop);
  b->branch(b->compare(Compare::Lt, next_i, n), loop, done, Likely::True);
  b->set_position(done);
  const Value total = b->phi(Dtype::F64);
  b->add_incoming(total, zero, before);
  b->add_incoming(total, next, loop);
  Value result = b->extract(total, 0);
  for (int lane = 1; lane < lanes; ++lane) result = b->add(result, b->extract(total, lane));
  const Value out[] = {result};
  b->return_values(out);
  b->end();
  return b->finish({.level = level});
}

TEST(BuilderControl, LoopWithPhi) {
  for (int lanes : {1, 4, 8})
    for (Level level : levels) {
      const auto code = weighted_sum(lanes, level);
      const auto f = reinterpret_cast<double (*)(std::int64_t, double)>(code->find("f"));
      for (std::int64_t n : {0, 8, 16, 4096}) {
        std::vector<double> partial(static_cast<std::size_t>(lanes));
        for (std::int64_t i = 0; i < n; ++i) {
          double& p = partial[static_cast<std::size_t>(i % lanes)];
          p = std::fma(static_cast<double>(i), 0.1, p);
        }
        double expected = partial[0];
        for (int k = 1; k < lanes; ++k) expected += partial[static_cast<std::size_t>(k)];
        EXPECT_EQ(f(n, 0.1), expected);
      }
      EXPECT_GT(code->size(), 0u);
      EXPECT_EQ(code->find("g"), nullptr);
    }
}

// Seven results and mixed parameters, more than fit in registers; called from another function at another
// width.
TEST(BuilderControl, FunctionsOfManyValues) {
  for (int lanes : {1, 8})
    for (Level level : {Level::None, Level::Less}) {
      auto b = make_builder();
      const std::vector<Type> seven(7, Type{Dtype::F64, lanes});
      std::vector<Type> parameters = seven;
      parameters.push_back({Dtype::Bool, lanes});
      parameters.push_back(pointer_type);
      const Function rotate = b->declare("rotate", parameters, seven);
      const Type entry_parameters[] = {pointer_type, pointer_type};
      b->begin(b->declare("f", entry_parameters, {}, true));
      b->set_lanes(lanes);
      const auto step = static_cast<std::int64_t>(8 * lanes);
      b->begin(rotate);  // in the middle of the other
      EXPECT_EQ(b->lanes(), 1);
      std::vector<Value> out;
      for (int i = 0; i < 7; ++i)
        out.push_back(b->select(b->parameter(7), b->parameter((i + 1) % 7), b->neg(b->parameter(i))));
      b->store(b->pointer_parameter(8), b->index(77));
      b->return_values(out);
      b->end();
      EXPECT_EQ(b->lanes(), lanes);
      std::vector<Operand> arguments;
      for (int i = 0; i < 7; ++i)
        arguments.emplace_back(b->load(b->offset(b->pointer_parameter(0), i * step), Dtype::F64));
      arguments.emplace_back(b->compare(Compare::Lt, b->lane_numbers(), b->constant(Dtype::I64, 5)));
      const Pointer slot = b->stack(8);
      arguments.emplace_back(slot);
      std::vector<Value> results(7);
      b->call(rotate, arguments, results);
      for (int i = 0; i < 7; ++i)
        b->store(b->offset(b->pointer_parameter(1), i * step), results[static_cast<std::size_t>(i)]);
      b->store(b->offset(b->pointer_parameter(1), 7 * step), b->load_element(slot, Dtype::I64));
      b->return_values({});
      b->end();
      const auto code = b->finish({.level = level});
      EXPECT_EQ(code->find("rotate"), nullptr);
      const auto n = static_cast<std::size_t>(lanes);
      std::vector<double> in(7 * n), got(7 * n + 1);
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<double>(i) + 0.5;
      reinterpret_cast<void (*)(const double*, double*)>(code->find("f"))(in.data(), got.data());
      for (std::size_t i = 0; i < 7; ++i)
        for (std::size_t k = 0; k < n; ++k)
          EXPECT_EQ(got[i * n + k], k < 5 ? in[(i + 1) % 7 * n + k] : -in[i * n + k]);
      EXPECT_EQ(std::bit_cast<std::int64_t>(got[7 * n]), 77);
    }
}

TEST(BuilderControl, SwitchAndUnreachable) {
  for (Level level : levels) {
    auto b = make_builder();
    const Type parameters[] = {i64_type}, results[] = {i64_type};
    b->begin(b->declare("f", parameters, results, true));
    const auto give = [&](std::int64_t x) {
      const Value v[] = {b->index(x)};
      b->return_values(v);
    };
    const Block never = b->make_block("never"), start = b->make_block("start"),
                otherwise = b->make_block("otherwise");
    b->branch(b->compare(Compare::Eq, b->parameter(0), b->index(123456)), never, start, Likely::False);
    b->set_position(never);
    b->unreachable();
    std::vector<Block> blocks;
    for (int i = 0; i < 6; ++i) blocks.push_back(b->make_block("case"));
    b->set_position(start);
    b->switch_to(b->parameter(0), blocks, otherwise);
    for (int i = 0; i < 6; ++i) {
      b->set_position(blocks[static_cast<std::size_t>(i)]);
      give(i * i * 11 - 5);
    }
    b->set_position(otherwise);
    give(-1);
    b->end();
    const auto code = b->finish({.level = level});
    const auto f = reinterpret_cast<std::int64_t (*)(std::int64_t)>(code->find("f"));
    for (std::int64_t i = -2; i < 8; ++i) EXPECT_EQ(f(i), i < 0 || i >= 6 ? -1 : i * i * 11 - 5);
  }
}

// A while over a linked list: pointers through phis.
TEST(BuilderControl, PointerPhi) {
  struct Link {
    const Link* next;
    std::int64_t value;
  };
  add_symbol("apsis_test_address", reinterpret_cast<void*>(&address_as_number));
  auto b = make_builder();
  const Type parameters[] = {pointer_type}, results[] = {i64_type};
  b->begin(b->declare("f", parameters, results, true));
  const Block before = b->position(), head = b->make_block("head"), body = b->make_block("body"),
              done = b->make_block("done");
  b->jump(head);
  b->set_position(head);
  const Pointer at = b->pointer_phi();
  const Value sum = b->phi(Dtype::I64);
  const Value address = b->call_runtime("apsis_test_address", Dtype::I64, std::vector<Operand>{at});
  b->branch(b->compare(Compare::Ne, address, b->index(0)), body, done);
  b->set_position(body);
  b->add_incoming(at, b->pointer_parameter(0), before);
  b->add_incoming(at, b->load_pointer(at), body);
  b->add_incoming(sum, b->index(0), before);
  b->add_incoming(sum, b->add(sum, b->load_element(b->offset(at, 8), Dtype::I64)), body);
  b->jump(head);
  b->set_position(done);
  const Value out[] = {sum};
  b->return_values(out);
  b->end();
  const auto code = b->finish({});
  const Link c{nullptr, 300}, second{&c, 20}, first{&second, 1};
  const auto f = reinterpret_cast<std::int64_t (*)(const Link*)>(code->find("f"));
  EXPECT_EQ(f(&first), 321);
  EXPECT_EQ(f(nullptr), 0);
}

// A chunk of a parallel loop goes to the runtime by its address, which calls it back.
TEST(BuilderControl, ChunkByAddress) {
  add_symbol("apsis_test_run_chunk", reinterpret_cast<void*>(&run_chunk));
  auto b = make_builder();
  const Type chunk_parameters[] = {pointer_type, pointer_type, i64_type, i64_type},
             status[] = {{Dtype::I32, 1}};
  const Function chunk = b->declare("chunk", chunk_parameters, status);
  b->begin(chunk);
  b->store(b->pointer_parameter(1), b->add(b->parameter(2), b->mul(b->parameter(3), b->index(1000))));
  const Value ok[] = {b->constant(Dtype::I32, 7)};
  b->return_values(ok);
  b->end();
  const Type entry_parameters[] = {pointer_type, pointer_type, pointer_type};
  b->begin(b->declare("entry", entry_parameters, status, true));
  const Operand arguments[] = {b->address_of(chunk), b->pointer_parameter(0),
                               b->load_pointer(b->pointer_parameter(2))};
  const Value result[] = {b->call_runtime("apsis_test_run_chunk", Dtype::I32, arguments)};
  b->return_values(result);
  b->end();
  const auto code = b->finish({});
  CallContext context;
  std::int64_t out = 0;
  void* outs[] = {&out};
  EXPECT_EQ(reinterpret_cast<Entry>(code->find("entry"))(&context, nullptr, outs), 7);
  EXPECT_EQ(out, 9003);
}

// y = cos-like body used five times, twice in place and then by calls, gives the same everywhere.
void shifted_square(Emitter& e, const void* context, std::span<const Value> in, std::span<Value> out) {
  const Value shift =
      e.constant(Dtype::F64, std::bit_cast<std::uint64_t>(*static_cast<const double*>(context)));
  out[0] = e.fma(in[0], in[0], shift);
  out[1] = e.compare(Compare::Lt, in[0], shift);
}

TEST(BuilderControl, NamedFunctionIsInlinedThenCalled) {
  for (int lanes : {1, 4, 16})
    for (Level level : {Level::None, Level::Less}) {
      auto b = make_builder();
      const Type parameters[] = {pointer_type, pointer_type};
      b->begin(b->declare("f", parameters, {}, true));
      b->set_lanes(lanes);
      const double shift = 1.25;
      Value x = b->load(b->pointer_parameter(0), Dtype::F64);
      for (int use = 0; use < 5; ++use) {
        Value out[2];
        b->function("shifted_square", shifted_square, &shift, std::span<const Value>(&x, 1), out);
        x = b->select(out[1], out[0], b->neg(out[0]));
      }
      b->store(b->pointer_parameter(1), x);
      b->return_values({});
      b->end();
      const std::string text = b->text();
      const std::string call = "@shifted_square.f64" + (lanes > 1 ? "x" + std::to_string(lanes) : "") + "(";
      int calls = 0;
      for (auto at = text.find(call); at != std::string::npos; at = text.find(call, at + 1)) ++calls;
      EXPECT_EQ(calls, 1 + 3) << text;  // the definition, and what follows the second use
      const auto code = b->finish({.level = level});
      std::vector<double> in, got(static_cast<std::size_t>(lanes));
      for (int i = 0; i < lanes; ++i) in.push_back(0.3 * i - 1);
      reinterpret_cast<void (*)(const double*, double*)>(code->find("f"))(in.data(), got.data());
      for (std::size_t i = 0; i < in.size(); ++i) {
        double y = in[i];
        for (int use = 0; use < 5; ++use) y = y < shift ? std::fma(y, y, shift) : -std::fma(y, y, shift);
        EXPECT_EQ(got[i], y);
      }
    }
}

template <class T>
void check_rare(int lanes, Level level, const char* symbol) {
  const Dtype d = dtype_of<T>;
  auto b = make_builder();
  const Type parameters[] = {pointer_type, pointer_type};
  b->begin(b->declare("f", parameters, {}, true));
  b->set_lanes(lanes);
  const auto step = static_cast<std::int64_t>(sizeof(T)) * lanes;
  Value x = b->load(b->pointer_parameter(0), d), y = b->load(b->offset(b->pointer_parameter(0), step), d);
  for (int use = 0; use < 2; ++use) {
    const Value in[] = {x, y};
    x = b->rare(b->compare(Compare::Gt, x, y), symbol, in, b->add(x, y));
  }
  b->store(b->pointer_parameter(1), x);
  b->return_values({});
  b->end();
  const auto code = b->finish({.level = level});
  const auto n = static_cast<std::size_t>(lanes);
  for (unsigned pattern : {0u, 1u, 0xffffu, 0x8001u, 0x5a5au}) {
    std::vector<T> in(2 * n), got(n);
    for (std::size_t i = 0; i < n; ++i) {
      in[i] = static_cast<T>(i) + T(0.1);
      in[n + i] = pattern >> i & 1 ? T(-1.7) : T(1000);
    }
    reinterpret_cast<void (*)(const T*, T*)>(code->find("f"))(in.data(), got.data());
    for (std::size_t i = 0; i < n; ++i) {
      T v = in[i];
      for (int use = 0; use < 2; ++use) v = v > in[n + i] ? std::hypot(v, in[n + i]) : v + in[n + i];
      EXPECT_EQ(got[i], v) << "lane " << i << " of " << n;
    }
  }
}

TEST(BuilderControl, RareLanesCallTheScalarFunction) {
  for (Level level : levels)
    for (int lanes : {1, 4, 8, 16}) {
      check_rare<double>(lanes, level, "hypot");
      check_rare<float>(lanes, level, "hypotf");
    }
}

TEST(BuilderControl, SeveralThreadsCompileAndRun) {
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&failures, t] {
      for (int round = 0; round < 10; ++round) {
        const auto code = weighted_sum(8, levels[(t + round) % 4]);
        if (reinterpret_cast<double (*)(std::int64_t, double)>(code->find("f"))(16, 1) != 120) ++failures;
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(failures, 0);
}

std::size_t mapping_count() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) ++count;
  return count;
}

TEST(BuilderControl, DestroyedCodeLeavesNoMapping) {
  weighted_sum(4, Level::Less);
  std::vector<std::unique_ptr<Code>> kept;
  const std::size_t before = mapping_count();
  for (int i = 0; i < 20; ++i) kept.push_back(weighted_sum(4, Level::Less));
  EXPECT_GE(mapping_count(), before + 20);
  kept.clear();
  EXPECT_LE(mapping_count(), before + 4);  // the allocator may have grown
}

template <class Statement>
std::string internal_error_of(Statement statement) {
  try {
    statement();
  } catch (const InternalError& e) {
    return e.what();
  }
  return "";
}

TEST(BuilderErrors, MalformedModule) {
  auto b = make_builder();
  b->begin(b->declare("f", {}, {}, true));
  b->end();  // its body does not return
  const std::string text = internal_error_of([&] { b->finish({}); });
  EXPECT_NE(text.find("not well formed"), std::string::npos) << text;
  EXPECT_NE(text.find("body"), std::string::npos) << text;
}

TEST(BuilderErrors, UnknownSymbol) {
  auto b = make_builder();
  b->begin(b->declare("f", {}, {}, true));
  b->call_runtime_void("apsis_no_such_function", {});
  b->return_values({});
  b->end();
  const std::string text = internal_error_of([&] { b->finish({}); });
  EXPECT_NE(text.find("nothing is named apsis_no_such_function"), std::string::npos) << text;
}

TEST(BuilderErrors, OperandsThatDiffer) {
  auto b = make_builder();
  b->begin(b->declare("f", {}, {}, true));
  const Value one = b->constant(Dtype::F64, 1), other = b->constant(Dtype::F32, 1);
  b->set_lanes(4);
  const Value four = b->constant(Dtype::F64, 1);
  EXPECT_THROW(b->add(one, other), InternalError);
  EXPECT_THROW(b->add(one, four), InternalError);
  EXPECT_THROW(b->bitcast(one, Dtype::F32), InternalError);
  EXPECT_THROW(b->constant(Dtype::C64, 0), InternalError);
  EXPECT_THROW(b->set_lanes(3), InternalError);
}

TEST(Loader, RefusesWhatIsNoObject) {
  std::vector<std::byte> bytes(4096);
  EXPECT_THROW(load_object(bytes), InternalError);
  EXPECT_THROW(load_object(std::span(bytes).first(3)), InternalError);
}

}  // namespace
}  // namespace apsis::detail
