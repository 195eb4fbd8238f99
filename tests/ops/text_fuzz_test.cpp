// Programs in text form that were damaged: each is read, or refused with an error. What is read is an equal
// program when it is written and read again, and runs, compiled and not, or says why it does not.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>

#include "apsis/apsis.hpp"
#include "codegen/compile/compile.hpp"
#include "codegen/support/cancel.hpp"
#include "ir/graph.hpp"
#include "ir/regions.hpp"
#include "mutation.hpp"
#include "ops/records.hpp"
#include "runtime/region.hpp"

namespace apsis {
namespace {

using detail::Graph;
using detail::GraphRef;

template <class F, class... A>
std::string text_of(const F& f, const A&... args) {
  return trace(f, args...).text();
}

/// Loops, branches, lanes, tapes and rules.
std::vector<std::string> texts_of_programs() {
  const Array x(0.3), v = linspace(-1., 1., 5), m = reshape(linspace(0., 1., 12), {3, 4});
  const auto counted = [](const Array& y) {
    return while_loop(
               [](const std::pair<Array, Array>& s) { return s.first < 3; },
               [](const std::pair<Array, Array>& s) { return std::pair(s.first + 1, sin(s.second) * 0.5); },
               std::pair(Array(0), y))
        .second;
  };
  const auto until = [](const Array& y) {
    return while_loop([](const Array& s) { return s < 2.; }, [](const Array& s) { return 1.5 * s + 0.1; }, y);
  };
  const auto branch = [](const Array& y) {
    return cond(
        sum(y) > 0., [](const Array& z) { return z * z; }, [](const Array& z) { return -z; }, y);
  };
  const auto scanned = [](const Array& y) {
    auto [c, ys] =
        scan([](const Array& c, const Array& e) { return std::pair(c + e * c, c - e); }, Array(1.), y);
    return c + sum(ys);
  };
  const auto moved = [](const Array& y) {
    Array i = array({3, 0, 7});
    return y[i % 5] + y.at(i % 5).add(1.)[0] + concatenate(std::vector<Array>{y[0] * ones({1}), flip(y)})[2];
  };
  const auto checked = [](const Array& y) {
    error_if(any(y > 5.), "too large: {0}", {y[0]});
    return checkpoint([](const Array& z) { return tanh(z) * z; })(y);
  };
  return {
      text_of(counted, x),
      text_of(grad([=](const Array& y) { return sum(counted(y)); }), v),
      text_of(vmap(until), abs(v)),
      text_of(vmap(grad(until)), abs(v)),
      text_of(hessian([=](const Array& y) { return sum(branch(y)); }), v),
      text_of(grad(scanned), v),
      text_of([=](const Array& y) { return jvp(scanned, y, ones_like(y)); }, v),
      text_of(moved, v),
      text_of(grad([=](const Array& y) { return sum(moved(y)); }), v),
      text_of(checked, v),
      text_of(
          [](const Array& a) { return sort(a) + cumsum(a, {.axis = 1}) + argmax(a, {.axis = 0}) + exp(a); },
          m),
      text_of([](const Array& a) { return dot(a, transpose(a)) + eye(3); }, m),
      text_of([](const Array& a) { return random::normal(random::key(1), {4}) + a[0]; }, m),
  };
}

/// Each example of each op as a program of its own.
std::vector<std::string> texts_of_ops() {
  std::vector<std::string> texts;
  for (const testing::Record& record : testing::all_records())
    for (const testing::Example& example : record.examples) {
      detail::GraphBuilder builder;
      std::vector<detail::ValueId> operands;
      std::vector<Aval> avals, results;
      for (const Array& a : example.operands) avals.push_back(a.aval());
      record.op->shape(example.params, avals, results);
      for (const Aval& aval : avals) operands.push_back(builder.input(aval));
      std::vector<detail::ValueId> values(results.size());
      builder.append(*record.op, example.params, operands, values);
      std::string text = to_string(*builder.finish(values));
      if (text.size() < 4000) texts.push_back(std::move(text));
    }
  return texts;
}

/// Elements of all arrays, in regions too: what running a program takes.
double elements(const Graph& graph) {
  double count = 0;
  for (detail::ValueId v = 0; v < graph.value_count(); ++v)
    count += static_cast<double>(graph.aval(v).size());
  for (const detail::Eqn& e : graph.eqns())
    detail::each_region(e.params, [&](const Graph& region) { count += elements(region); });
  return count;
}

bool has_list_input(const Graph& graph) {
  for (detail::ValueId v = 0; v < graph.input_count(); ++v)
    if (graph.aval(v).is_list()) return true;
  return false;
}

/// Whether some loop may go on for long, as its text says.
bool has_long_loop(const Graph& graph) {
  for (const detail::Eqn& e : graph.eqns()) {
    bool found = e.op->kind == OpKind::While || e.op->kind == OpKind::MapLanes;
    if (e.op->kind == OpKind::Scan) found = e.params.as<detail::ScanParams>().length > 10000;
    detail::each_region(e.params, [&](const Graph& region) { found = found || has_long_loop(region); });
    if (found) return true;
  }
  return false;
}

/// A token that is set after a while: a damaged loop need not end.
class Deadline {
 public:
  Deadline() : thread_([this] { wait(); }) { detail::cancel_flag = &flag_; }
  ~Deadline() {
    done_ = true;
    thread_.join();
    detail::cancel_flag = &detail::never_cancelled;
  }

