#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

namespace apsis::testing {

/// A directory of this test's own, removed with it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "apsis-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  /// The files in it.
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) found.push_back(entry.path());
    return found;
  }

 private:
  std::string path_;
};

}  // namespace apsis::testing
