// The text form of a Graph. Parameters print by their own rules (make_params.hpp); regions among them are
// graphs again, indented. `parse.cpp` reads it back.
//
//   graph    = "(" [ value { "," value } ] ")" "{" { equation } "return" [ name { "," name } ] "}"
//   equation = [ value { "," value } "=" ] op [ "{" parameters "}" ] [ "(" [ name { "," name } ] ")" ] [
//   comment ] value    = name ":" aval                     name = "v" number aval     = [ "~" ] dtype "["
//   sizes "]"  |  "list<" aval ">"  |  "lists<" aval ">" comment  = "#" up to the end of the line (a
//   constant's value, an equation's scope)

#include <utility>

#include <charconv>

#include "ir/graph.hpp"
#include "ir/text.hpp"

namespace apsis::detail {
namespace {

// Regions print through the parameters that hold them, which know nothing of this.
thread_local bool show_scopes = false;

void print_name(std::string& out, ValueId v) {
  char digits[12];
  out += 'v';
  out.append(digits, std::to_chars(digits, digits + sizeof digits, v).ptr);
}

/// Prints values with their avals, most of which are that of the value before.
class ValuePrinter {
 public:
  explicit ValuePrinter(const Graph& graph) : graph_(graph) {}
  void operator()(std::string& out, ValueId v) {
    print_name(out, v);
    out += ": ";
    const Aval& aval = graph_.aval(v);
    if (!last_ || !(aval == last_)) {
      last_ = aval;
      text_ = to_string(aval);
    }
    out += text_;
  }

 private:
  const Graph& graph_;
  Aval last_;
  std::string text_;
};

void print_names(std::string& out, std::span<const ValueId> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i) out += ", ";
    print_name(out, names[i]);
  }
}

void print_params(std::string& out, const Params& params) {
  if (!params) return;
  if (regions_of(params).empty()) {
    out += '{';
    params.node()->table->print(*params.node(), out);
    out += '}';
    return;
  }
  for (char c : to_string(params)) {
    out += c;
    if (c == '\n') out += "  ";
  }
}

}  // namespace

std::string to_string(const Graph& graph) {
  ValuePrinter print_value(graph);
  std::string out = "(";
  for (ValueId v = 0; v < graph.input_count(); ++v) {
    if (v) out += ", ";
    print_value(out, v);
  }
  out += ") {\n";
  for (const Eqn& e : graph.eqns()) {
    out += "  ";
    for (std::uint32_t r = 0; r < e.result_count; ++r) {
      if (r) out += ", ";
      print_value(out, e.first_result + r);
    }
    if (e.result_count) out += " = ";
    out += e.op->name;
    print_params(out, e.params);
    if (e.op->kind == OpKind::Constant) {
      out += "  # " + to_string(constant_value(e.params));
    } else {
      out += '(';
      print_names(out, graph.operands(e));
      out += ')';
      if (e.scope && show_scopes) out += std::string("  # in ") + e.scope;
    }
    out += '\n';
  }
  out += "  return ";
  print_names(out, graph.outputs());
  out += "\n}";
  return out;
}

std::string text_with_scopes(const Graph& graph) {
  const bool before = std::exchange(show_scopes, true);
  std::string text = to_string(graph);
  show_scopes = before;
  return text;
}

}  // namespace apsis::detail
