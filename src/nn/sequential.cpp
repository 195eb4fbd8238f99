#include "apsis/nn/sequential.hpp"

#include "apsis/ops/index.hpp"

namespace apsis::nn {

std::vector<Array> detail::keys_of_layers(const Array& key, std::size_t count) {
  std::vector<Array> keys(count);
  if (key.is_empty() || count == 0) return keys;
  const Array all = random::split(key, static_cast<std::int64_t>(count));
  for (std::size_t i = 0; i < count; ++i) keys[i] = all[static_cast<std::int64_t>(i)];
  return keys;
}

}  // namespace apsis::nn
