// Every row of every room's message table is provoked by a case in this directory.

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <regex>

#include "base/place.hpp"
#include "errors/provoke.hpp"

namespace {

/// The ids of all rows, read from the tables' own text.
std::set<std::string> ids_of_tables() {
  const std::regex row(R"(^APSIS_MESSAGE\((\w+),)");
  std::set<std::string> ids;
  for (const auto& file : std::filesystem::recursive_directory_iterator(APSIS_SOURCE_DIR "/src")) {
    if (file.path().filename() != "messages.inc") continue;
    std::ifstream table(file.path());
    std::smatch match;
    for (std::string line; std::getline(table, line);) {
      if (std::regex_search(line, match, row)) {
        EXPECT_TRUE(ids.insert(match[1]).second) << "two rows named " << match[1];
      }
    }
  }
  return ids;
}

TEST(ErrorTable, EveryRowIsProvoked) {
  const std::set<std::string> rows = ids_of_tables();
  const std::set<std::string>& cases = apsis::testing::provoked_ids();
  EXPECT_GT(rows.size(), 10u);
  std::set<std::string> missing, unknown;
  std::set_difference(rows.begin(), rows.end(), cases.begin(), cases.end(),
                      std::inserter(missing, missing.end()));
  std::set_difference(cases.begin(), cases.end(), rows.begin(), rows.end(),
                      std::inserter(unknown, unknown.end()));
  EXPECT_TRUE(missing.empty()) << "no case provokes: " << ::testing::PrintToString(missing);
  EXPECT_TRUE(unknown.empty()) << "no table has: " << ::testing::PrintToString(unknown);
}

TEST(Place, InTheLibraryIsNotTheUsers) {
  std::deque<std::string> files;  // each stays at its address, by which the last one asked about is known
  for (const auto& room : std::filesystem::directory_iterator(APSIS_SOURCE_DIR "/src")) {
    if (!room.is_directory()) continue;
    const std::string name = room.path().filename().string();
    files.push_back(APSIS_SOURCE_DIR "/src/" + name + "/some.cpp");
    files.push_back("/usr/include/apsis/" + name + "/some.hpp");
  }
  EXPECT_GT(files.size(), 20u);
  for (const std::string& file : files)
    EXPECT_FALSE(apsis::detail::users_place({file.c_str(), "f", 1}).known()) << file;
  EXPECT_TRUE(apsis::detail::users_place({"/home/me/train/some.cpp", "f", 1}).known());
}

}  // namespace
