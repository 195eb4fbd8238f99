#include "control/common/complex_parts.hpp"

#include <algorithm>

#include "control/common/regions.hpp"
#include "ops/complex.hpp"

namespace apsis::detail {
namespace {

bool any_complex(std::span<const Aval> avals) {
  return std::ranges::any_of(avals, [](const Aval& a) { return !a.is_list() && is_complex(a.dtype()); });
}

std::vector<Aval> avals_with_parts(std::span<const Aval> avals) {
  std::vector<Aval> out;
  for (const Aval& a : avals) {
    const bool whole = a.is_list() || !is_complex(a.dtype());
    out.insert(out.end(), whole ? 1 : 2, whole ? a : Aval(part_dtype(a.dtype()), a.shape(), a.weak()));
  }
  return out;
}

}  // namespace

std::vector<Array> without_parts(std::span<const Array> parts, std::span<const Aval> avals) {
  std::vector<Array> out;
  auto next = parts.begin();
  for (const Aval& a : avals) {
    if (a.is_list() || !is_complex(a.dtype())) {
      out.push_back(*next++);
    } else {
      out.push_back(joined({next[0], next[1]}));
      next += 2;
    }
  }
  return out;
}

GraphRef over_parts(const GraphRef& region) {
  const std::vector<Aval> in = input_avals(*region), out = output_avals(*region);
  if (!any_complex(in) && !any_complex(out)) return region;
  return rewire(avals_with_parts(in), [&](std::span<const Array> parts) {
    return with_parts(interpret(*region, without_parts(parts, in)));
  });
}

}  // namespace apsis::detail
