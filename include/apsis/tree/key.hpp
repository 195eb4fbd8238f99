#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace apsis {

/// The bytes of everything in a tree that is not a leaf: static values, sizes, alternatives, map keys, types
/// of erased parts. Two trees of one type have equal keys exactly when the same program serves both. Short
/// keys, as on every dispatch, live inside the object.
class StaticKey {
 public:
  StaticKey() noexcept {}
  StaticKey(const StaticKey& other) { append(other.data(), other.size_); }
  StaticKey(StaticKey&& other) noexcept { take(other); }
  StaticKey& operator=(StaticKey other) noexcept {
    release();
    take(other);
    return *this;
  }
  ~StaticKey() { release(); }

  void append(const void* bytes, std::size_t count) {
    if (capacity_ - size_ < count) grow(size_ + count);
    if (count) std::memcpy(data() + size_, bytes, count);
    size_ += count;
  }
  /// Appends the object representation of a type without padding.
  template <class T>
  void append_value(const T& value) {
    append(&value, sizeof value);
  }
  void clear() { size_ = 0; }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  const std::byte* data() const { return heap_ ? heap_ : inline_; }
  /// Hash of the bytes, well mixed (not stable between builds).
  std::uint64_t hash() const;

  friend bool operator==(const StaticKey& a, const StaticKey& b) {
    return a.size_ == b.size_ && std::memcmp(a.data(), b.data(), a.size_) == 0;
  }

 private:
  static constexpr std::size_t inline_capacity = 96;
  std::byte* data() { return heap_ ? heap_ : inline_; }
  void grow(std::size_t needed);
  void release() noexcept { delete[] heap_; }
  void take(StaticKey& other) noexcept {
    heap_ = other.heap_;
    size_ = other.size_;
    capacity_ = other.capacity_;
    if (!heap_) std::memcpy(inline_, other.inline_, size_);
    other.heap_ = nullptr;
    other.size_ = 0;
    other.capacity_ = inline_capacity;
  }

  std::byte* heap_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = inline_capacity;
  std::byte inline_[inline_capacity];
};

}  // namespace apsis
