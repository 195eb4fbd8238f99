#include "apsis/tree/static_object.hpp"

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "apsis/base/error.hpp"
#include "apsis/base/keep_library.hpp"
#include "apsis/tree/walk.hpp"

namespace apsis::detail {

struct StaticObject::Shared {
  std::atomic<std::uint32_t> refs{1};
  std::uint64_t number = 0, hash = 0;
  const StaticObjectType* type;
  void* value;
};

/// All that live. It holds no references: the last owner of an object takes it out.
struct StaticObject::Table {
  std::mutex mutex;
  std::unordered_multimap<std::uint64_t, Shared*> by_hash;
  std::uint64_t next_number = 1;
};

StaticObject::Table& StaticObject::table() {
  static auto* t = new Table;  // outlives static objects of users
  return *t;
}

StaticObject StaticObject::intern(const StaticObjectType& type, std::uint64_t hash, void* value) {
  keep_library(&type);
  Table& t = table();
  std::unique_lock lock(t.mutex);
  auto [first, last] = t.by_hash.equal_range(hash);
  for (; first != last; ++first) {
    Shared* other = first->second;
    if (other->type != &type || !type.equal(other->value, value)) continue;
    std::uint32_t refs = other->refs.load(std::memory_order_relaxed);
    while (refs && !other->refs.compare_exchange_weak(refs, refs + 1)) {
    }
    if (!refs) continue;  // its last owner is waiting for the lock to take it out
    lock.unlock();        // what is destroyed may hold objects of its own
    type.destroy(value);
    return StaticObject(other);
  }
  auto* made = new Shared{.number = t.next_number++, .hash = hash, .type = &type, .value = value};
  t.by_hash.emplace(hash, made);
  return StaticObject(made);
}

StaticObject::StaticObject(const StaticObject& other) noexcept : shared_(other.shared_) {
  if (shared_) shared_->refs.fetch_add(1, std::memory_order_relaxed);
}

StaticObject::~StaticObject() {
  if (!shared_ || shared_->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  Table& t = table();
  {
    std::lock_guard lock(t.mutex);
    auto [first, last] = t.by_hash.equal_range(shared_->hash);
    while (first != last && first->second != shared_) ++first;
    APSIS_ASSERT(first != last);
    t.by_hash.erase(first);
  }
  shared_->type->destroy(shared_->value);
  delete shared_;
}

const void* StaticObject::value() const { return shared_ ? shared_->value : nullptr; }
std::uint64_t StaticObject::number() const { return shared_ ? shared_->number : 0; }
std::string_view StaticObject::name() const { return shared_ ? shared_->type->name : "none"; }
std::string StaticObject::describe() const {
  return shared_ ? std::string(name()) + ' ' + std::to_string(number()) + ": " +
                       shared_->type->describe(shared_->value)
                 : "none";
}

namespace {

const StaticObject& object_at(const void* tree) { return *static_cast<const StaticObject*>(tree); }
void no_leaves(const void*, LeafVisitor) {}
void no_leaves_mutable(void*, LeafVisitor) {}

const TreeType object_type{
    []() -> std::string_view { return "static object"; },
    [](const void* tree, TreeVisitor& visitor) {
      visitor.fixed(object_at(tree).describe(), object_at(tree).name());
    },
    [](const void* tree, StaticKey& key) { key.append_value(object_at(tree).number()); },
    no_leaves,
    no_leaves_mutable,
    [](const void* tree) -> void* { return new StaticObject(object_at(tree)); },
    [](void* tree) { delete static_cast<StaticObject*>(tree); }};

}  // namespace

const TreeType* static_object_type() { return &object_type; }

}  // namespace apsis::detail
