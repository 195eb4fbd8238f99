#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

struct Folder {
  std::filesystem::path path;
  Folder() : path(std::filesystem::temp_directory_path() / ("apsis_io_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string operator/(const char* name) const { return path / name; }
};

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

bool same_bits(const Array& a, const Array& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.size() == 0 || std::memcmp(data_of(a), data_of(b), a.aval().bytes()) == 0);
}

TEST(Npy, EveryDtypeAndShapeComesBack) {
  Folder folder;
  for (int d = 0; d < dtype_count; ++d)
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{2, 0, 3}, Shape{2, 3, 4}}) {
      Array a = astype(reshape(arange(shape.product()), shape), static_cast<Dtype>(d));
      save_npy(folder / "a.npy", a);
      EXPECT_TRUE(same_bits(load_npy(folder / "a.npy"), a)) << to_string(a.aval());
    }
}

TEST(Npy, ReadsWhatNumPyWrites) {
  Folder folder;
  // numpy.save of numpy.asfortranarray([[1, 2, 3], [4, 5, 6]], dtype="<i4")
  std::string header = "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }";
  header.resize(117, ' ');
  header += '\n';
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + '\x76' + '\0' + header;
  for (std::int32_t v : {1, 4, 2, 5, 3, 6}) bytes.append(reinterpret_cast<const char*>(&v), 4);
  write(folder / "f.npy", bytes);
  Array a = load_npy(folder / "f.npy");
  EXPECT_EQ(a.dtype(), i32);
  EXPECT_EQ(a.to_vector<int>(), (std::vector<int>{1, 2, 3, 4, 5, 6}));
}

TEST(Save, TreesComeBackBitForBit) {
  Folder folder;
  nn::MLP model = nn::make_mlp({.in = 2, .out = 3, .width = 4}, random::key(5));
  save(folder / "m.npz", model);
  nn::MLP like = nn::make_mlp({.in = 2, .out = 3, .width = 4}, random::key(6));
  nn::MLP again = load(folder / "m.npz", like);
  EXPECT_TRUE(tree_equal(again, model));
  EXPECT_FALSE(tree_equal(like, model));
  // The same tree makes the same file.
  std::string first = bytes_of(folder / "m.npz");
  save(folder / "m.npz", again);
  EXPECT_EQ(first, bytes_of(folder / "m.npz"));
}

TEST(Save, EveryTruncationAndEveryFlippedByteIsNoticed) {
  Folder folder;
  struct Model {
    Array a, b;
  };
  Model model{array({1., 2., 3.}), array({4})};
  save(folder / "m.npz", model);
  std::string whole = bytes_of(folder / "m.npz");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    write(folder / "t.npz", whole.substr(0, n));
    EXPECT_THROW(load(folder / "t.npz", model), Error) << n;
  }
  // A flipped byte is an error, or sits in a field that says nothing about the content (dates, versions).
  int unnoticed = 0;
  for (std::size_t n = 0; n < whole.size(); ++n) {
    std::string bad = whole;
    bad[n] = static_cast<char>(bad[n] ^ 0x40);
    write(folder / "t.npz", bad);
    try {
      Model m = load(folder / "t.npz", model);
      EXPECT_TRUE(tree_equal(m, model)) << n;
      ++unnoticed;
    } catch (const Error&) {
    }
  }
  EXPECT_LT(unnoticed, static_cast<int>(whole.size() / 2));
}

TEST(Csv, SkipsCommentsAndBlanks) {
  Folder folder;
  write(folder / "t.csv", "# a comment\n\nyear, hare ,lynx\r\n1900,30,4\n# more\n1901,47.2,-6.1e0\n");
  Table t = read_csv(folder / "t.csv");
  EXPECT_EQ(t.names, (std::vector<std::string>{"year", "hare", "lynx"}));
  EXPECT_EQ(t.column("lynx").to_vector<double>(), (std::vector<double>{4, -6.1}));
  EXPECT_EQ(t.values.shape(), (Shape{2, 3}));
}

TEST(Plot, DrawsAPng) {
  Folder folder;
  Array x = linspace(0., 1., 20);
  Figure f{.title = "A \"quoted\" title", .xlabel = "t (s)", .ylabel = "y"};
  f.band(x, x - 0.1, x + 0.1, "band")
      .line(x, x, "line")
      .dashed(x, 1. - x, "dashed")
      .points(x, square(x), "points")
      .mark(0.5, "mark");
  f.save(folder / "p.png");
  EXPECT_EQ(bytes_of(folder / "p.png").substr(1, 3), "PNG");
  Array grid = reshape(arange(400) * 1., {20, 20});
  Figure map{.title = "Map", .log_color = true};
  map.map(x, x, where(grid > 7., grid, std::numeric_limits<double>::quiet_NaN()), "values")
      .line(x, x, "line");
  map.save(folder / "map.png");
  EXPECT_EQ(bytes_of(folder / "map.png").substr(1, 3), "PNG");
  save_stacked({f, map, f}, folder / "two.png");
  EXPECT_EQ(bytes_of(folder / "two.png").substr(1, 3), "PNG");
}

}  // namespace
