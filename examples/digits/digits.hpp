// Handwritten digits of 8 by 8 pixels (Alpaydin and Kaynak 1998, CC BY 4.0), and pictures of such.
#pragma once

#include <fstream>
#include <stdexcept>
#include <apsis/apsis.hpp>

namespace digits {

using namespace apsis;

struct Digits {
  Array images;  // f32[n, 1, 8, 8], from 0 to 1
  Array labels;  // i64[n]
};

/// One image a line: 64 digits of base 17, a space, the class.
inline Digits read(const std::string& path) {
  std::ifstream file(path);
  std::vector<float> pixels;
  std::vector<std::int64_t> labels;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line.size() != 66) throw std::runtime_error(path + ": a line is no image");
    for (int i = 0; i < 64; ++i)
      pixels.push_back(static_cast<float>(line[i] < 'A' ? line[i] - '0' : line[i] - 'A' + 10) / 16);
    labels.push_back(line[65] - '0');
  }
  if (labels.empty()) throw std::runtime_error(path + " cannot be read");
  const auto n = static_cast<std::int64_t>(labels.size());
  return {array(pixels, {n, 1, 8, 8}), array(labels)};
}

/// Images [n, ..] of 64 pixels beside each other, the first row on top.
inline Figure pictures(const Array& images, std::int64_t rows, std::int64_t columns,
                       const std::string& title) {
  const Array grid = reshape(images[range(0, rows * columns)], {rows, columns, 8, 8});
  const Array apart = pad(grid, {0, 0, 1, 0}, {0, 0, 0, 1});  // a line between them
  const Array shown = reshape(transpose(apart, {0, 2, 1, 3}), {rows * 9, columns * 9});
  Figure figure{.title = title, .numbers = false};
  figure.height =
      static_cast<int>(120 + 780 * rows / columns);  // square pixels, among figures of this height
  return figure.map(arange(0., static_cast<double>(columns * 9)), arange(0., static_cast<double>(rows * 9)),
                    shown[range({}, {}, -1)], "ink");
}

}  // namespace digits
