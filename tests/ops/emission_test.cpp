// Every op's emit rule gives the bits of its evaluate rule, on all examples of its record.

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/records.hpp"
#include "ops/reference_emitter.hpp"

namespace apsis::testing {
namespace {

using Values = std::vector<detail::Value>;

// Complex numbers have no lane values: code for them calls the evaluator.
bool has_complex(const Example& example, std::span<const Array> results) {
  for (const Array& a : example.operands)
    if (is_complex(a.dtype())) return true;
  for (const Array& a : results)
    if (is_complex(a.dtype())) return true;
  return false;
}

Values elements_of(const Array& a) {
  Values values;
  for (std::int64_t i = 0; i < a.size(); ++i)
    values.push_back(ReferenceEmitter::make(
        a.dtype(),
        static_cast<const char*>(data_of(a)) + static_cast<std::size_t>(i) * item_size(a.dtype())));
  return values;
}

void store(const detail::Value& v, Array& a, std::size_t i) {
  ASSERT_EQ(v.dtype, a.dtype());
  ReferenceEmitter::store(v, mutable_data<char>(a) + i * item_size(a.dtype()));
}

bool is_large(const Array& a) { return a.size() > 256; }

std::vector<Array> emitted(const Op& op, const Example& example, std::span<const Array> like) {
  ReferenceEmitter emitter;
  ReferenceEmitter::clear();
  std::vector<Array> results;
  for (const Array& a : like) results.push_back(allocate(a.aval()));
  std::vector<Values> operands;
  for (const Array& a : example.operands) operands.push_back(elements_of(a));
  if (op.emit) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(results[0].size()); ++i) {
      Values in;
      for (const Values& v : operands) in.push_back(v[i]);
      Values out(results.size());
      op.emit(emitter, example.params, in, out);
      for (std::size_t k = 0; k < results.size(); ++k) store(out[k], results[k], i);
    }
    return results;
  }
  Values in, out;
  std::vector<Aval> in_avals, out_avals;
  for (const Values& v : operands) in.insert(in.end(), v.begin(), v.end());
  for (const Array& a : example.operands) in_avals.push_back(a.aval());
  std::size_t count = 0;
  for (const Array& a : results) {
    out_avals.push_back(a.aval());
    count += static_cast<std::size_t>(a.size());
  }
  out.resize(count);
  op.emit_unrolled(emitter, example.params, in_avals, in, out_avals, out);
  std::size_t at = 0;
  for (Array& a : results)
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.size()); ++i) store(out[at++], a, i);
  return results;
}

TEST(Emission, EqualsEvaluator) {
  for (const Record& record : all_records()) {
    if (!record.op->emit && !record.op->emit_unrolled) continue;
    std::size_t checked = 0;
    for (const Example& example : record.examples) {
      SCOPED_TRACE(std::string(record.op->name) + ": " + example.what);
      // No compiled code writes out as many elements, and what has a kernel for more may use it.
      if (!record.op->emit && std::ranges::any_of(example.operands, is_large)) continue;
      const std::vector<Array> expected = run(*record.op, example.params, example.operands);
      if (has_complex(example, expected)) continue;
      const std::vector<Array> results = emitted(*record.op, example, expected);
      for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(same_elements(results[i], expected[i]));
      ++checked;
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(checked, 0u) << record.op->name;
  }
}

}  // namespace
}  // namespace apsis::testing
