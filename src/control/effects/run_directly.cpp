#include "apsis/control/run_directly.hpp"

#include <algorithm>

#include "codegen/builder/messages.hpp"
#include "ops/lax.hpp"
#include "runtime/region.hpp"
#include "transform/stage/trace_watch.hpp"

namespace apsis::detail {

bool runs_directly() { return running_directly() && !is_staging(); }

std::optional<bool> known_truth(const Array& predicate) {
  Array value = concrete_value(predicate);
  if (value.is_empty()) return std::nullopt;
  return static_cast<bool>(value);
}

std::optional<std::size_t> branch_to_run(const Array& index, std::size_t count) {
  if (!runs_directly()) return std::nullopt;
  Array value = concrete_value(index);
  if (value.is_empty()) return std::nullopt;
  auto last = static_cast<std::int64_t>(count) - 1;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(value.item<std::int64_t>(), 0, last));
}

void fail_max_steps(std::int64_t max_steps, Loc loc) {
  fail(messages::max_steps_exceeded, {std::to_string(max_steps)}, loc);
}

std::vector<Array> entries_at(std::span<const Array> stacked, std::int64_t i) {
  std::vector<Array> entries;
  for (const Array& a : stacked) {
    Shape shape = a.shape(), starts = Dims::filled(shape.size(), 0), limits = shape;
    starts[0] = i;
    limits[0] = i + 1;
    shape.erase(0);
    entries.push_back(lax::reshape(lax::slice(a, starts, limits), shape));
  }
  return entries;
}

std::vector<Array> stack_entries(const std::vector<std::vector<Array>>& entries) {
  std::vector<Array> stacked;
  for (std::size_t k = 0; k < (entries.empty() ? 0 : entries[0].size()); ++k) {
    std::vector<Array> rows;
    for (const std::vector<Array>& row : entries) {
      Shape shape = row[k].shape();
      shape.insert(0, 1);
      rows.push_back(lax::reshape(row[k], shape));
    }
    stacked.push_back(rows.size() == 1 ? rows[0] : lax::concatenate(rows, 0));
  }
  return stacked;
}

}  // namespace apsis::detail
