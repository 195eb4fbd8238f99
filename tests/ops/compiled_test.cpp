// Compiled code gives the bits of the evaluator: every op, dtype and edge value of the records, at several
// numbers of lanes, levels of optimisation and instruction sets.

#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/compile.hpp"
#include "ops/records.hpp"

namespace apsis::testing {
namespace {

using detail::CompileOptions;

// Several examples in one program, so that there is less to compile.
struct Batch {
  detail::GraphRef graph;
  std::vector<Array> inputs, expected;
  std::vector<std::string> what;
  bool complex = false;
};

Batch batch_of(const Record& record, std::size_t first, std::size_t count) {
  Batch batch;
  detail::GraphBuilder builder;
  std::vector<detail::ValueId> outputs;
  for (std::size_t i = first; i < first + count; ++i) {
    const Example& example = record.examples[i];
    std::vector<detail::ValueId> operands;
    for (const Array& a : example.operands) {
      operands.push_back(builder.input(a.aval()));
      batch.inputs.push_back(a);
      batch.complex = batch.complex || is_complex(a.dtype());
    }
    const std::vector<Array> results = run(*record.op, example.params, example.operands);
    std::vector<detail::ValueId> ids(results.size());
    builder.add(*record.op, example.params, operands, ids);
    for (std::size_t k = 0; k < results.size(); ++k) {
      outputs.push_back(ids[k]);
      batch.expected.push_back(results[k]);
      batch.what.push_back(example.what);
      batch.complex = batch.complex || is_complex(results[k].dtype());
    }
  }
  batch.graph = builder.finish(outputs);
  return batch;
}

void check(const Op& op, const Batch& batch, const CompileOptions& options) {
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

class CompiledRecords : public ::testing::TestWithParam<CompileOptions> {};

TEST_P(CompiledRecords, EqualEvaluator) {
  constexpr std::size_t batch_size = 32;
  for (const Record& record : all_records()) {
    for (std::size_t first = 0; first < record.examples.size(); first += batch_size)
      check(*record.op, batch_of(record, first, std::min(batch_size, record.examples.size() - first)),
            GetParam());
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, CompiledRecords,
                         ::testing::Values(CompileOptions{}, CompileOptions{.lanes = 1, .level = 0},
                                           CompileOptions{.lanes = 2, .level = 1},
                                           CompileOptions{.lanes = 8, .level = 2, .isa = detail::Isa::Avx2}),
                         [](const auto& info) {
                           return "lanes" + std::to_string(info.param.lanes) +
                                  (info.param.level < 0 ? "default"
                                                        : "level" + std::to_string(info.param.level));
                         });

}  // namespace
}  // namespace apsis::testing
