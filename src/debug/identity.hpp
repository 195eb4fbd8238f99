#pragma once

#include <cstring>

#include "apsis/core/make_params.hpp"
#include "apsis/core/op.hpp"

namespace apsis::debug {

// Rules of ops that return their operand as it is.

inline void same_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  out.push_back(in[0]);
}

inline void copy_operand(const Params&, std::span<const Array> in, std::span<Array> out) {
  std::memcpy(mutable_data<char>(out[0]), data_of(in[0]), in[0].aval().bytes());
}

/// What the user calls the value, and where.
struct NameParams {
  std::string name, file, function;
  std::int64_t line = 0;
  NameParams() = default;
  NameParams(const char* n, Loc loc) : name(n), file(loc.file), function(loc.function), line(loc.line) {}
  Loc loc() const { return {file.c_str(), function.c_str(), static_cast<unsigned>(line)}; }
  static void each(auto& self, auto&& visit) {
    visit("name", self.name);
    visit("file", self.file);
    visit("function", self.function);
    visit("line", self.line);
  }
};

}  // namespace apsis::debug
