#include "codegen/lists.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "codegen/kernels.hpp"
#include "core/list.hpp"

namespace apsis::detail {
namespace {
constexpr std::int64_t chunk_header = 64;
constexpr std::int64_t smallest_chunk = 4096, largest_chunk = 1 << 20;
}  // namespace

ListStore::~ListStore() {
  auto drop = [](ListChunk* chunk) {
    while (chunk) {
      ListChunk* next = chunk->next;
      std::free(chunk);
      chunk = next;
    }
  };
  for (const auto& list : lists_) drop(list->first);
  drop(spare_);
}

List* ListStore::make(std::int64_t record_bytes) {
  std::scoped_lock lock(mutex_);
  if (idle_.empty()) {
    lists_.push_back(std::make_unique<List>());
    idle_.push_back(lists_.back().get());
  }
  List* list = idle_.back();
  idle_.pop_back();
  *list = List{};
  list->record_bytes = std::max<std::int64_t>(record_bytes, 8);
  return list;
}

bool ListStore::grow(List& list, std::int64_t records) {
  std::scoped_lock lock(mutex_);
  // Chunks double in size, so that a long list makes few calls and a short one little waste.
  std::int64_t wanted = list.last ? std::min(2 * list.last->capacity, largest_chunk) : smallest_chunk;
  const std::int64_t least = std::max<std::int64_t>(records, 1) * list.record_bytes;
  wanted = std::max(wanted, least);
  ListChunk* chunk = nullptr;
  // A chunk that another list gave back, if one of the latest is large enough for the records asked for.
  ListChunk** link = &spare_;
  for (int tries = 0; tries < 16 && *link && (*link)->capacity < least; ++tries) link = &(*link)->next;
  if (*link && (*link)->capacity >= least) {
    chunk = *link;
    *link = chunk->next;
  } else {
    if (bytes_ + wanted > limit_) return false;
    std::int64_t bytes = (wanted + chunk_header + 63) / 64 * 64;
    void* memory = std::aligned_alloc(64, static_cast<std::size_t>(bytes));
    if (!memory) return false;
    bytes_ += bytes;
    chunk = new (memory) ListChunk;
    chunk->capacity = bytes - chunk_header;
  }
  chunk->previous = list.last;
  chunk->next = nullptr;
  if (list.last) {
    list.last->used = list.last->capacity / list.record_bytes * list.record_bytes;
    list.last->next = chunk;
  } else {
    list.first = chunk;
  }
  list.last = chunk;
  list.at = chunk->data();
  list.room = chunk->capacity / list.record_bytes;
  return true;
}

void ListStore::free(List& list) {
  std::scoped_lock lock(mutex_);
  while (ListChunk* chunk = list.first) {
    list.first = chunk->next;
    chunk->next = spare_;
    spare_ = chunk;
  }
  idle_.push_back(&list);
}

namespace {

List* records_of(ListStore& store, const Array& array, std::size_t bytes) {
  const auto& entries = static_cast<const ListNode*>(array.node())->entries;
  List* list = store.make(static_cast<std::int64_t>(bytes));
  auto count = static_cast<std::int64_t>(entries.size());
  if (count > 0 && !store.grow(*list, count)) throw std::bad_alloc();
  for (const Array& entry : entries) {
    std::memcpy(list->at, data_of(entry), bytes);
    list->at += list->record_bytes;
  }
  apsis_list_close(list, list->room - count);
  return list;
}

Array array_of(const Aval& list_aval, const List& list, std::int64_t offset) {
  AvalData data = *list_aval;
  data.list = ListKind::None;
  Aval entry(data);
  auto* node = new ListNode(list_aval);
  Array result = Array::adopt(node);
  node->entries.reserve(static_cast<std::size_t>(list.count));
  for (ListChunk* chunk = list.first; chunk; chunk = chunk->next) {
    for (std::int64_t at = 0; at < chunk->used; at += list.record_bytes) {
      Array item = allocate(entry);
      std::memcpy(mutable_data<char>(item), chunk->data() + at + offset, entry.bytes());
      node->entries.push_back(std::move(item));
    }
  }
  return result;
}

/// What a lane's list of a list per lane is.
Aval lane_list(const Aval& aval) {
  AvalData data = *aval;
  data.list = ListKind::One;
  data.shape.erase(0);
  return Aval(data);
}

}  // namespace

void ListArgument::take(ListStore& store, const Array& array) {
  const Aval& aval = array.aval();
  if (aval.list() == ListKind::One) {
    value_ = {records_of(store, array, aval.bytes()), 0};
    return;
  }
  for (const Array& lane : static_cast<const ListNode*>(array.node())->entries)
    table_.push_back(records_of(store, lane, lane.aval().bytes()));
  value_ = {table_.data(), 0};
}

Array ListArgument::give(const Aval& aval) const {
  if (aval.list() == ListKind::One) return array_of(aval, *static_cast<const List*>(value_.list), value_.offset);
  auto* node = new ListNode(aval);
  Array result = Array::adopt(node);
  List* const* table = static_cast<List* const*>(value_.list);
  for (std::int64_t lane = 0; lane < aval.shape()[0]; ++lane)
    node->entries.push_back(array_of(lane_list(aval), *table[lane], value_.offset));
  return result;
}

namespace {
ListStore& store_of(CallContext* context) {
  auto& state = *static_cast<CallState*>(context->runtime);
  return state.call ? state.call->lists : state.lists;
}
}  // namespace
}  // namespace apsis::detail

using namespace apsis::detail;

extern "C" {

List* apsis_list_make(CallContext* context, std::int64_t record_bytes) noexcept {
  return store_of(context).make(record_bytes);
}

std::int32_t apsis_list_grow(CallContext* context, List* list, std::int64_t records) noexcept {
  return static_cast<std::int32_t>(store_of(context).grow(*list, records) ? Status::Ok : Status::ListLimit);
}

void apsis_list_close(List* list, std::int64_t room) noexcept {
  if (list->last) list->last->used = (list->last->capacity / list->record_bytes - room) * list->record_bytes;
  list->count = 0;
  for (ListChunk* chunk = list->first; chunk; chunk = chunk->next) list->count += chunk->used / list->record_bytes;
}

void apsis_list_free(CallContext* context, List* list) noexcept { store_of(context).free(*list); }

void apsis_list_open(List* list, ListCursor* cursor, std::int64_t reverse) noexcept {
  *cursor = {nullptr, 0, reverse ? -list->record_bytes : list->record_bytes, reverse ? list->last : list->first};
}

void apsis_list_advance(ListCursor* cursor) noexcept {
  ListChunk* chunk = cursor->chunk;
  bool reverse = cursor->step < 0;
  cursor->left = chunk->used / (reverse ? -cursor->step : cursor->step);
  cursor->at = chunk->data() + (reverse ? chunk->used + cursor->step : 0);
  cursor->chunk = reverse ? chunk->previous : chunk->next;
}

}  // extern "C"
