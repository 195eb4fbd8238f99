#pragma once

// Compares compiled programs with the evaluator, bit by bit, for several widths and levels.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "codegen/compile/compile.hpp"
#include "codegen/plan/in_place.hpp"
#include "core/list.hpp"
#include "ops/lax.hpp"
#include "runtime/execute.hpp"
#include "runtime/region.hpp"

namespace apsis::detail {

/// Deterministic elements: small numbers of both signs; integers, booleans and halves alike.
inline Array filled(const Aval& aval, std::uint64_t seed) {
  std::vector<double> values;
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (std::int64_t i = 0; i < aval.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values.push_back(static_cast<double>(static_cast<std::int64_t>(state >> 40) - (1 << 23)) / (1 << 21));
  }
  return lax::convert(array(std::span<const double>(values), aval.shape()), aval.dtype(), aval.weak());
}

/// NaNs are equal whatever their payload.
inline bool same_bits(const Array& a, const Array& b) {
  if (!(a.aval() == b.aval())) return false;
  if (a.node()->kind == NodeKind::List) {
    const auto &x = static_cast<ListNode*>(a.node())->entries, &y = static_cast<ListNode*>(b.node())->entries;
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!same_bits(x[i], y[i])) return false;
    return true;
  }
  if (std::memcmp(data_of(a), data_of(b), a.aval().bytes()) == 0) return true;
  if (is_complex(a.dtype())) return same_bits(real(a), real(b)) && same_bits(imag(a), imag(b));
  if (!is_floating(a.dtype())) return false;
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::isnan(x[i]) ? !std::isnan(y[i]) : x[i] != y[i] || std::signbit(x[i]) != std::signbit(y[i]))
      return false;
  return true;
}

inline std::string shown(const Array& a) { return a.aval().is_list() ? to_string(a.aval()) : to_string(a); }

/// Runs the program with its results made in the memory of those inputs that they may overwrite, if there are
/// any; `shared`: how many.
inline std::vector<Array> run_over_inputs(const Graph& graph, const Program& program,
                                          std::span<const Array> inputs, int& shared) {
  const std::vector<std::int32_t> under = overwritable_inputs(graph);
  shared = static_cast<int>(std::ranges::count_if(under, [](std::int32_t i) { return i >= 0; }));
  const auto is_list = [](const Aval& a) { return a.is_list(); };
  if (shared == 0 || std::ranges::any_of(program.inputs, is_list) ||
      std::ranges::any_of(program.outputs, is_list))
    return {};
  std::vector<Array> given, results;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Array& a : inputs) {
    given.push_back(allocate(a.aval()));
    std::memcpy(mutable_data<void>(given.back()), data_of(a), a.aval().bytes());
    in.push_back(data_of(given.back()));
  }
  for (std::size_t o = 0; o < under.size(); ++o) {
    results.push_back(under[o] >= 0 ? given[static_cast<std::size_t>(under[o])]
                                    : allocate(program.outputs[o]));
    out.push_back(static_cast<BufferNode*>(results[o].node())->data);
  }
  execute(program, graph, in.data(), out.data());
  return results;
}

inline void expect_compiled_equal(const Graph& graph, std::span<const Array> inputs) {
  verify(graph);
  std::vector<Array> expected;
  {
    InterpretScope reference;
    expected = interpret(graph, inputs);
  }
  struct {
    int lanes, level;
    Isa isa = Isa::Native;
    int part = 0;
    bool calls = false;
  } const ways[] = {{0, -1},
                    {1, 0},
                    {2, 1},
                    {8, 2},
                    {0, -1, Isa::Avx2},
                    {0, -1, Isa::Native, 25},
                    {0, -1, Isa::Native, 0, true},
                    {0, -1, Isa::Native, 25, true}};
  for (auto [lanes, level, isa, part, calls] : ways) {
    auto program =
        compile(graph, {.lanes = lanes, .level = level, .isa = isa, .part = part, .all_calls = calls});
    std::vector<Array> got = run(*program, inputs);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_TRUE(same_bits(got[i], expected[i]))
          << "output " << i << ", lanes " << lanes << ", level " << level << ", part " << part << ", calls "
          << calls << "\n"
          << to_string(graph) << "\ncompiled " << shown(got[i]) << "\nevaluator " << shown(expected[i]);
    int shared = 0;
    const std::vector<Array> over = run_over_inputs(graph, *program, inputs, shared);
    for (std::size_t i = 0; i < over.size(); ++i)
      ASSERT_TRUE(same_bits(over[i], expected[i]))
          << "output " << i << ", in the memory of inputs\n"
          << to_string(graph) << "\ncompiled " << shown(over[i]) << "\nevaluator " << shown(expected[i]);
  }
}

/// The same for a program in text form, on inputs made up.
inline void expect_compiled_equal(std::string_view text, std::uint64_t seed = 1) {
  GraphRef graph = parse_graph(text);
  std::vector<Array> inputs;
  for (ValueId v = 0; v < graph->input_count(); ++v) inputs.push_back(filled(graph->aval(v), seed + v));
  expect_compiled_equal(*graph, inputs);
}

}  // namespace apsis::detail
