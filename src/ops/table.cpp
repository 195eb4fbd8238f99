#include "ops/table.hpp"

#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>

#include "apsis/base/keep_library.hpp"
#include "apsis/ops/extend.hpp"
#include "ir/graph.hpp"
#include "ops/messages.hpp"

namespace apsis::detail {
namespace {

const Op* const ops[] = {
#define APSIS_OP(name) &name##_op,
#include "ops/table.inc"
#undef APSIS_OP
};

struct Names {
  std::shared_mutex mutex;  // the user's ops may be registered at any time
  std::unordered_map<std::string_view, const Op*> ops;
};
Names& names() {
  static Names* const table = [] {
    auto* made = new Names;
    for (const Op* op : ops) made->ops.emplace(op->name, op);
    return made;
  }();
  return *table;
}

}  // namespace

std::span<const Op* const> op_table() { return ops; }

const Op* find_op(std::string_view name) {
  Names& table = names();
  std::shared_lock lock(table.mutex);
  auto it = table.ops.find(name);
  return it == table.ops.end() ? nullptr : it->second;
}

}  // namespace apsis::detail

namespace apsis {

void register_op(const Op& op, Loc loc) {
  detail::keep_library(&op);
  detail::Names& table = detail::names();
  std::unique_lock lock(table.mutex);
  auto [it, fresh] = table.ops.emplace(op.name, &op);
  if (!fresh && it->second != &op) fail(messages::op_name_taken, {op.name}, loc);
}

}  // namespace apsis
