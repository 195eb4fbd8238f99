// Reads the golden files that the make_*.py scripts of this directory write (format: records.py).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace apsis::golden {

/// One array: values of floating types in `real` (and `imag`), of integers and bools in `integers` (u64 by
/// its bits).
struct Field {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::vector<double> real, imag;
  std::vector<std::int64_t> integers;

  bool is_integer() const { return dtype == "bool" || dtype[0] == 'i' || dtype[0] == 'u'; }
  bool is_complex() const { return dtype[0] == 'c'; }
  std::int64_t size() const {
    std::int64_t n = 1;
    for (auto d : shape) n *= d;
    return n;
  }
};

struct Case {
  std::string name;
  std::map<std::string, std::string> text;
  std::map<std::string, Field> fields;

  bool has(const std::string& key) const { return fields.count(key) != 0; }
  const Field& operator[](const std::string& key) const {
    auto it = fields.find(key);
    if (it == fields.end()) throw std::runtime_error("golden case " + name + " has no field " + key);
    return it->second;
  }
};

inline Field read_field(std::istringstream& line) {
  Field f;
  int rank = 0;
  line >> f.dtype >> rank;
  f.shape.resize(rank);
  for (auto& d : f.shape) line >> d;
  std::string token;
  // strtod, since streams do not read hexadecimal floats.
  while (line >> token) {
    if (!f.is_integer()) {
      auto& part = f.is_complex() && f.real.size() > f.imag.size() ? f.imag : f.real;
      part.push_back(std::strtod(token.c_str(), nullptr));
    } else if (token[0] == '-') {
      f.integers.push_back(std::strtoll(token.c_str(), nullptr, 10));
    } else {
      f.integers.push_back(static_cast<std::int64_t>(std::strtoull(token.c_str(), nullptr, 10)));
    }
  }
  auto count = static_cast<std::int64_t>(f.is_integer() ? f.integers.size() : f.real.size());
  if (count != f.size() || (f.is_complex() && f.imag.size() != f.real.size()))
    throw std::runtime_error("golden file: a field has " + std::to_string(count) +
                             " values, its shape says " + std::to_string(f.size()));
  return f;
}

/// All cases of one golden file; throws std::runtime_error when it is missing or malformed.
inline std::vector<Case> read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open golden file " + path);
  std::vector<Case> cases;
  std::string text;
  while (std::getline(file, text)) {
    if (text.empty() || text[0] == '#') continue;
    std::istringstream line(text);
    std::string key;
    line >> key;
    if (key == "case") {
      line >> cases.emplace_back().name;
    } else if (cases.empty()) {
      throw std::runtime_error("golden file " + path + " does not begin with a case");
    } else if (key == "text") {
      line >> key >> std::ws;
      std::getline(line, cases.back().text[key]);
    } else {
      cases.back().fields[key] = read_field(line);
    }
  }
  return cases;
}

}  // namespace apsis::golden
