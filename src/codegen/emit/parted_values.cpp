#include "codegen/emit/parted_values.hpp"

#include <algorithm>
#include <numeric>

#include "apsis/base/error.hpp"

namespace apsis::detail {

void PartedValues::add_part(std::uint32_t v, Value part) {
  Parts& value = values_[v];
  APSIS_ASSERT(value.count < most_parts);
  value.part[static_cast<std::size_t>(value.count++)] = part;
}

int PartedValues::parts_of(std::span<const std::uint32_t> operands) const {
  constexpr int masks_are_bits = 64, narrowest = 4;  // bytes of a register, of a number that is computed with
  const int bytes = b_.vector_bytes();
  if (bytes == masks_are_bits) return 1;
  int lanes = 1, item = narrowest, parts_of_masks = 1;
  bool only_masks = true;
  for (std::uint32_t v : operands) {
    const Parts& value = values_[v];
    const Dtype dtype = value.part[0].dtype;
    lanes = std::max(lanes, lanes_of(value));
    parts_of_masks = std::max(parts_of_masks, value.count);
    if (dtype == Dtype::Bool) continue;
    only_masks = false;
    item = std::max(item, static_cast<int>(item_size(dtype)));
  }
  return only_masks ? parts_of_masks : std::clamp(lanes * item / bytes, 1, most_parts);
}

Value PartedValues::part(std::uint32_t v, int i, int parts) {
  Parts& value = values_[v];
  const int lanes = lanes_of(value);
  if (lanes == 1) return value.part[0];
  if (value.count == parts) return value.part[static_cast<std::size_t>(i)];
  const Value all = whole(v);
  std::vector<int> from(static_cast<std::size_t>(lanes / parts));
  std::iota(from.begin(), from.end(), i * lanes / parts);
  return parts == 1 ? all : b_.shuffle(all, all, from);
}

Value PartedValues::whole(std::uint32_t v) const {
  Parts value = values_[v];
  for (; value.count > 1; value.count /= 2) {
    std::vector<int> both(2 * static_cast<std::size_t>(b_.lanes_of(value.part[0])));
    std::iota(both.begin(), both.end(), 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(value.count / 2); ++i)
      value.part[i] = b_.shuffle(value.part[2 * i], value.part[2 * i + 1], both);
  }
  return value.part[0];
}

}  // namespace apsis::detail
