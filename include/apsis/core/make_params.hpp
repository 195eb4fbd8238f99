#pragma once

// What a parameter struct needs to become Params; not part of apsis.hpp. Has the usual kinds of fields;
// another type joins by overloading equal_field, hash_field, print_field and parse_field in its own namespace
// (regions do).

#include <bit>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "apsis/core/dtype.hpp"
#include "apsis/core/params.hpp"
#include "apsis/core/shape.hpp"

namespace apsis {
namespace detail {

std::uint64_t hash_word(std::uint64_t seed, std::uint64_t word);
std::uint64_t hash_field(std::uint64_t seed, const Dims& value);
std::uint64_t hash_field(std::uint64_t seed, const std::string& value);
inline std::uint64_t hash_field(std::uint64_t seed, double value) {
  return hash_word(seed, std::bit_cast<std::uint64_t>(value));
}
template <class T>
requires(std::is_integral_v<T> || std::is_enum_v<T>) std::uint64_t hash_field(std::uint64_t seed, T value) {
  return hash_word(seed, static_cast<std::uint64_t>(value));
}
template <class T>
std::uint64_t hash_field(std::uint64_t seed, const std::vector<T>& values) {
  seed = hash_word(seed, values.size());
  for (const T& v : values) seed = hash_field(seed, v);
  return seed;
}

inline bool equal_field(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}
template <class T>
bool equal_field(const T& a, const T& b) {
  return a == b;
}

void print_field(std::string& out, bool value);
void print_field(std::string& out, double value);
void print_field(std::string& out, Dtype value);
void print_field(std::string& out, const Dims& value);
void print_field(std::string& out, const std::string& value);
template <class T>
requires(std::is_integral_v<T> || std::is_enum_v<T>) void print_field(std::string& out, T value) {
  out += std::to_string(static_cast<std::int64_t>(value));
}
template <class T>
void print_field(std::string& out, const std::vector<T>& values) {
  out += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i) out += ", ";
    print_field(out, static_cast<const T&>(values[i]));
  }
  out += ']';
}

/// Reads what print_field wrote; throws apsis::Error where the text is not that.
class ParamsReader {
 public:
  virtual ~ParamsReader() = default;
  virtual void key(const char* name) = 0;
  virtual std::int64_t integer() = 0;
  virtual double number() = 0;
  virtual bool flag() = 0;
  virtual Dtype dtype() = 0;
  virtual std::string text() = 0;
  virtual bool open_list() = 0;     // '['
  virtual bool next_item() = 0;     // false at ']'
  virtual const void* graph() = 0;  // a region; one reference passes to the caller
};
inline void parse_field(ParamsReader& r, bool& value) { value = r.flag(); }
inline void parse_field(ParamsReader& r, double& value) { value = r.number(); }
inline void parse_field(ParamsReader& r, Dtype& value) { value = r.dtype(); }
inline void parse_field(ParamsReader& r, std::string& value) { value = r.text(); }
template <class T>
requires((std::is_integral_v<T> && !std::is_same_v<T, bool>) ||
         std::is_enum_v<T>) void parse_field(ParamsReader& r, T& value) {
  value = static_cast<T>(r.integer());
}
inline void parse_field(ParamsReader& r, Dims& value) {
  for (r.open_list(); r.next_item();) value.push_back(r.integer());
}
template <class T>
void parse_field(ParamsReader& r, std::vector<T>& values) {
  for (r.open_list(); r.next_item();) {
    T item{};
    parse_field(r, item);
    values.push_back(static_cast<T&&>(item));
  }
}

template <class T>
void visit_regions(const T&, void (*)(void*, const void*), void*) {}
template <class T>
void replace_regions(T&, const void* (*)(void*, const void*), void*) {}

template <class T>
const T& held(const ParamsNode& node) {
  return static_cast<const ParamsHolder<T>&>(node).value;
}

template <class T>
ParamsNode* new_params(T value);

template <class T>
inline constexpr ParamsTable params_table = {
    .equal =
        [](const ParamsNode& a, const ParamsNode& b) {
          // Field by field in step: the i-th visit of `a` meets the i-th visit of `b`.
          bool same = true;
          int position = 0;
          T::each(held<T>(a), [&](const char*, const auto& left) {
            int at = 0;
            T::each(held<T>(b), [&](const char*, const auto& right) {
              if constexpr (std::is_same_v<decltype(left), decltype(right)>)
                if (at == position && !equal_field(left, right)) same = false;
              ++at;
            });
            ++position;
          });
          return same;
        },
    .hash =
        [](const ParamsNode& node) {
          std::uint64_t hash = 0;
          T::each(held<T>(node), [&](const char*, const auto& field) { hash = hash_field(hash, field); });
          return hash;
        },
    .print =
        [](const ParamsNode& node, std::string& out) {
          bool first = true;
          T::each(held<T>(node), [&](const char* name, const auto& field) {
            out += first ? "" : ", ";
            out += name;
            out += '=';
            print_field(out, field);
            first = false;
          });
        },
    .destroy = [](const ParamsNode* node) { delete static_cast<const ParamsHolder<T>*>(node); },
    .regions =
        [](const ParamsNode& node, void (*visit)(void*, const void*), void* context) {
          T::each(held<T>(node),
                  [&](const char*, const auto& field) { visit_regions(field, visit, context); });
        },
    .with_regions = [](const ParamsNode& node, const void* (*map)(void*, const void*),
                       void* context) -> ParamsNode* {
      T copy = held<T>(node);
      T::each(copy, [&](const char*, auto& field) { replace_regions(field, map, context); });
      return new_params(static_cast<T&&>(copy));
    },
};

template <class T>
ParamsNode* new_params(T value) {
  auto* node = new ParamsHolder<T>(static_cast<T&&>(value));
  node->table = &params_table<T>;
  node->hash = node->table->hash(*node);
  return node;
}

}  // namespace detail

/// Makes a handle on a parameter struct.
template <class T>
Params make_params(T value) {
  return Params::adopt(detail::new_params(static_cast<T&&>(value)));
}

/// The `parse` rule of ops whose parameters are a `T`.
template <class T>
Params parse_params(detail::ParamsReader& reader) {
  T value{};
  T::each(value, [&](const char* name, auto& field) {
    reader.key(name);
    parse_field(reader, field);
  });
  return make_params(static_cast<T&&>(value));
}

}  // namespace apsis
