#pragma once

// Static parts of trees that are more than plain values: a program, a table. Whoever makes them says how they
// compare and print.

#include <cstdint>
#include <string>

#include "apsis/tree/tree.hpp"

namespace apsis {

namespace detail {

struct StaticObjectType {
  const char* name;
  bool (*equal)(const void* a, const void* b);
  std::string (*describe)(const void* value);
  void (*destroy)(void* value);
};

/// An immutable value shared by all who hold it. Equal ones are one object while they live, and are told
/// apart in keys by a number that is never used again, so that a key never takes a new value for one that is
/// gone.
class StaticObject {
 public:
  StaticObject() = default;
  /// Takes over `value`, made by `new`; equal values have equal hashes.
  static StaticObject intern(const StaticObjectType& type, std::uint64_t hash, void* value);
  StaticObject(const StaticObject& other) noexcept;
  StaticObject(StaticObject&& other) noexcept : shared_(other.shared_) { other.shared_ = nullptr; }
  StaticObject& operator=(StaticObject other) noexcept {
    Shared* s = shared_;
    shared_ = other.shared_;
    other.shared_ = s;
    return *this;
  }
  ~StaticObject();

  bool is_empty() const { return !shared_; }
  const void* value() const;
  /// 0 when empty.
  std::uint64_t number() const;
  /// `program 3: (f64[3]) -> (f64[3])`; "none" when empty.
  std::string describe() const;
  std::string_view name() const;
  friend bool operator==(const StaticObject& a, const StaticObject& b) { return a.shared_ == b.shared_; }

 private:
  struct Shared;
  struct Table;
  explicit StaticObject(Shared* shared) : shared_(shared) {}
  static Table& table();
  Shared* shared_ = nullptr;
};
const TreeType* static_object_type();

}  // namespace detail

template <>
struct tree_trait<detail::StaticObject> {
  using leaf = Array;
  static constexpr bool is_static = true;
  static TreeRef erased(detail::StaticObject& self) { return {detail::static_object_type(), &self}; }
  static ConstTreeRef erased(const detail::StaticObject& self) {
    return {detail::static_object_type(), &self};
  }
};

}  // namespace apsis
