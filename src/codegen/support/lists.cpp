#include "codegen/support/lists.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "codegen/builder/messages.hpp"
#include "codegen/support/kernels.hpp"
#include "codegen/support/lanes.hpp"
#include "core/list.hpp"
#include "core/memory.hpp"
#include "core/undefined_memory.hpp"

namespace apsis::detail {
namespace {
constexpr std::int64_t chunk_header = 64;
constexpr std::int64_t smallest_chunk = 512, largest_chunk = 4 << 20;  // with their headers
constexpr int spare_sizes = 64;
}  // namespace

std::int64_t list_limit() {
  static const std::int64_t limit = machine_memory() / 10 * 9;
  return limit;
}

ListStore& CallLists::make() {
  auto made = std::make_unique<ListStore>(list_limit());
  ListStore* there = nullptr;
  return store_.compare_exchange_strong(there, made.get()) ? *made.release() : *there;
}

List* ListStore::make(std::int64_t record_bytes) {
  std::scoped_lock lock(mutex_);
  if (!idle_) {
    lists_.push_back(std::make_unique<List>());
    idle_ = lists_.back().get();
  }
  List* list = std::exchange(idle_, idle_->next);
  *list = List{};
  list->record_bytes = std::max<std::int64_t>(record_bytes, 8);
  return list;
}

void ListStore::grow(List& list, std::int64_t records) {
  std::scoped_lock lock(mutex_);
  // Chunks double in size, so that a long list makes few calls and a short one little waste.
  const std::int64_t least = std::max<std::int64_t>(records, 1) * list.record_bytes;
  std::int64_t bytes =
      list.last ? std::min(2 * (list.last->capacity + chunk_header), largest_chunk) : smallest_chunk;
  bytes = std::max(bytes, (least + chunk_header + 63) / 64 * 64);
  ListChunk* chunk = take_spare(bytes - chunk_header, least);
  if (!chunk) {
    void* memory = slabs_.take(bytes);
    if (!memory) fail(messages::list_limit, {std::to_string(list_limit())});
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
  mark_undefined(chunk->data(), static_cast<std::size_t>(chunk->capacity));
  list.at = chunk->data();
  list.room = chunk->capacity / list.record_bytes;
}

/// A chunk that another list gave back: of about the size wanted, else a larger one, else one that is large
/// enough for the records asked for.
ListChunk* ListStore::take_spare(std::int64_t wanted, std::int64_t least) {
  if (!spare_) return nullptr;
  const auto bits = [](std::int64_t bytes) {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes)));
  };
  const auto take = [&](int size) -> ListChunk* {
    ListChunk** link = &spare_[static_cast<std::size_t>(size)];
    for (int tries = 0; tries < 16 && *link && (*link)->capacity < least; ++tries) link = &(*link)->next;
    if (!*link || (*link)->capacity < least) return nullptr;
    return std::exchange(*link, (*link)->next);
  };
  for (int size = bits(wanted); size < spare_sizes; ++size)
    if (ListChunk* chunk = take(size)) return chunk;
  for (int size = bits(wanted) - 1; size >= bits(least); --size)
    if (ListChunk* chunk = take(size)) return chunk;
  return nullptr;
}

void** ListStore::table(void* const* lists, std::int64_t count) {
  std::scoped_lock lock(mutex_);
  return tables_.emplace_back(lists, lists + count).data();
}

void ListStore::free(List& list) noexcept {
  std::scoped_lock lock(mutex_);
  if (list.events && --list.events->tapes == 0) give_back(*list.events);
  give_back(list);
}

void ListStore::give_back(List& list) noexcept {
  if (list.idle) return;  // two fields of one list
  list.idle = true;
  for (ListChunk* chunk = list.lists > 0 ? list.first : nullptr; chunk; chunk = chunk->next)
    for (std::int64_t record = 0; record < chunk->used; record += list.record_bytes)
      for (std::int64_t i = 0; i < list.lists; ++i)
        give_back(*static_cast<List*>(
            reinterpret_cast<ListValue*>(chunk->data() + record + i * list.list_bytes)->list));
  if (list.first && !spare_) spare_.reset(new (std::nothrow) ListChunk* [spare_sizes] {});
  while (ListChunk* chunk = spare_ ? list.first : nullptr) {
    list.first = chunk->next;
    ListChunk*& spare =
        spare_[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(chunk->capacity)))];
    chunk->next = spare;
    spare = chunk;
  }
  list.next = std::exchange(idle_, &list);
}