 private:
  void wait() {
    for (int i = 0; i < 200 && !done_; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    __atomic_store_n(&flag_, 1u, __ATOMIC_RELAXED);
  }
  std::uint32_t flag_ = 0;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

void run_program(const Graph& graph) {
  std::vector<Array> inputs;
  for (detail::ValueId v = 0; v < graph.input_count(); ++v) {
    const Aval& aval = graph.aval(v);
    inputs.push_back(astype(full(aval.shape(), 1.), aval.dtype()));
  }
  const auto program = detail::compile(graph);
  const Deadline deadline;
  detail::run(*program, inputs, &graph);
  if (has_long_loop(graph)) return;
  const detail::InterpretScope reference;
  detail::interpret(graph, inputs);
}

/// Its derivatives and batches, compiled.
void transform_program(const Graph& graph) {
  std::vector<Array> inputs;
  for (detail::ValueId v = 0; v < graph.input_count(); ++v) {
    const Aval& aval = graph.aval(v);
    inputs.push_back(astype(full(aval.shape(), 0.7), aval.dtype()));
  }
  const auto total = [&graph](const std::vector<Array>& in) {
    Array sum_of_all = 0.;
    for (const Array& out : detail::interpret(graph, in))
      if (!out.aval().is_list() && is_floating(out.dtype())) sum_of_all = sum_of_all + sum(out);
    return sum_of_all;
  };
  const Deadline deadline;
  std::vector<Array> lanes;
  for (const Array& a : inputs) lanes.push_back(stack(std::vector<Array>{a, a, a}));
  const auto attempt = [&](const auto& f) {
    try {
      f();
    } catch (const Error&) {  // no derivative, or an op that fails
    }
  };
  attempt([&] { jit(grad(total))(inputs); });
  attempt([&] { jit(vmap(total))(lanes); });
  attempt([&] { jit(vmap(grad(total)))(lanes); });
  attempt([&] { jit([&](const std::vector<Array>& in) { return jvp(total, in, in); })(inputs); });
}

/// What becomes of a text: refused, read, run.
struct Counts {
  std::size_t refused = 0, read = 0, run = 0;
};

void try_text(const std::string& text, bool run, Counts& counts) {
  try {
    const GraphRef graph = detail::parse_graph(text);
    ++counts.read;
    detail::verify(*graph);
    EXPECT_TRUE(detail::parse_graph(to_string(*graph))->same_as(*graph)) << text;
    if (!run || elements(*graph) > 1e5 || has_list_input(*graph)) return;
    run_program(*graph);
    ++counts.run;
    transform_program(*graph);
  } catch (const Error&) {
    ++counts.refused;
  } catch (const std::bad_alloc&) {
    ++counts.refused;
  } catch (const InternalError& e) {
    ADD_FAILURE() << e.what() << "\n" << text;
  }
}

enum class Damage { Wild, Mild };

void fuzz(Damage damage, std::size_t count, std::size_t run_every) {
  std::vector<std::string> texts = texts_of_programs();
  for (std::string& text : texts_of_ops()) texts.push_back(std::move(text));
  for (const std::string& text : texts) {
    Counts whole;
    try_text(text, false, whole);
    EXPECT_EQ(whole.read, 1u) << text;
  }
  Counts counts;
  const std::uint64_t first = testing::mutation_seed();
  std::cout << "seeds " << first << " to " << first + count - 1 << std::endl;
  for (std::uint64_t seed = first; seed < first + count && !::testing::Test::HasFailure(); ++seed) {
    testing::Mutation mutate(seed);
    const std::string &text = texts[mutate.below(texts.size())], &other = texts[mutate.below(texts.size())];
    const std::string damaged = damage == Damage::Wild ? mutate(text, other) : mutate.mild(text);
    // What a crash leaves behind.
    if (std::getenv("APSIS_MUTATION_SHOW")) std::cerr << "seed " << seed << "\n" << damaged << std::endl;
    try_text(damaged, seed % run_every == 0, counts);
    if (::testing::Test::HasFailure()) ADD_FAILURE() << "seed " << seed;
  }
  if (damage == Damage::Mild && count >= 100) {
    EXPECT_GE(counts.read, count / 6);
  }
  std::cout << counts.read << " read, " << counts.run << " run, " << counts.refused << " refused"
            << std::endl;
}

TEST(TextFuzz, DamagedProgramsAreReadOrRefused) { fuzz(Damage::Wild, testing::mutation_count(4000), 4); }
// Most of these are other programs: what they do is what is tested.
TEST(TextFuzz, ChangedProgramsAreReadOrRefused) { fuzz(Damage::Mild, testing::mutation_count(1000), 8); }

TEST(TextFuzz, SlowDamagedProgramsAreReadOrRefused) { fuzz(Damage::Wild, testing::mutation_count(60000), 1); }
TEST(TextFuzz, SlowChangedProgramsAreReadOrRefused) { fuzz(Damage::Mild, testing::mutation_count(60000), 4); }

}  // namespace
}  // namespace apsis
