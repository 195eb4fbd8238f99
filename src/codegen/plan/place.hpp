#pragma once

// Where the elements of a value are while code is written.

#include <memory>
#include <vector>

#include "codegen/builder/builder.hpp"
#include "codegen/plan/arena.hpp"
#include "ir/view.hpp"

namespace apsis::detail {

struct Buffer;
/// Keeps a buffer's memory, and says nothing about who needs what is in it.
using BufferOwner = std::shared_ptr<Buffer>;

/// Says that what is in a buffer will be read. A copy is one reader more; whoever reads no longer, but keeps
/// the memory, makes an owner of it by moving.
class BufferReader {
 public:
  BufferReader() = default;
  explicit BufferReader(BufferOwner buffer);
  BufferReader(const BufferReader& other) : BufferReader(other.buffer_) {}
  BufferReader(BufferReader&&) noexcept = default;
  BufferReader& operator=(BufferReader other) noexcept {
    buffer_.swap(other.buffer_);
    return *this;
  }
  ~BufferReader() { stop(); }

  BufferOwner into_owner() && { return stop(); }
  /// Nobody else reads the buffer.
  bool alone() const;
  /// Nor does anybody else keep its memory.
  bool owns() const;
  explicit operator bool() const { return buffer_ != nullptr; }
  const Buffer& operator*() const { return *buffer_; }
  const Buffer* operator->() const { return buffer_.get(); }

 private:
  BufferOwner stop();
  BufferOwner buffer_;
};

/// Memory that values share. A range of the arena goes back when the buffer has no owner and no reader.
struct Buffer {
  Arena* arena = nullptr;  // null: somebody else's (inputs, outputs, the storage of an enclosing loop)
  std::int64_t offset = 0, bytes = 0;
  bool writable = false;
  bool records = false;  // stands for lists that loops made; the values in them share it
  std::vector<ConstPointer>
      tables;  // where those lists are if lanes made them, a table a value; `parts`: their memory
  std::int64_t lanes = 0, packet = 0;  // of these tables
  std::vector<BufferReader> parts;     // for an array that is in one of several buffers

  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (arena) arena->release(offset, bytes);
  }

 private:
  friend BufferReader;
  int readers_ = 0;
};

inline BufferReader::BufferReader(BufferOwner buffer) : buffer_(std::move(buffer)) {
  if (buffer_) ++buffer_->readers_;
}
inline bool BufferReader::alone() const { return buffer_ && buffer_->readers_ == 1; }
inline bool BufferReader::owns() const { return alone() && buffer_.use_count() == 1; }
inline BufferOwner BufferReader::stop() {
  if (buffer_) --buffer_->readers_;
  return std::move(buffer_);
}

/// Where elements are; says nothing about whether they may be read.
struct Location {
  enum class Kind : std::uint8_t {
    None,
    Registers,  // one value an element; a single one may stand for all elements of a larger value
    Memory,     // a view of a buffer
    Iota,       // element (i, j, …) is its own place in the view
    List        // base: the list's header; offset: bytes of this value in the list's record
  };
  Kind kind = Kind::None;
  std::vector<Value> elements;
  ConstPointer base;  // who wants to write there asks a Region for a Target
  View view;
  int lanes = 1;  // memory: copies of each element, one a lane; 1 when all lanes share it
  /// Memory: the lanes whose elements somebody may read; no handle: all. It is the mask of the code that the
  /// memory was taken for, and holds those of all code that knows the place.
  Value kept;
  /// Memory: the copies are neighbours, or, with a handle, each lane has its array in one piece: the elements
  /// from `base` at which these begin. Only what `only_sliced` allows meets such arrays.
  Value apart;
  /// Memory: calls made it and calls alone read it. `base` is where the results of its call begin, and all
  /// of them are passed by that address.
  bool between_calls = false;
  Value offset;
  Value first, step;  // lists: if there is a step, entry k is first + k * step, and not in the records
};

/// A value that is somewhere, to be read.
struct Place : Location {
  Place() = default;
  Place(Location where, BufferReader reader) : Location(std::move(where)), buffer(std::move(reader)) {}

  BufferReader buffer;  // none: memory that is not ours

  /// No other value and nobody outside reads the buffer, so that it may be overwritten once this value is
  /// dead.
  bool exclusive() const { return kind == Kind::Memory && buffer.alone() && buffer->writable; }
};

/// Memory kept for values: a carry's, the result of branches, an operand lent to them. While no place of a
/// value in it is about, what is in it may be overwritten.
class Home : public Location {
 public:
  Home() = default;
  explicit Home(Place&& value) : Location(std::move(value)), owner_(std::move(value.buffer).into_owner()) {}
  Home(const Place&) = delete;  // the place would go on being read
  explicit operator bool() const { return kind != Kind::None; }
  /// The value that is there.
  Place value() const { return {*this, BufferReader(owner_)}; }

 private:
  BufferOwner owner_;
};

/// Both are the same elements of memory, without gaps.
inline bool same_memory(const Location& a, const Location& b) {
  return a.kind == Location::Kind::Memory && b.kind == Location::Kind::Memory &&
         a.base.handle == b.base.handle && a.view.offset == b.view.offset && a.view.is_contiguous() &&
         b.view.is_contiguous() && a.lanes == b.lanes;
}
/// The same, gaps included.
inline bool same_elements(const Location& a, const Location& b) {
  if (a.kind != Location::Kind::Memory || b.kind != Location::Kind::Memory || a.lanes != b.lanes ||
      a.apart.handle || b.apart.handle || a.base.handle != b.base.handle || a.view.offset != b.view.offset ||
      a.view.shape != b.view.shape)
    return false;
  for (std::size_t i = 0; i < a.view.shape.size(); ++i)
    if (a.view.shape[i] != 1 && a.view.strides[i] != b.view.strides[i]) return false;
  return true;
}

}  // namespace apsis::detail
