#pragma once

// Files of one test: a directory that goes with it.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "apsis/base/error.hpp"
#include "temporary_folder.hpp"

namespace apsis::testing {

class Files : public Folder {
 public:
  std::string operator/(const std::string& name) const { return path() + '/' + name; }
  /// How many there are, hidden ones too.
  std::size_t count() const { return files().size(); }
  /// Writes a file, and says where it is.
  std::string with(const std::string& name, const std::string& bytes) const {
    std::ofstream(*this / name, std::ios::binary) << bytes;
    return *this / name;
  }
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace apsis::testing
