// compiles
#include <apsis/apsis.hpp>

using apsis::array;

void use(double a, float b) {
  apsis::Array z = array({a, a}), y = z;
  y = array({b, b});
  y = array({{a, 2.}, {3., 4.}});
  y = array({true, false});
  y = array(std::vector<bool>{true});
  y = array({{true, false}, {false, true}});
  y = array({{{1, 2}}, {{3, 4}}});
  y = array({1});
  y = z[0];
  std::vector<apsis::Array> parts{z, y};
  parts[0] = z;
}
