#pragma once

#include "apsis/base/loc.hpp"

// The place of calls with any number of arguments. A default argument cannot follow a pack, so there is an
// overload for each number of arguments up to six; with more, errors have no place of their own.
//
//   APSIS_UP_TO_SIX(M, name) is M(name, declared, types, parameters, arguments) for each, where the lists
//   stand in parentheses and continue others: (, class A, class B), (, A, B), (const A& a, const B& b, ),
//   (, a, b).

#define APSIS_UP_TO_SIX(M, name)                                                                           \
  M(name, (), (), (), ())                                                                                  \
  M(name, (, class A), (, A), (const A& a, ), (, a))                                                       \
  M(name, (, class A, class B), (, A, B), (const A& a, const B& b, ), (, a, b))                            \
  M(name, (, class A, class B, class C), (, A, B, C), (const A& a, const B& b, const C& c, ), (, a, b, c)) \
  M(name, (, class A, class B, class C, class D), (, A, B, C, D),                                          \
    (const A& a, const B& b, const C& c, const D& d, ), (, a, b, c, d))                                    \
  M(name, (, class A, class B, class C, class D, class E), (, A, B, C, D, E),                              \
    (const A& a, const B& b, const C& c, const D& d, const E& e, ), (, a, b, c, d, e))                     \
  M(name, (, class A, class B, class C, class D, class E, class G), (, A, B, C, D, E, G),                  \
    (const A& a, const B& b, const C& c, const D& d, const E& e, const G& g, ), (, a, b, c, d, e, g))

/// Takes the parentheses away.
#define APSIS_LIST(...) __VA_ARGS__