namespace {

/// A list of arrays of so many bytes, or of lists.
List* make_list(ListStore& store, std::int64_t depth, std::int64_t bytes) {
  constexpr auto list_bytes = static_cast<std::int64_t>(sizeof(ListValue));
  List* list = store.make(depth > 1 ? list_bytes : bytes);
  if (depth > 1) {
    list->lists = 1;
    list->list_bytes = list_bytes;
  }
  return list;
}

List* records_of(ListStore& store, const Array& array) {
  const auto& entries = static_cast<const ListNode*>(array.node())->entries;
  const std::size_t bytes = array.aval().bytes();
  List* list = make_list(store, list_depth(array.aval().list()), static_cast<std::int64_t>(bytes));
  auto count = static_cast<std::int64_t>(entries.size());
  if (count > 0) store.grow(*list, count);
  for (const Array& entry : entries) {
    if (list->lists > 0)
      new (list->at) ListValue{records_of(store, entry), 0};
    else
      std::memcpy(list->at, data_of(entry), bytes);
    list->at += list->record_bytes;
  }
  apsis_list_close(list, list->room - count);
  return list;
}

Array array_of(const Aval& list_aval, const List& list, std::int64_t offset) {
  AvalData data = *list_aval;
  data.list = entry_kind(data.list);
  Aval entry(data);
  auto* node = new ListNode(list_aval);
  Array result = Array::adopt(node);
  node->entries.reserve(static_cast<std::size_t>(list.count));
  for (ListChunk* chunk = list.first; chunk; chunk = chunk->next) {
    for (std::int64_t at = 0; at < chunk->used; at += list.record_bytes) {
      char* from = chunk->data() + at + offset;
      if (entry.is_list()) {
        const auto& inner = *reinterpret_cast<const ListValue*>(from);
        node->entries.push_back(array_of(entry, *static_cast<const List*>(inner.list), inner.offset));
        continue;
      }
      Array item = allocate(entry);
      std::memcpy(mutable_data<char>(item), from, entry.bytes());
      node->entries.push_back(std::move(item));
    }
  }
  return result;
}

void* list_of(ListStore& store, const Array& array) {
  if (!of_lanes(array.aval().list())) return records_of(store, array);
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
  return (state.call ? state.call : &state)->lists.store();
}

void append(ListStore& store, List& list, const void* record) {
  if (list.room == 0) store.grow(list, 1);
  std::memcpy(list.at, record, static_cast<std::size_t>(list.record_bytes));
  list.at += list.record_bytes;
  --list.room;
}

/// What a field of a packet's records holds for each slot.
struct PacketField {
  std::int64_t width, elements, element_bytes, depth;
};

List* make_list(ListStore& store, const PacketField& field) {
  return make_list(store, field.depth, field.elements * field.element_bytes);
}

/// Appends what a field at `from` holds for one slot.
void append_slot(ListStore& store, List& list, const char* from, const PacketField& field, std::size_t slot) {
  if (field.depth == 1) {
    std::vector<char> entry(
        static_cast<std::size_t>(std::max<std::int64_t>(8, field.elements * field.element_bytes)));
    for (std::int64_t k = 0; k < field.elements; ++k)
      std::memcpy(entry.data() + k * field.element_bytes,
                  from + (k * field.width + static_cast<std::int64_t>(slot)) * field.element_bytes,
                  static_cast<std::size_t>(field.element_bytes));
    return append(store, list, entry.data());
  }
  const auto& value = *reinterpret_cast<const ListValue*>(from);
  const std::int64_t count = reinterpret_cast<const std::int64_t*>(&value + 1)[slot];
  PacketField within = field;
  --within.depth;
  const ListValue made{make_list(store, within), 0};
  List& entries = *static_cast<List*>(made.list);
  ListCursor records;
  apsis_list_open(static_cast<List*>(value.list), &records, 0);
  for (std::int64_t k = 0; k < count; ++k) {
    const char* record = static_cast<const char*>(apsis_list_next(&records));
    append_slot(store, entries, record + value.offset, within, slot);
  }
  apsis_list_close(&entries, entries.room);
  append(store, list, &made);
}

/// Replays the tape forwards: each step's record has one entry for every slot that holds a lane.
void unpack(ListStore& store, List& tape, std::int64_t offset, const PacketField& field, List** out) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(field.width), -1);
  ListCursor events, records;
  apsis_list_open(tape.events, &events, 0);
  apsis_list_open(&tape, &records, 0);
  while (const void* at = apsis_list_next(&events)) {
    const auto& event = *static_cast<const PacketEvent*>(at);
    const auto* after = reinterpret_cast<const std::int64_t*>(&event + 1) + field.width;
    for (std::int64_t step = 0; step < event.steps; ++step) {
      const char* record = static_cast<const char*>(apsis_list_next(&records)) + offset;
      for (std::size_t slot = 0; slot < ids.size(); ++slot)
        if (ids[slot] >= 0) append_slot(store, *out[ids[slot]], record, field, slot);
    }
    for (std::size_t slot = 0; slot < ids.size(); ++slot) {
      if (event.left >> slot & 1) ids[slot] = -1;
      if (event.entered >> slot & 1) ids[slot] = after[slot];
    }
  }
}

}  // namespace
}  // namespace apsis::detail

using namespace apsis::detail;

extern "C" {

List* apsis_list_make(CallContext* context, std::int64_t record_bytes) noexcept {
  List* list = nullptr;
  keep_error(context, [&] { list = store_of(context).make(record_bytes); });
  return list;
}

std::int32_t apsis_list_grow(CallContext* context, List* list, std::int64_t records) noexcept {
  return keep_error(context, [&] { store_of(context).grow(*list, records); });
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
  void* table = nullptr;
  keep_error(context, [&] { table = store_of(context).table(lists, count); });
  return table;
}

std::int32_t apsis_list_append(CallContext* context, List* list, const void* record) noexcept {
  return keep_error(context, [&] { append(store_of(context), *list, record); });
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
                                  std::int64_t element_bytes, std::int64_t depth, List** out) noexcept {
  return keep_error(context, [&] {
    ListStore& store = store_of(context);
    const std::int64_t each = lanes_per_chunk(lanes, width);
    const PacketField field{width, elements, element_bytes, depth};
    for (std::int64_t lane = 0; lane < lanes; ++lane) out[lane] = make_list(store, field);
    for (std::int64_t first = 0; first < lanes; first += each)
      unpack(store, *tapes[first / width], offset, field, out);
    for (std::int64_t lane = 0; lane < lanes; ++lane) apsis_list_close(out[lane], out[lane]->room);
  });
}

}  // extern "C"
