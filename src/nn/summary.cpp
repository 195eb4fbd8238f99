#include "apsis/nn/summary.hpp"

#include <algorithm>

#include "apsis/ops/convert.hpp"

namespace apsis::nn {
namespace {

/// 1234567 as 1,234,567.
std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::int64_t at = static_cast<std::int64_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

}  // namespace

Summary detail::summarise(const std::vector<std::string>& paths, const std::vector<Array>& leaves) {
  Summary summary;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Array& a = leaves[i];
    if (a.is_empty()) continue;
    const bool counts = is_floating(a.dtype()) || is_complex(a.dtype());
    const auto width = static_cast<std::int64_t>(item_size(a.dtype()));
    summary.rows.push_back({paths[i], a.shape(), a.dtype(), counts ? a.size() : 0, a.size() * width});
    summary.parameters += summary.rows.back().parameters;
    summary.bytes += summary.rows.back().bytes;
  }
  return summary;
}

Array detail::floating_as(const Array& a, Dtype dtype) {
  return is_floating(a.dtype()) ? astype(a, dtype) : a;
}

std::string to_string(const Summary& summary) {
  using Line = std::vector<std::string>;
  std::vector<Line> lines{{"path", "array", "parameters", "bytes"}};
  for (const SummaryRow& row : summary.rows)
    lines.push_back({row.path, apsis::to_string(Aval(row.dtype, row.shape)), grouped(row.parameters),
                     grouped(row.bytes)});
  lines.push_back({"total", "", grouped(summary.parameters), grouped(summary.bytes)});
  std::size_t widths[4] = {};
  for (const Line& line : lines)
    for (std::size_t i = 0; i < 4; ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string out;
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < 4; ++i) {
      const std::string blanks(widths[i] - line[i].size(), ' ');
      out += i < 2 ? line[i] + blanks : blanks + line[i];  // numbers stand to the right
      out += i < 3 ? "  " : "\n";
    }
  }
  return out;
}

}  // namespace apsis::nn
