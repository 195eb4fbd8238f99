#include "apsis/tree/print.hpp"

#include <charconv>

namespace apsis {
namespace detail {

std::string short_type_name(std::string_view full) {
  if (names_closure(full)) return "lambda";
  // Drop the template arguments, then everything up to the last qualification.
  std::size_t depth = 0, end = full.size();
  if (!full.empty() && full.back() == '>') {
    while (end-- > 0) {
      if (full[end] == '>') ++depth;
      if (full[end] == '<' && --depth == 0) break;
    }
  }
  std::string_view name = full.substr(0, end);
  std::size_t begin = name.rfind("::");
  if (begin != std::string_view::npos) name.remove_prefix(begin + 2);
  return name == "basic_string" ? "string" : std::string(name);
}

void print_integer(std::string& out, long long value) { out += std::to_string(value); }
void print_unsigned(std::string& out, unsigned long long value) { out += std::to_string(value); }

void print_floating(std::string& out, double value, bool single) {
  char text[40];
  std::to_chars_result end = single ? std::to_chars(text, text + sizeof text, static_cast<float>(value))
                                    : std::to_chars(text, text + sizeof text, value);
  out.append(text, end.ptr);
}

void print_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

void print_address(std::string& out, const void* bytes, std::size_t size) {
  static constexpr char digits[] = "0123456789abcdef";
  const unsigned char* p = static_cast<const unsigned char*>(bytes);
  out += "0x";
  for (std::size_t i = size; i-- > 0;) {
    out += digits[p[i] >> 4];
    out += digits[p[i] & 15];
  }
}

namespace {

/// `Linear{weight=f32[64,2], bias=f32[64]}`, `[a, b]` for sequences, `(a, b)` for tuples, `{"key": a}` for
/// maps.
class Printer final : public TreeVisitor {
 public:
  explicit Printer(std::string& out) : out_(out) {}

  void field(std::string_view name) override {
    separate();
    out_.append(name) += '=';
  }
  void step(std::string_view text) override {
    separate();
    if (open_.back().kind == TreeKind::Map) out_.append(text.substr(1, text.size() - 2)) += ": ";
  }
  void begin(const TreeNode& node) override {
    if (node.kind == TreeKind::Fields) out_ += short_type_name(node.type_name());
    if ((node.kind == TreeKind::Optional || node.kind == TreeKind::Pointer) && node.size == 0) out_ += "none";
    out_ += bracket(node.kind, "{([");
    open_.push_back({node.kind, 0});
  }
  void end() override {
    out_ += bracket(open_.back().kind, "})]");
    open_.pop_back();
  }
  void leaf(const void* leaf, const LeafType& type) override {
    if (type.empty(leaf)) {
      out_ += "empty";
    } else {
      type.print(out_, leaf);
    }
  }
  void fixed(std::string_view value, std::string_view) override { out_ += value; }

 private:
  void separate() {
    if (open_.back().children++ > 0) out_ += ", ";
  }
  struct Open {
    TreeKind kind;
    std::size_t children;
  };
  static std::string_view bracket(TreeKind kind, const char* set) {
    switch (kind) {
      case TreeKind::Fields:
      case TreeKind::Map:
        return {set, 1};
      case TreeKind::Tuple:
        return {set + 1, 1};
      case TreeKind::FixedArray:
      case TreeKind::Sequence:
        return {set + 2, 1};
      default:
        return {};
    }
  }

  std::string& out_;
  std::vector<Open> open_;
};

}  // namespace

void print_walk(std::string& out, const void* tree, void (*walk)(const void* tree, TreeVisitor& visitor)) {
  Printer printer(out);
  walk(tree, printer);
}

std::string print_tree(ConstTreeRef tree) {
  std::string out;
  if (tree.type) print_walk(out, tree.tree, tree.type->walk);
  return out;
}

}  // namespace detail
}  // namespace apsis
