// expect: array({a, b}) needs numbers of one type: convert them, as in array({a, double(b)})
#include <apsis/apsis.hpp>

apsis::Array use(double a, float b) { return apsis::array({a, b}); }
