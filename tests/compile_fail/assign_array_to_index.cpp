// expect: arrays are values, and what x[i] gives is another: write x = x.at(i).set(3.)
#include <apsis/apsis.hpp>

void use(apsis::Array z, const apsis::Array& y) { z(0, apsis::range(1, 2)) = y; }
