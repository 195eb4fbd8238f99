#include "apsis/control/map.hpp"

#include "ops/lax.hpp"

namespace apsis::detail {

Blocks split_blocks(std::span<const Array> xs, std::int64_t size) {
  Blocks blocks;
  for (const Array& x : xs) {
    std::int64_t length = x.shape()[0];
    blocks.count = length / size;
    blocks.left = length % size;
    Dims start = Dims::filled(x.shape().size(), 0), limit = x.shape();
    limit[0] = blocks.count * size;
    Shape shape = x.shape();
    shape[0] = size;
    shape.insert(0, blocks.count);
    blocks.whole.push_back(lax::reshape(lax::slice(x, start, limit), shape));
    if (blocks.left == 0) continue;
    start[0] = limit[0];
    limit[0] = length;
    blocks.rest.push_back(lax::slice(x, start, limit));
  }
  return blocks;
}

std::vector<Array> join_entries(std::span<const Array> whole, std::span<const Array> rest) {
  std::vector<Array> ys;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    Shape shape = whole[i].shape();
    std::int64_t length = shape[0] * shape[1];
    shape.erase(0);
    shape[0] = length;
    Array joined = lax::reshape(whole[i], shape);
    if (!rest.empty()) {
      Array parts[] = {joined, rest[i]};
      joined = lax::concatenate(parts, 0);
    }
    ys.push_back(joined);
  }
  return ys;
}

}  // namespace apsis::detail
