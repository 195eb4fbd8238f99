// expect: the arrays to join are a list: write concatenate({a, b}) and stack({a, b})
#include <apsis/apsis.hpp>

apsis::Array slip(const apsis::Array& x) { return concatenate(x, x); }
