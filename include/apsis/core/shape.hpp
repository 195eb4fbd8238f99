#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace apsis {

/// A short list of 64-bit integers: the sizes of an array's axes, or a list of axes. Up to six stay in place.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<std::int64_t> values) : Dims(values.begin(), values.size()) {}
  explicit Dims(std::span<const std::int64_t> values) : Dims(values.data(), values.size()) {}
  Dims(const std::int64_t* values, std::size_t count) { assign(values, count); }
  Dims(const Dims& other) { assign(other.data(), other.size()); }
  Dims(Dims&& other) noexcept { steal(other); }
  Dims& operator=(const Dims& other) {
    if (this != &other) {
      release();
      assign(other.data(), other.size());
    }
    return *this;
  }
  Dims& operator=(Dims&& other) noexcept {
    if (this != &other) {
      release();
      steal(other);
    }
    return *this;
  }
  ~Dims() { release(); }

  /// `count` copies of `value`.
  static Dims filled(std::size_t count, std::int64_t value);
  /// 0, 1, …, count - 1.
  static Dims counting(std::size_t count);

  std::size_t size() const { return size_; }
  int rank() const { return static_cast<int>(size_); }
  bool empty() const { return size_ == 0; }
  std::int64_t* data() { return capacity_ > inline_capacity ? heap_ : inline_; }
  const std::int64_t* data() const { return capacity_ > inline_capacity ? heap_ : inline_; }
  std::int64_t* begin() { return data(); }
  std::int64_t* end() { return data() + size_; }
  const std::int64_t* begin() const { return data(); }
  const std::int64_t* end() const { return data() + size_; }
  std::int64_t& operator[](std::size_t i) { return data()[i]; }
  std::int64_t operator[](std::size_t i) const { return data()[i]; }
  std::int64_t back() const { return data()[size_ - 1]; }
  operator std::span<const std::int64_t>() const { return {data(), size_}; }

  void push_back(std::int64_t value);
  void insert(std::size_t at, std::int64_t value);
  void erase(std::size_t at);
  void resize(std::size_t count, std::int64_t value = 0);
  bool contains(std::int64_t value) const;
  /// The product of all entries; 1 when empty.
  std::int64_t product() const;

  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }

 private:
  static constexpr std::uint32_t inline_capacity = 6;
  void assign(const std::int64_t* values, std::size_t count);
  void steal(Dims& other) noexcept;
  void release() {
    if (capacity_ > inline_capacity) delete[] heap_;
  }
  void reserve(std::size_t count);

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = inline_capacity;
  union {
    std::int64_t inline_[inline_capacity];
    std::int64_t* heap_;
  };
};

/// The sizes of an array's axes; `{}` is a scalar.
using Shape = Dims;

/// `[2, 3]`; a scalar is `[]`.
std::string to_string(const Dims& dims);

}  // namespace apsis
