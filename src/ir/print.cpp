// The text form of a Graph. Parameters print by their own rules (make_params.hpp); regions among them are graphs again,
// indented. `parse.cpp` reads it back.
//
//   graph    = "(" [ value { "," value } ] ")" "{" { equation } "return" [ name { "," name } ] "}"
//   equation = [ value { "," value } "=" ] op [ "{" parameters "}" ] [ "(" [ name { "," name } ] ")" ] [ comment ]
//   value    = name ":" aval                     name = "v" number
//   aval     = [ "~" ] dtype "[" sizes "]"  |  "list<" aval ">"  |  "lists<" aval ">"
//   comment  = "#" up to the end of the line (the value of a constant)

#include "ir/graph.hpp"

namespace apsis::detail {
namespace {

void print_name(std::string& out, ValueId v) {
  out += 'v';
  out += std::to_string(v);
}

void print_value(std::string& out, const Graph& graph, ValueId v) {
  print_name(out, v);
  out += ": ";
  out += to_string(graph.aval(v));
}

void print_names(std::string& out, std::span<const ValueId> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i) out += ", ";
    print_name(out, names[i]);
  }
}

void print_params(std::string& out, const Params& params) {
  std::string text = to_string(params);
  bool nested = !regions_of(params).empty();
  for (char c : text) {
    out += c;
    if (nested && c == '\n') out += "  ";
  }
}

}  // namespace

std::string to_string(const Graph& graph) {
  std::string out = "(";
  for (ValueId v = 0; v < graph.input_count(); ++v) {
    if (v) out += ", ";
    print_value(out, graph, v);
  }
  out += ") {\n";
  for (const Eqn& e : graph.eqns()) {
    out += "  ";
    for (std::uint32_t r = 0; r < e.result_count; ++r) {
      if (r) out += ", ";
      print_value(out, graph, e.first_result + r);
    }
    if (e.result_count) out += " = ";
    out += e.op->name;
    print_params(out, e.params);
    if (e.op == &constant_op) {
      out += "  # " + to_string(constant_value(e.params));
    } else {
      out += '(';
      print_names(out, graph.operands(e));
      out += ')';
    }
    out += '\n';
  }
  out += "  return ";
  print_names(out, graph.outputs());
  out += "\n}";
  return out;
}

}  // namespace apsis::detail
