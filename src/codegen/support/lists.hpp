#pragma once

// Lists: sequences of records, of a length known at run time, that loops write and read in order. A loop
// packs the values it appends in one iteration into one record. Records live in chunks that never move.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "apsis/core/array.hpp"
#include "codegen/builder/abi.hpp"
#include "codegen/support/slabs.hpp"

namespace apsis::detail {

struct ListChunk {
  ListChunk *previous = nullptr, *next = nullptr;
  std::int64_t capacity = 0, used = 0;  // bytes
  char* data() { return reinterpret_cast<char*>(this) + 64; }
};
static_assert(sizeof(ListChunk) <= 64);

/// Compiled code reads and writes `at`, `room`, `count`, `events`, `lists` and `list_bytes`.
struct List {
  char* at = nullptr;      // where the next record goes, after grow
  std::int64_t room = 0;   // records that fit there
  std::int64_t count = 0;  // after close
  std::int64_t record_bytes = 0;
  ListChunk *first = nullptr, *last = nullptr;
  List* events = nullptr;  // of a packet's tape: when which slot held which lane
  std::int64_t tapes = 0;  // of such events: how many tapes have them
  // Its records begin with so many lists, each a ListValue that the record owns; in the records of packets
  // the length in each slot follows.
  std::int64_t lists = 0, list_bytes = 0;
  bool idle = false;
  List* next = nullptr;  // of those that are idle
};

/// An event of a packet, in the list of its tape's events: which slots' lanes left, and which were entered by
/// others. The lanes of the slots follow: as many I64 as a packet has slots for those before the event, and
/// as many for those after it.
struct PacketEvent {
  std::int64_t steps;  // of the packet since the event before
  std::uint64_t left, entered;
};

/// Reads one chunk after the other. Compiled code reads `at`, `left` and `step`.
struct ListCursor {
  char* at;           // the next record
  std::int64_t left;  // records of this chunk still to read
  std::int64_t step;  // bytes from a record to the next one read
  ListChunk* chunk;   // the chunk after this one
};

/// A list value as programs take and give it: one field of the records of a list; for lists per lane, of all
/// lists in a table. Inside a program lists per lane may be the tapes of packets instead, a list for each
/// chunk of lanes: a record has each of its values once a slot, side by side.
struct ListValue {
  void* list;  // List*, or List**
  std::int64_t offset;
};

/// Bytes that the lists of one call may take: nine tenths of the memory that this process may use.
std::int64_t list_limit();

/// The lists of one call, whose threads share it. All memory goes when it is destroyed.
class ListStore {
 public:
  explicit ListStore(std::int64_t byte_limit) : slabs_(byte_limit) {}
  ListStore(const ListStore&) = delete;
  ListStore& operator=(const ListStore&) = delete;

  List* make(std::int64_t record_bytes);
  /// Adds a chunk with room for at least `records` records. Throws at the byte limit, and without memory.
  void grow(List& list, std::int64_t records);
  /// A copy of a table of lists that lasts as long as they do.
  void** table(void* const* lists, std::int64_t count);
  /// The list and its chunks may serve as another list, and so may those in its records. Its events go with
  /// the last of their tapes.
  void free(List& list) noexcept;

 private:
  void give_back(List& list) noexcept;
  ListChunk* take_spare(std::int64_t wanted, std::int64_t least);
  std::mutex mutex_;
  std::vector<std::unique_ptr<List>> lists_;
  List* idle_ = nullptr;
  std::vector<std::vector<void*>> tables_;
  std::unique_ptr<ListChunk*[]> spare_;  // by the bits of their capacities; null in calls that give none back
  Slabs slabs_;
};

/// The lists of one call, made when a thread of it first asks for them: most calls have none.
class CallLists {
 public:
  CallLists() = default;
  ~CallLists() { delete store_.load(std::memory_order_acquire); }
  CallLists(const CallLists&) = delete;
  CallLists& operator=(const CallLists&) = delete;
  ListStore& store() {
    ListStore* made = store_.load(std::memory_order_acquire);
    return made ? *made : make();
  }

 private:
  ListStore& make();
  std::atomic<ListStore*> store_{nullptr};
};

/// A list as the argument or result of a program, made from or turned into a list array of the evaluator. In
/// a program a list per lane is a table of lists whose records are alike.
class ListArgument {
 public:
  void take(ListStore& store, const Array& array);
  /// What the program reads or fills in. Tables of results are in its scratch memory.
  ListValue* value() { return &value_; }
  Array give(const Aval& aval) const;

 private:
  ListValue value_{nullptr, 0};
};

}  // namespace apsis::detail

extern "C" {
// Entries of compiled code. Those that return a status or something made keep an error in the call's state,
// and return Failed or null.
apsis::detail::List* apsis_list_make(apsis::detail::CallContext* context, std::int64_t record_bytes) noexcept;
std::int32_t apsis_list_grow(apsis::detail::CallContext* context, apsis::detail::List* list,
                             std::int64_t records) noexcept;
void apsis_list_close(apsis::detail::List* list, std::int64_t room) noexcept;
void apsis_list_free(apsis::detail::CallContext* context, apsis::detail::List* list) noexcept;
/// The tape of a packet gets the events that say which lanes it holds when.
void apsis_list_set_events(apsis::detail::List* tape, apsis::detail::List* events) noexcept;
/// Frees what is in `count` tables: a list a lane if `width` is 1, else the tapes of packets of so many
/// slots. Tables of values that loops recorded together hold the same lists.
void apsis_lists_free(apsis::detail::CallContext* context, void* const* tables, std::int64_t count,
                      std::int64_t lanes, std::int64_t width) noexcept;
/// A copy of a table of lists, or of such tables, that lasts until the call ends.
void* apsis_list_table(apsis::detail::CallContext* context, void* const* lists, std::int64_t count) noexcept;
/// Appends a copy of a record.
std::int32_t apsis_list_append(apsis::detail::CallContext* context, apsis::detail::List* list,
                               const void* record) noexcept;
void apsis_list_open(apsis::detail::List* list, apsis::detail::ListCursor* cursor,
                     std::int64_t reverse) noexcept;
void apsis_list_advance(apsis::detail::ListCursor* cursor) noexcept;
/// The next record, or null after the last.
const void* apsis_list_next(apsis::detail::ListCursor* cursor) noexcept;
/// Takes one field out of the tapes of packets of `width` slots: `elements` elements of `element_bytes`, or a
/// list of them, the lists within each other being `depth` with the tape. Fills the table `out` with a list a
/// lane.
std::int32_t apsis_lists_of_lanes(apsis::detail::CallContext* context, apsis::detail::List* const* tapes,
                                  std::int64_t lanes, std::int64_t width, std::int64_t offset,
                                  std::int64_t elements, std::int64_t element_bytes, std::int64_t depth,
                                  apsis::detail::List** out) noexcept;
}
