// Control flow, functions and the two outlined forms; several threads; what is malformed.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "apsis/base/error.hpp"
#include "codegen/builder/abi.hpp"
#include "codegen/builder/control.hpp"
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
  const Value all_x = b->splat(x), numbers = b->lane_numbers();
  const Variable sum = b->make_variable(f64_constant(*b, 0)), i = b->make_variable(b->index(0));
  const Variable carried[] = {sum, i};
  const auto more = [&] { return b->compare(Compare::Lt, b->get(i), n); };
  const auto add = [&] {
    const Value term = b->convert(b->add(numbers, b->splat(b->get(i))), Dtype::F64);
    b->set(sum, b->fma(term, all_x, b->get(sum)));
    b->set(i, b->add(b->get(i), b->index(lanes)));
  };
  if_(
      *b, more(), [&] { loop(*b, carried, more, add, Likely::True); }, Likely::True);
  const Value total = b->get(sum);
  Value result = b->extract(total, 0);
  for (int lane = 1; lane < lanes; ++lane) result = b->add(result, b->extract(total, lane));
  const Value out[] = {result};
  b->return_values(out);
  b->end();
  return b->finish({.level = level});
}

TEST(BuilderControl, LoopThatCarries) {
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

TEST(BuilderControl, Choose) {
  for (Level level : levels)
    for (int ways : {1, 2, 6}) {
      auto b = make_builder();
      const Type parameters[] = {i64_type}, results[] = {i64_type};
      b->begin(b->declare("f", parameters, results, true));
      const Variable chosen = b->make_variable(i64_type);
      choose(*b, b->parameter(0), ways, [&](int i) { b->set(chosen, b->index(i * i * 11 - 5)); });
      const Value out[] = {b->get(chosen)};
      b->return_values(out);
      b->end();
      const auto code = b->finish({.level = level});
      const auto f = reinterpret_cast<std::int64_t (*)(std::int64_t)>(code->find("f"));
      for (std::int64_t i = -2; i < 8; ++i) {
        const std::int64_t way = i < 0 || i >= ways ? ways - 1 : i;
        EXPECT_EQ(f(i), way * way * 11 - 5);
      }
    }
}

// Variables that are set on one way, on both, within one another, and in a loop within a way; an address; and
// a way that leaves the function.
TEST(BuilderControl, VariablesWhereWaysMeet) {
  for (Level level : levels) {
    auto b = make_builder();
    const Type parameters[] = {i64_type, pointer_type}, results[] = {{Dtype::I32, 1}};
    b->begin(b->declare("f", parameters, results, true));
    const Value n = b->parameter(0);
    const auto above = [&](std::int64_t k) { return b->compare(Compare::Gt, n, b->index(k)); };
    const Variable one = b->make_variable(b->index(1)), both = b->make_variable(i64_type),
                   untouched = b->make_variable(b->index(7));
    const Variable at = b->make_variable(b->pointer_parameter(1));
    FunctionExit exit;
    const auto high = [&] {
      b->set(one, b->index(2));
      if_(*b, above(20), [&] { b->set(one, b->add(b->get(one), b->index(100))); });
      b->set(both, b->get(one));
      if_(*b, above(30), [&] { exit.leave(*b, b->constant(Dtype::I32, 9)); });
      exit.leave_if(*b, above(25), b->constant(Dtype::I32, 8));
    };
    const auto low = [&] {
      const Variable left = b->make_variable(n);
      b->set(both, b->index(0));
      const Variable carried[] = {left, both};
      const auto some = [&] { return b->compare(Compare::Gt, b->get(left), b->index(0)); };
      loop(*b, carried, some, [&] {
        b->set(left, b->sub(b->get(left), b->index(1)));
        b->set(both, b->add(b->get(both), b->get(left)));
      });
      b->set(at, b->offset(b->get_pointer(at), 24));
    };
    if_else(*b, above(10), high, low);
    b->store(b->get_pointer(at), b->get(one));
    b->store(b->offset(b->get_pointer(at), 8), b->get(both));
    b->store(b->offset(b->get_pointer(at), 16), b->get(untouched));
    const Value ok[] = {b->constant(Dtype::I32, 0)};
    b->return_values(ok);
    b->end();
    const auto code = b->finish({.level = level});
    const auto f = reinterpret_cast<std::int32_t (*)(std::int64_t, std::int64_t*)>(code->find("f"));
    using Six = std::array<std::int64_t, 6>;
    const auto of = [&](std::int64_t k, std::int32_t status) {
      Six out{};
      EXPECT_EQ(f(k, out.data()), status);
      return out;
    };
    EXPECT_EQ(of(5, 0), (Six{0, 0, 0, 1, 10, 7}));
    EXPECT_EQ(of(15, 0), (Six{2, 2, 7, 0, 0, 0}));
    EXPECT_EQ(of(21, 0), (Six{102, 102, 7, 0, 0, 0}));
    EXPECT_EQ(of(26, 8), Six{});
    EXPECT_EQ(of(31, 9), Six{});
  }
}

TEST(BuilderControl, EachBit) {
  auto b = make_builder();
  const Type parameters[] = {i64_type, pointer_type};
  b->begin(b->declare("f", parameters, {}, true));
  each_bit(*b, b->parameter(0), [&](Value lane) {
    b->store(b->offset(b->pointer_parameter(1), b->mul(lane, b->index(8))), lane);
  });
  b->return_values({});
  b->end();
  const auto code = b->finish({});
  std::array<std::int64_t, 64> out;
  out.fill(-1);
  reinterpret_cast<void (*)(std::uint64_t, std::int64_t*)>(code->find("f"))(0x8000000000000012u, out.data());
  for (std::int64_t i = 0; i < 64; ++i)
    EXPECT_EQ(out[static_cast<std::size_t>(i)], i == 1 || i == 4 || i == 63 ? i : -1);
}

// What a loop sets and does not carry would be lost.
TEST(BuilderErrors, LoopThatDoesNotCarryWhatItSets) {
  auto b = make_builder();
  b->begin(b->declare("f", {}, {}, true));
  const Variable v = b->make_variable(b->index(0));
  const auto write = [&] {
    loop(
        *b, {}, [&] { return b->constant(Dtype::Bool, 0); }, [&] { b->set(v, b->index(1)); });
  };
  EXPECT_THROW(write(), InternalError);
  EXPECT_THROW(b->set(v, b->constant(Dtype::F64, 0)), InternalError);
  EXPECT_THROW(b->get(b->make_variable(Type{Dtype::I64, 1})), InternalError);
}

// A while over a linked list.
TEST(BuilderControl, CarriedAddress) {
  struct Link {
    const Link* next;
    std::int64_t value;
  };
  add_symbol("apsis_test_address", reinterpret_cast<void*>(&address_as_number));
  auto b = make_builder();
  const Type parameters[] = {pointer_type}, results[] = {i64_type};
  b->begin(b->declare("f", parameters, results, true));
  const Variable at = b->make_variable(b->pointer_parameter(0)), sum = b->make_variable(b->index(0));
  const Variable carried[] = {at, sum};
  const auto some = [&] {
    const Operand link[] = {b->get_pointer(at)};
    return b->compare(Compare::Ne, b->call_runtime("apsis_test_address", Dtype::I64, link), b->index(0));
  };
  loop(*b, carried, some, [&] {
    const Pointer link = b->get_pointer(at);
    b->set(sum, b->add(b->get(sum), b->load_element(b->offset(link, 8), Dtype::I64)));
    b->set(at, b->load_pointer(link));
  });
  const Value out[] = {b->get(sum)};
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
