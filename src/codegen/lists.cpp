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
  // Chunks double in size, so that a long list makes few calls and a short one little waste.
  std::int64_t wanted = list.last ? std::min(2 * list.last->capacity, largest_chunk) : smallest_chunk;
  wanted = std::max(wanted, std::max<std::int64_t>(records, 1) * list.record_bytes);
  ListChunk* chunk = nullptr;
  if (spare_ && spare_->capacity >= wanted) {
    chunk = spare_;
    spare_ = chunk->next;
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
  while (ListChunk* chunk = list.first) {
    list.first = chunk->next;
    chunk->next = spare_;
    spare_ = chunk;
  }
  idle_.push_back(&list);
}

ListValue list_from_array(ListStore& store, const Array& array) {
  const auto& entries = static_cast<const ListNode*>(array.node())->entries;
  std::size_t bytes = array.aval().bytes();
  List* list = store.make(static_cast<std::int64_t>(bytes));
  auto count = static_cast<std::int64_t>(entries.size());
  if (count > 0 && !store.grow(*list, count)) throw std::bad_alloc();
  for (const Array& entry : entries) {
    std::memcpy(list->at, data_of(entry), bytes);
    list->at += list->record_bytes;
  }
  apsis_list_close(list, list->room - count);
  return {list, 0};
}

Array list_to_array(const Aval& aval, const ListValue& value) {
  AvalData entry = *aval;
  entry.list = ListKind::None;
  Aval entry_aval(entry);
  auto* node = new ListNode(aval);
  Array result = Array::adopt(node);
  node->entries.reserve(static_cast<std::size_t>(value.list->count));
  for (ListChunk* chunk = value.list->first; chunk; chunk = chunk->next) {
    for (std::int64_t at = 0; at < chunk->used; at += value.list->record_bytes) {
      Array item = allocate(entry_aval);
      std::memcpy(mutable_data<char>(item), chunk->data() + at + value.offset, entry_aval.bytes());
      node->entries.push_back(std::move(item));
    }
  }
  return result;
}

namespace {
ListStore& store_of(CallContext* context) { return static_cast<CallState*>(context->runtime)->lists; }
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
