#include "train/rows.hpp"

#include "train/messages.hpp"

namespace apsis::train::detail {

std::int64_t rows_of(const char* where, std::span<const Array> leaves,
                     const std::vector<std::string>& paths) {
  std::size_t first = leaves.size();
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].is_empty()) continue;
    if (leaves[i].ndim() == 0) fail(messages::batch_scalar, {where, paths[i], to_string(leaves[i].aval())});
    if (first == leaves.size()) first = i;
    if (leaves[i].dim(0) != leaves[first].dim(0))
      fail(messages::batch_rows, {where, paths[first], std::to_string(leaves[first].dim(0)), paths[i],
                                  std::to_string(leaves[i].dim(0))});
  }
  if (first == leaves.size()) fail(messages::batch_nothing, {where});
  return leaves[first].dim(0);
}

}  // namespace apsis::train::detail
