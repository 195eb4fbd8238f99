// expect: an operand that is neither an Array nor a number
#include <apsis/apsis.hpp>

apsis::Array slip(const apsis::Array& x) { return x + "1"; }
