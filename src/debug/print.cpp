// print: a callback whose function is the format itself, so that equal prints are equal programs.

#include "apsis/debug/print.hpp"

#include <charconv>
#include <complex>
#include <cstdio>

#include "debug/messages.hpp"

namespace apsis::debug {
namespace {

/// Text, then what stands between braces; `name` is "-" at the end.
struct Piece {
  std::string text, name, spec;
  bool field = false;
};

/// Returns what is wrong, or nothing.
std::string split(const std::string& format, std::vector<Piece>& pieces) {
  pieces.emplace_back();
  for (std::size_t i = 0; i < format.size(); ++i) {
    char c = format[i];
    bool doubled = i + 1 < format.size() && format[i + 1] == c;
    if ((c == '{' || c == '}') && doubled) {
      pieces.back().text += c;
      ++i;
    } else if (c == '{') {
      std::size_t end = format.find('}', i);
      if (end == std::string::npos) return "has a { without a }; write {{ for a brace";
      std::string inside = format.substr(i + 1, end - i - 1);
      std::size_t colon = inside.find(':');
      pieces.back().field = true;
      pieces.back().name = inside.substr(0, colon);
      if (colon != std::string::npos) pieces.back().spec = inside.substr(colon + 1);
      pieces.emplace_back();
      i = end;
    } else if (c == '}') {
      return "has a } without a {; write }} for a brace";
    } else {
      pieces.back().text += c;
    }
  }
  return {};
}

/// `8.3f`: [width][.precision](f|e|g).
bool parse_spec(const std::string& spec, std::string& printf_format) {
  std::size_t i = 0;
  while (i < spec.size() && spec[i] >= '0' && spec[i] <= '9') ++i;
  if (i < spec.size() && spec[i] == '.')
    for (++i; i < spec.size() && spec[i] >= '0' && spec[i] <= '9';) ++i;
  if (i + 1 != spec.size() || i > 8 || (spec[i] != 'f' && spec[i] != 'e' && spec[i] != 'g')) return false;
  printf_format = "%" + spec;
  return true;
}

std::string with_spec(const Array& a, const std::string& printf_format) {
  const auto elements = a.to_vector<std::complex<double>>();
  const auto word = [](double x, const std::string& how) {
    char text[400];
    int n = std::snprintf(text, sizeof text, how.c_str(), x);
    return std::string(text, static_cast<std::size_t>(std::min<int>(n, sizeof text - 1)));
  };
  const std::string with_sign = "%+" + printf_format.substr(1);
  std::string out;
  // A bracket opens and closes where a row of its axis does.
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::size_t opened = 0, closed = 0, row = 1;
    for (std::size_t k = a.shape().size(); k-- > 0;) {
      row *= static_cast<std::size_t>(a.shape()[k]);
      opened += i % row == 0;
      closed += i % row == row - 1;
    }
    if (i) out += ' ';
    out += std::string(opened, '[') + word(elements[i].real(), printf_format);
    if (is_complex(a.dtype())) out += word(elements[i].imag(), with_sign) + "j";
    out += std::string(closed, ']');
  }
  return elements.empty() ? "[]" : out;
}

/// The argument a field names; `next` counts the fields without a name. The number of arguments if there is
/// none.
std::size_t find_argument(const Piece& piece, std::span<const std::string> names, std::size_t& next) {
  if (piece.name.empty()) return std::min(next++, names.size());
  std::size_t number = 0;
  const char *begin = piece.name.data(), *end = begin + piece.name.size();
  if (std::from_chars(begin, end, number).ptr == end) return std::min(number, names.size());
  std::size_t i = 0;
  while (i < names.size() && names[i] != piece.name) ++i;
  return i;
}

/// What is wrong with the format for these arguments, or nothing.
std::string mistake(const std::string& text, std::span<const std::string> names) {
  std::vector<Piece> pieces;
  if (std::string wrong = split(text, pieces); !wrong.empty()) return wrong;
  std::vector<bool> used(names.size(), false);
  std::size_t next = 0;
  std::string unused;
  for (const Piece& piece : pieces) {
    if (!piece.field) continue;
    std::size_t at = find_argument(piece, names, next);
    if (at == names.size())
      return piece.name.empty()
                 ? "has more places than there are arguments (" + std::to_string(names.size()) + ")"
                 : "names the argument " + piece.name + ", which is not given";
    used[at] = true;
    if (!piece.spec.empty() && !parse_spec(piece.spec, unused))
      return "asks for the form " + piece.spec +
             "; it can be a width, a precision and one of f, e, g, such as 8.3f";
  }
  for (std::size_t i = 0; i < used.size(); ++i)
    if (!used[i]) return "does not use argument " + std::to_string(i);
  return {};
}

struct PrintLine {
  std::string text;
  std::vector<std::string> names;
  void operator()(std::span<const Array> values, std::vector<Array>&) const {
    std::string line = detail::format_line(text, names, values) + "\n";
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
  }
};

}  // namespace

namespace detail {

std::string format_line(const std::string& text, std::span<const std::string> names,
                        std::span<const Array> values) {
  std::vector<Piece> pieces;
  split(text, pieces);
  std::string line, form;
  std::size_t next = 0;
  for (const Piece& piece : pieces) {
    line += piece.text;
    if (!piece.field) continue;
    const Array& value = values[find_argument(piece, names, next)];
    line += parse_spec(piece.spec, form) ? with_spec(value, form) : to_string(value);
  }
  return line;
}

void print_call(const Format& format, std::span<const Argument> arguments, bool ordered) {
  PrintLine line{format.text, {}};
  apsis::detail::CallbackCall call;
  StaticKey key;
  auto add = [&key](const std::string& s) {
    key.append_value(s.size());
    key.append(s.data(), s.size());
  };
  add(line.text);
  for (const Argument& a : arguments) {
    line.names.push_back(a.name);
    call.operands.push_back(a.value);
    add(line.names.back());
  }
  if (std::string wrong = mistake(line.text, line.names); !wrong.empty())
    fail(messages::print_format, {line.text, wrong}, format.loc);
  call.function = apsis::detail::HostFunction(line, key);
  call.name = "debug::print";
  call.effect = true;
  call.ordered = ordered;
  apsis::detail::callback_call(call, format.loc);
}

}  // namespace detail
}  // namespace apsis::debug
