// expect: a `Static` of a type with Arrays: an Array is traced, it cannot be baked in
#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

void use(const apsis::Static<std::vector<apsis::Array>>& tree, apsis::StaticKey& key) {
  apsis::append_static_key(tree, key);
}
