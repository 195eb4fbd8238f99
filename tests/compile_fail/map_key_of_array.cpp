// expect: std::less<apsis::Array>
// expect: deleted
#include <apsis/apsis.hpp>

#include <map>

int use(const apsis::Array& x) { return std::map<apsis::Array, int>{}[x]; }
