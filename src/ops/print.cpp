// Arrays as NumPy prints them: str(array) with NumPy's default options (precision 8, edge items 3, threshold
// 1000, line width 75), after numpy/_core/arrayprint.py of NumPy 2.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/convert.hpp"
#include "core/list.hpp"
#include "ir/view.hpp"

namespace apsis {
namespace {

constexpr int precision = 8, line_width = 75;
constexpr std::int64_t edge_items = 3, threshold = 1000;

// One real number with the digits its own type needs to be told from its neighbours.
struct Number {
  double value = 0;
  Dtype dtype = Dtype::F64;
};

std::string written(const Number& x, std::chars_format format, int digits) {
  char text[512];
  auto end = digits < 0 && x.dtype == Dtype::F32
                 ? std::to_chars(text, text + sizeof text, static_cast<float>(x.value), format).ptr
             : digits < 0 ? std::to_chars(text, text + sizeof text, x.value, format).ptr
                          : std::to_chars(text, text + sizeof text, x.value, format, digits).ptr;
  return {text, end};
}

// From here on NumPy writes numbers of the type with an exponent.
double decimal_limit(Dtype dtype) {
  switch (dtype) {
    case Dtype::F16:
      return 1e3;
    case Dtype::BF16:
      return 1e2;
    case Dtype::F32:
      return 1e6;
    default:
      return 1e16;
  }
}

double rounded(double value, Dtype dtype) {
  unsigned char element[8];
  detail::convert_elements(Dtype::F64, &value, dtype, element, 1);
  detail::convert_elements(dtype, element, Dtype::F64, &value, 1);
  return value;
}

// The fewest digits after the point from which the number reads back.
int shortest_digits(const Number& x, std::chars_format format) {
  if (x.dtype != Dtype::F16 && x.dtype != Dtype::BF16) {
    std::string text = written(x, format, -1);
    std::size_t point = text.find('.'), end = std::min(text.find('e'), text.size());
    return point == std::string::npos ? 0 : static_cast<int>(end - point - 1);
  }
  for (int digits = 0;; ++digits) {
    std::string text = written(x, format, digits);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    if (rounded(back, x.dtype) == x.value) return digits;
  }
}

// Dragon4's form: always with a point, at most `limit` digits after it (shorter if the number needs fewer).
std::string positional(const Number& x, int limit) {
  std::string text =
      written(x, std::chars_format::fixed, std::min(limit, shortest_digits(x, std::chars_format::fixed)));
  if (text.find('.') == std::string::npos) return text + ".";
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

// Mantissa and exponent, both as text: "1.5", "e+08".
std::pair<std::string, std::string> scientific(const Number& x, int limit) {
  std::string text = written(x, std::chars_format::scientific,
                             std::min(limit, shortest_digits(x, std::chars_format::scientific)));
  std::size_t e = text.find('e');
  std::string mantissa = text.substr(0, e);
  if (mantissa.find('.') == std::string::npos)
    mantissa += '.';
  else
    mantissa.erase(mantissa.find_last_not_of('0') + 1);
  return {mantissa, text.substr(e)};
}

std::string signed_text(std::string text, bool plus) { return plus && text[0] != '-' ? "+" + text : text; }

/// One format for all elements of a real array: columns align at the point.
class FloatFormat {
 public:
  FloatFormat(const std::vector<Number>& values, bool plus) : plus_(plus) {
    double largest = 0, smallest = std::numeric_limits<double>::infinity();
    bool any_finite = false, any_other = false, negative_infinity = false;
    for (const Number& x : values) {
      if (!std::isfinite(x.value)) {
        any_other = true;
        negative_infinity = negative_infinity || x.value < 0;
        continue;
      }
      any_finite = true;
      if (x.value == 0) continue;
      largest = std::max(largest, std::abs(x.value));
      smallest = std::min(smallest, std::abs(x.value));
    }
    if (largest > 0) {
      Dtype dtype = values[0].dtype;
      exponential_ = largest >= std::min(1e8, decimal_limit(dtype)) || smallest < rounded(0.0001, dtype) ||
                     rounded(largest / smallest, dtype) > 1000;
    }
    int digits = 0;
    if (any_finite) {
      for (const Number& x : values) {
        if (!std::isfinite(x.value)) continue;
        auto [mantissa, exponent] =
            exponential_ ? scientific(x, precision) : std::pair{positional(x, precision), std::string()};
        std::size_t point = mantissa.find('.');
        left_ = std::max(left_, signed_text(mantissa.substr(0, point), plus_).size());
        digits = std::max(digits, static_cast<int>(mantissa.size() - point - 1));
        exponent_ = std::max(exponent_, exponent.empty() ? 0 : exponent.size() - 2);
      }
    }
    digits_ = digits;
    right_ = static_cast<std::size_t>(digits) + (exponential_ ? exponent_ + 2 : 0);
    if (any_other) {
      std::size_t longest = negative_infinity || plus_ ? 4 : 3;
      left_ = std::max(left_, longest > right_ + 1 ? longest - right_ - 1 : 0);
    }
  }

  std::string operator()(const Number& x) const {
    if (!std::isfinite(x.value)) {
      std::string word = std::isnan(x.value) ? "nan" : x.value < 0 ? "-inf" : "inf";
      return padded(signed_text(word, plus_), left_ + right_ + 1);
    }
    if (exponential_) {
      std::string text = written(x, std::chars_format::scientific, digits_);
      std::size_t e = text.find('e');
      std::string mantissa = text.substr(0, e), exponent = text.substr(e);
      if (mantissa.find('.') == std::string::npos) mantissa += '.';
      exponent.insert(2, exponent_ + 2 - exponent.size(), '0');
      return padded(signed_text(mantissa + exponent, plus_), left_ + 1 + right_);
    }
    std::string text = signed_text(positional(x, precision), plus_);
    std::size_t point = text.find('.');
    text = padded(text, text.size() + (left_ > point ? left_ - point : 0));
    text.resize(left_ + 1 + right_, ' ');
    return text;
  }

 private:
  static std::string padded(const std::string& text, std::size_t width) {
    return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
  }
  bool plus_, exponential_ = false;
  int digits_ = 0;
  std::size_t left_ = 0, right_ = 0, exponent_ = 0;
};

/// The places of an array that are shown, and their texts, all of one width where NumPy aligns them.
class Printer {
 public:
  explicit Printer(const Array& a)
      : array_(a), strides_(detail::View::contiguous(a.shape()).strides), summary_(a.size() > threshold) {
    collect(0, 0);
    format();
  }

  std::string text() {
    if (array_.ndim() == 0) return words_[0];
    if (array_.size() == 0) return "[]";
    next_ = 0;
    return brackets(0, " ", line_width - 1);
  }

 private:
  bool shortened(std::size_t axis) const { return summary_ && array_.shape()[axis] > 2 * edge_items; }

  void collect(std::size_t axis, std::int64_t offset) {
    if (axis == array_.shape().size()) {
      places_.push_back(offset);
      return;
    }
    std::int64_t size = array_.shape()[axis];
    for (std::int64_t i = 0; i < size; ++i) {
      if (shortened(axis) && i == edge_items) i = size - edge_items;
      collect(axis + 1, offset + i * strides_[axis]);
    }
  }

  template <class T>
  T element(std::int64_t place) const {
    return static_cast<const T*>(data_of(array_))[place];
  }

  void format() {
    Dtype dtype = array_.dtype();
    if (dtype == Dtype::Bool) {
      for (std::int64_t p : places_)
        words_.push_back(element<bool>(p) ? (array_.ndim() ? " True" : "True") : "False");
    } else if (is_integer(dtype)) {
      std::size_t width = 0;
      for (std::int64_t p : places_) {
        std::int64_t value;
        const char* at =
            static_cast<const char*>(data_of(array_)) + static_cast<std::size_t>(p) * item_size(dtype);
        detail::convert_elements(dtype, at, Dtype::I64, &value, 1);
        words_.push_back(dtype == Dtype::U64 ? std::to_string(static_cast<std::uint64_t>(value))
                                             : std::to_string(value));
        width = std::max(width, words_.back().size());
      }
      for (std::string& word : words_) word.insert(0, width - word.size(), ' ');
    } else if (is_floating(dtype)) {
      std::vector<Number> values;
      for (std::int64_t p : places_) values.push_back(number(dtype, p));
      format_numbers(values);
    } else {
      std::vector<Number> real, imaginary;
      for (std::int64_t p : places_) {
        Dtype part = dtype == Dtype::C64 ? Dtype::F32 : Dtype::F64;
        real.push_back(number(part, 2 * p));
        imaginary.push_back(number(part, 2 * p + 1));
      }
      format_complex(real, imaginary);
    }
  }

  Number number(Dtype dtype, std::int64_t place) const {
    Number x{0, dtype};
    const char* at =
        static_cast<const char*>(data_of(array_)) + static_cast<std::size_t>(place) * item_size(dtype);
    detail::convert_elements(dtype, at, Dtype::F64, &x.value, 1);
    return x;
  }

  // A scalar is printed with all its digits.
  static std::string scalar_text(const Number& x) {
    if (std::isnan(x.value)) return "nan";
    if (std::isinf(x.value)) return x.value < 0 ? "-inf" : "inf";
    double magnitude = std::abs(x.value);
    constexpr int all = std::numeric_limits<int>::max();
    if (magnitude != 0 && (magnitude >= decimal_limit(x.dtype) || magnitude < 1e-4)) {
      auto [mantissa, exponent] = scientific(x, all);
      if (mantissa.back() == '.') mantissa.pop_back();
      return mantissa + exponent;
    }
    std::string text = positional(x, all);
    return text.back() == '.' ? text + "0" : text;
  }

  void format_numbers(const std::vector<Number>& values) {
    if (array_.ndim() == 0) {
      words_.push_back(scalar_text(values[0]));
      return;
    }
    FloatFormat format(values, false);
    for (const Number& x : values) words_.push_back(format(x));
  }

  // The j follows the digits, before the spaces that align them.
  void format_complex(const std::vector<Number>& real, const std::vector<Number>& imaginary) {
    if (array_.ndim() == 0) {
      auto bare = [](const Number& x) {
        std::string text = scalar_text(x);
        return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
      };
      bool only_imaginary = real[0].value == 0 && !std::signbit(real[0].value);
      std::string tail = bare(imaginary[0]);
      words_.push_back(only_imaginary ? tail + "j" : "(" + bare(real[0]) + signed_text(tail, true) + "j)");
      return;
    }
    FloatFormat format_real(real, false), format_imaginary(imaginary, true);
    for (std::size_t i = 0; i < real.size(); ++i) {
      std::string tail = format_imaginary(imaginary[i]);
      tail.insert(tail.find_last_not_of(' ') + 1, "j");
      words_.push_back(format_real(real[i]) + tail);
    }
  }

  static std::string trimmed(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  }

  // numpy: _formatArray. `indent` aligns with the brackets already open; `width` is what they leave of the
  // line.
  std::string brackets(std::size_t axis, const std::string& indent, int width) {
    std::int64_t size = array_.shape()[axis];
    std::int64_t leading = shortened(axis) ? edge_items : size, trailing = shortened(axis) ? edge_items : 0;
    std::string out = "[";
    if (axis + 1 == array_.shape().size()) {
      std::string line = indent;
      auto add = [&](const std::string& word) {
        if (static_cast<int>(line.size() + word.size()) > width && line.size() > indent.size()) {
          out += trimmed(line).substr(out == "[" ? indent.size() : 0) + "\n";
          line = indent;
        }
        line += word;
      };
      for (std::int64_t i = 0; i < leading + trailing; ++i) {
        if (i) line += ' ';
        if (i == leading) {
          add("...");
          line += ' ';
        }
        add(words_[next_++]);
      }
      return out + line.substr(out == "[" ? indent.size() : 0) + "]";
    }
    std::string separator(array_.shape().size() - axis - 1, '\n');
    for (std::int64_t i = 0; i < leading + trailing; ++i) {
      if (i == leading) out += separator + indent + "...";
      if (i) out += separator + indent;
      out += brackets(axis + 1, indent + " ", width - 1);
    }
    return out + "]";
  }

  const Array& array_;
  Dims strides_;
  bool summary_;
  std::vector<std::int64_t> places_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

}  // namespace

std::string to_string(const Array& a) {
  if (a.is_empty()) return "empty";
  Array value = concrete_value(a);
  if (value.is_empty()) return to_string(a.aval());
  if (value.aval().is_list()) {
    std::string out = "list[";
    for (const Array& entry : static_cast<detail::ListNode*>(value.node())->entries)
      out += (out.back() == '[' ? "" : ", ") + to_string(entry);
    return out + "]";
  }
  return Printer(value).text();
}

}  // namespace apsis
