#include "codegen/lists.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "codegen/kernels.hpp"
#include "codegen/lanes.hpp"
#include "core/list.hpp"
#include "core/memory.hpp"

namespace apsis::detail {
namespace {
constexpr std::int64_t chunk_header = 64;
constexpr std::int64_t smallest_chunk = 4096, largest_chunk = (4 << 20) - chunk_header;
constexpr std::int64_t huge_page = 2 << 20;

std::int64_t rounded_up(std::int64_t bytes, std::int64_t to) { return (bytes + to - 1) / to * to; }

/// Memory for a chunk; `bytes` becomes what there is. A long tape is written once from end to end: in pages
/// of the usual size the system would be asked, and would clear, at every one of them.
void* chunk_memory(std::int64_t& bytes) {
  const bool huge = bytes >= huge_page;
  const std::int64_t page = huge ? huge_page : 64;
  bytes = rounded_up(bytes, page);
  void* memory = std::aligned_alloc(static_cast<std::size_t>(page), static_cast<std::size_t>(bytes));
  if (memory && huge) madvise(memory, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  return memory;
}
}  // namespace

void ListStore::free_chunks() {
  auto drop = [](ListChunk* chunk) {
    while (chunk) {
      ListChunk* next = chunk->next;
      std::free(chunk);
      chunk = next;
    }
  };
  for (const auto& list : lists_) drop(list->first);
  drop(spare_);
  count_memory(-bytes_);
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
    std::int64_t bytes = wanted + chunk_header;
    void* memory = chunk_memory(bytes);
    if (!memory) return false;
    bytes_ += bytes;
    count_memory(bytes);
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

void** ListStore::table(void* const* lists, std::int64_t count) {
  std::scoped_lock lock(mutex_);
  return tables_.emplace_back(lists, lists + count).data();
}

void ListStore::free(List& list) {
  std::scoped_lock lock(mutex_);
  if (list.events && --list.events->tapes == 0) give_back(*list.events);
  give_back(list);
}

void ListStore::give_back(List& list) {
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

void* list_of(ListStore& store, const Array& array) {
  if (!of_lanes(array.aval().list())) return records_of(store, array, array.aval().bytes());
  std::vector<void*> lanes;
  for (const Array& lane : static_cast<const ListNode*>(array.node())->entries)
    lanes.push_back(list_of(store, lane));
  return store.table(lanes.data(), static_cast<std::int64_t>(lanes.size()));
}

Array array_of(const Aval& aval, const ListValue& value) {
  if (!of_lanes(aval.list())) return array_of(aval, *static_cast<const List*>(value.list), value.offset);
  auto* node = new ListNode(aval);
  Array result = Array::adopt(node);
  AvalData lane = *aval;
  lane.list = without_lanes(lane.list);
  lane.shape.erase(0);
  for (std::int64_t i = 0; i < aval.shape()[0]; ++i)
    node->entries.push_back(array_of(Aval(lane), {static_cast<void* const*>(value.list)[i], value.offset}));
  return result;
}

}  // namespace

void ListArgument::take(ListStore& store, const Array& array) { value_ = {list_of(store, array), 0}; }

Array ListArgument::give(const Aval& aval) const { return array_of(aval, value_); }

namespace {

ListStore& store_of(CallContext* context) {
  auto& state = *static_cast<CallState*>(context->runtime);
  return state.call ? state.call->lists : state.lists;
}

bool append(ListStore& store, List& list, const void* record) {
  if (list.room == 0 && !store.grow(list, 1)) return false;
  std::memcpy(list.at, record, static_cast<std::size_t>(list.record_bytes));
  list.at += list.record_bytes;
  --list.room;
  return true;
}

/// One field of a packet's tape.
struct PacketField {
  std::int64_t width, offset, elements, element_bytes;
};

/// Replays the tape forwards: each step's record has one entry for every slot that holds a lane.
bool unpack(ListStore& store, List& tape, const PacketField& field, List** out) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(field.width), -1);
  std::vector<char> entry(
      static_cast<std::size_t>(std::max<std::int64_t>(8, field.elements * field.element_bytes)));
  ListCursor events, records;
  apsis_list_open(tape.events, &events, 0);
  apsis_list_open(&tape, &records, 0);
  while (const void* at = apsis_list_next(&events)) {
    const auto& event = *static_cast<const PacketEvent*>(at);
    const auto* after = reinterpret_cast<const std::int64_t*>(&event + 1) + field.width;
    for (std::int64_t step = 0; step < event.steps; ++step) {
      const char* record = static_cast<const char*>(apsis_list_next(&records)) + field.offset;
      for (std::size_t slot = 0; slot < ids.size(); ++slot) {
        if (ids[slot] < 0) continue;
        for (std::int64_t k = 0; k < field.elements; ++k)
          std::memcpy(entry.data() + k * field.element_bytes,
                      record + (k * field.width + static_cast<std::int64_t>(slot)) * field.element_bytes,
                      static_cast<std::size_t>(field.element_bytes));
        if (!append(store, *out[ids[slot]], entry.data())) return false;
      }
    }
    for (std::size_t slot = 0; slot < ids.size(); ++slot) {
      if (event.left >> slot & 1) ids[slot] = -1;
      if (event.entered >> slot & 1) ids[slot] = after[slot];
    }
  }
  return true;
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
  for (ListChunk* chunk = list->first; chunk; chunk = chunk->next)
    list->count += chunk->used / list->record_bytes;
}

void apsis_list_free(CallContext* context, List* list) noexcept { store_of(context).free(*list); }

void apsis_list_set_events(List* tape, List* events) noexcept {
  tape->events = events;
  ++events->tapes;
}

void apsis_lists_free(CallContext* context, void* const* tables, std::int64_t count, std::int64_t lanes,
                      std::int64_t width) noexcept {
  ListStore& store = store_of(context);
  const std::int64_t each = width == 1 ? 1 : lanes_per_chunk(lanes, width);
  const auto list_at = [&](std::int64_t table, std::int64_t lane) {
    return static_cast<List* const*>(tables[table])[lane / width];
  };
  for (std::int64_t lane = 0; lane < lanes; lane += each)
    for (std::int64_t t = 0; t < count; ++t) {
      std::int64_t first = 0;  // table with this list
      while (list_at(first, lane) != list_at(t, lane)) ++first;
      if (first == t) store.free(*list_at(t, lane));
    }
}

void* apsis_list_table(CallContext* context, void* const* lists, std::int64_t count) noexcept {
  return store_of(context).table(lists, count);
}

std::int32_t apsis_list_append(CallContext* context, List* list, const void* record) noexcept {
  return static_cast<std::int32_t>(append(store_of(context), *list, record) ? Status::Ok : Status::ListLimit);
}

void apsis_list_open(List* list, ListCursor* cursor, std::int64_t reverse) noexcept {
  *cursor = {nullptr, 0, reverse ? -list->record_bytes : list->record_bytes,
             reverse ? list->last : list->first};
}

void apsis_list_advance(ListCursor* cursor) noexcept {
  ListChunk* chunk = cursor->chunk;
  bool reverse = cursor->step < 0;
  cursor->left = chunk->used / (reverse ? -cursor->step : cursor->step);
  cursor->at = chunk->data() + (reverse ? chunk->used + cursor->step : 0);
  cursor->chunk = reverse ? chunk->previous : chunk->next;
}

const void* apsis_list_next(ListCursor* cursor) noexcept {
  while (cursor->left == 0) {
    if (!cursor->chunk) return nullptr;
    apsis_list_advance(cursor);
  }
  const char* record = cursor->at;
  cursor->at += cursor->step;
  --cursor->left;
  return record;
}

std::int32_t apsis_lists_of_lanes(CallContext* context, List* const* tapes, std::int64_t lanes,
                                  std::int64_t width, std::int64_t offset, std::int64_t elements,
                                  std::int64_t element_bytes, List** out) noexcept {
  ListStore& store = store_of(context);
  const std::int64_t each = lanes_per_chunk(lanes, width);
  bool fits = true;
  for (std::int64_t lane = 0; lane < lanes; ++lane) out[lane] = store.make(elements * element_bytes);
  for (std::int64_t first = 0; first < lanes && fits; first += each)
    fits = unpack(store, *tapes[first / width], {width, offset, elements, element_bytes}, out);
  for (std::int64_t lane = 0; lane < lanes; ++lane) apsis_list_close(out[lane], out[lane]->room);
  return static_cast<std::int32_t>(fits ? Status::Ok : Status::ListLimit);
}

}  // extern "C"
