#include "apsis/io/csv.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "apsis/core/op.hpp"
#include "apsis/ops/index.hpp"
#include "io/file.hpp"
#include "io/messages.hpp"
#include "io/text.hpp"

namespace apsis {
namespace {

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

struct Field {
  std::string text;
  bool quoted = false;
};

/// The lines of a table, one after the other (RFC 4180).
class Lines {
 public:
  Lines(std::string_view text, const std::string& path) : rest_(text), path_(path) {
    if (rest_.starts_with("\xef\xbb\xbf"))
      rest_.remove_prefix(3);  // the mark that some editors begin UTF-8 with
    const std::size_t nul = text.find('\0');
    if (nul != text.npos) {
      const auto lines = std::ranges::count(text.substr(0, nul), '\n') + 1;
      fail(messages::csv_nul, {path, std::to_string(lines)});
    }
  }
  /// The number of the line last read.
  std::string number() const { return std::to_string(number_); }

  /// Reads the next line that is neither empty nor a comment. False at the end.
  bool next(std::vector<Field>& fields) {
    for (;;) {
      if (rest_.empty()) return false;
      number_ = next_number_;
      const std::string_view line = rest_.substr(0, rest_.find_first_of("\r\n"));
      const std::string_view content = trimmed(line);
      if (!content.empty() && content[0] != '#') break;
      rest_.remove_prefix(line.size());
      end_line();
    }
    fields.clear();
    for (;;) {
      fields.push_back(field());
      if (rest_.empty() || rest_[0] != ',') break;
      rest_.remove_prefix(1);
    }
    end_line();
    return true;
  }

 private:
  void end_line() {
    if (rest_.empty()) return;
    rest_.remove_prefix(rest_.starts_with("\r\n") ? 2 : 1);
    ++next_number_;
  }
  void skip_space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }
  Field field() {
    skip_space();
    if (rest_.empty() || rest_[0] != '"') {
      const std::string_view text = rest_.substr(0, rest_.find_first_of(",\r\n"));
      rest_.remove_prefix(text.size());
      return {std::string(trimmed(text))};
    }
    Field f{{}, true};
    for (rest_.remove_prefix(1);;) {
      const std::size_t quote = rest_.find('"');
      if (quote == rest_.npos) fail(messages::csv_quote, {path_, number(), "a quote is not closed"});
      f.text += rest_.substr(0, quote);
      next_number_ += static_cast<std::size_t>(std::ranges::count(rest_.substr(0, quote), '\n'));
      rest_.remove_prefix(quote + 1);
      if (!rest_.starts_with('"')) break;
      f.text += '"';
      rest_.remove_prefix(1);
    }
    skip_space();
    if (!rest_.empty() && rest_[0] != ',' && rest_[0] != '\r' && rest_[0] != '\n')
      fail(messages::csv_quote, {path_, number(), "text follows a closed quote"});
    return f;
  }

  std::string_view rest_;
  const std::string& path_;
  std::size_t number_ = 0, next_number_ = 1;
};

/// The status of reading a whole text as a number. Unlike strtod this asks no locale.
std::errc parse(std::string_view text, double& value) {
  if (text.starts_with('+') && !text.starts_with("+-") && !text.starts_with("++")) text.remove_prefix(1);
  auto [next, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return next != text.data() + text.size() ? std::errc::invalid_argument : status;
}

void check_names(const std::vector<Field>& names, const std::string& path, const std::string& line) {
  std::set<std::string_view> seen;
  bool numbers = true;
  double value = 0;
  for (const Field& f : names) numbers &= !f.quoted && parse(f.text, value) == std::errc{};
  if (numbers) fail(messages::csv_header, {path, line});
  for (const Field& f : names)
    if (!seen.insert(f.text).second)
      fail(messages::csv_twice, {path, line, "\"" + detail::shown(f.text) + "\""});
}

}  // namespace

Table read_csv(const std::string& path, Loc loc) {
  const LocScope place(loc);
  const std::string text = detail::read_file(path), file = detail::shown(path, 300);
  Table table;
  std::vector<double> values;
  std::vector<Field> fields;
  Lines lines(text, file);
  if (!lines.next(fields)) fail(messages::csv_empty, {file});
  check_names(fields, file, lines.number());
  for (const Field& f : fields) table.names.push_back(f.text);
  std::int64_t rows = 0;
  while (lines.next(fields)) {
    if (fields.size() != table.names.size())
      fail(messages::csv_fields,
           {file, lines.number(), std::to_string(fields.size()), std::to_string(table.names.size())});
    for (std::size_t i = 0; i < fields.size(); ++i) {
      double value = 0;
      const std::errc status = parse(fields[i].text, value);
      if (status != std::errc{})
        fail(status == std::errc::result_out_of_range ? messages::csv_range : messages::csv_number,
             {file, lines.number(), detail::shown(table.names[i]), detail::shown(fields[i].text)});
      values.push_back(value);
    }
    ++rows;
  }
  table.values = array(values, {rows, static_cast<std::int64_t>(table.names.size())});
  return table;
}

Array Table::column(const std::string& name, Loc loc) const {
  const LocScope place(loc);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return values(range(), i);
  constexpr std::size_t most = 20;
  std::string all;
  for (std::size_t i = 0; i < names.size() && i <= most; ++i)
    all += (all.empty() ? "" : ", ") + (i == most ? "…" : detail::shown(names[i]));
  fail(messages::csv_column, {detail::shown(name), all});
}

}  // namespace apsis
