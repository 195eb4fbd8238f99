#pragma once

#include <string>
#include <type_traits>

#include "apsis/tree/leaf.hpp"

/// A leaf type of the tests' own: trees must not depend on what an Array is. Shaped like Array: a handle with
/// an implicit constructor from scalars, empty by default, left empty by a move.
class Probe {
 public:
  Probe() = default;
  template <class T>
  requires std::is_arithmetic_v<T> Probe(T value) : full_(true), value_(static_cast<double>(value)) {}
  Probe(const Probe&) = default;
  Probe(Probe&& other) noexcept : full_(other.full_), value_(other.value_) { other.full_ = false; }
  Probe& operator=(const Probe&) = default;
  Probe& operator=(Probe&& other) noexcept {
    full_ = other.full_;
    value_ = other.value_;
    other.full_ = false;
    return *this;
  }
  ~Probe() {}

  bool empty() const { return !full_; }
  double value() const { return value_; }
  friend bool operator==(const Probe& a, const Probe& b) {
    return a.full_ == b.full_ && (!a.full_ || a.value_ == b.value_);
  }

 private:
  bool full_ = false;
  double value_ = 0;
};

template <>
struct apsis::is_leaf<Probe> : std::true_type {
  static bool empty(const Probe& p) { return p.empty(); }
  static bool equal(const Probe& a, const Probe& b) { return a == b; }
  static void print(std::string& out, const Probe& p) {
    out += 'p' + std::to_string(static_cast<int>(p.value()));
  }
};
