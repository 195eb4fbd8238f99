#include "compositions/program.hpp"

#include <charconv>
#include <sstream>
#include <stdexcept>

namespace apsis::compositions {
namespace {

void print_shape(std::ostream& out, const Shape& shape) {
  out << '[';
  for (std::size_t i = 0; i < shape.size(); ++i) out << (i ? "," : "") << shape[i];
  out << ']';
}

void print(std::ostream& out, const Block& block, const std::string& indent) {
  out << "(";
  for (const auto& p : block.parameters) {
    out << " v" << p.name << ' ';
    print_shape(out, p.shape);
  }
  out << " ) {\n";
  for (const Step& s : block.steps) {
    out << indent << "  v" << s.name << ' ';
    print_shape(out, s.shape);
    for (const auto& p : s.more) {
      out << " v" << p.name << ' ';
      print_shape(out, p.shape);
    }
    out << " = " << s.op;
    for (int v : s.operands) out << " v" << v;
    if (!s.numbers.empty()) out << " #";
    for (double x : s.numbers) out << ' ' << x;
    for (const Block& b : s.blocks) {
      out << ' ';
      print(out, b, indent + "  ");
    }
    out << " ;\n";
  }
  out << indent << "  ->";
  for (int v : block.results) out << " v" << v;
  out << "\n" << indent << "}";
}

class Parser {
 public:
  explicit Parser(std::string_view text) : in_(std::string(text)) { advance(); }

  Block block() {
    Block b;
    expect("(");
    while (token_ != ")") {
      int v = name();
      b.parameters.push_back({v, shape()});
    }
    expect(")");
    expect("{");
    while (token_ != "->") b.steps.push_back(step());
    expect("->");
    while (token_ != "}") b.results.push_back(name());
    expect("}");
    return b;
  }
  void end() {
    if (!token_.empty()) fail();
  }

 private:
  Step step() {
    Step s;
    s.name = name();
    s.shape = shape();
    while (token_ != "=") {
      int further = name();
      s.more.push_back({further, shape()});
    }
    expect("=");
    s.op = take();
    while (token_ != ";") {
      if (token_ == "#") {
        advance();
        while (token_ != "(" && token_ != ";") s.numbers.push_back(number<double>(take()));
      } else if (token_ == "(") {
        s.blocks.push_back(block());
      } else {
        s.operands.push_back(name());
      }
    }
    expect(";");
    return s;
  }
  int name() {
    if (token_.empty() || token_[0] != 'v') fail();
    return number<int>(take().substr(1));
  }
  Shape shape() {
    Shape dims;
    std::string text = take();
    if (text.size() < 2 || text.front() != '[' || text.back() != ']') fail();
    std::stringstream parts(text.substr(1, text.size() - 2));
    for (std::string part; std::getline(parts, part, ',');) dims.push_back(number<std::int64_t>(part));
    return dims;
  }
  template <class T>
  T number(const std::string& text) {
    T value{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) fail();
    return value;
  }
  void expect(std::string_view wanted) {
    if (token_ != wanted) fail();
    advance();
  }
  std::string take() {
    std::string t = token_;
    advance();
    return t;
  }
  void advance() {
    if (!(in_ >> token_)) token_.clear();
  }
  [[noreturn]] void fail() const { throw std::runtime_error("not a program, at `" + token_ + "`"); }

  std::stringstream in_;
  std::string token_;
};

}  // namespace

std::string to_string(const Block& program) {
  std::stringstream out;
  out.precision(17);
  print(out, program, "");
  return out.str() + "\n";
}

Block parse(std::string_view text) {
  Parser parser(text);
  Block b = parser.block();
  parser.end();
  return b;
}

std::size_t size(const Block& program) {
  std::size_t n = program.steps.size();
  for (const Step& s : program.steps)
    for (const Block& b : s.blocks) n += size(b);
  return n;
}

}  // namespace apsis::compositions
