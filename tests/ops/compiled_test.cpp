// Compiled code gives the bits of the evaluator: every op, dtype and edge value of the records, at several
// numbers of lanes, levels of optimisation and instruction sets.

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "codegen/compile/compile.hpp"
#include "ops/records.hpp"

namespace apsis::testing {
namespace {

using detail::CodegenOptions;

// Several examples in one program, so that there is less to compile.
struct Batch {
  detail::GraphRef graph;
  std::vector<Array> inputs, expected;
  std::vector<std::string> what;
  bool complex = false;
};

Batch batch_of(const Record& record, std::span<const Example* const> examples) {
  Batch batch;
  detail::GraphBuilder builder;
  std::vector<detail::ValueId> outputs;
  for (const Example* example : examples) {
    std::vector<detail::ValueId> operands;
    for (const Array& a : example->operands) {
      operands.push_back(builder.input(a.aval()));
      batch.inputs.push_back(a);
      batch.complex = batch.complex || is_complex(a.dtype());
    }
    const std::vector<Array> results = run(*record.op, example->params, example->operands);
    std::vector<detail::ValueId> ids(results.size());
    builder.add(*record.op, example->params, operands, ids);
    for (std::size_t k = 0; k < results.size(); ++k) {
      outputs.push_back(ids[k]);
      batch.expected.push_back(results[k]);
      batch.what.push_back(example->what);
      batch.complex = batch.complex || is_complex(results[k].dtype());
    }
  }
  batch.graph = builder.finish(outputs);
  return batch;
}

void check(const Op& op, const Batch& batch, const CodegenOptions& options) {
  const auto program = detail::compile(*batch.graph, options);
  EXPECT_GT(program->code_bytes, 0u);
  // Complex numbers and what is too big to unroll may be left to the evaluator; elementwise ops are not.
  EXPECT_TRUE(program->kernels.empty() || op.kind != OpKind::Elementwise || batch.complex) << op.name;
  const std::vector<Array> results = detail::run(*program, batch.inputs);
  ASSERT_EQ(results.size(), batch.expected.size());
  for (std::size_t i = 0; i < results.size(); ++i)
    EXPECT_TRUE(same_elements(results[i], batch.expected[i]))
        << op.name << ": " << batch.what[i] << ", lanes " << options.lanes << ", level " << options.level
        << "\ncompiled  " << to_string(results[i]) << "\nevaluator " << to_string(batch.expected[i]);
}

// Small arrays live in registers, an element each: the number of lanes shows in loops over larger ones alone.
bool has_loops(const Example& example) {
  for (const Array& a : example.operands)
    if (a.size() > 16) return true;
  return false;
}

class CompiledRecords : public ::testing::TestWithParam<CodegenOptions> {};

TEST_P(CompiledRecords, EqualEvaluator) {
  constexpr std::size_t batch_size = 32;
  for (const Record& record : all_records()) {
    std::vector<const Example*> examples;
    for (const Example& example : record.examples)
      if (GetParam().lanes < 2 || has_loops(example)) examples.push_back(&example);
    for (std::size_t first = 0; first < examples.size(); first += batch_size) {
      const std::size_t count = std::min(batch_size, examples.size() - first);
      check(*record.op, batch_of(record, std::span(examples).subspan(first, count)), GetParam());
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, CompiledRecords,
                         ::testing::Values(CodegenOptions{}, CodegenOptions{.lanes = 1, .level = 0},
                                           CodegenOptions{.lanes = 2, .level = 1},
                                           CodegenOptions{.lanes = 8, .level = 2, .isa = detail::Isa::Avx2}),
                         [](const auto& info) {
                           return "lanes" + std::to_string(info.param.lanes) +
                                  (info.param.level < 0 ? "default"
                                                        : "level" + std::to_string(info.param.level));
                         });

}  // namespace
}  // namespace apsis::testing
