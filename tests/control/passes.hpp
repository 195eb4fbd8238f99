#pragma once

// Counts the passes over large buffers in the code of a program: what each iteration of a loop would cost.

#include <algorithm>
#include <iterator>
#include <regex>
#include <string>

#include "transform/checks.hpp"

namespace apsis::testing {

/// Entries of the buffers in programs whose code is looked at.
constexpr std::int64_t entries = 3000;

/// Loops over a whole buffer or more, copies of one and calls of ops that are not written in line, wherever
/// the code of f has them. In lanes the buffers of a packet are passed over when lanes enter it, when they
/// leave it, and never on the way.
template <class F, class... A>
std::ptrdiff_t passes(F&& f, const A&... arguments) {
  const std::string code = lower(jit(f), arguments...).compile().code_text();
  const std::regex pass(
      "icmp (?:slt|ne) i64 %[0-9]+, ([0-9]+)\n *br i1 %[0-9]+, label %loop|memcpy[^\n]* i64 ([0-9]+),|"
      "call [^\n]*@apsis_(call_kernel|copy_given)");
  return std::count_if(std::sregex_iterator(code.begin(), code.end(), pass), std::sregex_iterator(),
                       [](const std::smatch& m) {
                         // Without the last vector, and without what a pad puts beside its padding.
                         if (m[1].matched) return std::stoll(m[1]) >= entries - 64;
                         if (m[2].matched) return std::stoll(m[2]) >= 4 * entries;
                         return true;
                       });
}

}  // namespace apsis::testing
