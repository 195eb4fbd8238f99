// Files as NumPy writes them: read to the last bit, and written with the very same bytes.

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include <apsis/apsis.hpp>

#include "errors/error_of.hpp"
#include "io/folder.hpp"

namespace {

using namespace apsis;
using apsis::testing::bytes_of;
using apsis::testing::error_of;
using apsis::testing::Files;

std::string from_hex(const std::string& digits) {
  std::string bytes;
  if (digits == "-") return bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

Shape shape_of(const std::string& text) {
  Shape shape;
  std::istringstream sizes(text == "scalar" ? "" : text);
  for (std::string size; std::getline(sizes, size, 'x');) shape.push_back(std::stoll(size));
  return shape;
}

struct Two {
  Array a, b;
};

TEST(NumPy, FilesAreReadAndWrittenAlike) {
  Files files;
  std::ifstream golden(APSIS_SOURCE_DIR "/tests/golden/npy.txt");
  int read = 0, exact = 0;
  for (std::string line; std::getline(golden, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string name, kind, dtype, shape, elements, file;
    words >> name >> kind >> dtype >> shape >> elements >> file;
    const std::string bytes = from_hex(file), expected = from_hex(elements);
    const Array a = load_npy(files.with("a.npy", bytes));
    EXPECT_EQ(name_of(a.dtype()), dtype) << name;
    EXPECT_EQ(a.shape(), shape_of(shape)) << name;
    ASSERT_EQ(a.aval().bytes(), expected.size()) << name;
    EXPECT_EQ(std::string(static_cast<const char*>(data_of(a)), expected.size()), expected) << name;
    ++read;
    if (kind != "exact") continue;
    save_npy(files / "b.npy", a);
    EXPECT_EQ(bytes_of(files / "b.npy"), bytes) << name;
    ++exact;
  }
  EXPECT_EQ(exact, 90);
  EXPECT_EQ(read, 118);
}

TEST(NumPy, ArchivesAreReadAndCompressedOnesRefused) {
  Files files;
  std::ifstream golden(APSIS_SOURCE_DIR "/tests/golden/npz.txt");
  int archives = 0;
  for (std::string line; std::getline(golden, line);) {
    if (line.starts_with('#')) continue;
    const std::string name = line.substr(0, line.find(' '));
    const std::string path = files.with(name + ".npz", from_hex(line.substr(name.size() + 1)));
    const Two like{zeros({2}), zeros({1, 3}, i32)};
    ++archives;
    if (name == "stored") {
      const Two two = load(path, like);
      EXPECT_EQ(two.a.to_vector<double>(), (std::vector<double>{1, 2.5}));
      EXPECT_EQ(two.b.to_vector<int>(), (std::vector<int>{1, 2, 3}));
    } else {
      EXPECT_EQ(error_of([&] { load(path, like); }),
                "[load] " + path + ": a.npy is compressed; save with numpy.savez, which does not compress");
    }
  }
  EXPECT_EQ(archives, 2);
}

/// A .npy file with a header of the test's own.
std::string npy(const std::string& header, std::size_t bytes, char fill = 1, char version = 1) {
  std::string text = header + '\n';
  std::string file = std::string("\x93NUMPY") + version + '\0' + static_cast<char>(text.size() & 0xff) +
                     static_cast<char>(text.size() >> 8);
  if (version > 1) file += std::string(2, '\0');
  return file + text + std::string(bytes, fill);
}

TEST(NumPy, BoolsAreZeroOrOne) {
  Files files;
  const std::string path =
      files.with("b.npy", npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", 3, '\x7f'));
  const Array a = load_npy(path);
  EXPECT_EQ(std::memcmp(data_of(a), "\1\1\1", 3), 0);
  auto count = [](const Array& x) { return sum(astype(x, i32)); };
  EXPECT_EQ(count(a).item<int>(), 3);
  EXPECT_EQ(jit(count)(a).item<int>(), 3);
}

TEST(NumPy, BadHeadersAreRefusedWithTheirPlace) {
  Files files;
  auto error = [&](const std::string& bytes) {
    const std::string path = files.with("x.npy", bytes);
    std::string text = error_of([&] { load_npy(path); });
    const std::size_t at = text.find(path);
    return at == text.npos ? text : text.replace(at, path.size(), "x.npy");
  };
  auto damaged = [](const std::string& what) {
    return "[load] x.npy is damaged: " + what + "; save it again";
  };
  const std::string rest = ", 'fortran_order': False, 'shape': (1,), }";
  EXPECT_EQ(error(""), damaged("it does not begin as a .npy file"));
  EXPECT_EQ(error("a,b\n1,2\nand so on"), damaged("it does not begin as a .npy file"));
  EXPECT_EQ(error(npy("{'descr': '<f8'" + rest, 8, 1, 9)),
            "[load] x.npy is a .npy file of version 9.0; versions 1.0 to 3.0 are read: save it again with "
            "numpy.save");
  EXPECT_EQ(error(npy("{'descr': '|O'" + rest, 8)),
            "[load] x.npy holds Python objects, which only Python can read; convert them in NumPy, by "
            "astype(float)");
  EXPECT_EQ(error(npy("{'descr': [('a', '<f8')]" + rest, 8)),
            "[load] x.npy holds elements of type a record of several fields, for which there is no dtype; "
            "convert them in NumPy");
  EXPECT_EQ(
      error(npy("{'descr': '<M8[ns]'" + rest, 8)),
      "[load] x.npy holds elements of type <M8[ns], for which there is no dtype; convert them in NumPy");
  EXPECT_EQ(error(npy("{'descr': '<f8'" + rest, 7)),
            damaged("the header says f64[1], of which 7 bytes are there"));
  EXPECT_EQ(error(npy("{'descr': '<f8'" + rest, 9)), damaged("1 bytes follow the last element"));
  EXPECT_EQ(error(npy("{'descr': '<f8', 'fortran_order': False}", 8)),
            damaged("the header lacks one of descr, fortran_order and shape (byte 50)"));
  EXPECT_EQ(error(npy("{'descr': '<f8', 'descr': '<f8'" + rest, 8)),
            damaged("the header has two entries descr (byte 34)"));
  EXPECT_EQ(error(npy("{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}", 8)),
            damaged("fortran_order is neither True nor False (byte 44)"));
  // A product of the sizes that begins anew at 2^64, and one beside a size of 0.
  for (const char* shape :
       {"(4294967296, 4294967296)", "(2305843009213693953,)", "(0, 4611686018427387904, 4)",
        "(18446744073709551617,)", "(-1,)", "(1000000000000,)"})
    EXPECT_TRUE(error(npy("{'descr': '<f8', 'fortran_order': False, 'shape': " + std::string(shape) + "}", 8))
                    .starts_with("[load] x.npy is damaged: the "))
        << shape;
}

}  // namespace
