#include "ops/table.hpp"

#include <string_view>
#include <unordered_map>

#include "ir/graph.hpp"

namespace apsis::detail {
namespace {

const Op* const ops[] = {
#define APSIS_OP(name) &name##_op,
#include "ops/table.inc"
#undef APSIS_OP
};

}  // namespace

std::span<const Op* const> op_table() { return ops; }

const Op* find_op(std::string_view name) {
  static const auto* by_name = [] {
    auto* map = new std::unordered_map<std::string_view, const Op*>;
    for (const Op* op : ops) map->emplace(op->name, op);
    return map;
  }();
  auto it = by_name->find(name);
  return it == by_name->end() ? nullptr : it->second;
}

}  // namespace apsis::detail
