// The golden files are complete and read back: a truncated or hand-edited file fails here, not in a room's
// test.
#include "golden/golden.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

namespace {

const std::filesystem::path directory = std::filesystem::path(APSIS_SOURCE_DIR) / "tests" / "golden";

TEST(golden, every_case_file_reads) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const auto name = entry.path().stem();
    if (entry.path().extension() != ".txt" || name == "promotion" || name == "npy" || name == "npz" ||
        name == "events")
      continue;
    SCOPED_TRACE(entry.path().string());
    auto cases = apsis::golden::read(entry.path().string());
    EXPECT_FALSE(cases.empty());
    for (const auto& c : cases) EXPECT_FALSE(c.fields.empty()) << c.name;
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST(golden, promotion_table_is_whole_and_commutes) {
  std::ifstream file(directory / "promotion.txt");
  std::map<std::pair<std::string, std::string>, std::pair<std::string, int>> table;
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '#') continue;
    std::istringstream words(line);
    std::string a, b, result;
    int weak = -1;
    words >> a >> b >> result >> weak;
    ASSERT_TRUE(weak == 0 || weak == 1) << line;
    table[{a, b}] = {result, weak};
    names.insert(a);
  }
  EXPECT_EQ(names.size(), 18u);
  ASSERT_EQ(table.size(), 18u * 18u);
  for (const auto& [pair, result] : table)
    EXPECT_EQ((table[{pair.second, pair.first}]), result) << pair.first;
}

TEST(golden, hexadecimal_floats_and_wide_integers_are_exact) {
  std::istringstream floats("f64 1 4 0x1.8p+1 -0x1p-1074 nan -inf");
  auto f = apsis::golden::read_field(floats);
  EXPECT_EQ(f.real[0], 3.0);
  EXPECT_EQ(f.real[1], -4.9406564584124654e-324);
  EXPECT_NE(f.real[2], f.real[2]);
  EXPECT_LT(f.real[3], -1e308);
  std::istringstream integers("u64 1 2 18446744073709551615 7");
  auto u = apsis::golden::read_field(integers);
  EXPECT_EQ(static_cast<std::uint64_t>(u.integers[0]), 18446744073709551615u);
  std::istringstream shortened("f32 1 3 0x1p+0 0x1p+0");
  EXPECT_THROW(apsis::golden::read_field(shortened), std::runtime_error);
}

}  // namespace
