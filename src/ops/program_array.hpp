#pragma once

#include <string_view>

#include "apsis/core/array.hpp"
#include "apsis/core/make_params.hpp"

namespace apsis::detail {

/// A concrete array as part of the program that is being staged, where it must not become an input: in graphs
/// that others are made of.
Array program_array(const Array& value);

/// Elements by their bytes; in text as hexadecimal digits.
struct ArrayBytes {
  Array array;
  std::string_view bytes() const { return {static_cast<const char*>(data_of(array)), array.aval().bytes()}; }
  friend bool operator==(const ArrayBytes& a, const ArrayBytes& b) { return a.bytes() == b.bytes(); }
};
std::uint64_t hash_field(std::uint64_t seed, const ArrayBytes& value);
void print_field(std::string& out, const ArrayBytes& value);
void parse_field(ParamsReader& r, ArrayBytes& value);

struct ProgramArrayParams {
  Dtype dtype = Dtype::F64;
  bool weak = false;
  Shape shape;
  ArrayBytes data;
  static void each(auto& self, auto&& visit) {
    visit("dtype", self.dtype);
    visit("weak", self.weak);
    visit("shape", self.shape);
    visit("data", self.data);
  }
};

}  // namespace apsis::detail
