#include "errors/provoke.hpp"
#include "ir/graph.hpp"

using namespace apsis::detail;

APSIS_PROVOKES_WITHOUT_PLACE(
    graph_text,
    "[parse_graph] line 2: expected the name of a value defined above at ''; the text must be "
    "what to_string(graph) writes",
    parse_graph("(a: f64[]) {\n  return b\n}"))

APSIS_PROVOKES_WITHOUT_PLACE(
    graph_text_op,
    "[parse_graph] line 2: there is no op called 'frobnicate'; register the user's ops before "
    "reading a program that holds them",
    parse_graph("(a: f64[]) {\n  b: f64[] = frobnicate(a)\n  return b\n}"))

APSIS_PROVOKES_WITHOUT_PLACE(
    graph_text_aval, "[parse_graph] line 2: the result of 'sin' is f64[], but the text declares f64[2]",
    parse_graph("(a: f64[]) {\n  b: f64[2] = sin(a)\n  return b\n}"))

APSIS_PROVOKES_WITHOUT_PLACE(
    graph_text_params,
    "[parse_graph] line 2: 'sin' cannot be read from text: it holds a C++ function, or the op has "
    "no `parse` rule; "
    "trace the program anew, or give the op the rule",
    parse_graph("(a: f64[]) {\n  b: f64[] = sin{degrees=true}(a)\n  return b\n}"))

APSIS_PROVOKES_WITHOUT_PLACE(
    graph_text_equation,
    "[parse_graph] line 2: 'transpose' does not take (f64[2]) with the parameters "
    "{permutation=[1, 0]}; the text must be what to_string(graph) writes",
    parse_graph("(a: f64[2]) {\n  b: f64[2] = transpose{permutation=[1, 0]}(a)\n  return b\n}"))
