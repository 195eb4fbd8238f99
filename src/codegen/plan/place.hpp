#pragma once

// Where the elements of a value are while code is written.

#include <memory>
#include <vector>

#include "codegen/builder/builder.hpp"
#include "codegen/plan/arena.hpp"
#include "ir/view.hpp"

namespace apsis::detail {

/// Memory that values share. A range of the arena goes back when the last place that refers to it is gone.
struct Buffer {
  Arena* arena = nullptr;  // null: somebody else's (inputs, outputs, the storage of an enclosing loop)
  std::int64_t offset = 0, bytes = 0;
  bool writable = false;
  bool records = false;  // stands for lists that loops made; the values in them share it
  std::vector<ConstPointer>
      tables;  // where those lists are if lanes made them, a table a value; `parts`: their memory
  std::int64_t lanes = 0, packet = 0;  // of these tables
  int holders = 0;  // references that are not places of values: those of loops to the homes of their carries

  std::vector<std::shared_ptr<Buffer>> parts;  // for an array that is in one of several

  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (arena) arena->release(offset, bytes);
  }
};
using BufferRef = std::shared_ptr<Buffer>;

struct Place {
  enum class Kind : std::uint8_t {
    None,
    Registers,  // one value an element; a single one may stand for all elements of a larger value
    Memory,     // a view of a buffer
    Iota,       // element (i, j, …) is its own place in the view
    List        // base: the list's header; offset: bytes of this value in the list's record
  };
  Kind kind = Kind::None;
  std::vector<Value> elements;
  BufferRef buffer;
  ConstPointer base;  // who wants to write there asks a Region for a Target
  View view;
  int lanes = 1;  // memory: copies of each element, one a lane; 1 when all lanes share it
  /// Memory: the lanes whose elements somebody may read; no handle: all. It is the mask of the code that the
  /// memory was taken for, and holds those of all code that knows the place.
  Value kept;
  /// Memory: the copies are neighbours, or, with a handle, each lane has its array in one piece: the elements
  /// from `base` at which these begin. Only what `only_sliced` allows meets such arrays.
  Value apart;
  Value offset;
  Value first, step;  // lists: if there is a step, entry k is first + k * step, and not in the records

  /// No other value and nobody outside reads the buffer, so that it may be overwritten once this value is
  /// dead.
  bool exclusive() const {
    return kind == Kind::Memory && buffer && buffer->writable && buffer.use_count() == 1 + buffer->holders;
  }
};

/// Both are the same elements of memory, without gaps.
inline bool same_memory(const Place& a, const Place& b) {
  return a.kind == Place::Kind::Memory && b.kind == Place::Kind::Memory && a.base.handle == b.base.handle &&
         a.view.offset == b.view.offset && a.view.is_contiguous() && b.view.is_contiguous() &&
         a.lanes == b.lanes;
}

}  // namespace apsis::detail
