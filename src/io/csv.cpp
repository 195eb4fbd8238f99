#include "apsis/io/csv.hpp"

#include <charconv>

#include "apsis/ops/index.hpp"
#include "io/messages.hpp"
#include "io/npy.hpp"

namespace apsis {
namespace {

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    std::size_t comma = line.find(',');
    fields.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace

Table read_csv(const std::string& path, Loc loc) {
  const LocScope place(loc);
  std::string text = detail::read_file(path);
  Table table;
  std::vector<double> values;
  std::int64_t rows = 0, number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    std::size_t end = rest.find('\n');
    std::string_view line = trimmed(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    ++number;
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string_view> fields = fields_of(line);
    if (table.names.empty()) {
      table.names.assign(fields.begin(), fields.end());
      continue;
    }
    if (fields.size() != table.names.size())
      fail(messages::csv_fields,
           {path, std::to_string(number), std::to_string(fields.size()), std::to_string(table.names.size())});
    for (std::size_t i = 0; i < fields.size(); ++i) {
      double value = 0;
      auto [next, status] = std::from_chars(fields[i].data(), fields[i].data() + fields[i].size(), value);
      if (status != std::errc{} || next != fields[i].data() + fields[i].size())
        fail(messages::csv_number, {path, std::to_string(number), table.names[i], std::string(fields[i])});
      values.push_back(value);
    }
    ++rows;
  }
  if (table.names.empty()) fail(messages::csv_empty, {path});
  table.values = array(values, {rows, static_cast<std::int64_t>(table.names.size())});
  return table;
}

Array Table::column(const std::string& name, Loc loc) const {
  const LocScope place(loc);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return values(range(), i);
  std::string all;
  for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
  fail(messages::csv_column, {name, all});
}

}  // namespace apsis
