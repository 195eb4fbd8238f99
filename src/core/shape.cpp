#include "apsis/core/shape.hpp"

#include <algorithm>

#include "core/messages.hpp"

namespace apsis {

Dims Dims::filled(std::size_t count, std::int64_t value) {
  Dims d;
  d.resize(count, value);
  return d;
}

Dims Dims::counting(std::size_t count) {
  Dims d;
  d.resize(count);
  for (std::size_t i = 0; i < count; ++i) d[i] = static_cast<std::int64_t>(i);
  return d;
}

void Dims::assign(const std::int64_t* values, std::size_t count) {
  size_ = static_cast<std::uint32_t>(count);
  capacity_ = inline_capacity;
  if (count > inline_capacity) {
    capacity_ = size_;
    heap_ = new std::int64_t[count];
  }
  std::copy_n(values, count, data());
}

void Dims::steal(Dims& other) noexcept {
  size_ = other.size_;
  capacity_ = other.capacity_;
  if (capacity_ > inline_capacity)
    heap_ = other.heap_;
  else
    std::copy_n(other.inline_, size_, inline_);
  other.size_ = 0;
  other.capacity_ = inline_capacity;
}

void Dims::reserve(std::size_t count) {
  if (count <= capacity_) return;
  auto capacity = static_cast<std::uint32_t>(std::max<std::size_t>(count, 2 * capacity_));
  auto* fresh = new std::int64_t[capacity];
  std::copy_n(data(), size_, fresh);
  release();
  heap_ = fresh;
  capacity_ = capacity;
}

void Dims::push_back(std::int64_t value) {
  reserve(size_ + 1);
  data()[size_++] = value;
}

void Dims::insert(std::size_t at, std::int64_t value) {
  push_back(value);
  std::rotate(begin() + at, end() - 1, end());
}

void Dims::erase(std::size_t at) {
  std::copy(begin() + at + 1, end(), begin() + at);
  --size_;
}

void Dims::resize(std::size_t count, std::int64_t value) {
  reserve(count);
  for (std::size_t i = size_; i < count; ++i) data()[i] = value;
  size_ = static_cast<std::uint32_t>(count);
}

bool Dims::contains(std::int64_t value) const { return std::find(begin(), end(), value) != end(); }

std::int64_t Dims::product() const {
  std::int64_t p = 1;
  for (std::int64_t d : *this)
    if (__builtin_mul_overflow(p, d, &p)) {
      if (contains(0)) return 0;
      fail(messages::too_many_elements, {to_string(*this)});
    }
  return p;
}

std::string to_string(const Dims& dims) {
  std::string out = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i) out += ", ";
    out += std::to_string(dims[i]);
  }
  return out + "]";
}

}  // namespace apsis
