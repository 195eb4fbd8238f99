#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace apsis::detail {

/// The text of a random program over two arrays of one shape: what says which equations it has derives from
/// this.
class RandomText {
 protected:
  explicit RandomText(std::uint32_t seed) : random_(seed) {}

  std::int64_t one_of(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  int any() { return values_[static_cast<std::size_t>(one_of(static_cast<std::int64_t>(values_.size())))]; }
  static std::string name(int v) { return "v" + std::to_string(v); }
  static std::string list(const std::vector<std::int64_t>& of) {
    std::string text;
    for (std::int64_t n : of) text += (text.empty() ? "" : ", ") + std::to_string(n);
    return "[" + text + "]";
  }
  std::string typed(const std::vector<std::int64_t>& shape) const {
    std::string text = list(shape);
    std::erase(text, ' ');
    return type_ + text;
  }
  static std::string binary(const std::string& op, int a, int b) {
    return op + "(" + name(a) + ", " + name(b) + ")";
  }
  int line(const std::string& type, const std::string& what) {
    lines_ += "  " + name(next_) + ": " + type + " = " + what + "\n";
    return next_++;
  }
  /// The first line.
  int zero() {
    return line(type_ + "[]", "constant{dtype=" + type_ + ", weak=false, bits=0, high_bits=0}()");
  }
  std::string text_of(const std::string& outputs) const {
    return "(v0: " + typed(shape_) + ", v1: " + typed(shape_) + ") {\n" + lines_ + "  return " + outputs +
           "\n}";
  }

  std::mt19937_64 random_;
  std::vector<std::int64_t> shape_;
  std::string type_, lines_;
  std::vector<int> values_{0, 1};  // of the shape
  int next_ = 2;
};

}  // namespace apsis::detail
