// Sections of docs/accuracy.md that tests write.
#pragma once

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace apsis::testing {

/// Rewrites a section of docs/accuracy.md, or adds it at the end.
inline void write_section(const char* path, const std::string& name, const std::string& text) {
  const std::string heading = "\n## " + name + "\n";
  std::stringstream old;
  old << std::ifstream(path).rdbuf();
  const std::string whole = old.str();
  const std::size_t begin = std::min(whole.find(heading), whole.size());
  const std::size_t end = std::min(whole.find("\n## ", begin + 1), whole.size());
  std::ofstream(path) << whole.substr(0, begin) << heading << "\n" << text << whole.substr(end);
}

}  // namespace apsis::testing
