#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace apsis::detail {

/// What a program did with its input.
struct Ran {
  std::string out, err;  // what it wrote
  int code = 0;          // its exit status; 128 and the signal's number if that ended it
};

/// The file that the name of a program stands for in PATH; empty if there is none.
std::string find_program(const std::string& name);

/// Runs a program file with these arguments and input, and waits for its end. No shell is involved. Files
/// without names carry what goes in and out: nothing can be left behind, and none waits for the other.
/// Throws std::system_error if it cannot be started.
Ran run_program(const std::string& file, const std::vector<std::string>& arguments, std::string_view input);

}  // namespace apsis::detail
