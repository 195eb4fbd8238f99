// expect: write x(a, b) for several axes
#include <apsis/apsis.hpp>

apsis::Array column(const apsis::Array& x) { return x[apsis::range(), 0]; }
